/**
 * Runs dependency-cruiser over one tree with the rules of .dependency-cruiser.cjs and says what it found.
 *
 * Owns the proof that it looked: with a TypeScript version that it does not know, dependency-cruiser cruises no .ts file and
 * reports success. So every source file on disk must be among the modules that it visited.
 */
import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { cruise } from "dependency-cruiser";
import extractDepcruiseConfig from "dependency-cruiser/config-utl/extract-depcruise-config";
import { projectRoot } from "./project.mjs";

/** @typedef {{ rule: string, from: string, to: string }} Violation */
/** @typedef {{ violations: Violation[], cruised: string[], unseen: string[], dependencies: number }} Verdict */

const configFile = path.join(projectRoot, ".dependency-cruiser.cjs");
const topLevel = ["index.ts", "cli.ts", "machines", "services", "adapters", "inspector", "testing", "examples", "test"];
const ignored = /(^|\/)(node_modules|page)\/|^test\/interop\/v4\/|\.d\.ts$/;

/** @returns {string[]} the names of all rules */
export function ruleNames() {
  /** @type {import("dependency-cruiser").IConfiguration} */
  const config = createRequire(import.meta.url)(configFile);
  return (config.forbidden ?? []).map((rule) => rule.name ?? "unnamed");
}

/**
 * @param {string} root
 * @returns {Promise<Verdict>}
 */
export async function cruiseTree(root) {
  const sources = await listSources(root);
  const { forbidden = [], options = {} } = await extractDepcruiseConfig(configFile);
  const { output } = await cruise(sources, {
    ...options,
    baseDir: root,
    ruleSet: { forbidden },
    validate: true,
  });
  if (typeof output === "string") throw new Error("dependency-cruiser answered with text instead of a result.");
  const cruised = output.modules.map((module) => module.source);
  const seen = new Set(cruised);
  return {
    violations: output.summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })),
    cruised,
    unseen: sources.filter((source) => !seen.has(source)),
    dependencies: output.summary.totalDependenciesCruised ?? 0,
  };
}

/** @param {string} root @returns {Promise<string[]>} paths from the root, with forward slashes */
async function listSources(root) {
  const all = await readdir(root, { withFileTypes: true });
  const sources = [];
  for (const entry of all.filter(({ name }) => topLevel.includes(name))) {
    if (!entry.isDirectory()) sources.push(entry.name);
    else
      for (const file of await readdir(path.join(root, entry.name), { recursive: true }))
        sources.push(path.posix.join(entry.name, file.replaceAll("\\", "/")));
  }
  return sources.filter((file) => file.endsWith(".ts") && !ignored.test(file)).sort();
}
