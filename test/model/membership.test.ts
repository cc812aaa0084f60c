/** The follower's world: nothing is broken in it, it is registered in the end, and every seeded fault breaks something. */
import type { AnyStateMachine } from "xstate";
import { describe, expect, it } from "vitest";
import { membershipMachine } from "../../machines/membership.machine.ts";
import { checkLiveness, explore } from "../../testing/explorer/index.ts";
import { quietMembership } from "./worlds/index.ts";
import { membershipWorld } from "./worlds/membership.world.ts";
import type { MembershipBounds } from "./worlds/membership.world.ts";
import { patched } from "./worlds/patched.ts";

describe("the follower's world", { timeout: 30_000 }, () => {
  it("protocol/P-34: holds through lost requests, refusals, closed connections and late notices", () => {
    const bounds = { ...quietMembership, losses: 1, refusals: 1, closings: 1, moves: 1, lates: 1 };
    const result = explore(membershipWorld(bounds));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("the follower is registered, or has left, once faults have stopped", () => {
    const bounds = { ...quietMembership, losses: 1, forgets: 1, closings: 1, leaves: 1 };
    expect(checkLiveness(explore(membershipWorld(bounds))).starved).toBeNull();
  });
});

const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<MembershipBounds>;
  readonly machine: AnyStateMachine;
  readonly breaks: string;
}[] = [
  {
    fault: "a late notice moves the registration that stands now",
    bounds: { closings: 1, lates: 1 },
    machine: membershipMachine.provide({ guards: { isCurrent: () => true } }),
    breaks: "registration/staleGenerationNeverActs",
  },
  {
    fault: "whoever was not answered believes to be registered",
    bounds: { losses: 1 },
    machine: patched(membershipMachine, "states/registering/invoke/onError", () => ({ target: "registered" })),
    breaks: "membership/believesOnlyWhatItWasTold",
  },
  {
    fault: "whoever was lost from sight does not register again",
    bounds: { forgets: 1 },
    machine: patched(membershipMachine, "states/recovering/after", () => ({})),
    breaks: "deadlock",
  },
  {
    fault: "a farewell whose answer was lost is waited for",
    bounds: { losses: 1, leaves: 1 },
    machine: patched(membershipMachine, "states/registered/states/leaving/invoke/onError", () => ({})),
    breaks: "deadlock",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, machine, breaks }) => {
    const result = explore(membershipWorld({ ...quietMembership, ...bounds }, machine));
    expect(result.violations.map((each) => each.property)).toContain(breaks);
  });
});
