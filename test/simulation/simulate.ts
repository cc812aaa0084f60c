/**
 * `npm run simulate -- [--seed N] [--hours H] [--world lease|bus] [--bus-share S] [--instances N] [--jobs N] [--trace FILE] [--force SWARM] [--ignore NAME] [--json]`
 *
 * Owns: the command line of the simulator, sharing the hours among worlds and jobs. Progress goes to stderr; the last line of
 * stdout is the result as JSON.
 * Without `--world` both worlds run within the asked hours, the lease world for most of them. They run in pieces, of at most 25
 * hours of leases and one of whole instances, each with a seed of its own, and 3 or 4 instances: a violation names the command
 * that shows it again. What comes out does not depend on the number of jobs.
 * `--force '{"storeBusy":0}'` fixes swarm options of every round (`testing/simulator/faults.ts`).
 * `--ignore delivery/threadOrder` only counts violations of that name, to hunt behind a fault that is known.
 * Exits 1 on a violation, and then prints the end of the trace before it.
 */
import { createHash, randomInt } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { simulateBus } from "../../testing/simulator/bus-world.ts";
import { calm, type Swarm } from "../../testing/simulator/faults.ts";
import { simulateLease, type SimulationResult } from "../../testing/simulator/lease-world.ts";
import type { StagehandOptions, Violation } from "../../testing/simulator/stagehand.ts";
import { numberOf, numbers, optionsOf, refuse } from "../support/command-line.ts";

const usage = `
npm run simulate -- [options]: whole instances in virtual time, with faults in everything around them.

  --seed N            the same seed gives the same trace; default: a fresh one, which is printed
  --hours H           simulated hours; default 1
  --world lease|bus   one world only: leases alone, or whole instances; default: both
  --bus-share S       of both worlds' hours so many go to whole instances, 0 to 1; default 0.15
  --instances N       so many instances
  --jobs N            pieces at once; default 1
  --trace FILE        writes every event there; one job
  --force JSON        fixes options of every round, such as '{"storeBusy":0}'
  --ignore NAME       only counts violations of this property; may be given several times
  --json              the last line of stdout is the result as one JSON object`;
const values = optionsOf(usage, {
  seed: { type: "string" },
  hours: { type: "string", default: "1" },
  instances: { type: "string" },
  jobs: { type: "string", default: "1" },
  "bus-share": { type: "string", default: "0.15" },
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
const busPieceMaxHours = 1;
const leasePieceMaxHours = 25;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return refuse(`--force must be JSON: ${String(error)}`);
  }
}

function forced(text: string): Partial<Swarm> {
  const options = parsed(text);
  if (typeof options !== "object" || options === null) refuse("--force must be a JSON object.");
  const unknownName = Object.keys(options).find((name) => !(name in calm));
  if (unknownName !== undefined) refuse(`--force knows no option "${unknownName}".`);
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
  const instances = values.instances === undefined ? null : numberOf("--instances", values.instances, numbers.fromOne);
  if (world !== undefined) {
    if (!(world in worlds)) refuse(`--world is one of ${Object.keys(worlds).join(", ")}, not "${world}".`);
    return [{ world, seed, hours, instances: instances ?? 3 }];
  }
  const busHours = hours * Math.min(1, numberOf("--bus-share", values["bus-share"], numbers.fromZero));
  const cut = (of: string, total: number, mostHours: number, instancesOf: (index: number) => number) => {
    const count = Math.ceil(total / mostHours);
    return Array.from({ length: count }, (_, index) => ({
      world: of,
      seed: seed + index,
      hours: total / count,
      instances: instances ?? instancesOf(index),
    }));
  };
  return [
    ...cut("lease", hours - busHours, leasePieceMaxHours, () => 3),
    ...cut("bus", busHours, busPieceMaxHours, (index) => 3 + (index % 2)),
  ];
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
  // The command line knows no other.
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

/** The command that shows it again; a `'` cannot stand in what was forced. */
function commandFor({ world, seed, hours, instances }: Piece): string {
  const force = values.force === "{}" ? "" : ` --force '${values.force}'`;
  return `npm run simulate -- --world ${world} --seed ${seed} --hours ${hours} --instances ${instances}${force}`;
}

/** The same in a thread of its own. */
function runInThread(piece: Piece): Promise<SimulationResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: piece,
      argv: process.argv.slice(2),
      // Almost everything is forgotten at once: a tenth faster.
      resourceLimits: { maxYoungGenerationSizeMb: 192 },
    });
    // Sent below, as the only message.
    worker.once("message", (result: SimulationResult) => resolve(result));
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`a job ended with ${code} and no result`)));
  });
}

async function runAll(pieces: readonly Piece[]): Promise<readonly SimulationResult[]> {
  const { sink, close } = openTrace(values.trace);
  const jobs = sink === undefined ? Math.min(pieces.length, numberOf("--jobs", values.jobs, numbers.fromOne)) : 1;
  const results = new Map<Piece, SimulationResult>();
  const left = [...pieces];
  const job = async (): Promise<void> => {
    for (let piece = left.shift(); piece !== undefined; piece = left.shift())
      results.set(piece, await (jobs === 1 ? runPiece(piece, sink) : runInThread(piece)));
  };
  await Promise.all(Array.from({ length: jobs }, job));
  close();
  return pieces.flatMap((piece) => results.get(piece) ?? []);
}

async function main(): Promise<number> {
  const seed = values.seed === undefined ? randomInt(0, 2 ** 32) : numberOf("--seed", values.seed, numbers.fromZero);
  forced(values.force);
  const pieces = piecesOf(seed, numberOf("--hours", values.hours, numbers.fromZero));
  const results = await runAll(pieces);
  const violations = results.flatMap((result, index) => {
    const piece = pieces[index];
    return piece === undefined ? [] : result.violations.map((each) => ({ ...each, command: commandFor(piece) }));
  });
  if (!values.json)
    for (const [index, { figures }] of results.entries())
      console.log(JSON.stringify({ world: pieces[index]?.world, seed: pieces[index]?.seed, ...figures }));
  for (const { name, detail, tail, atMs, command } of violations) {
    console.error(tail.slice(-60).join("\n"));
    console.error(`${name} at ${atMs} ms, shown again by ${command}: ${detail}`);
  }
  console.log(JSON.stringify(merged(seed, results, violations)));
  return violations.length > 0 ? 1 : 0;
}

if (isMainThread) process.exitCode = await main();
// The piece that the main thread has given to this one.
else parentPort?.postMessage(await runPiece(workerData as Piece, undefined));
