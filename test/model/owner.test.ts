/** The owner world: nothing is broken in it, and every seeded fault breaks something. */
import { describe, expect, it } from "vitest";
import { ownerMachine } from "../../machines/owner.machine.ts";
import { judgeTake } from "../../machines/owner.rules.ts";
import { checkLiveness, explore, traceTo } from "../../testing/explorer/index.ts";
import { quietOwner } from "./worlds/index.ts";
import { faithfulOwner, ownerWorld } from "./worlds/owner.world.ts";
import type { OwnerBounds, OwnerRules } from "./worlds/owner.world.ts";
import { patched } from "./worlds/patched.ts";

const alone = { instances: 1, refreshes: 1 } as const;

describe("the owner world", { timeout: 60_000 }, () => {
  it.each([
    { what: "turns with a v1 process", bounds: { ...alone, v1Takes: 1, v1Releases: 1 } },
    { what: "a crash", bounds: { ...alone, crashes: 1 } },
    { what: "a take by force", bounds: { ...alone, v1Forces: 1 } },
    { what: "a file that is cut", bounds: { ...alone, damages: 1 } },
  ] as const)("holds through $what", ({ bounds }) => {
    const result = explore(ownerWorld({ ...quietOwner, ...bounds }));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("comes to an owner once faults have stopped", () => {
    const result = explore(ownerWorld({ ...quietOwner, instances: 1, v1Takes: 1, v1Crashes: 1 }));
    expect(checkLiveness(result).starved).toBeNull();
  });
});

const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<OwnerBounds>;
  readonly rules: Partial<OwnerRules>;
  readonly breaks: string;
}[] = [
  {
    fault: "the transaction does not look whose record it is",
    bounds: {},
    rules: { judgeTake: () => "taken" },
    breaks: "owner/oneOwner",
  },
  {
    fault: "a record seen to be stale is taken although it was refreshed since",
    bounds: { ...alone, v1Takes: 1 },
    rules: {
      judgeTake: (look, self, expected) => (expected === null ? judgeTake(look, self, expected) : "taken"),
    },
    breaks: "owner/oneOwner",
  },
  {
    fault: "the record goes back while the lease is still led under",
    bounds: { releases: 1 },
    rules: {
      machine: patched(ownerMachine, "states/owning/states/both/on", (on: object) => ({
        ...on,
        "lease.release": "#owner.releasing",
      })),
    },
    breaks: "owner/leadsOnlyWithBoth",
  },
  {
    fault: "losing the lease is not told",
    bounds: {},
    rules: {
      machine: patched(ownerMachine, "states/owning/states/both/states/lease/states/granted/on", (on: object) => ({
        ...on,
        "lease.lost": {},
      })),
    },
    breaks: "owner/leadsOnlyWithBoth",
  },
];

describe("a seeded fault is caught", { timeout: 60_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, rules, breaks }) => {
    const world = ownerWorld({ ...quietOwner, ...bounds }, { ...faithfulOwner, ...rules });
    // Whether it may get stuck is asked above, of the chart as it is.
    const result = explore({ ...world, mayEnd: () => true });
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    expect(traceTo(result, result.violations[0]!.state)).toHaveLength(result.depth + 1);
  });
});

describe("a second defence holds when the first is gone", { timeout: 60_000 }, () => {
  it("a chart that never looks at its record again is stopped by the gate, which closes with the record", () => {
    const machine = patched(
      ownerMachine,
      "states/owning/states/both/states/record/states/kept",
      (kept: { readonly states: object }) => ({ ...kept, after: {}, states: { resting: {} } }),
    );
    const world = ownerWorld({ ...quietOwner, ...alone, v1Takes: 1 }, { ...faithfulOwner, machine });
    expect(explore({ ...world, mayEnd: () => true }).violations).toEqual([]);
  });
});
