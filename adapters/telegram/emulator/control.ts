/**
 * What a person or a test can do to the emulator: act as a user, script faults, look at everything.
 *
 * Owns: the operations, used in process (`emulator.control`) and by the HTTP control API alike. Does not own: HTTP, input
 * shapes over HTTP (control-routes.ts).
 * Invariants: a user's action that is impossible throws a ControlError and changes nothing; every user action makes the
 * update that Telegram would send, if it sends one.
 */
import type { Chat, Message, User } from "@grammyjs/types";
import { commandEntities, isMessage, seededChat } from "./control-content.ts";
import { ControlError } from "./control-input.ts";
import type {
  ChatSeed,
  CreatesThread,
  DeliveredMessage,
  DeliveredUpdate,
  EmulatorState,
  MessageRef,
  PressesButton,
  RawUpdate,
  Reacts,
  RenamesThread,
  ThreadRef,
  UpgradesGroup,
  UserEdits,
  UserText,
} from "./control-types.ts";
import type { Core } from "./core.ts";
import type { EmulatorEvent, Unsubscribe } from "./events.ts";
import type { Fault } from "./faults.ts";
import { reactionTypes } from "./methods-messages.ts";
import { isRecord } from "./params.ts";
import { withoutReply } from "./targets.ts";
import type { TranscriptEntry } from "./transcript.ts";
import { buttonsOf, messageView, type StoredMessage, type VisibleMessage } from "./views.ts";
import type { Thread } from "./world.ts";

const DEFAULT_ICON_COLOR = 7322096;

export class EmulatorControl {
  readonly #core: Core;
  readonly #refuse: (ms: number) => void;

  /** `refuse` closes the listener and every connection for so many milliseconds. */
  constructor(core: Core, refuse: (ms: number) => void) {
    this.#core = core;
    this.#refuse = refuse;
  }

