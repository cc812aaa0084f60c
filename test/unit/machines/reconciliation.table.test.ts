/**
 * Every action rule of reconciliation (threads §5.2) with what blocks it, and the full table of phases (threads §5.3).
 *
 * What a rule says of reservations, and of threads that are closed in passing, holds for leftovers here: the store keeps
 * them, and only the operator deletes them.
 */
import { describe, expect, it } from "vitest";
import { epoch } from "../../../machines/ids.ts";
import { reconciliationMachine } from "../../../machines/reconciliation.machine.ts";
import type { ReconciliationInput, ReconciliationPhase } from "../../../machines/reconciliation.rules.ts";
import { playChart } from "../../support/charts/play.ts";
import * as the from "./reconciliation-scenes.ts";

const { nowMs, seat, target, binding, cleanup, sits, died, begun, seen, leftover, claimed, looks } = the;

type View = Partial<ReconciliationInput["view"]>;
interface Row {
  readonly when: string;
  readonly view: View;
  readonly differs?: Partial<ReconciliationInput>;
  /** Kinds of its actions, in order. */
  readonly does: readonly string[];
}

const made = target(1).threadId;
const unwanted = begun(1, { status: "unwanted", threadId: made });
const longAgo = nowMs - 24 * 3_600_000;

const rules: Readonly<Record<string, readonly Row[]>> = {
  "threads/RC-1 an instruction is taken back": [
    {
      when: "another seat is bound to the thread",
      view: {
        cleanups: [cleanup(1)],
        bindings: [binding(1, { seat: seat(2) })],
        seats: [sits(2, { target: target(1) })],
      },
      does: ["cancelCleanup"],
    },
    {
      when: "its seat has registered with the thread again",
      view: { cleanups: [cleanup(1)], bindings: [binding(1)], seats: [sits(1)] },
      does: ["cancelCleanup"],
    },
    {
      when: "never once its call may be under way",
      view: {
        cleanups: [cleanup(1, { phase: "deleting" })],
        bindings: [binding(1, { seat: seat(2) })],
        seats: [sits(2, { target: target(1) })],
      },
      does: [],
    },
  ],
  "threads/RC-2 an instruction is carried out": [
    {
      when: "it is due and nobody has the thread",
      view: { cleanups: [cleanup(1, { reason: "left" })] },
      does: ["deleteThread"],
    },
    {
      when: "never before it is due",
      view: { cleanups: [cleanup(1, { reason: "left", lastReason: "timed out", dueAtMs: nowMs + 1 })] },
      does: [],
    },
  ],
  "threads/RC-3 a creation that nobody waits for any more": [
    {
      when: "has its thread bound, and by that deleted, once it is known",
      view: { provisions: [unwanted] },
      does: ["adoptCreated"],
    },
    {
      when: "is forgotten when no thread has shown up for long",
      view: { provisions: [begun(1, { status: "unwanted", startedAtMs: longAgo })] },
      does: ["dropCreation"],
    },
    {
      when: "is left alone while its call may be answered",
      view: { provisions: [{ ...unwanted, startedAtMs: nowMs }] },
      differs: { heldSeats: new Set([seat(1)]) },
      does: [],
    },
    {
      when: "threads/S-90, S-91: never has a thread deleted that somebody is bound to",
      view: {
        provisions: [unwanted],
        cleanups: [cleanup(1, { reason: "left" })],
        bindings: [binding(1, { seat: seat(2) })],
        seats: [sits(2, { target: target(1) })],
      },
      does: ["adoptCreated", "cancelCleanup"],
    },
    {
      when: "while somebody waits for it, it is its seat's however old it is",
      view: { provisions: [begun(1, { threadId: made, startedAtMs: longAgo })] },
      does: ["adoptCreated"],
    },
  ],
  "threads/RC-4 a thread seen open": [
    {
      when: "is open again if it was closed",
      view: { bindings: [binding(1, { standing: "closed" })], seats: [sits(1)], observations: [seen(1)] },
      does: ["markThread"],
    },
    {
      when: "is not marked twice",
      view: { bindings: [binding(1)], seats: [sits(1)], observations: [seen(1)] },
      does: [],
    },
  ],
  "threads/RC-5 a thread seen closed": [
    {
      when: "is closed",
      view: { bindings: [binding(1)], seats: [sits(1)], observations: [seen(1, { status: "closed" })] },
      does: ["markThread"],
    },
    {
      when: "is not touched if nobody is bound to it",
      view: { observations: [seen(1, { status: "closed", atMs: longAgo })] },
      does: [],
    },
  ],
  "threads/RC-6 a thread that its seat has another for": [
    {
      when: "is left to the operator, without a call",
      view: {
        bindings: [binding(9, { seat: seat(1) })],
        seats: [sits(1, { target: target(9) })],
        leftovers: [leftover(1)],
      },
      does: [],
    },
  ],
  "threads/RC-7 the thread of a leader that was": [
    {
      when: "gets its grace time when that process is seen dead",
      view: { bindings: [binding(1)], claims: claimed },
      differs: { looks: looks("dead") },
      does: ["startGrace"],
    },
    {
      when: "threads/S-46, S-49: is not touched while that process lives",
      view: { bindings: [binding(1)], claims: claimed },
      differs: { looks: looks("alive") },
      does: [],
    },
    {
      when: "is not touched while nobody can tell",
      view: { bindings: [binding(1)], claims: claimed },
      differs: { looks: looks("unverifiable") },
      does: [],
    },
    { when: "is not touched unseen", view: { bindings: [binding(1)], claims: claimed }, does: [] },
  ],
  "threads/RC-8, S-58 a leftover": [
    { when: "is not deleted when a leader starts", view: { leftovers: [leftover(1)] }, does: [] },
    {
      when: "is deleted on the operator's word, like any other",
      view: { leftovers: [leftover(1)], cleanups: [cleanup(1, { reason: "operator" })] },
      does: ["deleteThread"],
    },
  ],
  "threads/RC-9 a leftover that the user is seen to use": [
    { when: "stays", view: { leftovers: [leftover(1)], observations: [seen(1, { atMs: longAgo })] }, does: [] },
  ],
  "threads/RC-10, S-81 a thread that nobody is bound to": [
    {
      when: "is not touched if a person made it, however old it is",
      view: { observations: [seen(1, { createdByBot: false, atMs: longAgo })] },
      does: [],
    },
    {
      when: "threads/T-4: is not touched within the grace of its making",
      view: { observations: [seen(1, { atMs: nowMs - 29_999 })] },
      does: [],
    },
    {
      when: "is offered to the operator after that, and not deleted",
      view: { observations: [seen(1, { atMs: nowMs - 30_000 })] },
      does: ["offerThread"],
    },
    {
      when: "threads/OP-31: is not offered while a creation of any age may have made it",
      view: { observations: [seen(1, { atMs: nowMs - 30_000 })], provisions: [begun(2, { threadId: made })] },
      does: ["adoptCreated"],
    },
    {
      when: "is not offered in another chat",
      view: { observations: [seen(1, { atMs: nowMs - 30_000 })] },
      differs: { chatId: 99 as never },
      does: [],
    },
  ],
  "threads/T-2, T-29 what is no proof": [
    {
      when: "silence, age and an unreachable process",
      view: {
        bindings: [binding(1, { provenAtMs: longAgo, createdAtMs: longAgo })],
        seats: [sits(1)],
        claims: claimed,
      },
      differs: { looks: looks("unverifiable") },
      does: [],
    },
    {
      when: "a missing record, of a seat that somebody holds",
      view: { bindings: [binding(1)] },
      differs: { heldSeats: new Set([seat(1)]) },
      does: [],
    },
    {
      when: "the end of a registration before its grace time",
      view: { bindings: [binding(1)], seats: [died(1, nowMs)], cleanups: [cleanup(1, { dueAtMs: nowMs + 600_000 })] },
      does: [],
    },
  ],
};

