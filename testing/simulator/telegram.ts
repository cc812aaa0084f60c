/**
 * A small Telegram: what the Bot API's server knows and does, as plain state.
 *
 * Owns: pending updates and their confirmation, the one waiting poll, threads, messages sent, the counts of conflicts.
 * Does not own: latency, faults and time-outs on the way (`telegram-api.ts`).
 * Invariants: an update is confirmed by a later call with a higher offset and by nothing else; of two polls the older
 * ends with 409; a thread that is gone takes nothing.
 * Source: Bot API "getUpdates", "createForumTopic"; the Bot API server's TQueue::get and process_get_updates_query.
 */
import type { CallOutcome } from "../../services/ports.ts";
import type { Planned, Scheduler } from "./scheduler.ts";

export type Payload = Readonly<Record<string, unknown>>;

/** Who holds a connection to the server, as the server can tell them apart. */
export interface Caller {
  readonly name: string;
  /** Was it able to act all the time since it asked? If not, a conflict is no fault of its. */
  readonly couldAct: () => boolean;
}

interface Update {
  readonly update_id: number;
  readonly [field: string]: unknown;
}

interface WaitingPoll {
  readonly caller: Caller;
  readonly offset: number;
  readonly limit: number;
  readonly answer: (outcome: CallOutcome) => void;
  readonly expiry: Planned;
}

export interface SimulatedThread {
  readonly id: number;
  readonly name: string;
  readonly isGone: boolean;
  readonly isClosed: boolean;
  /** The user made it, not the bot. */
  readonly isUsers: boolean;
}

/** A message of the bot that has buttons: their data, in order. */
export interface Keyboard {
  readonly messageId: number;
  readonly threadId: number | null;
  readonly data: readonly string[];
}

/** What a user may do to a thread. */
export type UserDeed =
  { readonly kind: "delete" | "close" | "reopen" } | { readonly kind: "rename"; readonly name: string };

export interface TelegramStats {
  readonly conflicts: number;
  /** Conflicts between two callers of which the older could have stopped in time. */
  readonly ownConflicts: number;
  readonly polls: number;
  readonly sent: number;
  readonly negativeOffsets: number;
}

export interface TelegramWorld {
  /** Carries out a call that has arrived. `answer` may come later (a poll that waits). */
  perform(
    call: { readonly method: string; readonly payload: Payload; readonly caller: Caller },
    answer: (outcome: CallOutcome) => void,
  ): void;
  /** The caller's connection closed: its waiting poll is forgotten and is no conflict. */
  hangUp(caller: Caller): void;
  /** A user writes, into a thread or beside all; null when the thread is gone. Returns the update's id. */
  write(threadId: number | null, text: string): number | null;
  /** The user makes a thread; its id. */
  open(name: string): number;
  /** What stands in the chat with buttons, oldest first. */
  readonly keyboards: () => readonly Keyboard[];
  /** The user presses one of a message's buttons. Returns the update's id. */
  press(keyboard: Keyboard, data: string): number;
  /** A user does something to a thread; all but a deletion is told by a service message. False when it cannot be done. */
  meddle(threadId: number, deed: UserDeed): boolean;
  readonly threads: () => readonly SimulatedThread[];
  readonly isGone: (threadId: number) => boolean;
  /** The server will not give this update again. */
  readonly isConfirmed: (updateId: number) => boolean;
  readonly stats: () => TelegramStats;
}

export const simulatedChatId = 7_000_001;
const bot = { id: 4_242, is_bot: true, first_name: "Simulated", username: "simulated_bot", has_topics_enabled: true };
const user = { id: simulatedChatId, is_bot: false, first_name: "User" };
const chat = { id: simulatedChatId, type: "private", first_name: "User" };
const iconColor = 7_322_096;
const timeoutMaxS = 50;
const futureSlack = 10;
const repeatWindowMs = 500;

