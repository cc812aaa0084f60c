import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import ClosingLineReporter from "./test/support/vitest/closing-line-reporter.ts";

/** Set by scripts/verify.mjs, which adds up the suites and prints the closing line itself. */
const jsonFile = process.env["PARTYLINE_VITEST_JSON"];

/** Tests with real sockets, files and clocks; one that needed its second chance is named at the end of `npm run verify`. */
const secondChance = { retry: 1 };

const inProcess = (name: string, options = {}): TestProjectConfiguration => ({
  extends: true,
  test: { ...options, name, include: [`test/${name}/**/*.test.ts`], sequence: { groupOrder: 0 } },
});

/**
 * Suites that start processes or a browser: after the others, with generous ceilings. `files` of them run at a time: most of
 * the time of real processes is spent waiting for leases and back-offs.
 */
const realProcesses = (
  name: string,
  groupOrder: number,
  files: number,
  folders = [name],
): TestProjectConfiguration => ({
  extends: true,
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    globalSetup: [`test/support/vitest/require-${name}-tools.ts`],
    // Waits inside have ceilings of their own, with better words; this one is for busy machines.
    testTimeout: 240_000,
    hookTimeout: 60_000,
    maxWorkers: files,
    ...secondChance,
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
      inProcess("unit", secondChance),
      // What a walk from a fresh seed found once, it found: no second chance for these.
      inProcess("property"),
      inProcess("model"),
      inProcess("interop", secondChance),
      realProcesses("e2e", 1, 3, ["e2e", "cases"]),
      realProcesses("browser", 2, 1),
    ],
  },
});
