/**
 * `getUpdates`: the one waiting long poll and the rules around it.
 *
 * Owns: the waiting poll, the conflict and offset counters, the repeated-offset rule. Does not own: the queue.
 * Invariants:
 *  - at most one poll waits; a newer call ends it with 409 and takes its place;
 *  - a poll whose client went away is forgotten at once and is no conflict;
 *  - only the call itself confirms updates; being woken forgets nothing.
 * Source: Bot API "getUpdates"; the Bot API server's Client::process_get_updates_query.
 */
import type { CancelTimer, EmulatorClock } from "./clock.ts";
import { CONFLICT_OTHER_POLL, CONFLICT_SET_WEBHOOK, CONFLICT_WEBHOOK, TelegramError } from "./errors.ts";
import type { QueuedUpdate, UpdateQueue } from "./update-queue.ts";

const TIMEOUT_MAX_S = 50;
const LIMIT_MAX = 100;
const REPEAT_WINDOW_MS = 500;

export interface PollRequest {
  readonly offset: number;
  readonly limit: number | undefined;
  readonly timeoutS: number;
  readonly allowedUpdates: readonly string[] | undefined;
}

export interface PollStats {
  waiting: number;
  conflicts409: number;
  webhookConflicts409: number;
  negativeOffsets: number;
  forgottenByNegativeOffset: number;
  calls: number;
  aborted: number;
  repeatedOffsetLimits: number;
  ignoredOffsets: number;
  lowestOffset: number | null;
  highestOffset: number | null;
  lastOffset: number | null;
}

interface WaitingPoll {
  readonly offset: number;
  readonly limit: number;
  settle(outcome: { updates: QueuedUpdate[] } | { error: TelegramError }): void;
}

export class Polls {
  readonly #queue: UpdateQueue;
  readonly #clock: EmulatorClock;
  readonly #repeatedOffsetRule: boolean;
  #waiting: WaitingPoll | undefined;
  #previous: { offset: number; atMs: number } | undefined;
  #webhookUrl = "";
  readonly #stats: PollStats = {
    waiting: 0,
    conflicts409: 0,
    webhookConflicts409: 0,
    negativeOffsets: 0,
    forgottenByNegativeOffset: 0,
    calls: 0,
    aborted: 0,
    repeatedOffsetLimits: 0,
    ignoredOffsets: 0,
    lowestOffset: null,
    highestOffset: null,
    lastOffset: null,
  };

  constructor(queue: UpdateQueue, clock: EmulatorClock, repeatedOffsetRule: boolean) {
    this.#queue = queue;
    this.#clock = clock;
    this.#repeatedOffsetRule = repeatedOffsetRule;
  }

  get stats(): Readonly<PollStats> {
    return { ...this.#stats, waiting: this.#waiting === undefined ? 0 : 1 };
  }

  get webhookUrl(): string {
    return this.#webhookUrl;
  }

  setWebhook(url: string): void {
    this.#webhookUrl = url;
    if (url === "" || this.#waiting === undefined) return;
    this.#waiting.settle({ error: new TelegramError(409, CONFLICT_SET_WEBHOOK) });
  }

  /** Resolves with the batch (empty at the time-out); rejects with the 409 when another call takes over. */
  poll(request: PollRequest, signal: AbortSignal): Promise<QueuedUpdate[]> {
    this.#stats.calls += 1;
    if (this.#webhookUrl !== "") {
      this.#stats.webhookConflicts409 += 1;
      return Promise.reject(new TelegramError(409, CONFLICT_WEBHOOK));
    }
    if (request.allowedUpdates !== undefined) this.#queue.setAllowed(request.allowedUpdates);
    const limit = this.#limitFor(request);
    this.#endWaitingPoll();
    this.#record(request.offset);
    const from = this.#confirm(request.offset);
    const updates = this.#queue.select(from, limit);
    const timeoutS = Math.min(Math.max(request.timeoutS, 0), TIMEOUT_MAX_S);
    if (updates.length > 0 || timeoutS === 0) return Promise.resolve(updates);
    return this.#wait({ offset: request.offset, limit, timeoutS, signal });
  }

  /** Tells the waiting poll that the queue has grown. */
  wake(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const updates = this.#queue.select(this.#queue.resolveOffset(waiting.offset), waiting.limit);
    if (updates.length > 0) waiting.settle({ updates });
  }

  #limitFor(request: PollRequest): number {
    const nowMs = this.#clock.nowMs();
    const previous = this.#previous;
    this.#previous = { offset: request.offset, atMs: nowMs };
    const asked = Math.min(Math.max(request.limit ?? LIMIT_MAX, 1), LIMIT_MAX);
    if (!this.#repeatedOffsetRule || previous === undefined) return asked;
    if (previous.offset !== request.offset || nowMs - previous.atMs >= REPEAT_WINDOW_MS) return asked;
    this.#stats.repeatedOffsetLimits += 1;
    return 1;
  }

  #endWaitingPoll(): void {
    if (this.#waiting === undefined) return;
    this.#stats.conflicts409 += 1;
    this.#waiting.settle({ error: new TelegramError(409, CONFLICT_OTHER_POLL) });
  }

  #record(offset: number): void {
    const stats = this.#stats;
    stats.lastOffset = offset;
    if (offset < 0) stats.negativeOffsets += 1;
    stats.lowestOffset = Math.min(stats.lowestOffset ?? offset, offset);
    stats.highestOffset = Math.max(stats.highestOffset ?? offset, offset);
  }

  #confirm(offset: number): number {
    const from = this.#queue.resolveOffset(offset);
    if (offset > 0 && from === 0) this.#stats.ignoredOffsets += 1;
    const forgotten = this.#queue.forgetBefore(from);
    if (offset < 0) this.#stats.forgottenByNegativeOffset += forgotten;
    return from;
  }

  #wait(poll: { offset: number; limit: number; timeoutS: number; signal: AbortSignal }): Promise<QueuedUpdate[]> {
    return new Promise((resolve, reject) => {
      let cancelTimer: CancelTimer = () => undefined;
      const onAbort = (): void => {
        this.#stats.aborted += 1;
        waiting.settle({ updates: [] });
      };
      const waiting: WaitingPoll = {
        offset: poll.offset,
        limit: poll.limit,
        settle: (outcome) => {
          if (this.#waiting === waiting) this.#waiting = undefined;
          cancelTimer();
          poll.signal.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.updates);
        },
      };
      this.#waiting = waiting;
      if (poll.signal.aborted) {
        onAbort();
        return;
      }
      poll.signal.addEventListener("abort", onAbort);
      cancelTimer = this.#clock.setTimer(() => waiting.settle({ updates: [] }), poll.timeoutS * 1000);
    });
  }
}
