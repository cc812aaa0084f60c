/**
 * Type-checks the main project and each folder with its own tsconfig.json (pages and browser tests, which need the DOM).
 * A folder that holds TypeScript and has no tsconfig.json is an error: it would be checked by nobody.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { pages, projectRoot, run } from "./lib/project.mjs";

const foldersWithDom = [...pages.map((page) => page.from), "test/browser"];
const tsc = path.join(projectRoot, "node_modules/typescript/bin/tsc");
let failed = false;

for (const folder of [".", ...foldersWithDom]) {
  if (folder !== "." && !(await hasTypeScript(folder))) continue;
  if (!existsSync(path.join(projectRoot, folder, "tsconfig.json"))) {
    console.error(`${folder}/ holds TypeScript but no tsconfig.json: add one like test/browser/tsconfig.json.`);
    failed = true;
    continue;
  }
  failed = (await run(process.execPath, [tsc, "--noEmit", "-p", folder])) !== 0 || failed;
}
process.exitCode = failed ? 1 : 0;

async function hasTypeScript(/** @type {string} */ folder) {
  const absolute = path.join(projectRoot, folder);
  if (!existsSync(absolute)) return false;
  return (await readdir(absolute, { recursive: true })).some((file) => file.endsWith(".ts"));
}
