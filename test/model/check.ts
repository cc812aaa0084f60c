/**
 * `npm run check -- [--json] [--only WORLD] [--long]`: explores every world and reports.
 *
 * Progress goes to stderr; with --json the last line on stdout is
 * `{ worlds: [{ name, states, transitions, depth, statesPerSecond, exhaustive, violations }], uncovered: [] }`.
 * and `charts` beside them: of how many states and transitions of each chart so many are reached, and explained.
 * Exits 1 on a violation, on a world that was not exhausted, on a state or transition that is neither reached nor explained in
 * `unreached.ts`, and on a chart that no world runs and nothing there excuses.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { asMermaid, asRecording, asText, reachOf, traceTo } from "../../testing/explorer/index.ts";
import type { ChartReach, Exploration } from "../../testing/explorer/index.ts";
import { charts } from "../support/charts/catalogue.ts";
import { unexplored, unreached } from "./unreached.ts";
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
const reach = values.only === undefined ? reachOf(runs) : [];
const chartRows = reach.map(({ chart, reached, unreached: missing }) => ({
  chart,
  parts: reached.length + missing.length,
  reached: reached.length,
  explained: missing.filter((part) => unreached.has(part)).length,
}));
for (const { chart, parts, reached, explained } of chartRows)
  say(`${chart}: ${reached} of ${parts} states and transitions are reached, ${explained} are explained`);
const uncovered = values.only === undefined ? uncoveredBy(reach) : [];
for (const each of uncovered) say(`uncovered: ${each}`);
if (values.json === true) console.log(JSON.stringify({ worlds: rows, charts: chartRows, uncovered }));
else for (const row of rows) console.log(`${row.name}: ${row.violations.length === 0 ? "holds" : "VIOLATED"}`);
const failed = rows.some((row) => !row.exhaustive || row.violations.length > 0) || uncovered.length > 0;
process.exitCode = failed ? 1 : 0;

function uncoveredBy(all: readonly ChartReach[]): string[] {
  const missing = all.flatMap((each) => each.unreached).filter((part) => !unreached.has(part));
  const parts = new Set(all.flatMap((each) => [...each.reached, ...each.unreached]));
  const reached = new Set(all.flatMap((each) => each.reached));
  const stale = [...unreached.keys()].flatMap((part) => {
    if (reached.has(part)) return [`${part} (reached, but test/model/unreached.ts says it is not)`];
    return parts.has(part) ? [] : [`${part} (in test/model/unreached.ts, but in no chart)`];
  });
  return [...missing, ...stale, ...strangeCharts(new Set(all.map(({ chart }) => chart)))];
}

/** Charts without a world and without a reason, and reasons that are out of date. */
function strangeCharts(explored: ReadonlySet<string>): string[] {
  const all = charts.map(({ machine }) => machine.id);
  return [
    ...all
      .filter((chart) => !explored.has(chart) && !unexplored.has(chart))
      .map((chart) => `${chart} (no world runs it)`),
    ...[...unexplored.keys()]
      .filter((chart) => explored.has(chart) || !all.includes(chart))
      .map((chart) => `${chart} (a world runs it, or there is no such chart)`),
  ];
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
