/** How long an update waits whose handler failed, also where the clock was set back. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attemptDelayMs, attemptInMs } from "../../../machines/attempts.rules.ts";

describe("how long an update is not to be tried", () => {
  const nowMs = 1_000_000_000;

  it("is no time at all where nothing failed, whenever it was admitted", () => {
    expect(attemptInMs({ attempts: 0, nextAttemptAtMs: nowMs + 3_600_000 }, nowMs)).toBe(0);
  });

  it("is what is left of the delay that its last failure gave it", () => {
    expect(attemptInMs({ attempts: 3, nextAttemptAtMs: nowMs + 1_500 }, nowMs)).toBe(1_500);
    expect(attemptInMs({ attempts: 3, nextAttemptAtMs: nowMs - 1 }, nowMs)).toBe(0);
  });

  it("is never more than that delay, however far the clock was set back since", () => {
    fc.assert(
      fc.property(fc.nat(20), fc.integer({ min: -1e9, max: 1e9 }), (attempts, aheadMs) => {
        const inMs = attemptInMs({ attempts, nextAttemptAtMs: nowMs + aheadMs }, nowMs);
        expect(inMs).toBeGreaterThanOrEqual(0);
        expect(inMs).toBeLessThanOrEqual(attempts === 0 ? 0 : attemptDelayMs(attempts));
      }),
    );
  });
});
