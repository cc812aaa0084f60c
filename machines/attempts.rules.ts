/**
 * How often, and how long apart, an update is tried whose handler failed.
 *
 * Owns: the numbers, and what they mean where a clock was set back. Does not own: who tries (`delivery.machine.ts`).
 */

/** Handler failures after which an update is set aside. */
export const attemptsMax = 12;
/** After the n-th handler failure: 1, 2, 4, … seconds, at most 60. */
export const attemptDelayMs = (attempts: number): number => Math.min(60_000, 1_000 * 2 ** Math.max(0, attempts - 1));

/**
 * Until the update may be tried: 0 = now. What nobody has failed at waits for nothing; anything else no longer than the delay
 * that its failure gave it, also where the clock was set back since.
 */
export function attemptInMs(
  { attempts, nextAttemptAtMs }: { readonly attempts: number; readonly nextAttemptAtMs: number },
  nowMs: number,
): number {
  if (attempts === 0) return 0;
  return Math.min(attemptDelayMs(attempts), Math.max(0, nextAttemptAtMs - nowMs));
}
