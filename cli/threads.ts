/**
 * `partyline threads`, `partyline leave`, `partyline seats forget`: what the operator decides where evidence cannot.
 *
 * Owns: finding the seat and the thread that are meant, the words. Does not own: carrying it out; the leader does, under its
 * epoch, and refuses what a running instance holds.
 */
import { systemClock } from "../adapters/host/clock.ts";
import { askOperator, readStatus } from "../index.ts";
import type { LineStatus, OperatorWish } from "../index.ts";
import { lineOf, seatOf } from "./line.ts";
import { UsageError } from "./options.ts";
import type { LineFlags } from "./options.ts";
import { threadSection, withExplanations } from "./thread-words.ts";

export type ThreadsFlags = LineFlags & { readonly json?: boolean; readonly wait?: number };

function threadOf(status: LineStatus, text: string, flags: ThreadsFlags) {
  const threadId = Number(text);
  if (!Number.isSafeInteger(threadId) || threadId <= 0)
    throw new UsageError(`"${text}" is not the number of a thread.`);
  const known = [...status.threads, ...status.leftovers].find((each) => each.threadId === threadId);
  const chatId = known?.chatId ?? flags.chat ?? status.threads[0]?.chatId ?? status.creations[0]?.chatId;
  if (chatId === undefined) throw new UsageError("Which chat is that thread in? Pass --chat ID.");
  return { chatId, threadId };
}

export async function listThreads(flags: ThreadsFlags): Promise<number> {
  const status = await readStatus(lineOf(flags));
  const nowMs = systemClock().nowMs();
  if (flags.json === true) console.log(JSON.stringify(withExplanations(status, nowMs)));
  else console.log(threadSection(status, nowMs).join("\n"));
  return 0;
}

/** Asks the leader, and waits for its word. Exit code 1 when it refuses, or nobody leads for so long. */
async function ask(flags: ThreadsFlags, wishOf: (status: LineStatus) => OperatorWish): Promise<number> {
  const line = lineOf(flags);
  const wish = wishOf(await readStatus(line));
  const answer = await askOperator(line, wish, (flags.wait ?? 15) * 1_000);
  if (flags.json === true) console.log(JSON.stringify(answer ?? { kind: "waiting" }));
  else if (answer === null)
    console.error(
      "Nobody has answered: no instance leads at the moment. The request is kept, and the next leader carries it out.",
    );
  else if (answer.kind === "refused") console.error(`Refused: ${answer.text}.`);
  else console.log(`Done: ${answer.text}.`);
  return answer?.kind === "done" ? 0 : 1;
}

export const adoptThread = (seat: string, thread: string, flags: ThreadsFlags): Promise<number> =>
  ask(flags, (status) => ({ kind: "adopt", seat: seatOf(status, seat), target: threadOf(status, thread, flags) }));

export const releaseThread = (thread: string, flags: ThreadsFlags): Promise<number> =>
  ask(flags, (status) => ({ kind: "release", target: threadOf(status, thread, flags) }));

/** A number is a thread; anything else the seat of a creation in doubt. */
export const forgetThread = (what: string, flags: ThreadsFlags): Promise<number> =>
  ask(flags, (status) =>
    /^\d+$/.test(what)
      ? { kind: "forgetThread", target: threadOf(status, what, flags) }
      : { kind: "forgetCreation", seat: seatOf(status, what) },
  );

export const forgetSeat = (seat: string, flags: ThreadsFlags): Promise<number> =>
  ask(flags, (status) => ({ kind: "forgetSeat", seat: seatOf(status, seat) }));

export const leaveSeat = (seat: string, flags: ThreadsFlags): Promise<number> =>
  ask(flags, (status) => ({ kind: "leave", seat: seatOf(status, seat) }));
