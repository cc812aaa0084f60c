/**
 * `npm run faults -- [--json] [--only TEXT] [--jobs N]`: applies each seeded fault to a copy of the sources and demands
 * that a check catches it.
 *
 * Owns: the copy, the edit, the time box, the report. Does not own: the faults (`catalogue.ts`), how they are looked for
 * (`probe.ts`).
 *
 * Progress goes to stderr; with `--json` the last line of stdout is `{ total, killed, survivors: [], byLayer }`.
 * Exits 1 when a fault survives, when its place in the sources is not found exactly once, and when the copy without any
 * fault is caught as well: then a check fails on faithful sources, and catching means nothing.
 */
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import ts from "typescript";
import { faults } from "./catalogue.ts";
import type { Fault, Try } from "./catalogue.ts";

interface Verdict {
  readonly fault: string;
  readonly layer: string | null;
  readonly words: string;
}

const root = process.cwd();
const folders = [
  "machines",
  "services",
  "adapters",
  "testing",
  "test/model",
  "test/property",
  "test/support",
  "test/faults",
  "inspector",
];
const timeBoxMs = 120_000;
const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};

const { values } = parseArgs({
  options: { json: { type: "boolean" }, only: { type: "string" }, jobs: { type: "string", default: "2" } },
});
const chosen = faults.filter(({ name }) => values.only === undefined || name.includes(values.only));
if (chosen.length === 0) {
  console.error(`No fault has "${values.only ?? ""}" in its name.`);
  process.exit(2);
}

const compiled = (source: string, fileName: string): string =>
  ts.transpileModule(source, { compilerOptions, fileName }).outputText;
const asJs = (file: string): string => file.replace(/\.ts$/, ".js");

async function compileAll(into: string): Promise<void> {
  const files = ["version.ts"];
  for (const folder of folders)
    for (const file of await readdir(path.join(root, folder), { recursive: true }))
      if (file.endsWith(".ts") && !file.endsWith(".test.ts")) files.push(path.join(folder, file));
  for (const file of files) {
    const target = path.join(into, asJs(file));
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, compiled(await readFile(path.join(root, file), "utf8"), file));
  }
  await writeFile(path.join(into, "package.json"), '{"type":"module"}');
  await symlink(path.join(root, "node_modules"), path.join(into, "node_modules"));
}

function runProbe(copy: string, tries: readonly Try[]): Promise<{ readonly output: string; readonly ok: boolean }> {
  return new Promise((resolve) => {
    const probe = path.join(copy, "test/faults/probe.js");
    const child = spawn(process.execPath, [probe, JSON.stringify(tries)], { cwd: copy, timeout: timeBoxMs });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(-4_000)));
    child.on("close", (code) => resolve({ output, ok: code === 0 }));
  });
}

async function judged(fault: string, copy: string, tries: readonly Try[]): Promise<Verdict> {
  const { output, ok } = await runProbe(copy, tries);
  const line = output.trim().split("\n").at(-1) ?? "";
  if (!ok) return { fault, layer: null, words: `the probe ended badly or ran out of time: ${line}` };
  // Written by the probe.
  const { caught } = JSON.parse(line) as { readonly caught: { readonly layer: string; readonly by: string } | null };
  return { fault, layer: caught?.layer ?? null, words: caught?.by ?? "survived every try" };
}

async function tried(fault: Fault, clean: string, copy: string): Promise<Verdict> {
  const source = await readFile(path.join(root, fault.file), "utf8");
  const parts = source.split(fault.find);
  if (parts.length !== 2)
    return { fault: fault.name, layer: null, words: `stale: found ${parts.length - 1} times in ${fault.file}` };
  await cp(clean, copy, { recursive: true, verbatimSymlinks: true });
  await writeFile(path.join(copy, asJs(fault.file)), compiled(parts.join(fault.replace), fault.file));
  const verdict = await judged(fault.name, copy, fault.tries);
  await rm(copy, { recursive: true, force: true });
  return verdict;
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
const verdicts: Verdict[] = [];
try {
  const clean = path.join(scratch, "clean");
  await compileAll(clean);
  await inParallel(chosen, Number(values.jobs), async (fault, index) => {
    const verdict = await tried(fault, clean, path.join(scratch, `copy-${index}`));
    verdicts.push(verdict);
    console.error(`${verdict.layer === null ? "SURVIVED" : "killed  "}  ${fault.name}: ${verdict.words}`);
  });
} finally {
  await rm(scratch, { recursive: true, force: true });
}

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
