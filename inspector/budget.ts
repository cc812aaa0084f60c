/**
 * How much of the process's time watching may take.
 *
 * Owns: the account. Does not own: what is left out when it is empty (`watch.ts`).
 *
 * Invariants: over any stretch longer than `burstMs / share`, at most about `share` of the time was spent; the account
 * never holds more than `burstMs`, so a quiet night does not buy a long stall in the morning.
 */

/**
 * The part of an instance's time that making frames may take unless told otherwise. Leaves room below a tenth for what is not
 * measured: the counting itself, and writing to sockets.
 */
export const shareDefault = 0.03;

const burstMs = 150;

export class Budget {
  readonly #stopwatchMs: () => number;
  readonly #share: number;
  #creditMs = burstMs;
  #settledAtMs: number;

  /** `stopwatchMs` is monotonic and fine. */
  constructor(stopwatchMs: () => number, share: number) {
    this.#stopwatchMs = stopwatchMs;
    this.#share = share;
    this.#settledAtMs = stopwatchMs();
  }

  get isSpent(): boolean {
    const nowMs = this.#stopwatchMs();
    this.#creditMs = Math.min(burstMs, this.#creditMs + (nowMs - this.#settledAtMs) * this.#share);
    this.#settledAtMs = nowMs;
    return this.#creditMs <= 0;
  }

  /** So much has been spent on credit that even what is never left out otherwise must be. */
  get isOverdrawn(): boolean {
    return this.isSpent && this.#creditMs <= -burstMs;
  }

  /** Runs the work and takes its time off the account. */
  spend(work: () => void): void {
    const startedAtMs = this.#stopwatchMs();
    try {
      work();
    } finally {
      this.#creditMs -= this.#stopwatchMs() - startedAtMs;
    }
  }
}
