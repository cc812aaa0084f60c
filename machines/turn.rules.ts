/**
 * Pure rules of what a turn is made of: the messages of an item as they stand now, edits applied, and their text.
 *
 * Owns: putting journal entries together into what a host reads. Does not own: prompt wording, history wording, files: these
 * are the host's (updates §9).
 * Updates come from outside: everything is looked at before it is believed.
 */
import { fieldsOf, textOf } from "./fields.rules.ts";
import { agentSourceThreadField } from "./wire/constants.ts";
import type { JournalSeq } from "./ids.ts";
import type { Member } from "./queue.rules.ts";

/** One message of a turn. */
export interface TurnMessage {
  readonly seq: JournalSeq;
  /** As Telegram sent it; an edit that came while it waited has taken the message's place. */
  readonly update: unknown;
}

/** The messages among `members`, in order, each as its last edit left it. */
export function messagesIn(members: readonly Member[], updateOf: (seq: JournalSeq) => unknown): readonly TurnMessage[] {
  const edits = new Map<unknown, unknown>();
  for (const { seq, role, message } of members) {
    const edited = role === "change" ? fieldsOf(updateOf(seq))?.["edited_message"] : undefined;
    if (edited !== undefined) edits.set(message, edited);
  }
  return members.flatMap(({ seq, role, message }) => {
    if (role !== "message") return [];
    const update = updateOf(seq);
    const edited = edits.get(message);
    return [{ seq, update: edited === undefined ? update : { ...fieldsOf(update), message: edited } }];
  });
}

/** Text or caption of a message's update. */
export function wordsOf(update: unknown): string | null {
  const message = fieldsOf(fieldsOf(update)?.["message"]);
  return textOf(message?.["text"]) ?? textOf(message?.["caption"]);
}

/** The words of several messages: parts of a split text follow each other in lines. */
export const joinedWords = (updates: readonly unknown[]): string =>
  updates
    .map(wordsOf)
    .filter((words) => words !== null && words !== "")
    .join("\n");

/** Name of the thread of the agent that sent this message; null when a person wrote it. */
export const agentSourceOf = (update: unknown): string | null =>
  textOf(fieldsOf(fieldsOf(update)?.["message"])?.[agentSourceThreadField]);