const ok = (result: unknown): CallOutcome => ({ kind: "ok", result });
export const rejection = (error_code: number, description: string): CallOutcome => ({
  kind: "rejected",
  error: { error_code, description },
});
const conflict = rejection(
  409,
  "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
);
const numberIn = (payload: Payload, field: string): number | null => {
  const value = payload[field];
  return typeof value === "number" ? value : null;
};

/** Methods that answer yes and change nothing here. */
const harmless = ["deleteWebhook", "sendChatAction", "answerCallbackQuery", "setMyCommands"];
const textIn = (payload: Payload, field: string): string => {
  const value = payload[field];
  return typeof value === "string" ? value : "";
};

/** The queue of updates and the one poll that may wait on it. */
class Polls {
  conflicts = 0;
  ownConflicts = 0;
  polls = 0;
  negativeOffsets = 0;
  readonly #scheduler: Scheduler;
  readonly #pending: Update[] = [];
  #nextId = 500_000;
  #waiting: WaitingPoll | null = null;
  #previous: { readonly offset: number; readonly atMs: number } | null = null;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  isConfirmed(id: number): boolean {
    return id < (this.#pending[0]?.update_id ?? this.#nextId);
  }

  push(body: Payload): number {
    const update = { update_id: this.#nextId, ...body };
    this.#nextId += 1;
    this.#pending.push(update);
    const waiting = this.#waiting;
    if (waiting === null) return update.update_id;
    this.#end(waiting, ok(this.#take(waiting.offset, waiting.limit)));
    return update.update_id;
  }

  poll(payload: Payload, caller: Caller, answer: (outcome: CallOutcome) => void): void {
    this.polls += 1;
    this.#replaceWaiting(caller);
    const asked = numberIn(payload, "offset") ?? 0;
    if (asked < 0) this.negativeOffsets += 1;
    const offset = asked < 0 || asked > this.#nextId + futureSlack ? 0 : asked;
    for (let first = this.#pending[0]; first !== undefined && first.update_id < offset; first = this.#pending[0])
      this.#pending.shift();
    const limit = this.#limitOf(payload, offset);
    const updates = this.#take(offset, limit);
    const timeoutS = Math.min(timeoutMaxS, numberIn(payload, "timeout") ?? 0);
    if (updates.length > 0 || timeoutS <= 0) {
      answer(ok(updates));
      return;
    }
    const expiry = this.#scheduler.after(timeoutS * 1000, "telegram", () => {
      this.#waiting = null;
      answer(ok([]));
      return "poll ends empty";
    });
    this.#waiting = { caller, offset, limit, answer, expiry };
  }

  hangUp(caller: Caller): void {
    if (this.#waiting?.caller !== caller) return;
    this.#waiting.expiry.cancel();
    this.#waiting = null;
  }

  #take(offset: number, limit: number): readonly Update[] {
    return this.#pending.filter((update) => update.update_id >= offset).slice(0, limit);
  }

  #end(waiting: WaitingPoll, outcome: CallOutcome): void {
    this.#waiting = null;
    waiting.expiry.cancel();
    waiting.answer(outcome);
  }

  #replaceWaiting(caller: Caller): void {
    const older = this.#waiting;
    if (older === null) return;
    this.conflicts += 1;
    const isOwn = older.caller.name !== caller.name && older.caller.couldAct();
    if (isOwn) this.ownConflicts += 1;
    this.#scheduler.note(`telegram 409 to ${older.caller.name}${isOwn ? " (own)" : ""}`);
    this.#end(older, conflict);
  }

  #limitOf(payload: Payload, offset: number): number {
    const nowMs = this.#scheduler.nowMs();
    const isRepeated = this.#previous?.offset === offset && nowMs - this.#previous.atMs < repeatWindowMs;
    this.#previous = { offset, atMs: nowMs };
    return isRepeated ? 1 : Math.min(100, Math.max(1, numberIn(payload, "limit") ?? 100));
  }
}

