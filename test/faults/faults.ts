/**
 * `npm run faults -- [--json] [--only TEXT] [--jobs N] [--clean]`: applies each seeded fault to a copy of the sources and
 * demands that a check catches it.
 *
 * Owns: the copy, the edit, the time box, the report. Does not own: the faults (`catalogue.ts`), how they are looked for
 * (`probe.ts`, or a test file in the copy).
 *
 * Progress goes to stderr; with `--json` the last line of stdout is `{ total, killed, survivors: [], byLayer }`.
 * Exits 1 when a fault survives, and when its place in the sources is not found exactly once. `--clean` makes every try on
 * sources without a fault instead, and exits 1 when one of them catches something: then catching means nothing. In CI the
 * worlds, tests and simulations that the tries are made of run on faithful sources in steps of their own.
 */
import { spawn } from "node:child_process";
import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import ts from "typescript";
import { faults } from "./catalogue.ts";
import type { Fault, Try, UnitTry } from "./fault.ts";
import { optionsOf } from "../support/command-line.ts";

interface Verdict {
  readonly fault: string;
  readonly layer: string | null;
  readonly words: string;
}

const root = process.cwd();
const timeBoxMs = 120_000;
const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};

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

const compiled = (source: string, fileName: string): string =>
  ts.transpileModule(source, { compilerOptions, fileName }).outputText;
const asJs = (file: string): string => file.replace(/\.ts$/, ".js");

/** Everything that a try may import, compiled; returns the files. */
async function compileAll(into: string): Promise<readonly string[]> {
  const listed = await readdir(root);
  const files = listed.filter((file) => file.endsWith(".ts") && file !== "vitest.config.ts");
  for (const folder of ["machines", "services", "adapters", "inspector", "testing", "test"])
    for (const file of await readdir(path.join(root, folder), { recursive: true }))
      if (file.endsWith(".ts") && !file.includes("node_modules")) files.push(path.join(folder, file));
  for (const file of files) {
    const target = path.join(into, asJs(file));
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, compiled(await readFile(path.join(root, file), "utf8"), file));
  }
  await writeFile(path.join(into, "package.json"), '{"type":"module"}');
  const config = { test: { include: ["test/**/*.test.js"], pool: "threads", bail: 1, testTimeout: 30_000 } };
  await writeFile(path.join(into, "vitest.config.js"), `export default ${JSON.stringify(config)};`);
  return [...files.map(asJs), "package.json", "vitest.config.js"];
}

/** A copy of its own for each fault, of links, so that only the changed file is written. */
async function copyTo(copy: string, { folder, files }: Clean): Promise<void> {
  const folders = new Set(files.map((file) => path.dirname(path.join(copy, file))));
  for (const each of folders) await mkdir(each, { recursive: true });
  await Promise.all(files.map((file) => link(path.join(folder, file), path.join(copy, file))));
  await symlink(path.join(root, "node_modules"), path.join(copy, "node_modules"));
}

interface Clean {
  readonly folder: string;
  readonly files: readonly string[];
}

type Caught = { readonly layer: string; readonly by: string } | null;

function runNode(copy: string, args: readonly string[]): Promise<{ readonly output: string; readonly ok: boolean }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: copy, timeout: timeBoxMs });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(-4_000)));
    child.on("close", (code) => resolve({ output, ok: code === 0 }));
  });
}

const lastLine = (output: string): string => output.trim().split("\n").at(-1) ?? "";

async function probed(copy: string, attempt: Exclude<Try, UnitTry>): Promise<Caught> {
  const { output, ok } = await runNode(copy, [path.join(copy, "test/faults/probe.js"), JSON.stringify(attempt)]);
  if (!ok) throw new Error(`the probe ended badly or ran out of time: ${lastLine(output)}`);
  // Written by the probe.
  return (JSON.parse(lastLine(output)) as { readonly caught: Caught }).caught;
}

/** What of vitest's report is read. */
interface TestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** A failed test catches; a file that cannot be loaded, or in which no test ran, does not. */
async function tested(copy: string, { file, tests }: UnitTry): Promise<Caught> {
  const report = path.join(copy, "report.json");
  const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
  const picked = tests === null ? [] : ["-t", tests];
  const args = ["run", "--root", copy, "--reporter=json", `--outputFile=${report}`, ...picked, asJs(file)];
  const { output } = await runNode(copy, [vitest, ...args]);
  const text = await readFile(report, "utf8").catch(() => null);
  await rm(report, { force: true });
  if (text === null) throw new Error(`the tests ended badly or ran out of time: ${lastLine(output)}`);
  // Written by vitest.
  const { testResults } = JSON.parse(text) as TestReport;
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  if (!results.some(({ status }) => status === "passed" || status === "failed"))
    throw new Error(`no test of ${file} ran: ${testResults[0]?.message.split("\n")[0] ?? ""}`);
  const failed = results.find(({ status }) => status === "failed");
  return failed === undefined ? null : { layer: "unit", by: failed.fullName };
}

