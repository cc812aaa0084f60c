/** The handoff world: nothing is broken in it, and every seeded fault breaks something. */
import { describe, expect, it } from "vitest";
import { checkLiveness, explore, traceTo } from "../../testing/explorer/index.ts";
import { faithfulHandoff, handoffWorld } from "./worlds/handoff.world.ts";
import type { HandoffBounds, HandoffRules } from "./worlds/handoff.world.ts";
import { quietHandoff } from "./worlds/index.ts";

describe("the handoff world", { timeout: 30_000 }, () => {
  it("updates/Q-36, Q-46, Q-47: holds through lost requests, recalls and the death of either side", () => {
    const result = explore(handoffWorld({ ...quietHandoff, losses: 1, recalls: 1, deaths: 1 }));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("updates/Q-57, Q-58, Q-59: the work is done once faults have stopped", () => {
    const bounds = { ...quietHandoff, losses: 1, deaths: 1, recalls: 1, stales: 1 };
    expect(checkLiveness(explore(handoffWorld(bounds))).starved).toBeNull();
  });
});

const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<HandoffBounds>;
  readonly rules: Partial<HandoffRules>;
  readonly breaks: string;
}[] = [
  {
    fault: "an offer that has ended is made again by a request that comes late",
    bounds: { losses: 1, recalls: 1 },
    rules: { mayMake: ({ is }) => is === "asked" || is === "ended" },
    breaks: "handoff/oneHolder",
  },
  {
    fault: "an offer that was cancelled is accepted",
    bounds: { recalls: 1 },
    rules: { mayAccept: ({ people }, { from }) => people[from].isAlive },
    breaks: "handoff/oneHolder",
  },
  {
    fault: "an offer outlives the death of its donor",
    bounds: { deaths: 1 },
    rules: { voids: () => false, mayAccept: (_env, { is }) => is === "open" },
    breaks: "handoff/oneHolder",
  },
  {
    // Publication fails until the recipient gives the work back: then the donor takes it from the journal again.
    fault: "work that is taken anew while its old item is frozen goes with it",
    bounds: { losses: 2 },
    rules: { keepsAgain: false },
    breaks: "deadlock",
  },
  {
    fault: "an ack does not end the work",
    bounds: { deaths: 2 },
    rules: { isSettled: false },
    breaks: "handoff/runsOnce",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, rules, breaks }) => {
    const result = explore(handoffWorld({ ...quietHandoff, ...bounds }, { ...faithfulHandoff, ...rules }));
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    // Of a dead end it is known one step later that it is one.
    expect(traceTo(result, result.violations[0]!.state).length).toBeGreaterThanOrEqual(result.depth);
  });
});
