/** The world of a leadership: nothing is broken in it, it serves in the end, and every seeded fault breaks something. */
import type { AnyStateMachine } from "xstate";
import { describe, expect, it } from "vitest";
import { activationMachine } from "../../machines/activation.machine.ts";
import { checkLiveness, explore } from "../../testing/explorer/index.ts";
import { activationWorld } from "./worlds/activation.world.ts";
import type { ActivationBounds } from "./worlds/activation.world.ts";
import { quietActivation } from "./worlds/index.ts";
import { patched } from "./worlds/patched.ts";

describe("the world of a leadership", { timeout: 30_000 }, () => {
  it("holds through every step that fails, with a newer epoch and a stop at any moment", () => {
    const bounds = { ...quietActivation, losses: 1, troubles: 1, breaks: 1, fences: 1, stops: 1 } as const;
    const result = explore(activationWorld(bounds));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("who is to stop stops, though meanwhile nobody is paired, or somebody else", () => {
    const bounds = { ...quietActivation, doubts: 1, pairings: 1, stops: 1, fences: 1 } as const;
    const result = explore(activationWorld(bounds));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("it serves, or is fenced off, once faults have stopped", () => {
    const bounds = { ...quietActivation, topics: "later", losses: 1, breaks: 1, deletions: 1, fences: 1 } as const;
    expect(checkLiveness(explore(activationWorld(bounds))).starved).toBeNull();
  });

  it("a store that fences, tried again for ever, is seen to starve", () => {
    const machine = patched(activationMachine, "states/seating/invoke/onDone/3", () => ({ target: "provisioning" }));
    const unheeded = patched(machine, "states/provisioning/invoke/onDone/2", () => ({ target: "rollingBack" }));
    const world = activationWorld({ ...quietActivation, fences: 1 }, unheeded);
    expect(checkLiveness(explore(world)).starved).toMatchObject({ kind: "cycle" });
  });
});

const active = "states/serving/states/polled/states/active/states";
const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<ActivationBounds>;
  readonly machine: AnyStateMachine;
  readonly breaks: string;
}[] = [
  {
    fault: "the endpoint opens before the own seat is written",
    bounds: {},
    machine: patched(activationMachine, "states/provisioning/invoke/onDone/1/target", () => "serving"),
    breaks: "endpoint/afterProvisioning",
  },
  {
    fault: "a leadership that was rolled back is not tried again",
    bounds: { troubles: 1 },
    machine: patched(activationMachine, "states/rollingBack/after", () => ({})),
    breaks: "deadlock",
  },
  {
    fault: "a newer epoch makes a stop forgotten",
    bounds: { doubts: 1, fences: 1, stops: 1 },
    machine: patched(
      activationMachine,
      `${active}/replacing/states/ending/on`,
      ({ "polling.fenced": _heeded, ...on }: Readonly<Record<string, unknown>>) => on,
    ),
    breaks: "deadlock",
  },
  {
    fault: "a stop while the endpoint opens is forgotten",
    bounds: { stops: 1, fences: 1 },
    machine: patched(activationMachine, "on/activation.stop", () => ({})),
    breaks: "deadlock",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, machine, breaks }) => {
    const result = explore(activationWorld({ ...quietActivation, ...bounds }, machine));
    expect(result.violations.map((each) => each.property)).toContain(breaks);
  });
});
