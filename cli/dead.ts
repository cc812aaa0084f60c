/**
 * `partyline dead`: the updates that were set aside, and what becomes of them.
 *
 * Owns: the words, the question before something is thrown away. Does not own: carrying it out (`services/dead-letters.ts`).
 */
import { openDeadLetters } from "../index.ts";
import type { DeadLetter, DeadLetterOutcome, DeadLetters } from "../index.ts";
import { isConfirmed } from "./confirm.ts";
import { closing, lineOf } from "./line.ts";
import { UsageError } from "./options.ts";
import type { LineFlags } from "./options.ts";

export type DeadFlags = LineFlags & { readonly json?: boolean; readonly all?: boolean; readonly yes?: boolean };

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** The largest unit of which there are at least two: `26 h`, `90 s`. */
function span(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms >= 2 * each) ?? ["s", 1_000];
  return `${String(Math.floor(ms / unitMs))} ${unit}`;
}

function letterLines(letter: DeadLetter): string[] {
  const where =
    letter.threadId === null
      ? "no thread"
      : `thread ${String(letter.threadId)}${letter.threadName === null ? "" : ` "${letter.threadName}"`}`;
  const tries = letter.tries === 0 ? "never tried" : `tried ${String(letter.tries)} times`;
  const failure = letter.lastFailure === null ? "" : ` (${letter.lastFailure})`;
  return [
    `  ${letter.id.padEnd(8)}${letter.kind}, ${where}, ${span(letter.ageMs)} old: ${letter.reason}; ${tries}${failure}`,
    ...(letter.text === null ? [] : [`          ${JSON.stringify(letter.text)}`]),
  ];
}

export function deadText(letters: readonly DeadLetter[]): string {
  return ["dead letters", ...(letters.length === 0 ? ["  none"] : letters.flatMap(letterLines))].join("\n");
}

const withLetters = (flags: DeadFlags, use: (letters: DeadLetters) => Promise<number>): Promise<number> =>
  closing(openDeadLetters(lineOf(flags)), use);

export const listDead = (flags: DeadFlags): Promise<number> =>
  withLetters(flags, async (letters) => {
    const list = await letters.list();
    console.log(flags.json === true ? JSON.stringify({ deadLetters: list }) : deadText(list));
    return 0;
  });

/** Those that are named, or all that there are. */
async function idsOf(letters: DeadLetters, named: readonly string[], { all }: DeadFlags): Promise<readonly string[]> {
  if (all === true && named.length > 0) throw new UsageError("Name the dead letters, or pass --all: not both.");
  if (all === true) return (await letters.list()).map(({ id }) => id);
  if (named.length === 0) throw new UsageError("Which ones? Name them as partyline dead list does, or pass --all.");
  return [...new Set(named)];
}

const sentences: Readonly<Record<DeadLetterOutcome["kind"], string>> = {
  retried: "is in the journal again",
  discarded: "is discarded",
  missing: "is no dead letter (any more)",
  full: "stays: the journal is full",
};

/** Exit code 1 when one of them could not be acted on. */
function say(outcomes: readonly DeadLetterOutcome[], flags: DeadFlags): number {
  if (flags.json === true) console.log(JSON.stringify({ outcomes }));
  else if (outcomes.length === 0) console.log("There are no dead letters.");
  else for (const { id, kind } of outcomes) console.log(`${id} ${sentences[kind]}.`);
  return outcomes.every(({ kind }) => kind === "retried" || kind === "discarded") ? 0 : 1;
}

export const retryDead = (named: readonly string[], flags: DeadFlags): Promise<number> =>
  withLetters(flags, async (letters) => say(await letters.retry(await idsOf(letters, named, flags)), flags));

export const discardDead = (named: readonly string[], flags: DeadFlags): Promise<number> =>
  withLetters(flags, async (letters) => {
    const ids = await idsOf(letters, named, flags);
    if (
      ids.length > 0 &&
      !(await isConfirmed(
        `Discard ${String(ids.length)} dead letter(s) for good?`,
        "Discarding cannot be undone",
        flags.yes,
      ))
    ) {
      console.error("Nothing was discarded.");
      return 1;
    }
    return say(await letters.discard(ids), flags);
  });