describe("threads/RC-1, RC-2, RC-3, RC-4, RC-5, RC-6, RC-7, RC-8, RC-9, RC-10, S-46, S-49, S-58, S-81, S-90, S-91, OP-31, T-4, T-29", () => {
  describe.each(Object.entries(rules))("%s", (_, rows) => {
    it.each(rows)("$when", ({ view, differs = {}, does }) => {
      expect(the.plan(view, differs).actions.map(({ kind }) => kind)).toEqual(does);
    });
  });
});

it("the actions of a plan come in one order: the operator's, creations, marks, doubts, deadlines, deletions", () => {
  const view: View = {
    requests: [{ id: "r", wish: { kind: "forgetThread", target: target(50) }, atMs: 0 }],
    provisions: [begun(2, { threadId: target(2).threadId })],
    observations: [seen(3, { status: "closed" })],
    bindings: [binding(3), binding(4)],
    seats: [sits(3), died(4), sits(5, { unprovable: { sinceMs: 0, reason: "another host" } })],
    cleanups: [cleanup(6, { reason: "left" })],
  };
  expect(the.plan(view, { unprovableAfterMs: 1 }).actions.map(({ kind }) => kind)).toEqual([
    "carryOut",
    "adoptCreated",
    "markThread",
    "forgetSeat",
    "startGrace",
    "deleteThread",
  ]);
});

