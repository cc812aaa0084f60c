/**
 * Finds what some suites need besides Node: the built dist/ and a Chromium.
 *
 * Owns the rule that a missing tool is told, never passed over: in CI it is a failure, elsewhere a skip with its reason.
 */
import { existsSync } from "node:fs";
import path from "node:path";

/** Vitest and scripts/run-ts.mjs both run with the root of the checkout as the working folder. */
const projectRoot = process.cwd();

export const isCi = (): boolean => process.env["CI"] === "true";

export const builtCliPath = (): string => path.join(projectRoot, "dist/cli.js");

export const hasDist = (): boolean => existsSync(builtCliPath());

/** The Chromium to drive: `PARTYLINE_CHROMIUM`, or Debian's; undefined when there is none. */
export function chromiumPath(): string | undefined {
  const candidates = [process.env["PARTYLINE_CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"];
  return candidates.find((candidate) => candidate !== undefined && existsSync(candidate));
}
