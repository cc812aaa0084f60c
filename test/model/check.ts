/**
 * `npm run check -- [--json] [--only WORLD] [--long]`: explores every world and reports.
 *
 * Progress goes to stderr; with --json the last line on stdout is
 * `{ worlds: [{ name, states, transitions, depth, statesPerSecond, exhaustive, violations }], uncovered: [] }`.
 * Exits 1 on a violation, on a world that was not exhausted, and on a state or transition that is neither reached nor
 * explained in `unreached.ts`.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { asMermaid, asRecording, asText, reachOf, traceTo } from "../../testing/explorer/index.ts";
import type { Exploration } from "../../testing/explorer/index.ts";
import { unreached } from "./unreached.ts";
import { worlds } from "./worlds/index.ts";
import { optionsOf } from "../support/command-line.ts";

interface Row {
  readonly name: string;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly statesPerSecond: number;
  /** By processor time: what the other figure would be on a machine that does nothing else. */
  readonly statesPerCpuSecond: number;
  readonly exhaustive: boolean;
  readonly violations: readonly { readonly property: string; readonly steps: number; readonly recording: string }[];
}

type Explored = Exploration<never, never, never>;

const usage = `
npm run check -- [options]: explores every world of real charts to its bounds, and evaluates every property in each state.

  --only NAME   worlds whose name begins so; may be given several times
  --long        wider bounds: a quarter of an hour, and NODE_OPTIONS=--max-old-space-size=16000
  --json        the last line of stdout is the result as one JSON object`;
const values = optionsOf(usage, {
  json: { type: "boolean" },
  only: { type: "string", multiple: true },
  long: { type: "boolean" },
});
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const chosen = worlds.filter(
  ({ name }) => values.only === undefined || values.only.some((each) => name.startsWith(each)),
);
if (chosen.length === 0) {
  say(`No such world. Worlds: ${worlds.map((each) => each.name).join(", ")}`);
  process.exit(2);
}

const rows: Row[] = [];
/** What of each exploration tells which parts of the charts were reached: all else is let go, wide worlds fill the memory. */
const runs: Parameters<typeof reachOf>[0][number][] = [];
for (const world of chosen) {
  const startedAt = performance.now();
  const cpuAt = process.cpuUsage();
  const { exploration, liveness } = world.run({
    long: values.long === true,
    onProgress: (states, depth) => {
      if (depth % 10 === 0) say(`${world.name}: depth ${depth}, ${states} states`);
    },
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = process.cpuUsage(cpuAt);
  const starved = liveness?.starved ?? null;
  const violations = [
    ...exploration.violations,
    ...(starved === null ? [] : [{ property: `liveness/${starved.kind}`, state: starved.state }]),
  ];
  rows.push({
    name: world.name,
    states: exploration.states,
    transitions: exploration.transitions,
    depth: exploration.depth,
    statesPerSecond: Math.round(exploration.states / seconds),
    statesPerCpuSecond: Math.round(exploration.states / ((cpu.user + cpu.system) / 1e6)),
    exhaustive: exploration.exhaustive,
    violations: violations.map((each) => report(world.name, exploration, each)),
  });
  const { chartRunners } = exploration.space.composition;
  runs.push({ space: { composition: { chartRunners } } });
  const { localStates, chartCalls, audited, cut } = exploration;
  say(
    `${world.name}: ${exploration.states} states, ${exploration.transitions} transitions, depth ${exploration.depth}, ` +
      `${seconds.toFixed(1)} s; ${localStates} local states, ${chartCalls} chart calls, ${audited} repeated as audit, ` +
      `${cut} moves cut${liveness === null ? "" : `; ${liveness.pending} states without the goal, all lead to it: ${starved === null}`}`,
  );
}

// A part of the worlds cannot say what the charts never do.
const uncovered = values.only === undefined ? uncoveredBy() : [];
for (const each of uncovered) say(`uncovered: ${each}`);
if (values.json === true) console.log(JSON.stringify({ worlds: rows, uncovered }));
else for (const row of rows) console.log(`${row.name}: ${row.violations.length === 0 ? "holds" : "VIOLATED"}`);
const failed = rows.some((row) => !row.exhaustive || row.violations.length > 0) || uncovered.length > 0;
process.exitCode = failed ? 1 : 0;

function uncoveredBy(): string[] {
  const reach = reachOf(runs);
  const missing = reach.flatMap((each) => each.unreached).filter((part) => !unreached.has(part));
  const reached = new Set(reach.flatMap((each) => each.reached));
  const stale = [...unreached.keys()].filter((part) => reached.has(part));
  return [...missing, ...stale.map((part) => `${part} (reached, but test/model/unreached.ts says it is not)`)];
}

function report(
  world: string,
  exploration: Explored,
  violation: { readonly property: string; readonly state: number },
) {
  const { property } = violation;
  const steps = traceTo(exploration, violation.state);
  const title = `${world}: ${property} is broken after ${steps.length} steps`;
  const folder = mkdtempSync(path.join(os.tmpdir(), "partyline-check-"));
  const recording = path.join(folder, "trace.ndjson");
  writeFileSync(recording, asRecording({ world, property, places: exploration.space.composition.world.places }, steps));
  writeFileSync(path.join(folder, "trace.mmd"), `${asMermaid(title, steps)}\n`);
  say(asText(title, steps));
  say(`recording: ${recording}\ndiagram:   ${path.join(folder, "trace.mmd")}`);
  return { property, steps: steps.length, recording };
}
