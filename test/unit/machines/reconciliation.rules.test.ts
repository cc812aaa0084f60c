/** What reconciliation plans: deadlines and their proof, superseded instructions, the operator's wishes, phases. */
import { describe, expect, it } from "vitest";
import { actionsMax, deletionsMax, phaseOf, type ReconciliationInput } from "../../../machines/reconciliation.rules.ts";
import type { Observation, OperatorWish, ReconciliationView } from "../../../machines/reconciliation.types.ts";
import * as the from "./reconciliation-scenes.ts";

const { nowMs, seat, target, binding, cleanup, sits, died, plan, claimed, looks, deletion, due, holder } = the;

describe("threads/T-30, S-73: the grace deadline", () => {
  it("is carried out when it has come and nobody holds the seat, not a millisecond before", () => {
    expect(plan(due).actions).toEqual([deletion()]);
    const early = plan({ ...due, cleanups: [cleanup(1, { dueAtMs: nowMs + 1 })] });
    expect(early).toMatchObject({ actions: [], nextInMs: 1, phase: "stable" });
  });

  it("needs the proof that whoever claims the seat is gone: no look, or one that cannot tell, is none", () => {
    expect(plan({ ...due, claims: claimed }).actions).toEqual([]);
    expect(plan({ ...due, claims: claimed }, { looks: looks("unverifiable") }).actions).toEqual([]);
    expect(plan({ ...due, claims: claimed }, { looks: looks("alive") }).actions).toEqual([]);
    expect(plan({ ...due, claims: claimed }, { looks: looks("dead") }).actions).toEqual([deletion(holder)]);
  });

  it("threads/T-47: one that was begun goes on, whoever claims the seat since", () => {
    const begun = [cleanup(1, { phase: "deleting", attempts: 1 })];
    const later = { nowMs: nowMs + 60_000, looks: looks("alive") };
    expect(plan({ ...due, cleanups: begun, claims: claimed }, later).actions).toEqual([deletion(holder)]);
  });

  it("threads/S-72, S-71: does not touch the thread of a seat on which somebody sits at this leader", () => {
    expect(plan(due, { heldSeats: new Set([seat(1)]) }).actions).toEqual([]);
  });

  it("leaves whoever comes back after everything was down a moment for it", () => {
    expect(plan(due, { graceFromMs: nowMs + 9 })).toMatchObject({ actions: [], nextInMs: 9 });
  });

  it("begins for a bound thread whose seat nobody holds, from the end of its last registration on", () => {
    const started = (dueAtMs: number) => [{ kind: "startGrace", seat: seat(1), target: target(1), dueAtMs }];
    expect(plan({ bindings: [binding(1)], seats: [died(1, 5)] }).actions).toEqual(started(600_005));
    expect(plan({ bindings: [binding(1)] }).actions).toEqual(started(nowMs + 600_000));
    expect(plan({ bindings: [binding(1)], claims: claimed }, { looks: looks("alive") }).actions).toEqual([]);
    expect(plan({ bindings: [binding(1)], seats: [sits(1)] }).actions).toEqual([]);
  });

  it("never begins for a thread that is to be kept, nor in another chat", () => {
    expect(plan({ bindings: [binding(1)], seats: [{ ...died(1), threadGraceMs: null }] }).actions).toEqual([]);
    expect(plan({ bindings: [binding(1)] }, { chatId: 99 as never }).actions).toEqual([]);
  });
});

