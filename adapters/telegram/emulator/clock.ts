/**
 * The emulator's one source of time.
 *
 * Owns: the clock interface and its real default. Does not own: any deadline; callers keep and cancel their own.
 * Invariant: nothing else in this folder reads the time or starts a timer.
 */
export type CancelTimer = () => void;

export interface EmulatorClock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Runs `fn` once after `ms` milliseconds unless cancelled. */
  setTimer(fn: () => void, ms: number): CancelTimer;
}

export const realClock: EmulatorClock = {
  nowMs: () => Date.now(),
  setTimer(fn, ms) {
    const handle = setTimeout(fn, ms);
    return () => clearTimeout(handle);
  },
};
