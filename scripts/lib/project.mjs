/**
 * What the scripts know about this checkout: where it is, what is built from what, and how to run a child process.
 *
 * Owns the table of entries. `package.json` "exports" and "bin" name the same files: change both together.
 */
import { spawn } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

export const projectRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** Output name (without extension) → source. @type {Readonly<Record<string, string>>} */
export const entries = {
  index: "index.ts",
  cli: "cli.ts",
  grammy: "adapters/grammy/index.ts",
  emulator: "adapters/telegram/emulator/index.ts",
  inspector: "inspector/index.ts",
  testing: "testing/index.ts",
};

/** Folders with a web page: copied as they are, and a `main.ts` in them is bundled to `main.js`. */
/** `firstLoadBytesMax`: the build fails when all files together, compressed, are more. */
/** @type {readonly { from: string, to: string, also?: readonly string[], firstLoadBytesMax?: number }[]} */
export const pages = [
  { from: "adapters/telegram/emulator/page", to: "emulator-page" },
  // The layout engine runs in a Worker of its own file, and ships with its licence.
  {
    from: "inspector/page",
    to: "inspector-page",
    also: ["node_modules/elkjs/lib/elk-worker.min.js", "node_modules/elkjs/LICENSE.md"],
    firstLoadBytesMax: 1_000_000,
  },
];

/** Imports that stay imports: every package and every Node module. Our own files are always relative. */
export const isExternal = (/** @type {string} */ id) => !id.startsWith(".") && !path.isAbsolute(id);

/** Bytes of a built page's files, compressed; source maps and licences are not loaded with it. */
export async function firstLoadBytes(/** @type {string} */ folder) {
  let bytes = 0;
  for (const name of await readdir(folder))
    if (!/\.(map|md|txt)$/.test(name)) bytes += gzipSync(await readFile(path.join(folder, name))).length;
  return bytes;
}

/**
 * Runs a program with our stdout and stderr and resolves with its exit code (128 when a signal ended it). SIGINT and
 * SIGTERM are passed on, so that the child, not we, decides how to end. `held` collects what it prints instead, in order.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, held?: Buffer[] | undefined }} [options]
 * @returns {Promise<number>}
 */
export function run(command, args, { held, ...options } = {}) {
  return new Promise((resolve, reject) => {
    /** @type {"inherit" | "pipe"} */
    const stdio = held === undefined ? "inherit" : "pipe";
    const child = spawn(command, args, { stdio, cwd: projectRoot, ...options });
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => held?.push(chunk));
    const signals = /** @type {const} */ (["SIGINT", "SIGTERM"]);
    const passOn = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
    for (const signal of signals) process.on(signal, passOn);
    const forget = () => signals.forEach((signal) => process.off(signal, passOn));
    child.once("error", (error) => {
      forget();
      reject(error);
    });
    child.once("close", (code) => {
      forget();
      resolve(code ?? 128);
    });
  });
}

/** Loads rolldown, a development dependency, with one sentence when it is not there. */
export async function loadRolldown() {
  try {
    return await import("rolldown");
  } catch (error) {
    throw new Error("rolldown is not installed: run `npm ci` (without --omit=dev), which also builds dist/.", {
      cause: error,
    });
  }
}
