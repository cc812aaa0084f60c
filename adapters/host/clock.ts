/**
 * The host's clock.
 *
 * Owns: wall time, elapsed time that counts suspension, timers in the shape XState wants.
 * Does not own: any deadline or period.
 *
 * Invariants:
 * 1. `elapsedMs` never goes back.
 * 2. Time spent suspended counts. On Linux and macOS `hrtime` stands still meanwhile and `os.uptime` does not, so the
 *    clock runs on `hrtime` and adds what the uptime is ahead by.
 * 3. The uptime moves in steps (10 ms on Linux, up to a second elsewhere). A lead within one step is no suspension: it
 *    would make the clock jerk. So elapsed time is exact to one step, and never behind by more than that.
 */
import { uptime } from "node:os";
import type { Clock } from "../../services/ports.ts";

/** Where a clock reads time. */
export interface TimeSources {
  wallMs(): number;
  /** Monotonic, fine, may stand still during suspension. */
  monotonicMs(): number;
  /** Counts suspension, moves in steps of at most `uptimeStepMs`. */
  uptimeMs(): number;
  readonly uptimeStepMs: number;
}

/** Node turns a longer delay into one of 1 ms. */
const delayMsMax = 2_147_483_647;

/** For measuring one's own work: monotonic, fine, quick to read; stands still during suspension. */
export const stopwatchMs = (): number => performance.now();

/** This host's clock. Timers longer than 24.8 days fire then. */
export function systemClock(): Clock {
  return clockFrom({
    wallMs: () => Date.now(),
    monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
    uptimeMs: () => uptime() * 1000,
    uptimeStepMs: process.platform === "linux" ? 20 : 1000,
  });
}

export function clockFrom(sources: TimeSources): Clock {
  const monotonicStartMs = sources.monotonicMs();
  const uptimeStartMs = sources.uptimeMs();
  let suspendedMs = 0;
  let lastMs = 0;
  return {
    nowMs: () => sources.wallMs(),
    elapsedMs() {
      const runningMs = sources.monotonicMs() - monotonicStartMs;
      const leadMs = sources.uptimeMs() - uptimeStartMs - runningMs - suspendedMs;
      if (leadMs > sources.uptimeStepMs) suspendedMs += leadMs;
      lastMs = Math.max(lastMs, runningMs + suspendedMs);
      return lastMs;
    },
    setTimeout: (fn, delayMs) => setTimeout(fn, Math.min(delayMs, delayMsMax)),
    clearTimeout(handle) {
      // The port leaves the handle opaque; the only handles there are come from setTimeout above.
      clearTimeout(handle as NodeJS.Timeout | undefined);
    },
  };
}
