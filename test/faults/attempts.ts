/**
 * How a fault is looked for: copies of the sources in which one file may be another, and the programs that look there.
 *
 * Owns: compiling, the copies, the time box of one try, reading what a try found. Does not own: which faults and tries there
 * are (`catalogue.ts`), what counts (`faults.ts`).
 */
import { spawn } from "node:child_process";
import { link, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import type { Try, UnitTry } from "./fault.ts";

const root = process.cwd();
const timeBoxMs = 120_000;
const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};

/** Everything that a try may import, compiled once. */
export interface Clean {
  readonly folder: string;
  readonly files: readonly string[];
}

export interface Caught {
  readonly layer: Try["layer"];
  /** The property, or the full name of the test. */
  readonly by: string;
}

const compiled = (source: string, fileName: string): string =>
  ts.transpileModule(source, { compilerOptions, fileName }).outputText;
const asJs = (file: string): string => file.replace(/\.ts$/, ".js");

export async function compileAll(into: string): Promise<Clean> {
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
  return { folder: into, files: [...files.map(asJs), "package.json", "vitest.config.js"] };
}

/** The sources, all of links, for one job: faithful, but for the file that is another for a while. */
export class Copy {
  readonly folder: string;
  readonly #clean: Clean;

  private constructor(folder: string, clean: Clean) {
    this.folder = folder;
    this.#clean = clean;
  }

  static async of(clean: Clean, folder: string): Promise<Copy> {
    const folders = new Set(clean.files.map((file) => path.dirname(path.join(folder, file))));
    for (const each of folders) await mkdir(each, { recursive: true });
    await Promise.all(clean.files.map((file) => link(path.join(clean.folder, file), path.join(folder, file))));
    await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
    return new Copy(folder, clean);
  }

  /** `work` runs while the file has this source. */
  async with<Result>(file: string, source: string, work: () => Promise<Result>): Promise<Result> {
    const target = path.join(this.folder, asJs(file));
    // Another file in its place: the link's content is everybody's.
    await rm(target);
    await writeFile(target, compiled(source, file));
    try {
      return await work();
    } finally {
      await rm(target);
      await link(path.join(this.#clean.folder, asJs(file)), target);
    }
  }

  /** What the try finds broken here; null: nothing. Rejects when it did not come to an end. */
  async look(attempt: Try): Promise<Caught | null> {
    return attempt.layer === "unit" ? tested(this.folder, attempt) : probed(this.folder, attempt);
  }
}

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
/** The line of a thrown error in what Node prints of it. */
const errorLine = (output: string): string => /^\w*Error: .*$/m.exec(output)?.[0] ?? lastLine(output);

async function probed(copy: string, attempt: Exclude<Try, UnitTry>): Promise<Caught | null> {
  const { output, ok } = await runNode(copy, [path.join(copy, "test/faults/probe.js"), JSON.stringify(attempt)]);
  if (!ok) throw new Error(`the probe ended badly or ran out of time: ${errorLine(output)}`);
  // Written by the probe.
  return (JSON.parse(lastLine(output)) as { readonly caught: Caught | null }).caught;
}

/** What of vitest's report is read. */
interface TestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** A failed test catches; a file that cannot be loaded, or in which no test ran, does not. */
async function tested(copy: string, { file, tests }: UnitTry): Promise<Caught | null> {
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
