/**
 * What Telegram's service messages tell of a thread: created, renamed, closed, reopened.
 *
 * Owns: reading them. Does not own: what follows from it (`reconciliation.rules.ts`); by itself, nothing is deleted for it.
 */
import { fieldsOf } from "./fields.rules.ts";
import { chatId, threadId } from "./ids.ts";
import type { ThreadEvidence } from "./reconciliation.types.ts";

const kinds = [
  ["forum_topic_created", "created"],
  ["forum_topic_edited", "renamed"],
  ["forum_topic_closed", "closed"],
  ["forum_topic_reopened", "reopened"],
] as const;

/** The evidence in an update; null when it tells nothing of a thread. An edit of the icon alone tells no name. */
export function evidenceOf(update: unknown, atMs: number): ThreadEvidence | null {
  const message = fieldsOf(fieldsOf(update)?.["message"]);
  const chat = fieldsOf(message?.["chat"])?.["id"];
  const thread = message?.["message_thread_id"];
  const told = kinds.find(([name]) => fieldsOf(message?.[name]) !== null);
  if (message === null || told === undefined) return null;
  const [field, what] = told;
  if (!Number.isSafeInteger(chat) || !Number.isSafeInteger(thread)) return null;
  const name = fieldsOf(message[field])?.["name"];
  return {
    target: { chatId: chatId(Number(chat)), threadId: threadId(Number(thread)) },
    what,
    name: typeof name === "string" && name.trim() !== "" ? name : null,
    by: fieldsOf(message["from"])?.["is_bot"] === true ? "bot" : "person",
    atMs,
  };
}
