/**
 * Clocks of hosts: what time looks like from inside.
 *
 * Owns: the mapping between true time and the elapsed and wall time of one host: rate, offset, jumps.
 * Does not own: timers (`process.ts`), true time (`scheduler.ts`).
 * Invariants: elapsed time never goes back and never jumps; wall time jumps only by `jump`.
 */
import type { Clock } from "../../services/ports.ts";
import type { Scheduler } from "./scheduler.ts";

export interface HostClock {
  /** Local time that has passed, at the host's own rate. */
  elapsedMs(): number;
  /** Wall clock. */
  nowMs(): number;
  /** True time, in microseconds, at which `elapsedMs` will have reached a value. */
  trueUsAt(elapsedMs: number): number;
  /** Moves the wall clock. */
  jump(byMs: number): void;
  /** Sum of all jumps so far. */
  jumpedMs(): number;
}

/** 2026-01-01, where every simulation starts. */
export const simulationStartMs = 1_767_225_600_000;

export interface ClockTraits {
  /** Local seconds per true second: 1.005 runs half a percent fast. */
  readonly rate: number;
  /** Wall clock at true time zero, against `simulationStartMs`. */
  readonly offsetMs: number;
  /** What `elapsedMs` counts from. */
  readonly elapsedStartMs: number;
}

export function createHostClock(scheduler: Scheduler, traits: ClockTraits): HostClock {
  let jumped = 0;
  const elapsedMs = () => traits.elapsedStartMs + (scheduler.nowUs() * traits.rate) / 1000;
  return {
    elapsedMs,
    nowMs: () => Math.floor(simulationStartMs + traits.offsetMs + jumped + elapsedMs() - traits.elapsedStartMs),
    trueUsAt: (local) => ((local - traits.elapsedStartMs) * 1000) / traits.rate,
    jump: (byMs) => {
      jumped += byMs;
    },
    jumpedMs: () => jumped,
  };
}

/** The clock of something that has no timers: a store. */
export const asTimerless = (host: HostClock): Clock => ({
  nowMs: () => host.nowMs(),
  elapsedMs: () => host.elapsedMs(),
  setTimeout: () => {
    throw new Error("a simulated store has no timers");
  },
  clearTimeout: () => undefined,
});
