/**
 * `npm run simulate -- [--seed N] [--hours H] [--instances N] [--world lease] [--trace FILE] [--force SWARM] [--ignore NAME] [--json]`
 *
 * Owns: the command line of the simulator. Progress goes to stderr; the last line of stdout is the result as JSON.
 * `--force '{"storeBusy":0}'` fixes swarm options of every round (`testing/simulator/faults.ts`).
 * `--ignore delivery/threadOrder` only counts violations of that name, to hunt behind a fault that is known.
 * Exits 1 on a violation, and then prints the end of the trace before it.
 */
import { randomInt } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { simulateBus } from "../../testing/simulator/bus-world.ts";
import { calm, type Swarm } from "../../testing/simulator/faults.ts";
import { simulateLease, type LeaseSimulation, type SimulationResult } from "../../testing/simulator/lease-world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    hours: { type: "string", default: "1" },
    instances: { type: "string", default: "3" },
    world: { type: "string", default: "lease" },
    trace: { type: "string" },
    force: { type: "string", default: "{}" },
    ignore: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
  },
});

const worlds: Readonly<Record<string, (simulation: LeaseSimulation) => Promise<SimulationResult>>> = {
  lease: simulateLease,
  bus: simulateBus,
};

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value) || value < 0)
    throw new Error(`--${name} must be a number, not "${text}".`);
  return value;
}

function forced(text: string): Partial<Swarm> {
  const options: unknown = JSON.parse(text);
  if (typeof options !== "object" || options === null) throw new Error("--force must be a JSON object.");
  const unknownName = Object.keys(options).find((name) => !(name in calm));
  if (unknownName !== undefined) throw new Error(`--force knows no option "${unknownName}".`);
  return options;
}

function openTrace(file: string | undefined): { readonly sink?: (line: string) => void; readonly close: () => void } {
  if (file === undefined) return { close: () => undefined };
  const handle = openSync(file, "w");
  return { sink: (line) => void writeSync(handle, `${line}\n`), close: () => closeSync(handle) };
}

async function main(): Promise<number> {
  const world = worlds[values.world];
  if (world === undefined)
    throw new Error(`--world is one of ${Object.keys(worlds).join(", ")}, not "${values.world}".`);
  const seed = values.seed === undefined ? randomInt(0, 2 ** 32) : numberOf("seed", values.seed);
  console.error(`seed ${seed}`);
  const hours = numberOf("hours", values.hours);
  const { sink, close } = openTrace(values.trace);
  const startedAt = performance.now();
  let shownAt = startedAt;
  const result = await world({
    seed,
    hours,
    force: forced(values.force),
    ignore: values.ignore,
    instances: numberOf("instances", values.instances),
    ...(sink === undefined ? {} : { sink }),
    onProgress(simulatedHours) {
      if (performance.now() - shownAt < 2_000) return;
      shownAt = performance.now();
      console.error(`${simulatedHours.toFixed(1)} of ${hours} simulated hours`);
    },
  });
  close();
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = process.cpuUsage();
  const timesCpuTime = Math.round((result.simulatedHours * 3.6e9) / (cpu.user + cpu.system));
  const timesRealTime = Math.round((result.simulatedHours * 3600) / seconds);
  console.error(
    `${Math.round(result.events / seconds)} events/s, ${timesRealTime} times real time, ${timesCpuTime} times CPU time`,
  );
  for (const { name, detail, tail, atMs } of result.violations) {
    console.error(tail.slice(-60).join("\n"));
    console.error(`${name} at ${atMs} ms, seed ${seed}: ${detail}`);
  }
  const violations = result.violations.map(({ tail: _tail, ...rest }) => rest);
  if (!values.json) console.log(JSON.stringify(result.figures));
  console.log(JSON.stringify({ ...result, violations, timesRealTime }));
  return violations.length > 0 ? 1 : 0;
}

process.exitCode = await main();
