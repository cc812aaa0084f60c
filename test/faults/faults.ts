/**
 * `npm run faults -- [--json] [--only TEXT] [--jobs N] [--clean]`: applies each seeded fault to a copy of the sources and
 * demands that a check catches it.
 *
 * Owns: what counts as caught, the order of things, the report. Does not own: the faults (`catalogue.ts`), how one is looked for
 * (`attempts.ts`).
 *
 * Progress goes to stderr; with `--json` the last line of stdout is `{ total, killed, survivors: [], byLayer }`.
 * What a try catches counts only when it finds nothing on faithful sources: that is proven once for each try that catches
 * something, for test files with every pattern that the faults name for it. Exits 1 when a fault survives, when its place in
 * the sources is not found exactly once, and when a try that caught it finds something without it.
 * `--clean` makes every try on faithful sources instead, each as it is, also those that an earlier one makes needless.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { compileAll, Copy } from "./attempts.ts";
import type { Caught } from "./attempts.ts";
import { faults } from "./catalogue.ts";
import type { Fault, Try } from "./fault.ts";
import { numberOf, numbers, optionsOf } from "../support/command-line.ts";

interface Verdict {
  readonly fault: string;
  /** Null: it survived, and the words say how. */
  readonly layer: string | null;
  readonly words: string;
}

const usage = `
npm run faults -- [options]: seeds small faults, one at a time, and demands that a check notices each.

  --only TEXT  faults with this in their name
  --jobs N     so many at once; default 2
  --clean      every try on faithful sources: none may notice anything
  --json       the last line of stdout is the result as one JSON object`;
const values = optionsOf(usage, {
  json: { type: "boolean" },
  only: { type: "string" },
  jobs: { type: "string", default: "2" },
  clean: { type: "boolean" },
});
const chosen = faults.filter(({ name }) => values.only === undefined || name.includes(values.only));
if (chosen.length === 0) {
  console.error(`No fault has "${values.only ?? ""}" in its name.`);
  process.exit(2);
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What tries find where nothing is wrong. Each is made once, whoever asks. */
class Faithful {
  readonly #found = new Map<string, Promise<string | null>>();
  /** Adds up over the jobs. */
  seconds = 0;

  get tries(): number {
    return this.#found.size;
  }

  /** Null: nothing, as it should be. */
  alarmOf(attempt: Try, copy: Copy): Promise<string | null> {
    const name = JSON.stringify(attempt);
    const known = this.#found.get(name) ?? this.#look(attempt, copy);
    this.#found.set(name, known);
    return known;
  }

  async #look(attempt: Try, copy: Copy): Promise<string | null> {
    const startedAt = performance.now();
    const alarm = await copy.look(attempt).then((caught) => caught?.by ?? null, wordsOf);
    this.seconds += (performance.now() - startedAt) / 1000;
    return alarm;
  }
}

/** The try with which its like are proven together: to start a file's tests takes longer than most of them. */
function proofOf(attempt: Try): Try {
  if (attempt.layer !== "unit") return attempt;
  const patterns = new Set<string | null>();
  for (const each of faults.flatMap(({ tries }) => tries))
    if (each.layer === "unit" && each.file === attempt.file) patterns.add(each.tests);
  return { ...attempt, tests: patterns.has(null) ? null : [...patterns].join("|") };
}

async function caughtBy(tries: readonly Try[], copy: Copy): Promise<{ attempt: Try; caught: Caught } | null> {
  for (const attempt of tries) {
    const caught = await copy.look(attempt);
    if (caught !== null) return { attempt, caught };
  }
  return null;
}

async function judged(fault: Fault, copy: Copy, faithful: Faithful): Promise<Verdict> {
  const survived = (words: string): Verdict => ({ fault: fault.name, layer: null, words });
  const parts = (await readFile(fault.file, "utf8")).split(fault.find);
  if (parts.length !== 2) return survived(`stale: found ${parts.length - 1} times in ${fault.file}`);
  try {
    const found = await copy.with(fault.file, parts.join(fault.replace), () => caughtBy(fault.tries, copy));
    if (found === null) return survived("survived every try");
    const alarm = await faithful.alarmOf(proofOf(found.attempt), copy);
    if (alarm === null) return { fault: fault.name, layer: found.caught.layer, words: found.caught.by };
    return survived(`caught, but ${JSON.stringify(found.attempt)} finds something without the fault as well: ${alarm}`);
  } catch (error) {
    return survived(wordsOf(error));
  }
}

/** Every try, each once, where nothing is wrong. */
async function falseAlarms(copies: readonly Copy[], faithful: Faithful): Promise<readonly string[]> {
  const tries = new Map(chosen.flatMap((fault) => fault.tries).map((each) => [JSON.stringify(each), each]));
  const alarms: string[] = [];
  await inParallel([...tries], copies, async ([name, attempt], copy) => {
    const alarm = await faithful.alarmOf(attempt, copy);
    console.error(alarm === null ? `quiet     ${name}` : `ALARM     ${name}: ${alarm}`);
    if (alarm !== null) alarms.push(name);
  });
  return alarms;
}

async function inParallel<Item>(
  items: readonly Item[],
  copies: readonly Copy[],
  work: (item: Item, copy: Copy) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const job = async (copy: Copy): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item, copy);
  };
  await Promise.all(copies.map(job));
}

const jobs = numberOf("--jobs", values.jobs, numbers.fromOne);
const verdicts: Verdict[] = [];
const faithful = new Faithful();
const scratch = await mkdtemp(path.join(os.tmpdir(), "partyline-faults-"));
try {
  const clean = await compileAll(path.join(scratch, "clean"));
  const copies: Copy[] = [];
  for (let job = 0; job < jobs; job += 1) copies.push(await Copy.of(clean, path.join(scratch, `copy-${job}`)));
  if (values.clean === true) {
    const alarms = await falseAlarms(copies, faithful);
    console.log(alarms.length === 0 ? "no try catches anything on faithful sources" : `${alarms.length} false alarms`);
    process.exitCode = alarms.length === 0 ? 0 : 1;
  } else {
    await inParallel(chosen, copies, async (fault, copy) => {
      const startedAt = performance.now();
      const verdict = await judged(fault, copy, faithful);
      verdicts.push(verdict);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const how = verdict.layer === null ? "SURVIVED" : `killed by ${verdict.layer}`;
      console.error(`${verdicts.length}/${chosen.length} ${how} (${seconds} s)  ${verdict.fault}: ${verdict.words}`);
    });
    report();
  }
} finally {
  await rm(scratch, { recursive: true, force: true });
}

function report(): void {
  const survivors = verdicts.filter(({ layer }) => layer === null);
  const byLayer: Record<string, number> = {};
  for (const { layer } of verdicts) if (layer !== null) byLayer[layer] = (byLayer[layer] ?? 0) + 1;
  const killed = verdicts.length - survivors.length;
  const layers = Object.entries(byLayer).map(([layer, count]) => `${layer} ${count}`);
  const took = `${Math.round(faithful.seconds)} s of ${jobs} jobs`;
  console.error(`${faithful.tries} tries were made on faithful sources as well, in ${took}`);
  if (values.json === true)
    console.log(
      JSON.stringify({
        total: verdicts.length,
        killed,
        survivors: survivors.map(({ fault, words }) => ({ fault, words })),
        byLayer,
      }),
    );
  else console.log(`${killed} of ${verdicts.length} seeded faults killed: ${layers.join(", ")}`);
  process.exitCode = survivors.length === 0 ? 0 : 1;
}
