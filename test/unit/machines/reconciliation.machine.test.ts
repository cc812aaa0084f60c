/** The reconciliation chart: look, plan, act one by one, rest; nothing under an epoch that is over, nothing given up. */
import { describe, expect, it } from "vitest";
import { epoch, seatKey, threadId } from "../../../machines/ids.ts";
import { reconciliationMachine } from "../../../machines/reconciliation.machine.ts";
import type { ReconciliationInput } from "../../../machines/reconciliation.rules.ts";
import type { Cleanup } from "../../../machines/reconciliation.types.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { chat } from "../../support/charts/samples.ts";
import { empty } from "./reconciliation-scenes.ts";

const target = (n: number) => ({ chatId: chat, threadId: threadId(n) });
const cleanup = (n: number): Cleanup => ({
  seat: seatKey("s"),
  target: target(n),
  reason: "operator",
  atMs: 0,
  dueAtMs: 0,
  phase: "waiting",
  attempts: 0,
  lastReason: null,
});
const look = (differs: Partial<ReconciliationInput["view"]> = {}): ReconciliationInput => ({
  nowMs: 1,
  leadingSinceMs: 0,
  chatId: chat,
  view: { ...empty, ...differs },
  heldSeats: new Set(),
  looks: new Map(),
  graceFromMs: 0,
  threadGraceMs: null,
  unprovableAfterMs: null,
});
const start = () => playChart(reconciliationMachine, { epoch: epoch(4) });
const wake = { type: "reconciliation.wake" } as const;
const resting = () => start().answer("viewThreads", look());
const forgotten = { sinceMs: 0, reason: "another host" };
const unprovable = ["s1", "s2"].map((name) => ({
  seat: seatKey(name),
  ended: null,
  target: null,
  unprovable: forgotten,
})) as unknown as ReconciliationInput["view"]["seats"];
const recording = () => start().answer("viewThreads", { ...look({ seats: unprovable }), unprovableAfterMs: 1 });
const waiting = () => start().answer("viewThreads", look({ cleanups: [cleanup(1), cleanup(2)] }));
const deleting = () => waiting().answer("awaitTurn", undefined);
const creating = { provisions: [{ status: "inFlight" }] as unknown as ReconciliationInput["view"]["provisions"] };
const closing = {
  bindings: [
    { seat: seatKey("s"), thread: { target: target(1) }, standing: "open" },
  ] as unknown as ReconciliationInput["view"]["bindings"],
  observations: [{ target: target(1), status: "closed" }] as unknown as ReconciliationInput["view"]["observations"],
};

describe("looking", () => {
  it("rests when there is nothing to do, and looks again in time or when woken", () => {
    expect(resting().state).toContain("work.resting");
    expect(resting().after("rest").requests).toHaveProperty("viewThreads");
    expect(resting().send(wake).requests).toHaveProperty("viewThreads");
  });

  it("takes a failed look for none, and looks anew when woken meanwhile", () => {
    const failed = start().fail("viewThreads", new Error("busy"));
    expect(failed.state).toContain("work.incomplete");
    expect(failed.timers).toEqual({ rest: 1_000 });
    expect(start().send(wake).requests).toHaveProperty("viewThreads");
    expect(failed.send(wake).requests).toHaveProperty("viewThreads");
    expect(start().fail("viewThreads").after("rest").requests).toHaveProperty("viewThreads");
  });

  it("goes on without whoever wakes it", () => {
    const broke = { type: "companion.failed", companion: "watchThreads", reason: "" } as const;
    expect(resting().send(broke).state).toContain("work.resting");
  });
});

