/** A clock that stands still until a test moves it; whatever became due has happened when `advance` resolves. */
import type { Clock } from "../../../services/ports.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fn: () => void;
}

const startMs = 1_767_225_600_000;

export class ManualClock implements Clock {
  private passedMs = 0;
  private order = 0;
  private readonly timers = new Map<number, Timer>();

  nowMs(): number {
    return startMs + this.passedMs;
  }

  elapsedMs(): number {
    return this.passedMs;
  }

  setTimeout(fn: () => void, delayMs: number): unknown {
    this.order += 1;
    this.timers.set(this.order, { dueMs: this.passedMs + Math.max(0, delayMs), order: this.order, fn });
    return this.order;
  }

  clearTimeout(handle: unknown): void {
    if (typeof handle === "number") this.timers.delete(handle);
  }

  /** Timers that run. */
  get pending(): number {
    return this.timers.size;
  }

  /** Lets time pass, timer by timer, each with everything that follows from it. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.passedMs + byMs;
    await settled();
    for (let next = this.next(untilMs); next !== null; next = this.next(untilMs)) {
      this.timers.delete(next.order);
      this.passedMs = next.dueMs;
      next.fn();
      await settled();
    }
    this.passedMs = untilMs;
    await settled();
  }

  private next(untilMs: number): Timer | null {
    const due = [...this.timers.values()].filter((timer) => timer.dueMs <= untilMs);
    return due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0] ?? null;
  }
}

/** When nothing is left to do but what a clock or a peer must bring. Everything here runs on microtasks. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
