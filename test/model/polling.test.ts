/** The polling world: nothing is broken in it, and every seeded fault breaks something. */
import { describe, expect, it } from "vitest";
import { assign } from "xstate";
import { pollingMachine } from "../../machines/polling.machine.ts";
import { checkLiveness, explore, traceTo } from "../../testing/explorer/index.ts";
import { quietPolling } from "./worlds/index.ts";
import { patched } from "./worlds/patched.ts";
import { faithfulPolling, pollingWorld } from "./worlds/polling.world.ts";
import type { PollingBounds, PollingRules } from "./worlds/polling.world.ts";

describe("the polling world", { timeout: 30_000 }, () => {
  it("updates/T-106 holds through a change of leader that the first one does not notice", () => {
    const result = explore(pollingWorld({ ...quietPolling, losses: 1 }));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });

  it("gets every update into the journal once faults have stopped", () => {
    const bounds = { ...quietPolling, leaders: 1, troubles: 1, losses: 1, fulls: 1, crashes: 1 } as const;
    expect(checkLiveness(explore(pollingWorld(bounds))).starved).toBeNull();
  });
});

interface Batch {
  readonly output: { readonly updates: readonly { readonly id: number }[] };
}
/** Asks beyond the batch at hand. */
const movesOn = assign({ cursor: ({ event }) => ((event as unknown as Batch).output.updates.at(-1)?.id ?? 0) + 1 });

const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<PollingBounds>;
  readonly rules: Partial<PollingRules>;
  readonly breaks: string;
}[] = [
  {
    fault: "the store moves the cursor and loses the rows",
    bounds: { leaders: 1 },
    rules: { admitted: (env, { cursor }) => ({ ...env, cursor }) },
    breaks: "polling/cursorIsDurable",
  },
  {
    fault: "the epoch is not compared in the transaction",
    bounds: {},
    rules: { mayAdmit: () => true },
    breaks: "lease/noWriteUnderOldEpoch",
  },
  {
    fault: "the chart moves the cursor when a batch arrives",
    bounds: { leaders: 1 },
    rules: {
      machine: patched(pollingMachine, "states/fetching/invoke/onDone/0/actions", (actions: object) => [
        actions,
        movesOn,
      ]),
    },
    breaks: "polling/cursorIsDurable",
  },
  {
    fault: "a fenced poller polls on beyond its batch",
    bounds: {},
    rules: {
      machine: patched(pollingMachine, "states/journaling/invoke/onDone/2", () => ({
        target: "fetching",
        actions: assign({ cursor: ({ context }) => (context as { batch: { id: number }[] }).batch.length + 1 }),
      })),
    },
    breaks: "polling/cursorIsDurable",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, rules, breaks }) => {
    const result = explore(pollingWorld({ ...quietPolling, ...bounds }, { ...faithfulPolling, ...rules }));
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    expect(traceTo(result, result.violations[0]!.state)).toHaveLength(result.depth + 1);
  });
});
