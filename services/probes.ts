/**
 * When a thread may be looked at, and when one may be deleted: both are admin writes and eat the chat's quota.
 *
 * Owns: the pace (one such call a second, probes and deletions in turns, the oldest of each first, none while a message is
 * under way) and the pause that Telegram asked for. Does not own: what is asked, what the answer means (`provisioning.ts`, `cleanup.ts`, `titles.ts`).
 *
 * Invariant: a probe never begins while a call of an instance is on its way. Never periodic: nothing is probed unasked.
 */
import type { Clock } from "./ports.ts";

/** Between the beginnings of two probes of a chat, in milliseconds. */
export const probeIntervalMs = 1_000;

/** What an admin write is made for. */
type Purpose = "probe" | "deletion";

interface Waiting {
  readonly purpose: Purpose;
  readonly signal: AbortSignal;
  readonly begin: () => void;
}

export class Probes {
  private readonly clock: Clock;
  private readonly waiting: Waiting[] = [];
  private callsUnderWay = 0;
  /** By the clock's elapsed time. */
  private notBeforeMs = -Infinity;
  private timer: unknown = null;
  private last: Purpose = "deletion";

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** A call that somebody waits for: no probe begins before it is over. */
  async ahead<Result>(call: () => Promise<Result>): Promise<Result> {
    this.callsUnderWay += 1;
    try {
      return await call();
    } finally {
      this.callsUnderWay -= 1;
      this.look();
    }
  }

  /** Runs `probe` when its turn has come; one that nobody waits for any more costs nothing and is not run. */
  async run<Result>(probe: () => Promise<Result>, unwanted: Result, signal: AbortSignal): Promise<Result> {
    await this.turn("probe", signal);
    return signal.aborted ? unwanted : probe();
  }

  /** Resolves when it is a deletion's turn, or nobody waits for it any more. */
  async deletion(signal: AbortSignal): Promise<void> {
    await this.turn("deletion", signal);
  }

  private async turn(purpose: Purpose, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      this.waiting.push({ purpose, signal, begin: resolve });
      signal.addEventListener("abort", () => {
        this.look();
      });
      this.look();
    });
  }

  /** Telegram asked for a pause: no probe begins before it is over. */
  pause(delayMs: number): void {
    this.notBeforeMs = Math.max(this.notBeforeMs, this.clock.elapsedMs() + delayMs);
  }

  private look(): void {
    this.letGoUnwanted();
    this.clock.clearTimeout(this.timer);
    const next = this.waiting.find(({ purpose }) => purpose !== this.last) ?? this.waiting[0];
    if (next === undefined || this.callsUnderWay > 0) return;
    const nowMs = this.clock.elapsedMs();
    if (nowMs < this.notBeforeMs) {
      this.timer = this.clock.setTimeout(() => {
        this.look();
      }, this.notBeforeMs - nowMs);
      return;
    }
    this.notBeforeMs = nowMs + probeIntervalMs;
    this.last = next.purpose;
    this.waiting.splice(this.waiting.indexOf(next), 1);
    next.begin();
    this.look();
  }

  private letGoUnwanted(): void {
    for (const each of this.waiting.filter(({ signal }) => signal.aborted)) {
      this.waiting.splice(this.waiting.indexOf(each), 1);
      each.begin();
    }
  }
}