const provision = begun(2, { startedAtMs: nowMs });
const closing: View = { bindings: [binding(1)], seats: [sits(1)], observations: [seen(1, { status: "closed" })] };
/** The columns of the table: what a new plan holds, and the phase that makes. */
const columns: readonly (readonly [string, View, ReconciliationPhase])[] = [
  ["nothing to do", {}, "stable"],
  ["a live provision only", { provisions: [provision] }, "provisioning"],
  ["a provision nobody waits for", { provisions: [begun(2, { status: "unwanted", startedAtMs: nowMs })] }, "stable"],
  ["marks, no provision", closing, "syncRequired"],
  ["threads/S-96: a provision and marks", { ...closing, provisions: [provision] }, "provisioning"],
  ["a deletion", { cleanups: [cleanup(8, { reason: "left" })] }, "cleanupRequired"],
  [
    "an instruction that is taken back",
    { cleanups: [cleanup(8)], bindings: [binding(8)], seats: [sits(8)] },
    "cleanupRequired",
  ],
  [
    "everything at once",
    { ...closing, provisions: [provision], cleanups: [cleanup(8, { reason: "left" })] },
    "cleanupRequired",
  ],
];
const pairs = columns.flatMap((from) => columns.map((to) => [from[0], to[0], from, to] as const));

describe("threads/S-96, S-97, §5.3: the phase is that of the last plan", () => {
  const start = () => playChart(reconciliationMachine, { epoch: epoch(4) });
  const look = (view: View): ReconciliationInput => ({ ...the.input, view: { ...the.empty, ...view } });
  type Chart = ReturnType<typeof start>;
  /** Plans, and carries everything out. */
  function settle(chart: Chart, view: View): Chart {
    chart.answer("viewThreads", look(view));
    while (!/work\.(resting|incomplete)/.test(chart.state)) {
      if ("recordAction" in chart.requests) chart.answer("recordAction", { kind: "done" });
      else if ("awaitTurn" in chart.requests) chart.answer("awaitTurn", undefined);
      else chart.answer("cleanup", { kind: "removed" });
    }
    return chart;
  }
  const phaseIn = (chart: Chart): string => /phase\.(\w+)/.exec(chart.state)?.[1] ?? "none";

  it.each(columns)("the first plan: %s", (_, view, phase) => {
    expect(phaseIn(start())).toBe("stable");
    expect(phaseIn(settle(start(), view))).toBe(phase);
  });

  it.each(pairs)("from %s to %s", (_from, _to, [, before], [, after, phase]) => {
    const chart = settle(start(), before).send({ type: "reconciliation.wake" });
    expect(phaseIn(settle(chart, after))).toBe(phase);
  });
});
