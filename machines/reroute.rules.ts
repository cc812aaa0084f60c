/**
 * Pure rules of what is written in a thread that belongs to no seat: whether the user is asked whose it shall be, what a
 * press of the question's buttons means, what becomes of an update that goes to another thread.
 *
 * Owns: those verdicts, the callback data, the words. Does not own: threads that some seat has or had (`delivery.machine.ts`
 * waits for their seats), the course of one question (`reroute.machine.ts`), deleting a thread (`cleanup.machine.ts`).
 *
 * Invariant: a question is about everything that waits in its thread, so the order within the thread stays whatever is
 * chosen, and an album is never torn apart.
 */
import { fieldsOf, textOf } from "./fields.rules.ts";
import { threadId } from "./ids.ts";
import type { BoundThread, Epoch, ThreadId, ThreadTarget } from "./ids.ts";
import { commandIn } from "./shape.rules.ts";
import type { UpdateFacts } from "./updates.rules.ts";

/** Questions that are open at once in one leadership; a further one ends the oldest, whose buttons then say "expired". */
export const choosersMax = 100;
/** How long the buttons of a question work: 30 minutes. What waits goes on waiting, and may be asked about again. */
export const chooserKeepMs = 30 * 60_000;
/** Rows of one question, at most: Telegram takes no more than 100 buttons. */
export const chooserRowsMax = 50;

/** What is known of a thread that no seat has or had, when an update is to be delivered from it. */
export interface StrangeThread {
  readonly facts: Pick<UpdateFacts, "routed">;
  /** A creation that has not come to its end made it: it is about to be somebody's. */
  readonly isBeingBound: boolean;
  /** It was deleted, and that was confirmed. */
  readonly isDeleted: boolean;
  /** Something earlier of the thread waits. */
  readonly isBehind: boolean;
}

export type StrangeVerdict =
  /** It waits, and the user is asked once for everything that waits there. */
  | { readonly kind: "ask" }
  /** It waits and nobody is asked: what decides about it is under way. */
  | { readonly kind: "wait" }
  /** There is nobody to ask about it: kept for the operator. */
  | { readonly kind: "setAside"; readonly reason: string };

/** A press of a question's button: what it decides is told to the question, and there is nothing to deliver. */
export const pressReason = "chooser-press";

export const unownedReason = "no instance owns this thread";

/**
 * The rules for an unknown thread, in order; the first that holds decides. What concerns threads of a seat, chats without
 * threads and updates without a thread was decided before.
 */
const rules: readonly { readonly holds: (seen: StrangeThread) => boolean; readonly then: StrangeVerdict }[] = [
  { holds: ({ isBeingBound }) => isBeingBound, then: { kind: "wait" } },
  { holds: ({ isDeleted }) => isDeleted, then: { kind: "setAside", reason: "its thread was deleted" } },
  // It goes where that goes.
  { holds: ({ isBehind, facts }) => isBehind && facts.routed !== "message", then: { kind: "wait" } },
  // An edit or a press alone is no question: its message is not here.
  { holds: ({ facts }) => facts.routed !== "message", then: { kind: "setAside", reason: unownedReason } },
];

export const judgeStrange = (seen: StrangeThread): StrangeVerdict =>
  rules.find(({ holds }) => holds(seen))?.then ?? { kind: "ask" };

// ------------------------------------------------------------------------------------------------------- the buttons

/** Names a question within the line: buttons of an earlier leadership name none of this one's. */
export const chooserId = (epoch: Epoch, count: number): string => `${epoch.toString(36)}.${count.toString(36)}`;

/** What a question offers: threads to which what waits goes, or agents that may move into this one. */
export type ChooserList = "forward" | "restore";

/**
 * A press of a button of ours. `forward`: what waits goes to that thread. `restore`: the agent that has that thread moves
 * into this one. `restoreList`, `forwardList`: the other list is to be shown.
 */
export type ChooserPress =
  | { readonly kind: "forward" | "restore"; readonly id: string; readonly thread: ThreadId }
  | { readonly kind: "forwardList" | "restoreList"; readonly id: string };

export const forwardData = (id: string, thread: ThreadId): string => `reroute:${id}:${String(thread)}`;
export const restoreData = (id: string, thread: ThreadId): string => `reroutenew:${id}:${String(thread)}`;
export const restoreListData = (id: string): string => `rerouterestore:${id}`;
export const forwardListData = (id: string): string => `rerouteback:${id}`;

const choices: ReadonlyMap<string, "forward" | "restore"> = new Map([
  ["reroute", "forward"],
  ["reroutenew", "restore"],
]);
const lists: ReadonlyMap<string, "forwardList" | "restoreList"> = new Map([
  ["rerouteback", "forwardList"],
  ["rerouterestore", "restoreList"],
]);