/** The threads of the chat. */
class Threads {
  readonly #byId = new Map<number, SimulatedThread>();

  all(): readonly SimulatedThread[] {
    return [...this.#byId.values()];
  }

  isGone(id: number): boolean {
    return this.#byId.get(id)?.isGone !== false;
  }

  living(payload: Payload): SimulatedThread | null {
    const thread = this.#byId.get(numberIn(payload, "message_thread_id") ?? 0);
    return thread === undefined || thread.isGone ? null : thread;
  }

  isClosed(id: number): boolean {
    return this.#byId.get(id)?.isClosed === true;
  }

  add(id: number, name: string, isUsers: boolean): void {
    this.#byId.set(id, { id, name, isGone: false, isClosed: false, isUsers });
  }

  /** Whether it changed anything. */
  change(id: number, differs: Partial<Omit<SimulatedThread, "id" | "isUsers">>): boolean {
    const thread = this.#byId.get(id);
    if (thread === undefined || thread.isGone) return false;
    const changed = { ...thread, ...differs };
    this.#byId.set(id, changed);
    return changed.isGone || changed.isClosed !== thread.isClosed || changed.name !== thread.name;
  }

  edit(payload: Payload): CallOutcome {
    const thread = this.living(payload);
    if (thread === null) return rejection(400, "Bad Request: TOPIC_ID_INVALID");
    if (payload["name"] === undefined) return rejection(400, "Bad Request: TOPIC_NOT_MODIFIED");
    this.change(thread.id, { name: textIn(payload, "name") });
    return ok(true);
  }

  remove(payload: Payload): CallOutcome {
    const thread = this.living(payload);
    if (thread === null) return rejection(400, "Bad Request: TOPIC_ID_INVALID");
    this.change(thread.id, { isGone: true });
    return ok(true);
  }
}

const dataIn = (markup: unknown): readonly string[] =>
  [...JSON.stringify(markup).matchAll(/"callback_data":"([^"]+)"/g)].map(([, data]) => data ?? "");

/** The messages with buttons. */
class Keyboards {
  readonly #byId = new Map<number, Keyboard>();

