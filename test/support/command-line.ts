/**
 * The command lines of the programs behind `npm run …`.
 *
 * Owns: `--help`, and one line about what cannot be read. Does not own: what the values mean.
 */
import { parseArgs } from "node:util";
import type { ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

/**
 * The values of `options`. `--help` prints `usage` and ends the process with 0; an option that is not known, or lacks its
 * value, ends it with 2.
 */
export function optionsOf<Asked extends Options>(usage: string, options: Asked) {
  if (process.argv.slice(2).some((arg) => arg === "--help" || arg === "-h")) {
    console.log(usage.trim());
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error);
    console.error(`${reason}. --help shows what there is.`);
    process.exit(2);
  }
}
