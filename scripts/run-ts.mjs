/**
 * Runs a TypeScript program: `node scripts/run-ts.mjs FILE.ts [ARG…]`.
 *
 * Node 20 cannot run TypeScript, so the file and all it imports from this repository are bundled into
 * node_modules/.cache/partyline/, with source maps, and run there with the given arguments and our exit code. Packages stay
 * imports. The program therefore must not look for files beside `import.meta.url`: it runs with the root of the checkout as
 * its working folder.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";
import { isExternal, loadRolldown, projectRoot, run } from "./lib/project.mjs";

const cacheFolder = path.join(projectRoot, "node_modules/.cache/partyline");
const [file, ...args] = process.argv.slice(2);
process.exitCode = await main();

async function main() {
  if (file === undefined) return refuse("usage: node scripts/run-ts.mjs FILE.ts [ARG…]");
  const source = path.resolve(projectRoot, file);
  if (!existsSync(source)) return refuse(`${file} does not exist.`);
  await forgetEndedRuns();
  const folder = path.join(cacheFolder, `${path.basename(file, ".ts")}-${process.pid}`);
  try {
    await bundle(source, folder);
    return await run(process.execPath, ["--enable-source-maps", path.join(folder, "main.mjs"), ...args]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function refuse(/** @type {string} */ message) {
  console.error(message);
  return 2;
}

async function bundle(/** @type {string} */ source, /** @type {string} */ folder) {
  const { rolldown } = await loadRolldown();
  const built = await rolldown({
    cwd: projectRoot,
    input: { main: source },
    platform: "node",
    external: isExternal,
    tsconfig: false,
  });
  await built.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  });
  await built.close();
}

/** A run that was killed leaves its folder; its process id says that nobody needs it any more. */
async function forgetEndedRuns() {
  await mkdir(cacheFolder, { recursive: true });
  for (const name of await readdir(cacheFolder)) {
    const pid = Number(/-(\d+)$/.exec(name)?.[1]);
    if (!isAlive(pid)) await rm(path.join(cacheFolder, name), { recursive: true, force: true });
  }
}

function isAlive(/** @type {number} */ pid) {
  if (!Number.isInteger(pid)) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH";
  }
}