  all(): readonly Keyboard[] {
    return [...this.#byId.values()];
  }

  sent(messageId: number, threadId: number | null, payload: Payload): void {
    const markup = payload["reply_markup"];
    if (markup !== undefined) this.#byId.set(messageId, { messageId, threadId, data: dataIn(markup) });
  }

  renew(payload: Payload): CallOutcome {
    const known = this.#byId.get(numberIn(payload, "message_id") ?? 0);
    if (known === undefined) return rejection(400, "Bad Request: message to edit not found");
    this.sent(known.messageId, known.threadId, payload);
    return ok(true);
  }

  remove(payload: Payload): CallOutcome {
    const isKnown = this.#byId.delete(numberIn(payload, "message_id") ?? 0);
    return isKnown ? ok(true) : rejection(400, "Bad Request: message to delete not found");
  }
}

/** What a deed changes, and what its service message tells; null = there is none. */
function readDeed(deed: UserDeed): { readonly differs: Partial<SimulatedThread>; readonly told: Payload | null } {
  switch (deed.kind) {
    case "delete":
      return { differs: { isGone: true }, told: null };
    case "close":
      return { differs: { isClosed: true }, told: { forum_topic_closed: {} } };
    case "reopen":
      return { differs: { isClosed: false }, told: { forum_topic_reopened: {} } };
    case "rename":
      return { differs: { name: deed.name }, told: { forum_topic_edited: { name: deed.name } } };
  }
}

type OnSent = (threadId: number | null, text: string) => void;

/** The chat: its messages, and what the bot does there. */
function createChat(scheduler: Scheduler, polls: Polls, onSent: OnSent) {
  let lastMessageId = 1_000;
  let sent = 0;
  const message = (threadId: number | null, content: Payload) => {
    lastMessageId += 1;
    const date = 1_767_225_600 + Math.floor(scheduler.nowMs() / 1000);
    const place = threadId === null ? {} : { message_thread_id: threadId, is_topic_message: true };
    return { message_id: lastMessageId, chat, date, ...place, ...content };
  };
  const threads = new Threads();
  const keyboards = new Keyboards();
  const send = (payload: Payload): CallOutcome => {
    const threadId = numberIn(payload, "message_thread_id");
    if (threadId !== null && threads.living(payload) === null)
      return rejection(400, "Bad Request: message thread not found");
    if (threadId !== null && threads.isClosed(threadId)) return rejection(400, "Bad Request: TOPIC_CLOSED");
    sent += 1;
    onSent(threadId, textIn(payload, "text"));
    const stands = message(threadId, { from: bot, text: payload["text"] });
    keyboards.sent(stands.message_id, threadId, payload);
    return ok(stands);
  };
  const make = (name: string, by: typeof bot | typeof user): number => {
    const service = message(null, { from: by, forum_topic_created: { name, icon_color: iconColor } });
    const id = service.message_id;
    threads.add(id, name, by === user);
    polls.push({ message: { ...service, message_thread_id: id, is_topic_message: true } });
    return id;
  };
  const methods: Readonly<Record<string, (payload: Payload) => CallOutcome>> = {
    getMe: () => ok(bot),
    getChat: () => ok(chat),
    sendMessage: send,
    editMessageReplyMarkup: (payload) => keyboards.renew(payload),
    deleteMessage: (payload) => keyboards.remove(payload),
    createForumTopic(payload) {
      const name = textIn(payload, "name");
      return ok({ message_thread_id: make(name, bot), name, icon_color: iconColor });
    },
    editForumTopic: (payload) => threads.edit(payload),
    deleteForumTopic: (payload) => threads.remove(payload),
  };
  return { message, make, methods, threads, keyboards, sent: () => sent };
}

/** `onSent` hears of every message of the bot in the moment it stands in the chat. */
export function createTelegramWorld(scheduler: Scheduler, onSent: OnSent): TelegramWorld {
  const polls = new Polls(scheduler);
  const { message, make, methods, threads, keyboards, sent } = createChat(scheduler, polls, onSent);
  let lastQuery = 0;
  return {
    perform({ method, payload, caller }, answer) {
      if (method === "getUpdates") polls.poll(payload, caller, answer);
      else if (harmless.includes(method)) answer(ok(true));
      else answer(methods[method]?.(payload) ?? rejection(404, "Not Found: method not found"));
    },
    hangUp: (caller) => polls.hangUp(caller),
    write(threadId, text) {
      if (threadId !== null && (threads.isGone(threadId) || threads.isClosed(threadId))) return null;
      return polls.push({ message: message(threadId, { from: user, text }) });
    },
    open: (name) => make(name, user),
    keyboards: () => keyboards.all().filter(({ threadId }) => threadId === null || !threads.isGone(threadId)),
    press({ messageId, threadId }, data) {
      const under = { ...message(threadId, { from: bot }), message_id: messageId };
      return polls.push({
        callback_query: { id: `q${(lastQuery += 1)}`, from: user, chat_instance: "1", data, message: under },
      });
    },
    meddle(threadId, deed) {
      const { differs, told } = readDeed(deed);
      if (!threads.change(threadId, differs)) return false;
      if (told !== null) polls.push({ message: message(threadId, { from: user, ...told }) });
      return true;
    },
    threads: () => threads.all(),
    isGone: (threadId) => threads.isGone(threadId),
    isConfirmed: (id) => polls.isConfirmed(id),
    stats: () => {
      const { conflicts, ownConflicts, polls: asked, negativeOffsets } = polls;
      return { conflicts, ownConflicts, polls: asked, sent: sent(), negativeOffsets };
    },
  };
}
