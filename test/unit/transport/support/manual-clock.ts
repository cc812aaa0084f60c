/** A clock that stands still until a test moves it. Owns its timers; fires them in order of their time. */
import type { Clock } from "../../../../services/ports.ts";

export class ManualClock implements Clock {
  #nowMs = 1_750_000_000_000;
  readonly #timers = new Map<object, { readonly atMs: number; readonly fn: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  elapsedMs(): number {
    return this.#nowMs;
  }

  get pending(): number {
    return this.#timers.size;
  }

  setTimeout(fn: () => void, delayMs: number): unknown {
    const handle = {};
    this.#timers.set(handle, { atMs: this.#nowMs + delayMs, fn });
    return handle;
  }

  clearTimeout(handle: unknown): void {
    if (typeof handle === "object" && handle !== null) this.#timers.delete(handle);
  }

  setNow(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  advance(byMs: number): void {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const due = [...this.#timers]
        .filter(([, timer]) => timer.atMs <= untilMs)
        .sort(([, a], [, b]) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.#nowMs = Math.max(this.#nowMs, due[1].atMs);
      due[1].fn();
    }
    this.#nowMs = untilMs;
  }
}