describe("threads/RC-1, RC-2: instructions", () => {
  it("threads/S-68, S-40: is taken back when another seat has the thread, or a registration does", () => {
    const cancel = [{ kind: "cancelCleanup", target: target(1) }];
    expect(plan({ ...due, bindings: [binding(1, { seat: seat(2) })] }).actions).toContainEqual(cancel[0]);
    expect(plan({ ...due, seats: [sits(1)] }).actions).toEqual(cancel);
    expect(plan({ ...due, cleanups: [cleanup(1, { reason: "operator" })], seats: [sits(1)] }).actions).toEqual(cancel);
  });

  it("threads/S-92: stands when only the one who leaves has it, and then needs no other proof", () => {
    const leaving = { ...due, cleanups: [cleanup(1, { reason: "left" })], seats: [sits(1)], claims: claimed };
    expect(plan(leaving).actions).toMatchObject([{ kind: "deleteThread", reason: "left" }]);
  });

  it("threads/T-16: one that a dead leader left half done is gone on with, once its call must be over", () => {
    const begun = { ...due, cleanups: [cleanup(1, { phase: "deleting", attempts: 1 })] };
    expect(plan(begun)).toMatchObject({ actions: [], nextInMs: 8_000 });
    expect(plan(begun, { nowMs: nowMs + 8_000 }).actions).toEqual([deletion()]);
    // It may have been due for long, and yet begun just before this leadership.
    const later = { nowMs: nowMs + 60_000, leadingSinceMs: nowMs + 59_000 };
    expect(plan(begun, later)).toMatchObject({ actions: [], nextInMs: 7_000 });
  });

  it("updates/Q-71: one for a thread that was emptied is carried out by who asked for it, and gone on with here", () => {
    const asked = (differs: object) => plan({ cleanups: [cleanup(1, { reason: "rerouted", ...differs })] });
    expect(asked({})).toMatchObject({ actions: [], nextInMs: 8_000 });
    expect(asked({ attempts: 1, lastReason: "timed out" }).actions).toHaveLength(1);
  });

  describe("where the clock was set back an hour since", () => {
    const ahead = { dueAtMs: nowMs + 3_600_000, attempts: 1 };
    const whenLed = (forMs: number) => ({ leadingSinceMs: nowMs - forMs });

    it("what was under way waits for the end of its call, and no longer: its seat gets no thread before", () => {
      const begun = { ...due, cleanups: [cleanup(1, { ...ahead, phase: "deleting" })] };
      expect(plan(begun, whenLed(0))).toMatchObject({ actions: [], nextInMs: 8_000 });
      expect(plan(begun, whenLed(8_000)).actions).toEqual([deletion()]);
    });

    it("what was postponed waits no longer than any pause", () => {
      const paused = (inMs: number) =>
        plan({ ...due, cleanups: [cleanup(1, { reason: "left", lastReason: "timed out", dueAtMs: nowMs + inMs })] });
      expect(paused(600_000)).toMatchObject({ actions: [], nextInMs: 600_000 });
      expect(paused(600_001).actions).toMatchObject([{ kind: "deleteThread" }]);
    });

    it("what its holder gave up is due at once", () => {
      expect(plan({ ...due, cleanups: [cleanup(1, { ...ahead, reason: "left" })] }).actions).toHaveLength(1);
    });

    it("the grace of who ended runs on: too late is no harm, too early is", () => {
      expect(plan({ ...due, cleanups: [cleanup(1, ahead)] }).actions).toEqual([]);
    });
  });
});

describe("threads/RC-4, RC-5, OP-23: what service messages tell", () => {
  const seen = (status: "open" | "closed" | "deleted") => [
    { target: target(1), status, name: null, isNamedByPerson: false, createdByBot: true, atMs: 1 },
  ];
  it("marks a bound thread closed and open again, and does nothing else", () => {
    const held = { seats: [sits(1)] };
    const mark = (standing: string) => [{ kind: "markThread", standing }];
    expect(plan({ ...held, bindings: [binding(1)], observations: seen("closed") }).actions).toMatchObject(
      mark("closed"),
    );
    const closed = [binding(1, { standing: "closed" })];
    expect(plan({ ...held, bindings: closed, observations: seen("open") }).actions).toMatchObject(mark("open"));
    expect(plan({ ...held, bindings: closed, observations: seen("closed") }).actions).toEqual([]);
  });

  it("threads/OP-3, T-25: a thread in doubt is not taken for proven because a service message shows it open", () => {
    const suspect = [binding(1, { standing: "suspect" })];
    expect(plan({ seats: [sits(1)], bindings: suspect, observations: seen("open") }).actions).toEqual([]);
  });

  it("threads/T-2, S-80: never acts on a thread that nobody is bound to", () => {
    for (const status of ["open", "closed", "deleted"] as const)
      expect(plan({ observations: seen(status) })).toMatchObject({ actions: [], phase: "stable" });
  });
});

describe("threads/OP-8, OP-20, S-61: a creation whose answer was lost", () => {
  const begun = the.begun(1, { threadName: "Amber", startedAtMs: 500 });
  const provisions = [begun];
  const made = (differs: Partial<Observation> = {}) => [the.seen(8, { name: "Amber", atMs: 500, ...differs })];

  it("is told the thread that the bot made since, under its name, and that nobody has", () => {
    expect(plan({ provisions, observations: made() }).actions).toEqual([
      { kind: "adoptCreated", provision: begun, target: target(8) },
    ]);
  });

  it.each([
    ["made before it", { provisions, observations: made({ atMs: 499 }) }],
    ["of another name", { provisions, observations: made({ name: "Amber 2" }) }],
    ["made by a person", { provisions, observations: made({ createdByBot: false }) }],
    ["that is deleted", { provisions, observations: made({ status: "deleted" }) }],
    ["that somebody has", { provisions, observations: made(), bindings: [binding(8)], seats: [sits(1)] }],
  ])("never a thread %s", (_, view: Partial<ReconciliationView>) => {
    expect(plan(view, { threadGraceMs: null }).actions).toEqual([]);
  });
});

