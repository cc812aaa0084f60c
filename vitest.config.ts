import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import ClosingLineReporter from "./test/support/vitest/closing-line-reporter.ts";

/** Set by scripts/verify.mjs, which adds up the suites and prints the closing line itself. */
const jsonFile = process.env["PARTYLINE_VITEST_JSON"];

const inProcess = (name: string): TestProjectConfiguration => ({
  extends: true,
  test: { name, include: [`test/${name}/**/*.test.ts`], sequence: { groupOrder: 0 } },
});

/** Suites that start processes or a browser: one file at a time, after the others, with generous ceilings. */
const realProcesses = (name: string, groupOrder: number, folders = [name]): TestProjectConfiguration => ({
  extends: true,
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    globalSetup: [`test/support/vitest/require-${name}-tools.ts`],
    // Waits inside have ceilings of their own, with better words; this one is for busy machines.
    testTimeout: 240_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    sequence: { groupOrder },
  },
});

export default defineConfig({
  test: {
    reporters: jsonFile === undefined ? ["default", new ClosingLineReporter()] : ["default", "json"],
    ...(jsonFile === undefined ? {} : { outputFile: { json: jsonFile } }),
    coverage: {
      provider: "v8",
      include: ["machines/**", "services/**", "adapters/**", "inspector/**", "index.ts", "cli.ts"],
      exclude: ["**/page/**"],
    },
    projects: [
      inProcess("unit"),
      inProcess("property"),
      inProcess("model"),
      inProcess("interop"),
      realProcesses("e2e", 1, ["e2e", "cases"]),
      realProcesses("browser", 2),
    ],
  },
});
