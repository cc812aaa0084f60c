/** The reroute world: nothing is broken in it, and every seeded fault of the store breaks something. */
import { describe, expect, it } from "vitest";
import { explore, traceTo } from "../../testing/explorer/index.ts";
import { quietReroute } from "./worlds/index.ts";
import { faithfulReroute, rerouteWorld } from "./worlds/reroute.world.ts";
import type { RerouteBounds, RerouteRules } from "./worlds/reroute.world.ts";

describe("the reroute world", { timeout: 30_000 }, () => {
  it("updates/Q-70, Q-71, threads/T-14: holds through lost requests, late content and another leader", () => {
    for (const bounds of [
      { losses: 1, writes: 1 },
      { takeovers: 1, questions: 1 },
      { absences: 2, ends: 1 },
    ]) {
      const result = explore(rerouteWorld({ ...quietReroute, ...bounds }));
      expect([result.violations, result.exhaustive]).toEqual([[], true]);
    }
  });
});

const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<RerouteBounds>;
  readonly rules: Partial<RerouteRules>;
  readonly breaks: string;
}[] = [
  {
    fault: "a leader that was replaced goes on moving, and content moves again",
    bounds: { presses: 2, takeovers: 1, questions: 1 },
    rules: { mayMove: (_env, { is }) => is === "waiting" },
    breaks: "reroute/movedOnce",
  },
  {
    fault: "a deletion begins although something was written there",
    bounds: { writes: 1 },
    rules: { mayBegin: ({ owner }) => owner === null },
    breaks: "reroute/deletedWhenTaken",
  },
  {
    fault: "a thread is given to an agent while a call may be deleting it",
    bounds: { writes: 1, presses: 2, losses: 1, questions: 1, retries: 1 },
    rules: { mayGive: () => true },
    breaks: "cleanup/neverWhatIsHeld",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, rules, breaks }) => {
    const result = explore(rerouteWorld({ ...quietReroute, ...bounds }, { ...faithfulReroute, ...rules }));
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    expect(traceTo(result, result.violations[0]!.state).length).toBeGreaterThanOrEqual(result.depth);
  });
});
