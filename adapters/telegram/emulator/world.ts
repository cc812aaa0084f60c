/**
 * The emulated chats: who is there, their threads, their messages.
 *
 * Owns: chats, threads, messages, message ids. Does not own: updates (update-queue.ts), refusals in Telegram's words
 * beyond "not found" answers as undefined, or who may do what (methods-*.ts, control.ts).
 * Invariants:
 *  - message ids count per chat and are never used twice; a thread's id is the id of its `forum_topic_created` message;
 *  - a deleted thread stays known as deleted, its messages are gone;
 *  - at most `messagesMax` messages are kept, the oldest go first.
 */
import type { Chat, Message, User } from "@grammyjs/types";
import type { EmulatorClock } from "./clock.ts";
import type { EventHub } from "./events.ts";
import { chatTitle, messageView, type ChatView, type FileView, type StoredMessage, type ThreadView } from "./views.ts";

export interface Thread extends ThreadView {
  readonly iconCustomEmojiId: string | null;
  readonly deletedAtMs: number | null;
}

export interface NewMessage {
  readonly chat: Chat;
  readonly from: User;
  readonly threadId: number | null;
  readonly content: Partial<Message>;
  readonly file?: FileView;
  /** Only for the message that makes a thread, whose id it shares. */
  readonly messageId?: number;
}

export interface NewThread {
  readonly chat: Chat;
  readonly from: User;
  readonly name: string;
  readonly iconColor: number;
  readonly iconCustomEmojiId: string | null;
  /** A free id to use; default: the next message id. */
  readonly threadId?: number;
}

interface ChatRoom {
  readonly chat: Chat;
  /** The supergroup that it was upgraded to; null = it was not. */
  movedTo: number | null;
  readonly threads: Map<number, Thread>;
  readonly messages: Map<number, StoredMessage>;
  nextMessageId: number;
}

export class World {
  readonly #rooms = new Map<number, ChatRoom>();
  readonly #clock: EmulatorClock;
  readonly #hub: EventHub;
  readonly #firstMessageId: number;
  readonly #messagesMax: number;

  constructor(clock: EmulatorClock, hub: EventHub, firstMessageId: number, messagesMax: number) {
    this.#clock = clock;
    this.#hub = hub;
    this.#firstMessageId = firstMessageId;
    this.#messagesMax = messagesMax;
  }

  addChat(chat: Chat): void {
    if (this.#rooms.has(chat.id)) return;
    const room = { chat, movedTo: null, threads: new Map(), messages: new Map(), nextMessageId: this.#firstMessageId };
    this.#rooms.set(chat.id, room);
    this.#hub.emit({ type: "stateChanged" });
  }

  chat(chatId: number): Chat | undefined {
    return this.#rooms.get(chatId)?.chat;
  }

  /** The supergroup that a group was upgraded to. */
  movedTo(chatId: number): number | null {
    return this.#rooms.get(chatId)?.movedTo ?? null;
  }

  /** From here on the group takes nothing any more: everything goes to the supergroup. */
  upgrade(chatId: number, to: number): void {
    const room = this.#rooms.get(chatId);
    if (room !== undefined) room.movedTo = to;
  }

  chats(): ChatView[] {
    return [...this.#rooms.values()].map(({ chat, nextMessageId }) => ({
      chatId: chat.id,
      type: chat.type,
      title: chatTitle(chat),
      isForum: chat.type === "supergroup" && chat.is_forum === true,
      nextMessageId,
    }));
  }

  thread(chatId: number, threadId: number): Thread | undefined {
    return this.#rooms.get(chatId)?.threads.get(threadId);
  }

