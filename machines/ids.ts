/**
 * Branded identities.
 *
 * Owns: the types of every identity that crosses a module border, and their constructors. Mixing two of them does not
 * compile: an `Epoch` is no `number`, a `SeatKey` is no `InstanceId`.
 * Does not own: where identities come from (the `Ids` port mints them, the store counts epochs).
 */

declare const brand: unique symbol;
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

/** Fencing token of a lease grant; +1 in the store each time the lease is granted. The first grant is 1. */
export type Epoch = Brand<number, "Epoch">;
/** A follower's registration attempt; fresh for every attempt, opaque to everyone but its minter. */
export type Generation = Brand<string, "Generation">;
/** One running process on the line, for one profile: `<pid>:<createdAtMs>` on the wire. */
export type InstanceId = Brand<string, "InstanceId">;
/** Stable identity of a seat: `manual:<owner>:<discriminator>`. Survives restarts of the process that holds it. */
export type SeatKey = Brand<string, "SeatKey">;
/** Telegram's `update_id`. May restart at a lower number after a quiet week: it alone identifies nothing. */
export type UpdateId = Brand<number, "UpdateId">;
/** Position in the journal: unique for ever, ascending in admission order. */
export type JournalSeq = Brand<number, "JournalSeq">;
export type ChatId = Brand<number, "ChatId">;
/** Telegram's `message_thread_id`. */
export type ThreadId = Brand<number, "ThreadId">;
export type MessageId = Brand<number, "MessageId">;
/** One taking of authority over queued work. */
export type AcquisitionId = Brand<string, "AcquisitionId">;
/** One offer of queued work to another instance: a digest, form `handoff-` + 32 hex digits. */
export type OfferId = Brand<string, "OfferId">;
/** Order key of updates that must be handled one after another: one thread, or one chat without threads. */
export type Lane = Brand<string, "Lane">;

// The constructors below are the only places where a plain value becomes an identity, hence the casts.
export const epoch = (value: number): Epoch => value as Epoch;
export const generation = (value: string): Generation => value as Generation;
export const instanceId = (value: string): InstanceId => value as InstanceId;
export const seatKey = (value: string): SeatKey => value as SeatKey;
export const updateId = (value: number): UpdateId => value as UpdateId;
export const journalSeq = (value: number): JournalSeq => value as JournalSeq;
export const chatId = (value: number): ChatId => value as ChatId;
export const threadId = (value: number): ThreadId => value as ThreadId;
export const messageId = (value: number): MessageId => value as MessageId;
export const acquisitionId = (value: string): AcquisitionId => value as AcquisitionId;
export const offerId = (value: string): OfferId => value as OfferId;
export const lane = (value: string): Lane => value as Lane;

/**
 * Process birth: what proves that a process is this one and no later user of its pid.
 *
 * `startTicks` is field 22 of `/proc/<pid>/stat` on Linux, a digest of `ps -o lstart` on macOS, and empty where the
 * platform proves nothing. `counter` tells two instances of one process apart.
 */
export interface Incarnation {
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTicks: string;
  readonly counter: number;
}

/** What a look at a process can say about an incarnation. `unverifiable` is never read as either of the others. */
export type Liveness = "alive" | "dead" | "unverifiable";

/** Where a message goes: a chat, and a thread of it unless the chat has none. */
export interface Target {
  readonly chatId: ChatId;
  readonly threadId?: ThreadId;
}

/** A thread, for certain. */
export interface ThreadTarget extends Target {
  readonly threadId: ThreadId;
}

/** What a seat got: its thread with the letter and the name the user sees. */
export interface BoundThread {
  readonly target: ThreadTarget;
  readonly slot: string;
  readonly threadName: string;
}

export const sameTarget = (a: Target, b: Target): boolean => a.chatId === b.chatId && a.threadId === b.threadId;

export const sameIncarnation = (a: Incarnation, b: Incarnation): boolean =>
  a.bootId === b.bootId &&
  a.pidNamespace === b.pidNamespace &&
  a.pid === b.pid &&
  a.startTicks === b.startTicks &&
  a.counter === b.counter;
