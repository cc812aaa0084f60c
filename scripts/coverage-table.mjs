/**
 * Draws docs/coverage.md: for each numbered rule the tests and invariants that check it by name.
 *
 *   npm run coverage-table
 *
 * A unit test holds the page to its word: a rule that has a row there must still have its test. New tests need no new page at
 * once; run this when a piece of work is complete. After a merge conflict in the page, run it again.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { claims, drawTable, isListed, listedIds } from "./lib/coverage.mjs";
import { projectRoot, run } from "./lib/project.mjs";

const page = path.join(projectRoot, "docs/coverage.md");
const lists = listedIds(projectRoot);
const found = claims(projectRoot);
const strangers = found.filter(({ id }) => !isListed(lists, id));
for (const { id, where } of strangers) console.error(`${where} names ${id}, which no list in docs/ids has.`);
writeFileSync(page, drawTable(lists, found));
const formatted = await run(process.execPath, [
  path.join(projectRoot, "node_modules/prettier/bin/prettier.cjs"),
  "--write",
  "--log-level",
  "warn",
  page,
]);
console.log(`${new Set(found.map(({ id }) => id)).size} rules are checked by name: docs/coverage.md.`);
process.exitCode = strangers.length === 0 ? formatted : 1;
