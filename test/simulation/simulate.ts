/**
 * `npm run simulate -- [--seed N] [--hours H] [--world lease|bus] [--instances N] [--trace FILE] [--force SWARM] [--ignore NAME] [--json]`
 *
 * Owns: the command line of the simulator, sharing the hours among the worlds. Progress goes to stderr; the last line of
 * stdout is the result as JSON.
 * Without `--world` both worlds run within the asked hours, the lease world for most of them. The world of whole instances
 * then runs in pieces of at most an hour, each with a seed of its own and 3 or 4 instances: a violation names the command
 * that shows it again.
 * `--force '{"storeBusy":0}'` fixes swarm options of every round (`testing/simulator/faults.ts`).
 * `--ignore delivery/threadOrder` only counts violations of that name, to hunt behind a fault that is known.
 * Exits 1 on a violation, and then prints the end of the trace before it.
 */
import { createHash, randomInt } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { simulateBus } from "../../testing/simulator/bus-world.ts";
import { calm, type Swarm } from "../../testing/simulator/faults.ts";
import { simulateLease, type SimulationResult } from "../../testing/simulator/lease-world.ts";
import type { StagehandOptions, Violation } from "../../testing/simulator/stagehand.ts";
import { optionsOf } from "../support/command-line.ts";

const usage = `
npm run simulate -- [options]: whole instances in virtual time, with faults in everything around them.

  --seed N            the same seed gives the same trace; default: a fresh one, which is printed
  --hours H           simulated hours; default 1
  --world lease|bus   one world only: leases alone, or whole instances; default: both
  --instances N       so many instances
  --trace FILE        writes every event there
  --force JSON        fixes options of every round, such as '{"storeBusy":0}'
  --ignore NAME       only counts violations of this property; may be given several times
  --json              the last line of stdout is the result as one JSON object`;
const values = optionsOf(usage, {
  seed: { type: "string" },
  hours: { type: "string", default: "1" },
  instances: { type: "string" },
  world: { type: "string" },
  trace: { type: "string" },
  force: { type: "string", default: "{}" },
  ignore: { type: "string", multiple: true, default: [] },
  json: { type: "boolean", default: false },
});

interface Piece {
  readonly world: string;
  readonly seed: number;
  readonly hours: number;
  readonly instances: number;
}
interface Run extends StagehandOptions, Piece {
  readonly onProgress: (simulatedHours: number) => void;
}
type FoundViolation = Violation & { readonly command: string };

const worlds: Readonly<Record<string, (run: Run) => Promise<SimulationResult>>> = {
  lease: simulateLease,
  bus: simulateBus,
};
/** Share of the hours that go to whole instances: a simulated hour of them costs six of the lease alone. */
const busShare = 0.15;
const pieceMaxHours = 1;

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

/** What to run, in order. */
function piecesOf(seed: number, hours: number): readonly Piece[] {
  const { world } = values;
  const instances = values.instances === undefined ? null : numberOf("instances", values.instances);
  if (world !== undefined) {
    if (!(world in worlds)) throw new Error(`--world is one of ${Object.keys(worlds).join(", ")}, not "${world}".`);
    return [{ world, seed, hours, instances: instances ?? 3 }];
  }
  const busHours = hours * busShare;
  const count = Math.ceil(busHours / pieceMaxHours);
  const bus = Array.from({ length: count }, (_, index) => ({
    world: "bus",
    seed: seed + index,
    hours: busHours / count,
    instances: instances ?? 3 + (index % 2),
  }));
  return [{ world: "lease", seed, hours: hours - busHours, instances: instances ?? 3 }, ...bus];
}

const addUp = (counts: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> => {
  const sums = new Map<string, number>();
  for (const each of counts)
    for (const [name, value] of Object.entries(each)) sums.set(name, (sums.get(name) ?? 0) + value);
  return Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
};
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Several runs as one result. */
function merged(seed: number, results: readonly SimulationResult[], violations: readonly FoundViolation[]) {
  const [only] = results;
  const hash = createHash("sha256");
  for (const { traceHash } of results) hash.update(traceHash);
  return {
    seed,
    simulatedHours: sum(results.map((result) => result.simulatedHours)),
    events: sum(results.map((result) => result.events)),
    faults: addUp(results.map((result) => result.faults)),
    violations: violations.map(({ tail: _tail, ...rest }) => rest),
    liveness: {
      checks: sum(results.map((result) => result.liveness.checks)),
      worstMs: Math.max(0, ...results.map((result) => result.liveness.worstMs)),
    },
    traceHash: results.length === 1 && only !== undefined ? only.traceHash : hash.digest("hex"),
  };
}

async function runPiece(piece: Piece, sink: ((line: string) => void) | undefined): Promise<SimulationResult> {
  const world = worlds[piece.world];
  if (world === undefined) throw new Error(`there is no world "${piece.world}".`);
  const startedAt = performance.now();
  let shownAt = startedAt;
  console.error(`world ${piece.world}, seed ${piece.seed}, ${piece.hours} h, ${piece.instances} instances`);
  const result = await world({
    ...piece,
    force: forced(values.force),
    ignore: values.ignore,
    ...(sink === undefined ? {} : { sink }),
    onProgress(simulatedHours) {
      if (performance.now() - shownAt < 2_000) return;
      shownAt = performance.now();
      console.error(`${simulatedHours.toFixed(1)} of ${piece.hours} simulated hours`);
    },
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const timesRealTime = Math.round((result.simulatedHours * 3600) / seconds);
  console.error(`${Math.round(result.events / seconds)} events/s, ${timesRealTime} times real time`);
  return result;
}

function commandFor({ world, seed, hours, instances }: Piece): string {
  return `npm run simulate -- --world ${world} --seed ${seed} --hours ${hours} --instances ${instances}`;
}

async function main(): Promise<number> {
  const seed = values.seed === undefined ? randomInt(0, 2 ** 32) : numberOf("seed", values.seed);
  const { sink, close } = openTrace(values.trace);
  const results: SimulationResult[] = [];
  const violations: FoundViolation[] = [];
  for (const piece of piecesOf(seed, numberOf("hours", values.hours))) {
    const result = await runPiece(piece, sink);
    results.push(result);
    violations.push(...result.violations.map((violation) => ({ ...violation, command: commandFor(piece) })));
    if (!values.json) console.log(JSON.stringify({ world: piece.world, seed: piece.seed, ...result.figures }));
  }
  close();
  for (const { name, detail, tail, atMs, command } of violations) {
    console.error(tail.slice(-60).join("\n"));
    console.error(`${name} at ${atMs} ms, shown again by ${command}: ${detail}`);
  }
  console.log(JSON.stringify(merged(seed, results, violations)));
  return violations.length > 0 ? 1 : 0;
}

process.exitCode = await main();
