/**
 * How long apart deletions of a thread are tried.
 *
 * Owns: the numbers. Does not own: who tries (`cleanup.machine.ts`), when an instruction is due (`reconciliation.rules.ts`).
 */

export const cleanupPauseFirstMs = 2_000;
/** The longest pause after a deletion that was not confirmed, unless Telegram asks for more: 10 minutes. */
export const cleanupPauseMaxMs = 10 * 60_000;

/** Until a deletion that was not confirmed is tried again: doubled each time, never before Telegram's own word. */
export const cleanupPauseMs = (attempts: number, retryAfterMs: number): number =>
  Math.max(
    retryAfterMs,
    Math.min(cleanupPauseMaxMs, cleanupPauseFirstMs * 2 ** Math.min(20, Math.max(0, attempts - 1))),
  );
