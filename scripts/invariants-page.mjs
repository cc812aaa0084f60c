/**
 * Writes docs/invariants.md. Part of `npm run coverage-table`; runs through scripts/run-ts.mjs, because it reads the real
 * invariants and worlds.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { drawPage, rulesTold } from "./lib/invariants-page.mjs";
import { run } from "./lib/project.mjs";

// Bundled before it runs: only npm knows where the project is.
const projectRoot = process.cwd();
const page = path.join(projectRoot, "docs/invariants.md");
writeFileSync(page, drawPage());
const prettier = path.join(projectRoot, "node_modules/prettier/bin/prettier.cjs");
process.exitCode = await run(process.execPath, [prettier, "--write", "--log-level", "warn", page]);
console.log(`${new Set(rulesTold()).size} rules are told of: docs/invariants.md.`);