  threads(): Thread[] {
    return [...this.#rooms.values()].flatMap((room) => [...room.threads.values()]);
  }

  message(chatId: number, messageId: number): StoredMessage | undefined {
    return this.#rooms.get(chatId)?.messages.get(messageId);
  }

  messages(chatId: number | undefined): StoredMessage[] {
    const rooms = chatId === undefined ? [...this.#rooms.values()] : [this.#rooms.get(chatId)];
    return rooms.flatMap((room) => (room === undefined ? [] : [...room.messages.values()]));
  }

  setNextMessageId(chatId: number, next: number): void {
    const room = this.#rooms.get(chatId);
    if (room !== undefined) room.nextMessageId = next;
  }

  post(input: NewMessage): StoredMessage {
    const message: Message = {
      message_id: input.messageId ?? this.#takeMessageId(input.chat),
      from: input.from,
      chat: input.chat,
      date: Math.floor(this.#clock.nowMs() / 1000),
      ...(input.threadId === null ? {} : { message_thread_id: input.threadId, is_topic_message: true }),
      ...input.content,
    };
    return this.#store({ message, reactions: new Map(), file: input.file ?? null });
  }

  /** Keeps an injected message, so that it can be answered; one with a known id changes nothing. */
  adopt(message: Message): void {
    if (this.message(message.chat.id, message.message_id) !== undefined) return;
    this.#store({ message, reactions: new Map(), file: null });
  }

  /** Replaces the stored message of the same id. */
  replace(stored: StoredMessage): StoredMessage {
    return this.#store(stored);
  }

  deleteMessage(chatId: number, messageId: number): boolean {
    const deleted = this.#rooms.get(chatId)?.messages.delete(messageId) ?? false;
    if (deleted) this.#hub.emit({ type: "messageDeleted", chatId, messageId });
    return deleted;
  }

  createThread(input: NewThread): { thread: Thread; created: StoredMessage } {
    const room = this.#room(input.chat);
    const threadId = input.threadId ?? this.#takeMessageId(input.chat);
    const thread: Thread = {
      chatId: input.chat.id,
      threadId,
      name: input.name,
      status: "open",
      iconColor: input.iconColor,
      iconCustomEmojiId: input.iconCustomEmojiId,
      createdBy: input.from.id,
      deletedAtMs: null,
    };
    room.threads.set(threadId, thread);
    this.#hub.emit({ type: "thread", thread });
    const icon = input.iconCustomEmojiId === null ? {} : { icon_custom_emoji_id: input.iconCustomEmojiId };
    const created = this.post({
      chat: input.chat,
      from: input.from,
      threadId,
      messageId: threadId,
      content: { forum_topic_created: { name: input.name, icon_color: input.iconColor, ...icon } },
    });
    return { thread, created };
  }

  changeThread(thread: Thread, change: Partial<Pick<Thread, "name" | "status" | "iconCustomEmojiId">>): Thread {
    const changed = { ...thread, ...change };
    this.#rooms.get(thread.chatId)?.threads.set(thread.threadId, changed);
    this.#hub.emit({ type: "thread", thread: changed });
    return changed;
  }

  deleteThread(thread: Thread): void {
    const room = this.#rooms.get(thread.chatId);
    if (room === undefined) return;
    for (const { message } of room.messages.values()) {
      if (message.message_thread_id === thread.threadId) room.messages.delete(message.message_id);
    }
    const deleted: Thread = { ...thread, status: "deleted", deletedAtMs: this.#clock.nowMs() };
    room.threads.set(thread.threadId, deleted);
    this.#hub.emit({ type: "thread", thread: deleted });
  }

  #room(chat: Chat): ChatRoom {
    const room = this.#rooms.get(chat.id);
    if (room === undefined) throw new Error(`chat ${String(chat.id)} was never added to the emulator`);
    return room;
  }

  #takeMessageId(chat: Chat): number {
    const room = this.#room(chat);
    while (room.messages.has(room.nextMessageId) || room.threads.has(room.nextMessageId)) room.nextMessageId += 1;
    room.nextMessageId += 1;
    return room.nextMessageId - 1;
  }

  #store(stored: StoredMessage): StoredMessage {
    const room = this.#room(stored.message.chat);
    room.messages.set(stored.message.message_id, stored);
    if (room.messages.size > this.#messagesMax) {
      const oldest = room.messages.keys().next();
      if (oldest.done !== true) room.messages.delete(oldest.value);
    }
    this.#hub.emit({ type: "message", message: messageView(stored) });
    return stored;
  }
}
