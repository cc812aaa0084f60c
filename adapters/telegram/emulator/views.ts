/**
 * What the control API and the chat page show of the emulated chats.
 *
 * Owns: the view types and how a stored message becomes one. Does not own: the stored state (world.ts).
 * Invariant: a view is plain JSON and shares nothing mutable with the store.
 */
import type { Chat, Message } from "@grammyjs/types";
import { isRecord, type JsonRecord } from "./params.ts";

export type ThreadStatus = "open" | "closed" | "deleted";

export interface ThreadView {
  readonly chatId: number;
  readonly threadId: number;
  readonly name: string;
  readonly status: ThreadStatus;
  readonly iconColor: number;
  /** Id of the user (or bot) that created it. */
  readonly createdBy: number;
}

export interface ChatView {
  readonly chatId: number;
  readonly type: Chat["type"];
  readonly title: string;
  readonly isForum: boolean;
  readonly nextMessageId: number;
}

export interface ButtonView {
  readonly text: string;
  readonly data: string | null;
  readonly url: string | null;
}

export interface FileView {
  readonly kind: string;
  readonly name: string;
  readonly size: number | null;
  readonly sha256: string | null;
}

export interface VisibleMessage {
  readonly chatId: number;
  readonly messageId: number;
  readonly threadId: number | null;
  readonly from: { readonly id: number; readonly name: string; readonly isBot: boolean };
  readonly date: number;
  /** Text or caption; for a service message a short English sentence. */
  readonly text: string;
  readonly service: boolean;
  readonly edited: boolean;
  readonly replyToMessageId: number | null;
  readonly buttons: readonly (readonly ButtonView[])[];
  /** Emoji set by anyone. */
  readonly reactions: readonly string[];
  readonly file: FileView | null;
}

export interface StoredMessage {
  readonly message: Message;
  /** Emoji by user id. */
  readonly reactions: ReadonlyMap<number, readonly string[]>;
  readonly file: FileView | null;
}

export function chatTitle(chat: Chat): string {
  return chat.type === "private" ? chat.first_name : chat.title;
}

export function messageView(stored: StoredMessage): VisibleMessage {
  const { message } = stored;
  const service = serviceText(message);
  return {
    chatId: message.chat.id,
    messageId: message.message_id,
    threadId: message.message_thread_id ?? null,
    from: {
      id: message.from?.id ?? 0,
      name: message.from?.first_name ?? "",
      isBot: message.from?.is_bot ?? false,
    },
    date: message.date,
    text: service ?? message.text ?? message.caption ?? "",
    service: service !== null,
    edited: message.edit_date !== undefined,
    replyToMessageId: message.reply_to_message?.message_id ?? null,
    buttons: buttonsOf(message),
    reactions: [...stored.reactions.values()].flat(),
    file: stored.file,
  };
}

function serviceText(message: Message): string | null {
  if (message.forum_topic_created !== undefined) return `created the thread “${message.forum_topic_created.name}”`;
  if (message.forum_topic_edited !== undefined) {
    const name = message.forum_topic_edited.name;
    return name === undefined ? "changed the thread's icon" : `renamed the thread to “${name}”`;
  }
  if (message.forum_topic_closed !== undefined) return "closed the thread";
  if (message.forum_topic_reopened !== undefined) return "reopened the thread";
  return null;
}

/** Reads the stored reply markup, which may be injected and thus of any shape. */
export function buttonsOf(message: Message): ButtonView[][] {
  const markup: unknown = message.reply_markup;
  const rows: unknown = isRecord(markup) ? markup["inline_keyboard"] : undefined;
  if (!Array.isArray(rows)) return [];
  return rows.map((row: unknown) => (Array.isArray(row) ? row.filter(isRecord).map(buttonView) : []));
}

function buttonView(button: JsonRecord): ButtonView {
  const { text, callback_data: data, url } = button;
  return {
    text: typeof text === "string" ? text : "",
    data: typeof data === "string" ? data : null,
    url: typeof url === "string" ? url : null,
  };
}
