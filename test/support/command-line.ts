/**
 * The command lines of the programs behind `npm run …`.
 *
 * Owns: `--help`, and one line about what cannot be read or done, or is no fitting number. Does not own: what the values mean.
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
    return refuse(`${reason}. --help shows what there is.`);
  }
}

export const numbers = {
  fromOne: { fits: (value: number) => Number.isSafeInteger(value) && value >= 1, words: "a whole number from 1" },
  aboveZero: { fits: (value: number) => Number.isFinite(value) && value > 0, words: "a number above 0" },
  fromZero: { fits: (value: number) => Number.isFinite(value) && value >= 0, words: "a number from 0" },
} as const;

/** The number that `option` was given; ends the process with 2 when it is not of the kind. */
export function numberOf(
  option: string,
  text: string,
  { fits, words }: (typeof numbers)[keyof typeof numbers],
): number {
  const value = Number(text);
  return text !== "" && fits(value) ? value : refuse(`${option} must be ${words}, not "${text}".`);
}

/** Ends the process with 2: what was asked for cannot be done, in one line. */
export function refuse(reason: string): never {
  console.error(reason);
  process.exit(2);
}
