/** The rules of the lease: what a record means, when two looks agree, which timings keep a lease. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { epoch, instanceId } from "../../../machines/ids.ts";
import { defaultLeaseTimings, faultOfTimings, isUnchanged, judgeLease } from "../../../machines/lease.rules.ts";
import type { LeaseTimings } from "../../../machines/lease.rules.ts";
import { holder, me, record } from "../../support/charts/samples.ts";

describe("what a record means to one who holds no grant", () => {
  it.each([
    ["nobody's", { holder: null }, "vacant"],
    ["nobody's, whatever its time says", { holder: null, remainingMs: -1 }, "vacant"],
    ["our own", { holder: holder(me) }, "own"],
    ["our own, past its end", { holder: holder(me), remainingMs: 0 }, "own"],
    ["another's", {}, "heldElsewhere"],
    ["another's, with a millisecond left", { remainingMs: 1 }, "heldElsewhere"],
    ["another's, at its end", { remainingMs: 0 }, "expired"],
    ["another's, long past it", { remainingMs: -60_000 }, "expired"],
  ] as const)("%s", (_, differs, verdict) => {
    expect(judgeLease(record(differs), me)).toBe(verdict);
  });

  it("is told by instance, not by process: two instances of one process are rivals", () => {
    expect(judgeLease(record({ holder: { ...holder(), instanceId: instanceId("100:2") } }), me)).toBe("heldElsewhere");
  });
});

describe("two looks agree", () => {
  it("when grant and renewals are the same, whatever time has passed", () => {
    expect(isUnchanged(record(), record({ remainingMs: -5, holder: null }))).toBe(true);
  });

  it("not after a renewal, nor after a grant", () => {
    expect(isUnchanged(record(), record({ renewals: 8 }))).toBe(false);
    expect(isUnchanged(record(), record({ epoch: epoch(4) }))).toBe(false);
  });
});

describe("timings that can keep a lease", () => {
  it("are the default ones: 6 s, renewed every 1.5 s", () => {
    expect(faultOfTimings(defaultLeaseTimings)).toBeNull();
    expect(defaultLeaseTimings).toMatchObject({ durationMs: 6_000, renewMs: 1_500 });
  });

  it.each(Object.keys(defaultLeaseTimings))("need a positive %s", (name) => {
    for (const bad of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(faultOfTimings({ ...defaultLeaseTimings, [name]: bad })).toBe(
        `lease timing ${name} must be a positive number`,
      );
  });

  it("leave room for three renewals and four retries", () => {
    expect(faultOfTimings({ ...defaultLeaseTimings, renewMs: 2_000 })).toBeNull();
    expect(faultOfTimings({ ...defaultLeaseTimings, renewMs: 2_001 })).toMatch(/three renewal intervals/);
    expect(faultOfTimings({ ...defaultLeaseTimings, retryMs: 1_500 })).toBeNull();
    expect(faultOfTimings({ ...defaultLeaseTimings, retryMs: 1_501 })).toMatch(/four store retries/);
  });

  it("scale: what is sound stays so when everything takes longer", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 100, noNaN: true }), (factor) => {
        const named: readonly (readonly [string, number])[] = Object.entries(defaultLeaseTimings);
        // Every timing is a number, and every one is in the entries.
        const scaled = Object.fromEntries(
          named.map(([key, value]) => [key, value * factor]),
        ) as unknown as LeaseTimings;
        expect(faultOfTimings(scaled)).toBeNull();
      }),
    );
  });
});
