/** A question on the terminal before something that cannot be taken back. */
import { createInterface } from "node:readline/promises";
import { UsageError } from "./options.ts";

/**
 * Whether the user says yes; anything but `y` or `yes` is no. `yes`: the command line said so already. Without a terminal
 * nobody can be asked: a `UsageError` of `why`, with the way out.
 */
export async function isConfirmed(question: string, why: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (!process.stdin.isTTY) throw new UsageError(`${why}: pass --yes where nobody can be asked.`);
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await asking.question(`${question} [y/N] `)).trim());
  } finally {
    asking.close();
  }
}
