/**
 * All that CI runs, in order, with a timing table and one closing line at the end. Every step runs even when an earlier one
 * failed, so that one run tells everything. Steps that keep one core busy each run side by side and print when they end.
 *
 *   npm run verify                          every step
 *   npm run verify -- --only lint,test      some of them, in this order of the table
 *   npm run verify -- --long                with the longer bounds
 *
 * Each step counts as one, and each vitest test as one more. Exits 1 when anything failed.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { projectRoot, run } from "./lib/project.mjs";

/** @typedef {{ name: string, commands: string[][], longCommands?: string[][], countsTests?: boolean, isOneThread?: boolean }} Step */
/** @typedef {{ passed: number, failed: number, skipped: number, failures: string[], secondTries: string[] }} Counts */
/** @typedef {{ name: string, ok: boolean, seconds: number, tests: Counts }} Outcome */

const node = process.execPath;
const tool = (/** @type {string} */ file) => path.join(projectRoot, "node_modules", file);
const vitest = (/** @type {string[]} */ ...projects) => [
  node,
  tool("vitest/vitest.mjs"),
  "run",
  ...projects.flatMap((project) => ["--project", project]),
];
const program = (/** @type {string} */ file, /** @type {string[]} */ ...args) => [
  node,
  "scripts/run-ts.mjs",
  file,
  ...args,
];
// The share of whole instances is what fits into the time: an hour of them costs some twenty of the lease alone.
const simulate = (/** @type {string} */ hours, /** @type {string} */ busShare) =>
  program(
    "test/simulation/simulate.ts",
    ...["--seed", "20260101", "--jobs", "2"],
    ...["--hours", hours, "--bus-share", busShare],
  );

/** @type {readonly Step[]} */
const steps = [
  {
    name: "format:check",
    commands: [[node, tool("prettier/bin/prettier.cjs"), "--check", "--log-level", "warn", "."]],
    isOneThread: true,
  },
  { name: "lint", commands: [[node, tool("eslint/bin/eslint.js"), "--max-warnings", "0", "."]], isOneThread: true },
  { name: "typecheck", commands: [[node, "scripts/typecheck.mjs"]], isOneThread: true },
  { name: "depcruise", commands: [[node, "scripts/depcruise.mjs"]], isOneThread: true },
  {
    name: "test",
    commands: [[node, "scripts/build.mjs"], vitest("unit", "property", "model", "interop", "e2e")],
    countsTests: true,
  },
  {
    name: "check",
    commands: [program("test/model/check.ts")],
    longCommands: [program("test/model/check.ts", "--long")],
  },
  { name: "faults", commands: [program("test/faults/faults.ts")] },
  { name: "simulate", commands: [simulate("200", "0.03")], longCommands: [simulate("600", "0.1")] },
  { name: "browser", commands: [vitest("browser")], countsTests: true },
  {
    name: "chaos",
    commands: [program("test/e2e/chaos.ts", "--rounds", "20")],
    longCommands: [program("test/e2e/chaos.ts", "--rounds", "200")],
  },
];

const { values } = parseArgs({ options: { only: { type: "string", multiple: true }, long: { type: "boolean" } } });
const selected = select(values.only);
const scratch = await mkdtemp(path.join(os.tmpdir(), "partyline-verify-"));
/** @type {Outcome[]} */
const outcomes = [];
try {
  outcomes.push(...(await Promise.all(selected.filter((step) => step.isOneThread).map(runStep))));
  for (const step of selected) if (!step.isOneThread) outcomes.push(await runStep(step));
} finally {
  await rm(scratch, { recursive: true, force: true });
}
report();

function select(/** @type {string[] | undefined} */ only) {
  if (only === undefined) return steps;
  const names = only.flatMap((value) => value.split(","));
  const unknown = names.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0) {
    console.error(`No such step: ${unknown.join(", ")}. Steps: ${steps.map((step) => step.name).join(", ")}`);
    process.exit(2);
  }
  return steps.filter((step) => names.includes(step.name));
}

