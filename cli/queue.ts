/**
 * `partyline queue`: the updates that are not settled yet, and moving one to another instance.
 *
 * Owns: finding the seat that is meant, the words. Does not own: giving away what an instance holds; that instance does.
 */
import { systemClock } from "../adapters/host/clock.ts";
import { openLine } from "../index.ts";
import type { LineView, LineWork } from "../index.ts";
import { closing, lineOf, seatOf } from "./line.ts";
import { UsageError } from "./options.ts";
import type { LineFlags } from "./options.ts";

export type QueueFlags = LineFlags & { readonly json?: boolean; readonly wait?: number; readonly limit?: number };

const textMax = 40;

function ageOf({ admittedAtMs }: LineWork, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - admittedAtMs) / 1_000));
  return seconds < 120 ? `${String(seconds)} s` : `${String(Math.round(seconds / 60))} min`;
}

function whereOf({ heldBy, movedTo, isOffered }: LineWork): string {
  if (heldBy === null) return movedTo === null ? "in the journal" : `in the journal, moved to ${movedTo}`;
  return `${isOffered ? "offered by" : "in hand of"} ${heldBy}`;
}

function lineFor(work: LineWork, nowMs: number): string {
  const { id, threadId, text, attempts, redelivered } = work;
  const thread = threadId === null ? "-" : String(threadId);
  const words = (text ?? "").replace(/\s+/g, " ").slice(0, textMax);
  const marks = [...(attempts > 0 ? [`failed ${String(attempts)} times`] : []), ...(redelivered ? ["again"] : [])];
  const notes = marks.length === 0 ? "" : `  (${marks.join(", ")})`;
  return `  ${id.padEnd(8)}${thread.padEnd(8)}${ageOf(work, nowMs).padEnd(8)}${whereOf(work)}${notes}  ${words}`.trimEnd();
}

export const queueText = (works: readonly LineWork[], nowMs: number): string =>
  [
    "  id      thread  age",
    ...(works.length === 0 ? ["  nothing waits"] : works.map((work) => lineFor(work, nowMs))),
  ].join("\n");

const withLine = (flags: LineFlags, use: (line: LineView) => Promise<number>): Promise<number> =>
  closing(openLine(lineOf(flags)), use);

export const listQueue = (flags: QueueFlags): Promise<number> =>
  withLine(flags, async ({ queue }) => {
    const works = await queue.list(flags.limit ?? 100);
    console.log(flags.json === true ? JSON.stringify({ queue: works }) : queueText(works, systemClock().nowMs()));
    return 0;
  });

function checked(id: string): string {
  if (!/^\d+$/.test(id) || !Number.isSafeInteger(Number(id)))
    throw new UsageError(`"${id}" is no update of the queue: partyline queue list shows their ids.`);
  return id;
}

function say(flags: QueueFlags, reply: string, text: string, isDone: boolean): number {
  if (flags.json === true) console.log(JSON.stringify({ kind: reply }));
  else if (isDone) console.log(text);
  else console.error(text);
  return isDone ? 0 : 1;
}

/** Exit code 1 when it has not moved: there is no such update, nobody ever sat on that seat, its holder keeps it. */
export const offerWork = (id: string, to: string, flags: QueueFlags): Promise<number> =>
  withLine(flags, async (line) => {
    const seat = seatOf(await line.status(), to);
    const reply = await line.queue.move(checked(id), seat, (flags.wait ?? 15) * 1_000);
    const texts: Readonly<Record<typeof reply, string>> = {
      moved: `Update ${id} has moved to ${seat}.`,
      ended: `Update ${id} has ended meanwhile.`,
      asked: `Its holder has not given update ${id} away: it is at work on it, cannot offer it, or nobody took it.`,
      missing: `There is no update ${id} that is open.`,
      nobody: `Nobody has ever sat on ${seat}.`,
    };
    return say(flags, reply, texts[reply], reply === "moved");
  });

export const cancelWork = (id: string, flags: QueueFlags): Promise<number> =>
  withLine(flags, async ({ queue }) => {
    const reply = await queue.withdraw(checked(id));
    const texts: Readonly<Record<typeof reply, string>> = {
      withdrawn: `Update ${id} stays where it is.`,
      nothing: `Update ${id} is not on its way anywhere.`,
      missing: `There is no update ${id} that is open.`,
    };
    return say(flags, reply, texts[reply], reply === "withdrawn");
  });