  /** A user writes; an unknown private chat begins with this message. */
  userSends(input: UserText): DeliveredMessage {
    const from = this.#user(input.from);
    const chat = this.#chatFor(input.chatId, from);
    if (input.threadId !== undefined) this.#openThread({ chatId: chat.id, threadId: input.threadId });
    const reply = input.replyToMessageId;
    const replied = reply === undefined ? undefined : this.#message({ chatId: chat.id, messageId: reply });
    const stored = this.#core.world.post({
      chat,
      from,
      threadId: input.threadId ?? null,
      content: {
        text: input.text,
        ...commandEntities(input.text),
        ...(replied === undefined ? {} : { reply_to_message: withoutReply(replied.message) }),
      },
    });
    return this.#delivered(stored);
  }

  userEdits(input: UserEdits): DeliveredMessage {
    const stored = this.#message(input);
    if (stored.message.from?.is_bot === true) throw new ControlError("a user can edit only a user's message");
    const message: Message = { ...stored.message, text: input.text, edit_date: Math.floor(this.#core.nowMs / 1000) };
    this.#core.world.replace({ ...stored, message });
    return { updateId: this.#core.deliver("edited_message", message), messageId: message.message_id };
  }

  /** The bot is told nothing, as with Telegram. */
  userDeletesMessage(input: MessageRef): void {
    const { message } = this.#message(input);
    this.#core.world.deleteMessage(message.chat.id, message.message_id);
  }

  userCreatesThread(input: CreatesThread): DeliveredMessage & { readonly threadId: number } {
    const from = this.#user(input.from);
    const chat = this.#chatFor(input.chatId, from);
    if (!this.#core.hasThreads(chat)) throw new ControlError("this chat has no threads: enable topics or use a forum");
    if (input.threadId !== undefined) {
      const known =
        this.#core.world.thread(chat.id, input.threadId) ?? this.#core.world.message(chat.id, input.threadId);
      if (known !== undefined) throw new ControlError(`id ${String(input.threadId)} is already used in this chat`);
    }
    const { thread, created } = this.#core.world.createThread({
      chat,
      from,
      name: input.name,
      iconColor: DEFAULT_ICON_COLOR,
      iconCustomEmojiId: null,
      ...(input.threadId === undefined ? {} : { threadId: input.threadId }),
    });
    return { ...this.#delivered(created), threadId: thread.threadId };
  }

  /** The bot is told nothing, as with Telegram. */
  userDeletesThread(input: ThreadRef): void {
    this.#core.world.deleteThread(this.#thread(input));
  }

  userRenamesThread(input: RenamesThread): DeliveredMessage {
    const thread = this.#core.world.changeThread(this.#thread(input), { name: input.name });
    return this.#service(thread, { forum_topic_edited: { name: input.name } });
  }

  userClosesThread(input: ThreadRef): DeliveredMessage {
    return this.#setStatus(input, "closed", { forum_topic_closed: {} });
  }

  userReopensThread(input: ThreadRef): DeliveredMessage {
    return this.#setStatus(input, "open", { forum_topic_reopened: {} });
  }

  userPressesButton(input: PressesButton): DeliveredUpdate & { readonly queryId: string } {
    const { message } = this.#message(input);
    const buttons = buttonsOf(message).flat();
    if (!buttons.some((button) => button.data === input.data)) {
      throw new ControlError(`message ${String(input.messageId)} has no button with data "${input.data}"`);
    }
    const queryId = this.#core.newCallbackId();
    const from = this.#user(input.from);
    const query = { id: queryId, from, chat_instance: `ci${String(message.chat.id)}`, data: input.data, message };
    return { updateId: this.#core.deliver("callback_query", query), queryId };
  }

  /** Sets a user's reaction (`emoji: null` takes it back). Bots get it only when they asked for `message_reaction`. */
  userReacts(input: Reacts): DeliveredUpdate {
    const stored = this.#message(input);
    const user = this.#user(input.from);
    const before = stored.reactions.get(user.id) ?? [];
    const after = input.emoji === null ? [] : [input.emoji];
    const reactions = new Map(stored.reactions);
    if (after.length === 0) reactions.delete(user.id);
    else reactions.set(user.id, after);
    this.#core.world.replace({ ...stored, reactions });
    const { chat, message_id } = stored.message;
    const updateId = this.#core.deliver("message_reaction", {
      chat,
      message_id,
      user,
      date: Math.floor(this.#core.nowMs / 1000),
      old_reaction: reactionTypes(before),
      new_reaction: reactionTypes(after),
    });
    return { updateId };
  }

  /**
   * Queues an update exactly as given. Without an `update_id` it gets the next one; with one, ids go on from there.
   * Its callback query can be answered; its message can be answered if its chat is known.
   */
  rawUpdate(input: RawUpdate): DeliveredUpdate {
    const { update_id: id, ...body } = input.update;
    if (id !== undefined && (typeof id !== "number" || !Number.isSafeInteger(id))) {
      throw new ControlError("update.update_id must be an integer");
    }
    if (Object.keys(body).length === 0) throw new ControlError("update has no content: add a field such as message");
    const query = body["callback_query"];
    if (isRecord(query) && typeof query["id"] === "string") this.#core.rememberCallback(query["id"]);
    const message: unknown = body["message"] ?? (isRecord(query) ? query["message"] : undefined);
    if (isMessage(message) && this.#core.world.chat(message.chat.id) !== undefined) this.#core.world.adopt(message);
    return { updateId: this.#core.deliverRaw(body, id) };
  }

  addChat(seed: ChatSeed): void {
    this.#core.world.addChat(seededChat(seed));
  }

  /**
   * A group becomes a supergroup with another id: calls that name the old one are refused with it, and a service message stands
   * in each of the two.
   */
  userUpgradesGroup(input: UpgradesGroup): { readonly old: DeliveredMessage; readonly new: DeliveredMessage } {
    const { world } = this.#core;
    const group = world.chat(input.chatId);
    if (group?.type !== "group" || world.movedTo(group.id) !== null)
      throw new ControlError(`chat ${String(input.chatId)} is no group that could be upgraded`);
    if (world.chat(input.to) !== undefined) throw new ControlError(`chat ${String(input.to)} exists already`);
    const seed: ChatSeed = { id: input.to, type: "supergroup", title: group.title, isForum: input.isForum ?? true };
    const supergroup = seededChat(seed);
    const from = this.#core.settings.owner;
    const told = (chat: Chat, content: Partial<Message>): DeliveredMessage =>
      this.#delivered(world.post({ chat, from, threadId: null, content }));
    const old = told(group, { migrate_to_chat_id: input.to });
    world.addChat(supergroup);
    world.upgrade(group.id, input.to);
    return { old, new: told(supergroup, { migrate_from_chat_id: group.id }) };
  }

  fault(fault: Fault): void {
    if (!this.#core.faults.add(fault)) throw new ControlError("too many faults are waiting: clear them first");
  }

  clearFaults(): { readonly cleared: number } {
    return { cleared: this.#core.faults.clear() };
  }

  /** A week without updates went by: pending updates expired, ids go on from `next`. */
  restartIds(input: { readonly next: number }): { readonly expired: number } {
    return { expired: this.#core.queue.restart(input.next) };
  }

  setTopicsEnabled(input: { readonly enabled: boolean }): void {
    this.#core.topicsEnabled = input.enabled;
    this.#core.hub.emit({ type: "stateChanged" });
  }

  setTopicCache(input: { readonly ms: number }): void {
    this.#core.topicCacheMs = input.ms;
  }

  setNextMessageId(input: { readonly chatId?: number; readonly next: number }): void {
    const chat = this.#chatFor(input.chatId, this.#core.settings.owner);
    this.#core.world.setNextMessageId(chat.id, input.next);
  }

  /** Every connection is closed and new ones are refused for so long; the control API over HTTP is away, too. */
  refuseConnections(input: { readonly ms: number }): void {
    this.#refuse(input.ms);
  }

  state(): EmulatorState {
    const { world, queue, polls, faults, settings } = this.#core;
    return {
      bot: { ...settings.bot, has_topics_enabled: this.#core.topicsEnabled },
      owner: settings.owner,
      chats: world.chats(),
      threads: world.threads(),
      queue: {
        length: queue.pending.length,
        firstId: queue.pending[0]?.id ?? null,
        nextId: queue.nextId,
        allowedUpdates: queue.allowed,
        filtered: queue.filtered,
        overflowed: queue.overflowed,
        droppedByRequest: this.#core.droppedPendingUpdates,
      },
      polls: polls.stats,
      webhookUrl: polls.webhookUrl,
      topicsEnabled: this.#core.topicsEnabled,
      topicCacheMs: this.#core.topicCacheMs,
      faults: { pending: faults.pending, applied: faults.applied },
      lastSeq: this.#core.transcript.lastSeq,
    };
  }

  /** Bot API calls with a sequence number above `since` (default: all that are kept), oldest first. */
  transcript(input: { readonly since?: number } = {}): readonly TranscriptEntry[] {
    return this.#core.transcript.since(input.since ?? 0);
  }

  /** Visible messages, each once, by chat in order of sending. */
  messages(input: { readonly chatId?: number } = {}): VisibleMessage[] {
    return this.#core.world.messages(input.chatId).map(messageView);
  }

  /** Calls `listener` after every change until unsubscribed. */
  onEvent(listener: (event: EmulatorEvent) => void): Unsubscribe {
    return this.#core.hub.subscribe(listener);
  }

  #user(from: { readonly id: number; readonly first_name: string } | undefined): User {
    return from === undefined ? this.#core.settings.owner : { is_bot: false, ...from };
  }

  #chatFor(chatId: number | undefined, from: User): Chat {
    const id = chatId ?? from.id;
    const known = this.#core.world.chat(id);
    if (known !== undefined) return known;
    if (id !== from.id) throw new ControlError(`chat ${String(id)} is unknown: add it with /control/chat first`);
    const chat: Chat = { id, type: "private", first_name: from.first_name };
    this.#core.world.addChat(chat);
    return chat;
  }

  #thread(ref: ThreadRef): Thread {
    const thread = this.#core.world.thread(ref.chatId ?? this.#core.settings.owner.id, ref.threadId);
    if (thread === undefined || thread.status === "deleted") {
      throw new ControlError(`there is no thread ${String(ref.threadId)} in this chat: see GET /control/state`);
    }
    return thread;
  }

  #openThread(ref: ThreadRef): void {
    if (this.#thread(ref).status === "closed") throw new ControlError("the thread is closed: reopen it first");
  }

  #message(ref: MessageRef): StoredMessage {
    const stored = this.#core.world.message(ref.chatId ?? this.#core.settings.owner.id, ref.messageId);
    if (stored === undefined) throw new ControlError(`there is no message ${String(ref.messageId)} in this chat`);
    return stored;
  }

  #setStatus(ref: ThreadRef, status: "open" | "closed", content: Partial<Message>): DeliveredMessage {
    const thread = this.#thread(ref);
    if (this.#core.world.chat(thread.chatId)?.type !== "supergroup") {
      throw new ControlError("threads are closed and reopened in supergroups only");
    }
    if (thread.status === status) throw new ControlError(`the thread is ${status} already`);
    return this.#service(this.#core.world.changeThread(thread, { status }), content);
  }

  #service(thread: Thread, content: Partial<Message>): DeliveredMessage {
    const chat = this.#chatFor(thread.chatId, this.#core.settings.owner);
    const from = this.#core.settings.owner;
    return this.#delivered(this.#core.world.post({ chat, from, threadId: thread.threadId, content }));
  }

  #delivered(stored: StoredMessage): DeliveredMessage {
    return { updateId: this.#core.deliver("message", stored.message), messageId: stored.message.message_id };
  }
}
