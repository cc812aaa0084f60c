/**
 * A chat that becomes another: a group that is upgraded to a supergroup has a new id, and the old one takes nothing any more.
 *
 * Owns: reading what tells of it, where a configured chat is by now, what becomes of a call that still named the old one.
 * Does not own: keeping it (the store, under the epoch), what a leader does then (`instance.machine.ts`).
 *
 * Source: Bot API, `ResponseParameters.migrate_to_chat_id`, `Message.migrate_to_chat_id` and `Message.migrate_from_chat_id`.
 */
import type { ApiCall } from "./calls.rules.ts";
import { fieldsOf } from "./fields.rules.ts";
import { chatId } from "./ids.ts";
import type { ChatId } from "./ids.ts";

export interface ChatMove {
  readonly from: ChatId;
  readonly to: ChatId;
}

/** A move as the store keeps it: the first word about a chat stands. */
export interface KeptMove extends ChatMove {
  readonly atMs: number;
}

const movesOf = (moves: readonly ChatMove[]): ReadonlyMap<ChatId, ChatId> =>
  new Map(moves.map(({ from, to }) => [from, to]));

/** Where a chat is by now; itself when it never moved. */
export function chatAfter(chat: ChatId, moves: readonly ChatMove[]): ChatId {
  const next = movesOf(moves);
  const seen = new Set<ChatId>();
  let at = chat;
  // The store takes no move that leads back; whatever it holds, this ends.
  for (let to = next.get(at); to !== undefined && !seen.has(at); to = next.get(at)) {
    seen.add(at);
    at = to;
  }
  return at;
}

/** The chats that have become this one, whichever of them is configured. */
export const formerChats = (chat: ChatId, moves: readonly ChatMove[]): readonly ChatId[] =>
  moves.map(({ from }) => from).filter((from) => from !== chat && chatAfter(from, moves) === chat);

/** Only a group is ever upgraded: a private chat stays what it is. */
export const canBecomeAnother = (chat: ChatId): boolean => chat < 0;

/** Whether a move may be kept: nothing is known of the chat yet, and it leads to another one. */
export const isNewMove = ({ from, to }: ChatMove, moves: readonly ChatMove[]): boolean =>
  chatAfter(from, moves) === from && chatAfter(to, moves) !== from;

const integer = (value: unknown): number | null => (Number.isSafeInteger(value) ? Number(value) : null);

/** The move that a service message tells of, in the old chat or in the new one; null when it tells of none. */
export function moveToldBy(update: unknown): ChatMove | null {
  const message = fieldsOf(fieldsOf(update)?.["message"]);
  const here = integer(fieldsOf(message?.["chat"])?.["id"]);
  if (message === null || here === null) return null;
  const to = integer(message["migrate_to_chat_id"]);
  if (to !== null) return { from: chatId(here), to: chatId(to) };
  const from = integer(message["migrate_from_chat_id"]);
  return from === null ? null : { from: chatId(from), to: chatId(here) };
}

/** Calls that make something new in a chat; all others are about something that is in the old one, and stays there. */
const makesSomethingNew = /^(send|copyMessage|forwardMessage)/i;

/** The call as it is made in the new chat, where neither threads nor messages of the old one are; null = it means nothing there. */
export function inNewChat({ method, body }: ApiCall, to: ChatId): ApiCall | null {
  if (!makesSomethingNew.test(method)) return null;
  const { message_thread_id: _thread, reply_parameters: _reply, reply_to_message_id: _replyTo, ...rest } = body;
  return { method, body: { ...rest, chat_id: to } };
}
