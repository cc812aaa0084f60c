/** Checks the import rules (.dependency-cruiser.cjs) over the checkout. Exits 1 on a violation, or when files went unseen. */
import { cruiseTree } from "./lib/cruise.mjs";
import { projectRoot } from "./lib/project.mjs";

const { violations, cruised, unseen, dependencies } = await cruiseTree(projectRoot);

for (const { rule, from, to } of violations) console.error(`${rule}: ${from} → ${to}`);
if (cruised.length === 0) console.error("No module was cruised.");
if (dependencies === 0) console.error("No import was seen: is this version of TypeScript supported?");
for (const file of unseen) console.error(`Not cruised: ${file}`);

const ok = violations.length === 0 && cruised.length > 0 && dependencies > 0 && unseen.length === 0;
console.log(`${cruised.length} modules, ${dependencies} imports, ${violations.length} violations`);
process.exitCode = ok ? 0 : 1;
