/**
 * Counters of what went wrong and was dealt with, kept in memory and written now and then.
 *
 * Owns: that a flood of bad frames costs at most one write a second. Does not own: what is counted.
 * Not guaranteed: counts of the last second survive a crash.
 */
import type { Clock, Log, StatusStore } from "./ports.ts";

const flushEveryMs = 1_000;

export class Counts {
  private readonly status: StatusStore;
  private readonly clock: Clock;
  private readonly log: Log;
  private pending = new Map<string, number>();
  private timer: unknown = null;

  constructor(status: StatusStore, clock: Clock, log: Log) {
    this.status = status;
    this.clock = clock;
    this.log = log;
  }

  add(reason: string): void {
    this.pending.set(reason, (this.pending.get(reason) ?? 0) + 1);
    this.timer ??= this.clock.setTimeout(() => {
      void this.flush();
    }, flushEveryMs);
  }

  /** Writes what is pending; a failure loses these counts and is logged. */
  async flush(): Promise<void> {
    this.clock.clearTimeout(this.timer);
    this.timer = null;
    const counted = this.pending;
    this.pending = new Map();
    try {
      await Promise.all([...counted].map(([reason, by]) => this.status.count(reason, by, this.clock.nowMs())));
    } catch (error) {
      this.log.event("warn", "counts-lost", { reason: String(error) });
    }
  }
}
