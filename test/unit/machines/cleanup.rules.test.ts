/** How long apart deletions of a thread are tried. */
import { expect, it } from "vitest";
import { cleanupPauseFirstMs, cleanupPauseMaxMs, cleanupPauseMs } from "../../../machines/cleanup.rules.ts";

it("begins with 2 s, doubles, and ends at 10 minutes, but never comes before Telegram's own word", () => {
  expect([cleanupPauseFirstMs, cleanupPauseMaxMs]).toEqual([2_000, 600_000]);
  expect([1, 2, 3, 9, 10, 99].map((attempts) => cleanupPauseMs(attempts, 0))).toEqual([
    2_000, 4_000, 8_000, 512_000, 600_000, 600_000,
  ]);
  expect(cleanupPauseMs(1, 20_000)).toBe(20_000);
});
