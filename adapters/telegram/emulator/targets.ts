/**
 * Where a call wants to go: its chat, thread, replied-to message and keyboard, checked as Telegram checks them.
 *
 * Owns: the shared checks of all sending methods. Does not own: the methods.
 * Invariant: everything is checked before anything is posted.
 */
import type { Chat, InlineKeyboardMarkup, Message } from "@grammyjs/types";
import type { Core } from "./core.ts";
import { badRequest, upgraded } from "./errors.ts";
import { isRecord, Params } from "./params.ts";
import type { StoredMessage } from "./views.ts";
import type { Thread } from "./world.ts";

export interface SendTarget {
  readonly chat: Chat;
  readonly threadId: number | null;
  readonly content: Partial<Message>;
}

export function chatOf(core: Core, params: Params, name = "chat_id"): Chat {
  if (!params.has(name)) throw badRequest("chat_id is empty");
  const id = params.integer(name);
  const chat = id === undefined ? undefined : core.world.chat(id);
  if (chat === undefined) throw badRequest("chat not found");
  const movedTo = core.world.movedTo(chat.id);
  if (movedTo !== null) throw upgraded(movedTo);
  return chat;
}

export function messageOf(core: Core, chat: Chat, params: Params, missing: string): StoredMessage {
  const messageId = params.integer("message_id");
  const stored = messageId === undefined ? undefined : core.world.message(chat.id, messageId);
  if (stored === undefined) throw badRequest(missing);
  return stored;
}

/** Checks chat, thread, reply and keyboard of a sending method. */
export function sendTarget(core: Core, params: Params): SendTarget {
  const chat = chatOf(core, params);
  const threadId = sendThread(core, chat, params.integer("message_thread_id") ?? 0);
  const reply = replyTo(core, chat, params);
  const markup = keyboardOf(params);
  const replyThread = reply?.message.message_thread_id ?? null;
  return {
    chat,
    threadId: threadId ?? (params.has("message_thread_id") ? null : replyThread),
    content: {
      ...(reply === undefined ? {} : { reply_to_message: withoutReply(reply.message) }),
      ...(markup === undefined ? {} : { reply_markup: markup }),
    },
  };
}

function sendThread(core: Core, chat: Chat, threadId: number): number | null {
  if (threadId === 0) return null;
  const thread = core.hasThreads(chat) ? core.world.thread(chat.id, threadId) : undefined;
  if (thread === undefined) throw badRequest("message thread not found");
  if (thread.status === "closed") throw badRequest("TOPIC_CLOSED");
  if (thread.status === "open") return threadId;
  if (isStillCached(core, thread)) return null;
  throw badRequest("message thread not found");
}

function isStillCached(core: Core, thread: Thread): boolean {
  return thread.deletedAtMs !== null && core.nowMs - thread.deletedAtMs < core.topicCacheMs;
}

function replyTo(core: Core, chat: Chat, params: Params): StoredMessage | undefined {
  const reply = params.object("reply_parameters");
  const fields = reply === undefined ? params : new Params(reply);
  const messageId = fields.integer(reply === undefined ? "reply_to_message_id" : "message_id");
  if (messageId === undefined || messageId === 0) return undefined;
  const stored = core.world.message(chat.id, messageId);
  if (stored === undefined && !fields.flag("allow_sending_without_reply")) {
    throw badRequest("message to be replied not found");
  }
  return stored;
}

/** The message as it appears inside a reply: the Bot API nests one level only. */
export function withoutReply(message: Message): NonNullable<Message["reply_to_message"]> {
  const { reply_to_message: _nested, ...flat } = message;
  // The type asks for a key that is present and undefined; in JSON that is the same as none.
  return flat as NonNullable<Message["reply_to_message"]>;
}

/** The inline keyboard of a call; other keyboards have no place in a stored message. */
export function keyboardOf(params: Params): InlineKeyboardMarkup | undefined {
  const markup = params.object("reply_markup");
  const rows = markup?.["inline_keyboard"];
  if (rows === undefined) return undefined;
  if (!Array.isArray(rows)) throw badRequest('field "inline_keyboard" must be an Array');
  for (const button of rows.flat() as unknown[]) checkButton(button);
  // Checked above to be button objects; button kinds beyond text and data are passed through unread.
  return { inline_keyboard: rows as InlineKeyboardMarkup["inline_keyboard"] };
}

function checkButton(button: unknown): void {
  if (!isRecord(button)) {
    throw badRequest("can't parse inline keyboard button: InlineKeyboardButton must be an Object");
  }
  const { text, callback_data: data } = button;
  if (typeof text !== "string" || text === "") {
    throw badRequest('can\'t parse inline keyboard button: Field "text" must be of type String');
  }
  if (typeof data === "string" && Buffer.byteLength(data) > 64) throw badRequest("BUTTON_DATA_INVALID");
}
