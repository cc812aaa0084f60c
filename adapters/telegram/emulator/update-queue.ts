/**
 * The bot's queue of pending updates: what `getUpdates` confirms, forgets and returns.
 *
 * Owns: update ids, pending updates, the remembered `allowed_updates`. Does not own: waiting polls (polls.ts).
 * Invariants:
 *  - an update leaves the queue only when an offset confirms it, when a negative offset or `drop` forgets it, when the
 *    queue is restarted, or when more than `pendingMax` wait (the oldest goes, counted in `overflowed`);
 *  - a type that is not allowed is never queued, and is not queued later when it becomes allowed (counted in `filtered`);
 *  - reading (`select`) changes nothing.
 * Source: Bot API "getUpdates"; the Bot API server's Client::do_get_updates and TQueue::get.
 */
import type { Update } from "@grammyjs/types";

export type UpdateType = Exclude<keyof Update, "update_id">;
/** An update without its id. Injected updates are passed on as they came, so nothing more is promised here. */
export type UpdateBody = Readonly<Record<string, unknown>>;

export interface QueuedUpdate {
  readonly id: number;
  readonly body: UpdateBody;
}

/** Types that arrive only when they are named in `allowed_updates`. */
const OPT_IN_TYPES: ReadonlySet<string> = new Set<UpdateType>([
  "chat_member",
  "message_reaction",
  "message_reaction_count",
]);

/** An offset further than this past the queue's end is ignored. */
const FUTURE_SLACK = 10;

export class UpdateQueue {
  #pending: QueuedUpdate[] = [];
  #nextId: number;
  #allowed: ReadonlySet<string> | undefined;
  readonly #pendingMax: number;
  filtered = 0;
  overflowed = 0;

  constructor(firstUpdateId: number, pendingMax: number) {
    this.#nextId = firstUpdateId;
    this.#pendingMax = pendingMax;
  }

  get nextId(): number {
    return this.#nextId;
  }

  get pending(): readonly QueuedUpdate[] {
    return this.#pending;
  }

  /** Null while the default applies (everything but the opt-in types). */
  get allowed(): readonly string[] | null {
    return this.#allowed === undefined ? null : [...this.#allowed];
  }

  /** Remembers the filter for updates queued from now on; an empty list is the default set. */
  setAllowed(types: readonly string[]): void {
    this.#allowed = types.length === 0 ? undefined : new Set(types);
  }

  isAllowed(type: string): boolean {
    return this.#allowed?.has(type) ?? !OPT_IN_TYPES.has(type);
  }

  /** Queues one update; returns its id, or null when its type is not allowed. An own `id` is used as it is. */
  push(body: UpdateBody, id?: number): number | null {
    const type = Object.keys(body)[0];
    if (type !== undefined && !this.isAllowed(type)) {
      this.filtered += 1;
      return null;
    }
    const updateId = id ?? this.#nextId;
    this.#nextId = updateId + 1;
    this.#pending.push({ id: updateId, body });
    if (this.#pending.length > this.#pendingMax) {
      this.#pending.shift();
      this.overflowed += 1;
    }
    return updateId;
  }

  /** The id to read from: an offset in the far future counts as none; a negative one counts from the end. */
  resolveOffset(offset: number): number {
    if (offset > this.#nextId + FUTURE_SLACK) return 0;
    if (offset >= 0) return offset;
    return this.#pending[Math.max(0, this.#pending.length + offset)]?.id ?? 0;
  }

  /** Forgets every update before `from` (an id from `resolveOffset`); returns how many went. */
  forgetBefore(from: number): number {
    const before = this.#pending.length;
    this.#pending = this.#pending.filter((update) => update.id >= from);
    return before - this.#pending.length;
  }

  select(from: number, limit: number): QueuedUpdate[] {
    return this.#pending.filter((update) => update.id >= from).slice(0, limit);
  }

  /** Forgets everything pending; returns how many. */
  drop(): number {
    const dropped = this.#pending.length;
    this.#pending = [];
    return dropped;
  }

  /** A quiet week went by: what was pending expired and ids go on from `next`. Returns how many expired. */
  restart(next: number): number {
    const expired = this.drop();
    this.#nextId = next;
    return expired;
  }
}