/** @returns {Promise<Outcome>} */
async function runStep(/** @type {Step} */ step) {
  const title = `\n── ${step.name}`;
  const held = step.isOneThread ? /** @type {Buffer[]} */ ([]) : undefined;
  if (held === undefined) console.log(title);
  const startedAt = performance.now();
  const jsonFile = path.join(scratch, `${step.name}.json`);
  const env = step.countsTests ? { ...process.env, PARTYLINE_VITEST_JSON: jsonFile } : process.env;
  let ok = true;
  for (const [command, ...args] of (values.long && step.longCommands) || step.commands) {
    if (ok && command !== undefined) ok = (await run(command, args, { env, held })) === 0;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  if (held !== undefined) process.stdout.write(`${title}\n${Buffer.concat(held).toString()}`);
  const tests = step.countsTests ? await readCounts(jsonFile) : noTests();
  if (tests === undefined) console.error(`${step.name}: vitest wrote no result.`);
  return { name: step.name, ok: ok && tests !== undefined, seconds, tests: tests ?? noTests() };
}

/** @returns {Counts} */
function noTests() {
  return { passed: 0, failed: 0, skipped: 0, failures: [], secondTries: [] };
}

/** @returns {Promise<Counts | undefined>} undefined when vitest ended before it could write its result */
async function readCounts(/** @type {string} */ jsonFile) {
  const text = await readFile(jsonFile, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const result = JSON.parse(text);
  return {
    passed: result.numPassedTests,
    failed: result.numFailedTests,
    skipped: result.numPendingTests + result.numTodoTests,
    failures: result.testResults.flatMap(failuresOf),
    secondTries: result.testResults.flatMap(secondTriesOf),
  };
}

/** @typedef {{ status: string, fullName: string, failureMessages: string[] }} TestResult */
/** @typedef {{ name: string, status: string, message: string, assertionResults: TestResult[] }} FileResult */

/** Each failed test of a file with the beginning of its message; the file itself when it could not be loaded. */
function failuresOf(/** @type {FileResult} */ file) {
  const failed = file.assertionResults.filter(({ status }) => status === "failed");
  const isUnreadable = failed.length === 0 && file.status === "failed";
  return isUnreadable ? [`${fileOf(file)}: ${firstLines(file.message)}`] : failed.map((test) => tell(file, test));
}

/** Tests that passed, and not at the first try. */
function secondTriesOf(/** @type {FileResult} */ file) {
  return file.assertionResults
    .filter(({ status, failureMessages }) => status === "passed" && failureMessages.length > 0)
    .map((test) => tell(file, test));
}

function fileOf(/** @type {FileResult} */ file) {
  return path.relative(projectRoot, file.name);
}

function tell(/** @type {FileResult} */ file, /** @type {TestResult} */ test) {
  return `${fileOf(file)} > ${test.fullName}: ${firstLines(test.failureMessages[0] ?? "")}`;
}

function firstLines(/** @type {string} */ message) {
  return message.split("\n").slice(0, 12).join("\n    ");
}

function report() {
  console.log("\nstep          result    seconds  tests");
  for (const { name, ok, seconds, tests } of outcomes) {
    const total = tests.passed + tests.failed + tests.skipped;
    const cells = [name.padEnd(13), (ok ? "passed" : "FAILED").padEnd(6), seconds.toFixed(1).padStart(10)];
    console.log(`${cells.join(" ")}  ${total > 0 ? String(total).padStart(5) : ""}`.trimEnd());
  }
  // Told again at the end, where whoever reads only the end of a long log looks.
  for (const { name, tests } of outcomes) {
    for (const failure of tests.secondTries) console.log(`\npassed at the second try in ${name}: ${failure}`);
    for (const failure of tests.failures) console.log(`\nfailed in ${name}: ${failure}`);
  }
  const sum = (/** @type {"passed" | "failed" | "skipped"} */ key) =>
    outcomes.reduce((total, { tests }) => total + tests[key], 0);
  const passed = outcomes.filter(({ ok }) => ok).length + sum("passed");
  const failed = outcomes.filter(({ ok }) => !ok).length + sum("failed");
  const skipped = sum("skipped");
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  process.exitCode = failed > 0 ? 1 : 0;
}