describe("acting", () => {
  it("deletes one thread after the other, each when its turn has come, by the instruction that is on disk", () => {
    const chart = deleting();
    const input = (n: number) => ({ epoch: 4, seat: "s", target: target(n), asks: null, seenDead: null });
    expect(chart.requests).toMatchObject({ cleanup: input(1) });
    chart.answer("cleanup", { kind: "removed" });
    expect(chart.requests).not.toHaveProperty("cleanup");
    expect(chart.answer("awaitTurn", undefined).requests).toMatchObject({ cleanup: input(2) });
    expect(chart.answer("cleanup", { kind: "superseded" }).state).toContain("work.resting");
  });

  it("threads/SY-4: a deletion keeps its place in the line whatever wakes it, and is looked at again when the wait is long", () => {
    expect(waiting().timers).toEqual({ lookInterval: 2_500 });
    expect(waiting().send(wake).requests).toHaveProperty("awaitTurn");
    const chart = waiting().after("lookInterval");
    expect(Object.keys(chart.requests).sort()).toEqual(["viewThreads", "watchThreads"]);
    expect(chart.answer("viewThreads", look()).state).toContain("work.resting");
    const woken = waiting().send(wake).answer("awaitTurn", undefined).answer("cleanup", { kind: "removed" });
    expect(woken.state).toContain("work.incomplete");
    expect(woken.timers).toEqual({ rest: 50 });
    expect(waiting().fail("awaitTurn").state).toContain("work.incomplete");
  });

  it.each([
    [{ kind: "failed", reason: "429", retryAfterMs: 700 } as const, 700],
    [{ kind: "held" } as const, 1_000],
  ])(
    "threads/T-16, T-47: what was not done (%o) does not keep the rest from being done, and is tried again",
    (output, ms) => {
      const chart = deleting().answer("cleanup", output).answer("awaitTurn", undefined);
      chart.answer("cleanup", { kind: "removed" });
      expect(chart.state).toContain("work.incomplete");
      expect(chart.timers).toEqual({ rest: ms });
    },
  );

  it("goes on when a deletion broke", () => {
    const chart = deleting().fail("cleanup", new Error("broken")).answer("awaitTurn", undefined);
    expect(chart.requests).toHaveProperty("cleanup");
  });

  it("records what needs no call, one by one; a failed one is tried again", () => {
    const chart = recording().answer("recordAction", { kind: "done" });
    expect(chart.requests).toMatchObject({ recordAction: { epoch: 4, action: { kind: "forgetSeat", seat: "s2" } } });
    expect(chart.fail("recordAction", new Error("busy")).state).toContain("work.incomplete");
    expect(recording().answer("recordAction", { kind: "refused" }).requests).toHaveProperty("recordAction");
  });

  it("looks again right after it when something changed meanwhile", () => {
    const chart = recording()
      .send(wake)
      .answer("recordAction", { kind: "done" })
      .answer("recordAction", { kind: "done" });
    expect(chart.timers).toEqual({ rest: 50 });
  });
});

describe("threads/T-19, S-83: an epoch that is over", () => {
  it.each([
    ["a deletion", () => deleting().answer("cleanup", { kind: "lostOwnership" })],
    ["a record", () => recording().answer("recordAction", { kind: "fenced" })],
  ])("ends everything at %s: nothing more is asked for", (_, fenced) => {
    const chart = fenced();
    expect(chart.latest).toEqual([{ type: "reconciliation.fenced" }]);
    expect(chart.send(wake).state).toContain("work.fenced");
    expect(Object.keys(chart.requests)).toEqual(["watchThreads"]);
  });
});

describe("threads §5.3: the phase is that of the last plan", () => {
  const kinds = {
    stable: {},
    provisioning: creating,
    syncRequired: closing,
    cleanupRequired: { cleanups: [cleanup(1)] },
  };
  const phases = Object.keys(kinds) as readonly (keyof typeof kinds)[];
  const settled = (from: keyof typeof kinds) => {
    const chart = start().answer("viewThreads", look(kinds[from]));
    if (from === "syncRequired") chart.answer("recordAction", { kind: "done" });
    if (from === "cleanupRequired") chart.answer("awaitTurn", undefined).answer("cleanup", { kind: "removed" });
    return chart.send(wake);
  };
  it.each(phases.flatMap((from) => phases.map((to) => [from, to] as const)))("from %s to %s", (from, to) => {
    const chart = settled(from).answer("viewThreads", look(kinds[to]));
    expect(chart.state).toContain(`phase.${to}`);
    expect(chart.facts.filter((fact) => fact.type === "reconciliation.planned").map((fact) => fact.phase)).toEqual([
      from,
      to,
    ]);
  });
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(reconciliationMachine)).toEqual(noFaults);
});