/** The first of the tries that catches something. */
async function judged(fault: string, copy: string, tries: readonly Try[]): Promise<Verdict> {
  try {
    for (const attempt of tries) {
      const caught = await (attempt.layer === "unit" ? tested(copy, attempt) : probed(copy, attempt));
      if (caught !== null) return { fault, layer: caught.layer, words: caught.by };
    }
  } catch (error) {
    return { fault, layer: null, words: error instanceof Error ? error.message : String(error) };
  }
  return { fault, layer: null, words: "survived every try" };
}

async function tried(fault: Fault, clean: Clean, copy: string): Promise<Verdict> {
  const source = await readFile(path.join(root, fault.file), "utf8");
  const parts = source.split(fault.find);
  if (parts.length !== 2)
    return { fault: fault.name, layer: null, words: `stale: found ${parts.length - 1} times in ${fault.file}` };
  await copyTo(copy, clean);
  const target = path.join(copy, asJs(fault.file));
  await rm(target);
  await writeFile(target, compiled(parts.join(fault.replace), fault.file));
  const verdict = await judged(fault.name, copy, fault.tries);
  await rm(copy, { recursive: true, force: true });
  return verdict;
}

/** Every try, each once, where nothing is wrong. */
async function falseAlarms(clean: Clean, jobs: number): Promise<readonly string[]> {
  const tries = new Map(chosen.flatMap((fault) => fault.tries).map((each) => [JSON.stringify(each), each]));
  const alarms: string[] = [];
  await inParallel([...tries], jobs, async ([name, attempt], index) => {
    const copy = path.join(scratch, `clean-${index}`);
    await copyTo(copy, clean);
    const { layer, words } = await judged(name, copy, [attempt]);
    const isQuiet = layer === null && words === "survived every try";
    console.error(`${isQuiet ? "quiet   " : "ALARM   "}  ${name}: ${words}`);
    if (!isQuiet) alarms.push(name);
  });
  return alarms;
}

async function inParallel<Item>(
  items: readonly Item[],
  jobs: number,
  work: (item: Item, index: number) => Promise<void>,
) {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index];
      if (item !== undefined) await work(item, index);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

const scratch = await mkdtemp(path.join(os.tmpdir(), "partyline-faults-"));
const jobs = Number(values.jobs);
const verdicts: Verdict[] = [];
try {
  const folder = path.join(scratch, "clean");
  const clean: Clean = { folder, files: await compileAll(folder) };
  if (values.clean === true) {
    const alarms = await falseAlarms(clean, jobs);
    console.log(alarms.length === 0 ? "no try catches anything on faithful sources" : `${alarms.length} false alarms`);
    process.exitCode = alarms.length === 0 ? 0 : 1;
  } else
    await inParallel(chosen, jobs, async (fault, index) => {
      const startedAt = performance.now();
      const verdict = await tried(fault, clean, path.join(scratch, `copy-${index}`));
      verdicts.push(verdict);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const how = verdict.layer === null ? "SURVIVED" : `killed by ${verdict.layer}`;
      console.error(`${how} (${seconds} s)  ${fault.name}: ${verdict.words}`);
    });
} finally {
  await rm(scratch, { recursive: true, force: true });
}
if (values.clean !== true) report();

function report(): void {
  const survivors = verdicts.filter(({ layer }) => layer === null);
  const byLayer: Record<string, number> = {};
  for (const { layer } of verdicts) if (layer !== null) byLayer[layer] = (byLayer[layer] ?? 0) + 1;
  const killed = verdicts.length - survivors.length;
  if (values.json === true)
    console.log(
      JSON.stringify({
        total: verdicts.length,
        killed,
        survivors: survivors.map(({ fault, words }) => ({ fault, words })),
        byLayer,
      }),
    );
  else console.log(`${killed} of ${verdicts.length} seeded faults killed`);
  process.exitCode = survivors.length === 0 ? 0 : 1;
}
