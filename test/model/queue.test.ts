/** The queue's world: nothing is broken in it, everything ends, and every seeded fault breaks something. */
import { assign } from "xstate";
import type { AnyStateMachine } from "xstate";
import { describe, expect, it } from "vitest";
import { queueMachine } from "../../machines/queue.machine.ts";
import { checkLiveness, explore, traceTo } from "../../testing/explorer/index.ts";
import { quietQueue } from "./worlds/index.ts";
import { patched } from "./worlds/patched.ts";
import { queueWorld } from "./worlds/queue.world.ts";
import type { QueueBounds } from "./worlds/queue.world.ts";

describe("the queue's world", { timeout: 30_000 }, () => {
  it("updates/Q-75, Q-77, Q-79: holds through commands, offers and a store that does not answer", () => {
    const result = explore(queueWorld({ ...quietQueue, commands: 1, offers: 1, losses: 1 }));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("everything that came has ended once faults have stopped", () => {
    expect(checkLiveness(explore(queueWorld({ ...quietQueue, commands: 1, losses: 1 }))).starved).toBeNull();
  });
});

const turns = "states/turns/states";
const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<QueueBounds>;
  readonly machine: AnyStateMachine;
  readonly breaks: string;
}[] = [
  {
    fault: "an item that could not be taken up is not put back",
    bounds: { losses: 1 },
    machine: patched(queueMachine, `${turns}/dispatching/invoke/onError/1/actions`, () => "forgetCurrent"),
    breaks: "queue/nothingIsForgotten",
  },
  {
    fault: "what is marked Skip is not left out",
    bounds: { reactions: 1 },
    machine: patched(queueMachine, `${turns}/idle/always/1/guard`, () => () => false),
    breaks: "deadlock",
  },
  {
    fault: "/stop drops what is offered as well",
    bounds: { commands: 1, offers: 1 },
    machine: queueMachine.provide({ actions: { clear: assign({ items: [] }) } }),
    breaks: "queue/nothingIsForgotten",
  },
  {
    fault: "an offer that comes back after /stop is dropped and not settled",
    bounds: { commands: 1, offers: 1 },
    machine: patched(queueMachine, "on/offer.ended/1/actions", () => "dropItem"),
    breaks: "queue/nothingIsForgotten",
  },
  {
    fault: "the host that has become free is not served",
    bounds: { holds: 1 },
    machine: patched(queueMachine, `${turns}/held/always`, () => []),
    breaks: "deadlock",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, machine, breaks }) => {
    const result = explore(queueWorld({ ...quietQueue, ...bounds }, machine));
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    expect(traceTo(result, result.violations[0]!.state).length).toBeLessThanOrEqual(result.depth + 1);
  });
});
