/**
 * `npm run cases -- [--json] [--only C16,C18]`: the catalogue of failures met in the field, and what our tests say of each.
 *
 * Owns: the ids, and finding the tests of each: `test/cases/cNN-….test.ts`, one or more files. Does not own: the tests.
 * The last line of stdout with `--json` is `{ cases: [{ id, status, test }] }`, status `passed`, `failed` or `missing` (no
 * test yet; `test` is null). Exits 1 when one failed, 2 when used wrongly; a missing test fails nothing.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { builtCliPath, hasDist } from "../support/tools.ts";
import { optionsOf } from "../support/command-line.ts";

/** C02, C04, … C96. */
const ids = Array.from({ length: 48 }, (_, at) => `C${String(2 * (at + 1)).padStart(2, "0")}`);
const folder = "test/cases";
/** scripts/run-ts.mjs runs us there. */
const projectRoot = process.cwd();

interface Case {
  readonly id: string;
  readonly status: "passed" | "failed" | "missing";
  readonly test: string | null;
}

/** What we read of vitest's JSON report. */
interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

const usage = `
npm run cases -- [options]: the catalogue of failures met in the field, and what the tests say of each.

  --only IDS   such as C16,C18; may be given several times
  --json       the last line of stdout is the result as one JSON object`;
const values = optionsOf(usage, {
  json: { type: "boolean", default: false },
  only: { type: "string", multiple: true },
});

function selected(): readonly string[] {
  if (values.only === undefined) return ids;
  const wanted = values.only.flatMap((each) => each.split(",")).map((each) => each.toUpperCase());
  const unknown = wanted.filter((id) => !ids.includes(id));
  if (unknown.length === 0) return wanted;
  console.error(`cases: no such case: ${unknown.join(", ")}. Cases: ${ids.join(", ")}`);
  process.exit(2);
}

const files = readdirSync(path.join(projectRoot, folder)).filter((name) => name.endsWith(".test.ts"));
const filesOf = (id: string): string[] =>
  files.filter((name) => name.toUpperCase().startsWith(`${id}-`)).map((name) => `${folder}/${name}`);

/** Runs the files and resolves with those in which every test passed. What vitest prints goes to stderr. */
function runFiles(wanted: readonly string[]): ReadonlySet<string> {
  if (wanted.length === 0) return new Set();
  if (!hasDist()) {
    console.error(`cases: ${builtCliPath()} is missing: run \`npm run build\` first.`);
    process.exit(2);
  }
  const scratch = mkdtempSync(path.join(os.tmpdir(), "partyline-cases-"));
  const report = path.join(scratch, "report.json");
  const vitest = path.join(projectRoot, "node_modules/vitest/vitest.mjs");
  const reporters = ["--reporter", "default", "--reporter", "json", "--outputFile.json", report];
  try {
    spawnSync(process.execPath, [vitest, "run", "--project", "e2e", ...reporters, ...wanted], {
      cwd: projectRoot,
      stdio: ["ignore", 2, 2],
    });
    const { testResults } = JSON.parse(readFileSync(report, "utf8")) as VitestReport; // vitest's own format
    const passed = testResults.filter(
      ({ assertionResults }) =>
        assertionResults.length > 0 && assertionResults.every(({ status }) => status === "passed"),
    );
    return new Set(passed.map(({ name }) => path.relative(projectRoot, name)));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const wanted = selected();
const passed = runFiles(wanted.flatMap(filesOf));
const cases = wanted.map((id): Case => {
  const tests = filesOf(id);
  if (tests.length === 0) return { id, status: "missing", test: null };
  return { id, status: tests.every((test) => passed.has(test)) ? "passed" : "failed", test: tests.join(", ") };
});
if (values.json) console.log(JSON.stringify({ cases }));
else {
  for (const { id, status, test } of cases) console.log(`${id}  ${status.padEnd(7)}  ${test ?? ""}`.trimEnd());
  const count = (status: Case["status"]): number => cases.filter((each) => each.status === status).length;
  console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("missing")} without a test`);
}
process.exitCode = cases.some(({ status }) => status === "failed") ? 1 : 0;