/** Reads a button's data; null when it is not one of a question. */
export function readPress(data: unknown): ChooserPress | null {
  const parts = /^([a-z]+):([0-9a-z]+\.[0-9a-z]+)(?::([1-9][0-9]{0,15}))?$/.exec(textOf(data) ?? "");
  const [, prefix = "", id, thread] = parts ?? [];
  if (id === undefined) return null;
  const choice = choices.get(prefix);
  const list = lists.get(prefix);
  if (choice !== undefined && thread !== undefined) return { kind: choice, id, thread: threadId(Number(thread)) };
  return list !== undefined && thread === undefined ? { kind: list, id } : null;
}

/** The press that an update is; null for every other one. */
export function pressOf(update: unknown): ChooserPress | null {
  const query = fieldsOf(fieldsOf(update)?.["callback_query"]);
  return query === null ? null : readPress(query["data"]);
}

export const nameOfThread = ({ target, slot, threadName }: BoundThread): string =>
  threadName === "" ? (slot === "" ? `thread ${String(target.threadId)}` : slot) : threadName;

const otherRow = {
  forward: (id: string) => [[{ text: "Give this thread to an agent…", callback_data: restoreListData(id) }]],
  restore: (id: string) => [[{ text: "Back", callback_data: forwardListData(id) }]],
  // The thread is gone: no agent can move there.
  outside: () => [],
} as const;
const dataOf = { forward: forwardData, restore: restoreData, outside: forwardData } as const;

/** One row for each thread, in the order of their letters, and one that leads to the other list. */
export function chooserKeyboard(id: string, threads: readonly BoundThread[], list: ChooserList | "outside") {
  const rows = [...threads].sort((a, b) => a.slot.length - b.slot.length || (a.slot < b.slot ? -1 : 1));
  const chosen = rows
    .slice(0, chooserRowsMax)
    .map((thread) => [{ text: nameOfThread(thread), callback_data: dataOf[list](id, thread.target.threadId) }]);
  return { inline_keyboard: [...chosen, ...otherRow[list](id)] };
}

// --------------------------------------------------------------------------------------------------------- the words

/** What the question is about: one message, or more; a command is named. */
export interface Asked {
  readonly command: string | null;
}

/** Of what was written first. */
export const askedBy = (update: unknown): Asked => ({
  command: commandIn(textOf(fieldsOf(fieldsOf(update)?.["message"])?.["text"])),
});

/** Whether a message is part of an album, of which more may come. */
export const isOfAlbum = (update: unknown): boolean =>
  textOf(fieldsOf(fieldsOf(update)?.["message"])?.["media_group_id"]) !== null;

export const chooserText = ({ command }: Asked): string =>
  command === null
    ? "No agent has this thread. Which one is your message for?"
    : `No agent has this thread. Which one is /${command} for?`;

/** Nobody can be chosen at the moment. Said once in a thread. */
export const guidanceText =
  "No agent has this thread, and none is connected at the moment. Your message is kept: you are asked whose it is as soon as one connects.";

/** The drop of what belongs to no thread, in a chat where only threads are heard. */
export const outsideReason = "outside-every-thread";
/** Whoever writes outside every thread is told at most this often, in milliseconds. */
export const outsideToldEveryMs = 60_000;
const outsideNamesMax = 20;

/** `names`: of the threads in which somebody hears. */
export function outsideText(names: readonly string[]): string {
  const told = names.slice(0, outsideNamesMax).join(", ") + (names.length > outsideNamesMax ? ", …" : "");
  return names.length === 0
    ? "Nobody hears what is written here, only what is written in the thread of an agent. None is connected at the moment."
    : `Nobody hears what is written here. Write in the thread of an agent: ${told}`;
}

export const pressWords = {
  expired: "This choice has expired. If your message still waits, you are asked again.",
  gone: "That agent is not connected any more. Choose another one.",
  underWay: "Your message is on its way.",
  moved: "Moved.",
  whom: "Choose the agent that moves into this thread.",
  whose: "Choose the agent that your message is for.",
  restored: "This thread is that agent's now.",
  refused: "That agent did not move here. Your message still waits.",
  settled: "Your message has been delivered. Only the clean-up is tried again.",
  failed: "That did not work. Try again.",
} as const;
export type PressWord = keyof typeof pressWords;

// ------------------------------------------------------------------------------------------------- to another thread

/**
 * The update as if it had been written in `thread`: whoever gets it answers there. Its ids stay, so edits, replies and
 * reactions that follow find it.
 */
export function inThread(update: unknown, { threadId: thread }: Pick<ThreadTarget, "threadId">): unknown {
  const fields = fieldsOf(update) ?? {};
  return Object.fromEntries(
    Object.entries(fields).map(([key, carrier]) => {
      const said = key === "message" || key === "edited_message" ? fieldsOf(carrier) : null;
      return [key, said === null ? carrier : { ...said, message_thread_id: thread, is_topic_message: true }];
    }),
  );
}
