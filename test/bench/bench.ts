/**
 * `npm run bench -- [--json] [--only NAME,…]`: measures on this machine. The last line of stdout with `--json` is
 * `{ machine, results }`. Progress goes to stderr. No figure fails a run; absolute ones drift on shared machines, so each
 * stands beside a baseline of the same run where there is one.
 */
import os from "node:os";
import type { Result } from "./figures.ts";
import { benchForward } from "./forward.ts";
import { benchJournal } from "./journal.ts";
import { benchPlanning } from "./planning.ts";
import { benchInspector } from "./inspector.ts";
import { benchFailover, benchMemory, benchStart } from "./processes.ts";
import { benchWire } from "./wire.ts";
import { optionsOf } from "../support/command-line.ts";

const suites: Readonly<Record<string, () => Promise<Result[]>>> = {
  inspector: benchInspector,
  failover: benchFailover,
  start: benchStart,
  memory: benchMemory,
  planning: benchPlanning,
  wire: benchWire,
  journal: benchJournal,
  forward: benchForward,
};

const usage = `
npm run bench -- [options]: measures on this machine, beside baselines of the same run.

  --only NAMES  such as wire,journal; may be given several times
  --json        the last line of stdout is the result as one JSON object`;
const values = optionsOf(usage, {
  json: { type: "boolean", default: false },
  only: { type: "string", multiple: true },
});
const wanted = values.only?.flatMap((each) => each.split(",")) ?? Object.keys(suites);
const results: Result[] = [];
for (const name of wanted) {
  const suite = suites[name];
  if (suite === undefined) {
    console.error(`bench: no such benchmark: ${name}. Benchmarks: ${Object.keys(suites).join(", ")}`);
    process.exit(2);
  }
  console.error(`${name} …`);
  results.push(...(await suite()));
}

const machine = {
  cpus: os.cpus().length,
  model: os.cpus()[0]?.model ?? "unknown",
  memoryGb: Math.round(os.totalmem() / 2 ** 30),
  node: process.version,
  platform: `${os.platform()} ${os.release()}`,
  load: os.loadavg().map((value) => Math.round(value * 10) / 10),
};
if (values.json) console.log(JSON.stringify({ machine, results }));
else
  for (const { name, unit, ours, baseline, ratio } of results)
    console.log(
      `${name}: p50 ${ours.p50} ${unit}, p99 ${ours.p99} ${unit}` +
        (baseline === undefined ? "" : `; baseline ${baseline.p50} ${unit}, ratio ${ratio ?? "?"}`),
    );
