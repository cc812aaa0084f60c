/**
 * The parts of one running emulator, and what the Bot API side and the control side both do with them.
 *
 * Owns: settings with their defaults applied, delivery of updates, posting of service messages, callback query ids.
 * Does not own: HTTP, the rules of single methods.
 * Invariants:
 *  - an update is queued only through `deliver`, which also wakes the waiting poll;
 *  - the bot gets no update for its own messages, except topic service messages when `serviceMessagesToBot` is set.
 */
import type { Chat, Message, User, UserFromGetMe } from "@grammyjs/types";
import type { EmulatorClock } from "./clock.ts";
import { EventHub } from "./events.ts";
import { FaultQueue } from "./faults.ts";
import { FileShelf } from "./files.ts";
import { Polls } from "./polls.ts";
import { Transcript } from "./transcript.ts";
import { UpdateQueue, type UpdateBody, type UpdateType } from "./update-queue.ts";
import type { StoredMessage } from "./views.ts";
import { World } from "./world.ts";

export interface EmulatorSettings {
  readonly token: string;
  readonly owner: User;
  readonly bot: UserFromGetMe;
  readonly clock: EmulatorClock;
  readonly firstUpdateId: number;
  readonly firstMessageId: number;
  readonly serviceMessagesToBot: boolean;
  readonly repeatedOffsetRule: boolean;
  readonly topicCacheMs: number;
  readonly pendingUpdatesMax: number;
  readonly transcriptMax: number;
  readonly messagesMax: number;
}

/** Callback queries live this long unanswered. */
const CALLBACK_TTL_MS = 15 * 60_000;
const CALLBACKS_MAX = 10_000;

export class Core {
  readonly settings: EmulatorSettings;
  readonly hub = new EventHub();
  readonly faults = new FaultQueue();
  readonly files = new FileShelf();
  readonly world: World;
  readonly queue: UpdateQueue;
  readonly polls: Polls;
  readonly transcript: Transcript;
  /** Whether topics work in private chats. */
  topicsEnabled: boolean;
  /** For this long after its deletion a thread still takes messages, into the main chat (the server's topic cache). */
  topicCacheMs: number;
  commands: readonly unknown[] = [];
  droppedPendingUpdates = 0;
  readonly #callbacks = new Map<string, number>();
  #nextCallback = 1;

  constructor(settings: EmulatorSettings) {
    this.settings = settings;
    this.topicsEnabled = settings.bot.has_topics_enabled;
    this.topicCacheMs = settings.topicCacheMs;
    this.world = new World(settings.clock, this.hub, settings.firstMessageId, settings.messagesMax);
    this.queue = new UpdateQueue(settings.firstUpdateId, settings.pendingUpdatesMax);
    this.polls = new Polls(this.queue, settings.clock, settings.repeatedOffsetRule);
    this.transcript = new Transcript(settings.transcriptMax);
  }

  get nowMs(): number {
    return this.settings.clock.nowMs();
  }

  /** The bot as the sender of a message. */
  get botUser(): User {
    const { id, first_name, username } = this.settings.bot;
    return { id, is_bot: true, first_name, username };
  }

  /** True where threads work: supergroup forums, and private chats while topics are enabled. */
  hasThreads(chat: Chat): boolean {
    return chat.type === "private" ? this.topicsEnabled : chat.type === "supergroup" && chat.is_forum === true;
  }

  /** Queues one update; null when the bot does not take its type. */
  deliver(type: UpdateType, content: object): number | null {
    return this.deliverRaw({ [type]: content });
  }

  deliverRaw(body: UpdateBody, id?: number): number | null {
    const updateId = this.queue.push(body, id);
    if (updateId !== null) this.polls.wake();
    return updateId;
  }

  /** Posts a topic service message and tells the bot as far as it is told. */
  postService(input: { chat: Chat; threadId: number; from: User; content: Partial<Message> }): StoredMessage {
    const stored = this.world.post(input);
    this.announceService(stored);
    return stored;
  }

  announceService(stored: StoredMessage): number | null {
    const own = stored.message.from?.id === this.settings.bot.id;
    return own && !this.settings.serviceMessagesToBot ? null : this.deliver("message", stored.message);
  }

  newCallbackId(): string {
    const id = String(this.settings.bot.id * 1_000_000 + this.#nextCallback);
    this.#nextCallback += 1;
    this.rememberCallback(id);
    return id;
  }

  rememberCallback(id: string): void {
    this.#callbacks.set(id, this.nowMs);
    if (this.#callbacks.size <= CALLBACKS_MAX) return;
    const oldest = this.#callbacks.keys().next();
    if (oldest.done !== true) this.#callbacks.delete(oldest.value);
  }

  isCallbackOpen(id: string): boolean {
    const sinceMs = this.#callbacks.get(id);
    return sinceMs !== undefined && this.nowMs - sinceMs < CALLBACK_TTL_MS;
  }
}
