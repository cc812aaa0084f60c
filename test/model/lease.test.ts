/** The lease world: nothing is broken in it, and every seeded fault of the catalogue breaks something. */
import { describe, expect, it } from "vitest";
import { assign, createActor } from "xstate";
import { epoch, instanceId } from "../../machines/ids.ts";
import { leaseMachine } from "../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../machines/lease.rules.ts";
import { checkLiveness, explore, traceTo, unreducedCount } from "../../testing/explorer/index.ts";
import { faithfulRules, leaseWorld, projectLease } from "./worlds/lease.world.ts";
import type { LeaseBounds, LeaseRules } from "./worlds/lease.world.ts";
import { quietLease } from "./worlds/index.ts";
import { patched } from "./worlds/patched.ts";

const quiet = quietLease;

describe("the lease world", { timeout: 30_000 }, () => {
  it("holds, with the same numbers every time and with symmetry reduction as without", () => {
    const reduced = explore(leaseWorld(quiet));
    const full = explore(leaseWorld(quiet), { asymmetric: true });
    expect([reduced.exhaustive, full.exhaustive]).toEqual([true, true]);
    expect([reduced.violations, full.violations]).toEqual([[], []]);
    expect(unreducedCount(reduced)).toBe(full.states);
    expect(reduced.depth).toBe(full.depth);
    expect(explore(leaseWorld(quiet)).states).toBe(reduced.states);
  });

  it("keeps apart who saw different records while the holder is proven dead: the take-over names the one that was seen", () => {
    const { context } = createActor(leaseMachine, {
      input: { me: instanceId("i1"), timings: defaultLeaseTimings },
    }).getSnapshot();
    const saw = (seen: number) => {
      const record = { epoch: epoch(seen), renewals: 0, holder: null, remainingMs: 1 };
      const value = { proving: "proving" } as const;
      return projectLease(leaseMachine.resolveState({ value, context: { ...context, record, proofLooks: 1 } }));
    };
    expect(saw(1)).toEqual(saw(1));
    expect(saw(1)).not.toEqual(saw(2));
  });

  it("comes to a leader from everywhere", () => {
    const world = leaseWorld({ ...quiet, hints: "free" });
    expect(checkLiveness(explore(world, { asymmetric: true })).starved).toBeNull();
  });

  it("would never come to one if a hint began the wait for an ended lease anew", () => {
    const machine = patched(leaseMachine, "states/confirming", (confirming: object) => ({
      ...confirming,
      on: { "lease.check": { target: "proving", actions: assign({ proofLooks: 0 }) } },
    }));
    const world = leaseWorld({ ...quiet, crashes: 1, hints: "free" }, { ...faithfulRules, machine });
    expect(checkLiveness(explore(world, { asymmetric: true })).starved).toMatchObject({ kind: "cycle" });
  });
});

interface Seeded {
  readonly fault: string;
  readonly bounds: Partial<LeaseBounds>;
  readonly rules: Partial<LeaseRules>;
  readonly breaks: string;
}

const seeded: readonly Seeded[] = [
  {
    fault: "the store does not compare what was expected",
    bounds: { epochs: 3 },
    rules: {
      mayAcquire: (env, _by, { evidence }) => {
        if (evidence === "vacant") return env.holder === null;
        return evidence !== "expired" || env.expired;
      },
    },
    breaks: "lease/takenOnlyWithEvidence",
  },
  {
    fault: "the same owner takes it again without a new epoch",
    bounds: {},
    rules: { epochAfterGrant: (env, by) => (env.holder === by ? env.epoch : env.epoch + 1) },
    breaks: "lease/epochIncreases",
  },
  {
    fault: "the epoch starts over after a release",
    bounds: { releases: 1 },
    rules: { epochAfterGrant: (env) => (env.holder === null ? 1 : env.epoch + 1) },
    breaks: "lease/epochIncreases",
  },
  {
    fault: "takeover before the end: by the reader's clock, not judged again by the store",
    bounds: {},
    rules: {
      readsAsEnded: () => true,
      mayAcquire: (env, _by, { expected }) => expected.epoch === env.epoch && expected.renewals === env.renewals,
    },
    breaks: "lease/takenOnlyWithEvidence",
  },
  {
    fault: "the chart calls every lease vacant, and the store believes it",
    bounds: {},
    rules: {
      machine: leaseMachine.provide({ guards: { isVacant: () => true } }),
      mayAcquire: (env, _by, { expected }) => expected.epoch === env.epoch && expected.renewals === env.renewals,
    },
    breaks: "lease/takenOnlyWithEvidence",
  },
  {
    fault: "a paused holder counts as dead",
    bounds: { pauses: 1 },
    rules: { looksAlive: (is) => is === "up" },
    breaks: "lease/takenOnlyWithEvidence",
  },
  {
    fault: "blind release",
    bounds: { releases: 1, epochs: 3 },
    rules: { mayRelease: () => true },
    breaks: "lease/oneHolderPerEpoch",
  },
  {
    fault: "renewal without a look at the epoch",
    bounds: {},
    rules: { mayRenew: (env) => (env.holder === null ? "fenced" : env.expired ? "lapsed" : "renewed") },
    breaks: "lease/noWriteUnderOldEpoch",
  },
  {
    fault: "a restarted process resumes by owner id",
    bounds: { crashes: 1, restarts: 1 },
    rules: {
      nameOf: (instance) => `i${instance}.0`,
      epochAfterGrant: (env, by) =>
        env.holder === by && env.lives.some((each) => each.life > 0) ? env.epoch : env.epoch + 1,
    },
    breaks: "lease/epochIncreases",
  },
  {
    fault: "the epoch is compared before the await, not in the transaction",
    bounds: { writes: 1 },
    rules: { mayWrite: () => true },
    breaks: "lease/noWriteUnderOldEpoch",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, rules, breaks }) => {
    const result = explore(leaseWorld({ ...quiet, ...bounds }, { ...faithfulRules, ...rules }));
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    expect(traceTo(result, result.violations[0]!.state)).toHaveLength(result.depth + 1);
  });
});

describe("a second defence holds when the first is gone", { timeout: 30_000 }, () => {
  it("a reader who judges the end too early is refused by the store", () => {
    const rules = { ...faithfulRules, readsAsEnded: () => true };
    expect(explore(leaseWorld(quiet, rules)).violations).toEqual([]);
  });
});