describe("an owner that can be proven neither way", () => {
  const unprovable = { sinceMs: nowMs - 50, reason: "another host" };
  it("is the operator's to judge, and counts as gone only where a deadline was set for that", () => {
    const view = { seats: [sits(1, { unprovable })], bindings: [binding(1)] };
    expect(plan(view).actions).toEqual([]);
    expect(plan(view, { unprovableAfterMs: 51 })).toMatchObject({ actions: [], nextInMs: 1 });
    expect(plan(view, { unprovableAfterMs: 50 }).actions).toMatchObject([{ kind: "forgetSeat", seat: seat(1) }]);
  });
});

describe("the operator's wishes", () => {
  const wished = (
    wish: OperatorWish,
    view: Partial<ReconciliationView> = {},
    differs: Partial<ReconciliationInput> = {},
  ) => {
    const [action] = plan({ ...view, requests: [{ id: "r", wish, atMs: 0 }] }, differs).actions;
    return action?.kind === "carryOut" ? action.order : action?.kind === "refuse" ? action.text : action;
  };
  const alive = { looks: looks("alive") };
  const bound = { bindings: [binding(1)], seats: [sits(1)], claims: claimed };

  it("adopt binds a thread nobody has, and ends the creation in doubt", () => {
    const wish = { kind: "adopt", seat: seat(1), target: target(5) } as const;
    const provisions = [{ id: "p", seat: seat(1) }] as unknown as ReconciliationView["provisions"];
    expect(wished(wish, { provisions })).toEqual({ kind: "bind", seat: seat(1), target: target(5), provisionId: "p" });
    expect(wished(wish, { bindings: [binding(5)] })).toContain("belongs to manual:own:5");
    expect(wished(wish, { bindings: [binding(1)] })).toContain("has thread 1");
    const made = { ...the.begun(2), threadId: target(5).threadId };
    expect(wished(wish, { provisions: [made] })).toContain("belongs to manual:own:2");
    expect(wished(wish, { observations: [the.seen(5, { status: "deleted" })] })).toBe("that thread is deleted");
    expect(wished(wish, { cleanups: [cleanup(5, { phase: "deleting" })] })).toBe("that thread is being deleted");
  });

  it("are judged one a plan, for what one changes the next has to see", () => {
    const wish = { kind: "adopt", target: target(5) } as const;
    const requests = [1, 2].map((n) => ({ id: `r${n}`, wish: { ...wish, seat: seat(n) }, atMs: n }));
    expect(plan({ requests })).toMatchObject({
      actions: [{ kind: "carryOut", request: { id: "r1" }, order: { kind: "bind", seat: seat(1) } }],
      nextInMs: 0,
    });
  });

  it("release deletes, and leave gives up, what nobody alive holds", () => {
    const release = { kind: "release", target: target(1) } as const;
    const leave = { kind: "leave", seat: seat(1) } as const;
    for (const wish of [release, leave]) {
      expect(wished(wish, bound)).toEqual({ kind: "delete", seat: seat(1), target: target(1) });
      expect(wished(wish, bound, alive)).toContain("running instance");
    }
    expect(wished(release)).toContain("nothing is known");
    expect(wished(leave)).toContain("has no thread");
  });

  it("forget takes off the books, ends a creation in doubt, or ends a seat whose holder cannot be proven", () => {
    expect(wished({ kind: "forgetThread", target: target(1) })).toEqual({ kind: "unbind", target: target(1) });
    expect(wished({ kind: "forgetThread", target: target(1) }, bound, alive)).toContain("running instance");
    expect(wished({ kind: "forgetCreation", seat: seat(1) })).toContain("no creation");
    const forget = { kind: "forgetSeat", seat: seat(1) } as const;
    expect(wished(forget, bound)).toMatchObject({ kind: "endSeat", generation: "g1" });
    expect(wished(forget, bound, alive)).toContain("running instance");
    expect(wished(forget, { seats: [died(1)] })).toContain("its holder died");
    expect(wished(forget)).toContain("no seat");
  });
});

it.each([
  [{ cleanup: 1, provisions: 1, sync: 1 }, "cleanupRequired"],
  [{ cleanup: 0, provisions: 1, sync: 1 }, "provisioning"],
  [{ cleanup: 0, provisions: 0, sync: 1 }, "syncRequired"],
  [{ cleanup: 0, provisions: 0, sync: 0 }, "stable"],
] as const)("threads §5.3, S-96: a plan of %o is %s", (counts, phase) => {
  expect(phaseOf(counts)).toBe(phase);
});

it("a plan beyond its bound is carried out in parts, one right after the other, with few deletions in each", () => {
  const many = Array.from({ length: actionsMax + 1 }, (_, n) => n + 1);
  const idle = plan({ bindings: many.map((n) => binding(n)) });
  expect([idle.actions.length, idle.nextInMs]).toEqual([actionsMax, 0]);
  const dying = plan({ bindings: [binding(500)], cleanups: many.map((n) => cleanup(n, { reason: "left" })) });
  expect([dying.actions.length, dying.nextInMs, dying.counts.cleanup]).toEqual([deletionsMax + 1, 0, actionsMax + 1]);
});
