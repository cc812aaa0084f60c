/**
 * The command lines of the programs behind `npm run …`.
 *
 * Owns: `--help`, and one line about what cannot be read, or is no fitting number. Does not own: what the values mean.
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

export const numbers = {
  fromOne: { fits: (value: number) => Number.isSafeInteger(value) && value >= 1, words: "a whole number from 1" },
  aboveZero: { fits: (value: number) => Number.isFinite(value) && value > 0, words: "a number above 0" },
} as const;

/** The number that `option` was given; ends the process with 2 when it is not of the kind. */
export function numberOf(
  option: string,
  text: string,
  { fits, words }: (typeof numbers)[keyof typeof numbers],
): number {
  const value = Number(text);
  if (fits(value)) return value;
  console.error(`${option} must be ${words}`);
  process.exit(2);
}
