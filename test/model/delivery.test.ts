/** The delivery world: nothing is broken in it, and every seeded fault breaks something. */
import { describe, expect, it } from "vitest";
import { deliveryMachine } from "../../machines/delivery.machine.ts";
import { checkLiveness, explore, traceTo } from "../../testing/explorer/index.ts";
import { deliveryWorld, faithfulDelivery } from "./worlds/delivery.world.ts";
import type { DeliveryBounds, DeliveryRules } from "./worlds/delivery.world.ts";
import { quietDelivery } from "./worlds/index.ts";
import { patched } from "./worlds/patched.ts";

describe("the delivery world", { timeout: 30_000 }, () => {
  it.each([
    { what: "a change of hands", bounds: { leaders: 1, losses: 1, deaths: 1, silences: 1 } },
    { what: "a change of leader", bounds: { losses: 1, crashes: 1 } },
    { what: "a claim whose answer is lost", bounds: { claimLosses: 1, failures: 1 } },
    { what: "every end of an update", bounds: { losses: 1, unowned: 1, isPatienceFinite: true, foreign: [0] } },
  ] as const)("holds through $what", ({ bounds }) => {
    const result = explore(deliveryWorld({ ...quietDelivery, ...bounds }));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("settles every update once faults have stopped", () => {
    const bounds = { ...quietDelivery, leaders: 1, failures: 1, losses: 1, deaths: 1 } as const;
    expect(checkLiveness(explore(deliveryWorld(bounds))).starved).toBeNull();
  });
});

const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<DeliveryBounds>;
  readonly rules: Partial<DeliveryRules>;
  readonly breaks: string;
}[] = [
  {
    fault: "a claim does not ask for the head of its lane",
    bounds: { failures: 1, losses: 1 },
    rules: { isOvertaking: () => false },
    breaks: "delivery/threadOrder",
  },
  {
    fault: "a claim does not ask who holds the entry",
    bounds: { losses: 1 },
    rules: { isRepeated: () => false, isTaken: () => false },
    breaks: "delivery/handedOutOnce",
  },
  {
    fault: "registering anew gives back what one holds oneself",
    bounds: { leaders: 1, silences: 1 },
    rules: { losesClaim: () => true },
    breaks: "delivery/handedOutOnce",
  },
  {
    fault: "an end is written without a look at the epoch",
    bounds: { foreign: [0] },
    rules: { mayEnd: () => true },
    breaks: "lease/noWriteUnderOldEpoch",
  },
  {
    fault: "an update is ended a second time",
    bounds: { foreign: [0], losses: 1 },
    rules: { mayBeEnded: () => true },
    breaks: "delivery/settledOnce",
  },
  {
    fault: "the chart does not ask who wrote it",
    bounds: { foreign: [0], leaders: 1 },
    rules: {
      machine: patched(deliveryMachine, "states/admitted/always", (always: readonly unknown[]) => always.slice(1)),
    },
    breaks: "delivery/onlyTheOwnerIsHeard",
  },
  {
    fault: "an inbox hands out the next update while an earlier claim of its own is in doubt",
    bounds: { claimLosses: 1 },
    rules: { waitsForDoubt: false },
    breaks: "delivery/threadOrder",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, rules, breaks }) => {
    const world = deliveryWorld({ ...quietDelivery, ...bounds }, { ...faithfulDelivery, ...rules });
    // Whether an update may get stuck is asked above, of the charts as they are.
    const result = explore({ ...world, mayEnd: () => true });
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    expect(traceTo(result, result.violations[0]!.state)).toHaveLength(result.depth + 1);
  });
});
