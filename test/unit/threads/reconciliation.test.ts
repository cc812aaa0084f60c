/** What reconciliation does to the store and asks of Telegram (threads §5.4): fences, proofs, retries, and its pace. */
import { describe, expect, it, test } from "vitest";
import type { OperatorWish } from "../../../machines/reconciliation.types.ts";
import { freshThreadMs } from "../../../machines/creations.rules.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { Reconciling } from "../../support/line/reconciling.ts";
import * as the from "../store/fixtures.ts";

const minuteMs = 60_000;
const open = () => new Reconciling();
type World = Reconciling;
const instructions = async ({ store }: World) => (await store.cleanups.view()).cleanups;
const bound = async ({ store }: World) =>
  (await store.threads.view()).bindings.map(({ thread }) => Number(thread.target.threadId));
const intend = async (
  world: World,
  epoch: Parameters<World["seat"]>[0],
  n: number,
  reason: "left" | "ended" = "left",
) => world.store.cleanups.intend({ epoch, ...the.cleanup(n, n, reason), dueAtMs: 0 });

describe("threads/T-19, T-20, S-83, S-84, RC-A4: under an epoch that is over", () => {
  const wish = (wanted: OperatorWish) => (world: World) => world.store.cleanups.ask({ id: "r", wish: wanted, atMs: 0 });
  const target = the.target(1);
  const seat = the.seat(1);
  /** What there is to do, by the action that does it. */
  const works: Readonly<Record<string, (world: World, epoch: Parameters<World["seat"]>[0]) => Promise<unknown>>> = {
    deleteThread: (world, epoch) => intend(world, epoch, 1),
    async cancelCleanup(world, epoch) {
      await intend(world, epoch, 1, "ended");
      await world.store.threads.bind({ epoch, provisionId: null, binding: { ...the.binding(2, 1) } });
    },
    startGrace: (world, epoch) => world.seat(epoch, 1),
    async markThread(world, epoch) {
      await world.seat(epoch, 1, "g");
      await world.store.cleanups.observe({ epoch, evidence: the.evidence(1, "closed") });
    },
    async adoptCreated(world, epoch) {
      await world.store.threads.intend({ epoch, provision: the.provision("p", 1, "A"), abandons: null });
      await world.store.threads.noteCreated({ provisionId: "p", target, threadName: "Thread A", atMs: 0 });
    },
    offerThread: (world, epoch) =>
      world.store.cleanups.observe({
        epoch,
        evidence: { ...the.evidence(1, "created"), by: "bot", atMs: world.clock.nowMs() - freshThreadMs },
      }),
    "bind, for the operator": wish({ kind: "adopt", seat, target }),
    "unbind, for the operator": wish({ kind: "forgetThread", target }),
    "a refusal": wish({ kind: "forgetSeat", seat }),
    async "delete, for the operator"(world, epoch) {
      await world.seat(epoch, 1);
      await wish({ kind: "release", target })(world);
    },
  };

  it.each(Object.entries(works))("nothing is written and nothing asked: %s", async (_, prepare) => {
    const world = open();
    const first = await the.lead(world.store, 1);
    await prepare(world, first);
    await the.lead(world.store, 2);
    const before = await world.store.cleanups.view();
    // A process that has not noticed yet.
    world.reconcile(first);
    await world.clock.advance(minuteMs);
    expect(world.facts).toContainEqual({ type: "reconciliation.fenced" });
    expect(await world.store.cleanups.view()).toEqual(before);
    expect(world.telegram.calls).toEqual([]);
  });

  it("threads/S-85, RC-A6: what was confirmed to a leader that is over is confirmed to the next one as well", async () => {
    const world = open();
    const epoch = await world.lead(1);
    await world.seat(epoch, 1);
    await intend(world, epoch, 1);
    let isDeleted = false;
    world.telegram.answer("deleteForumTopic", async () => {
      if (isDeleted)
        return { kind: "rejected", error: { error_code: 400, description: "Bad Request: TOPIC_ID_INVALID" } };
      isDeleted = true;
      await world.lead(2);
      return { kind: "ok", result: true };
    });
    await world.clock.advance(2_000);
    expect(await instructions(world)).toMatchObject([{ phase: "deleting", attempts: 1 }]);
    expect(await bound(world)).toEqual([1]);
    await world.clock.advance(minuteMs);
    expect(await instructions(world)).toEqual([]);
    expect(await bound(world)).toEqual([]);
    expect(world.deleted).toEqual([1, 1]);
  });
});

describe("threads/T-17, RC-A1, RC-A7: only Telegram's own word for it is a deletion", () => {
  const rejected = (error_code: number, description: string): CallOutcome => ({
    kind: "rejected",
    error: { error_code, description },
  });
  const limited = { error_code: 429, description: "Too Many Requests" };
  const unconfirmed: readonly (readonly [string, CallOutcome])[] = [
    ["threads/S-87 a closed thread", rejected(400, "Bad Request: TOPIC_CLOSED")],
    ["a right that is missing", rejected(400, "Bad Request: not enough rights")],
    ["threads/OP-26 a yes that says no", { kind: "ok", result: false }],
    ["a pause", { kind: "throttled", retryAfterMs: 1_000, error: limited }],
    ["no answer", { kind: "ambiguous", reason: "the connection broke" }],
    ["no connection", { kind: "notSent", reason: "ECONNREFUSED" }],
  ];

  it.each(unconfirmed)(
    "threads/OP-39: %s leaves binding and instruction, with the reason, and is tried again",
    async (_, outcome) => {
      const world = open();
      const epoch = await world.lead();
      await world.seat(epoch, 1);
      await intend(world, epoch, 1);
      world.answerDeletion(outcome);
      await world.clock.advance(1_000);
      const [instruction] = await instructions(world);
      expect(instruction?.lastReason).toMatch(/^Telegram did not confirm/);
      expect(instruction?.dueAtMs).toBeGreaterThan(world.clock.nowMs());
      expect(await bound(world)).toEqual([1]);
      world.telegram.answer("deleteForumTopic", null);
      await world.clock.advance(minuteMs);
      expect(await instructions(world)).toEqual([]);
      expect(await bound(world)).toEqual([]);
    },
  );

  it("threads/S-67, S-88: the absence of the thread is one, whatever became of closing it", async () => {
    const world = open();
    const epoch = await world.lead();
    await intend(world, epoch, 1);
    world.telegram.answer("closeForumTopic", () => rejected(400, "Bad Request: message thread not found"));
    world.rejectDeletion("Bad Request: message thread not found");
    await world.clock.advance(1_000);
    expect(await instructions(world)).toEqual([]);
    expect(world.telegram.calls.map(({ method }) => method)).toEqual(["closeForumTopic", "deleteForumTopic"]);
  });

  it("threads/T-16, T-47, S-43, S-91: what one leader could not have confirmed the next one tries again", async () => {
    const world = open();
    const epoch = await the.lead(world.store, 1);
    await world.seat(epoch, 1);
    await intend(world, epoch, 1);
    world.answerDeletion({ kind: "ambiguous", reason: "502" });
    world.reconcile(epoch);
    await world.clock.advance(1_000);
    expect(world.deleted).toEqual([1]);
    world.telegram.answer("deleteForumTopic", null);
    const before = (await instructions(world))[0];
    await world.lead(2);
    expect((await instructions(world))[0]).toEqual(before);
    await world.clock.advance(minuteMs);
    expect(world.deleted).toEqual([1, 1]);
    expect(await instructions(world)).toEqual([]);
  });
});

describe("never a thread that somebody has", () => {
  test("a thread is deleted once: no later word of anybody makes a second call", async () => {
    const world = open();
    const epoch = await world.lead();
    await world.seat(epoch, 1);
    await intend(world, epoch, 1);
    await world.clock.advance(5_000);
    expect(world.deleted).toEqual([1]);
    await intend(world, epoch, 1);
    expect(await world.ask({ kind: "release", target: the.target(1) })).toMatch(/^refused: nothing is known/);
    expect(await world.ask({ kind: "adopt", seat: the.seat(1), target: the.target(1) })).toBe(
      "refused: that thread is deleted",
    );
    await world.clock.advance(minuteMs);
    expect(world.deleted).toEqual([1]);
  });

  test.each([
    [
      "OP-29, S-65 its seat has registered again",
      (world: World, epoch: Parameters<World["seat"]>[0]) => world.seat(epoch, 1, "g2"),
    ],
    [
      "OP-18, S-68 another seat is bound to it",
      (world: World, epoch: Parameters<World["seat"]>[0]) =>
        world.store.threads.bind({ epoch, provisionId: null, binding: the.binding(2, 1) }),
    ],
  ])("threads/%s between the plan and its turn: no call", async (_, take) => {
    const world = open();
    const epoch = await world.lead();
    world.held.add(the.seat(2));
    await world.seat(epoch, 1);
    await world.clock.advance(1_000);
    // While a message is on its way the deletion that was planned waits.
    world.say("long", 800);
    await intend(world, epoch, 1, "ended");
    world.changed.fire(the.seat(1));
    await world.clock.advance(100);
    await take(world, epoch);
    await world.clock.advance(minuteMs);
    expect(world.telegram.of("closeForumTopic")).toEqual([]);
    expect(world.deleted).toEqual([]);
    expect(await bound(world)).toEqual([1]);
  });

  test.each(["alive", "unverifiable", "dead"] as const)(
    "threads/T-29, T-30, S-71: at the deadline the holder's process is looked at: %s",
    async (liveness) => {
      const world = open();
      const epoch = await world.lead();
      await world.claim(1);
      await world.seat(epoch, 1);
      await intend(world, epoch, 1, "ended");
      world.processes.set(the.instance(1), liveness);
      await world.clock.advance(2 * minuteMs);
      expect(world.deleted).toEqual(liveness === "dead" ? [1] : []);
    },
  );

  test("threads/T-4, S-81: a thread is neither offered nor deleted while a creation may have made it, or it is fresh", async () => {
    const world = open();
    const epoch = await world.lead();
    const seen = (n: number, name: string) =>
      world.store.cleanups.observe({
        epoch,
        evidence: { target: the.target(n), what: "created", name, by: "bot", atMs: world.clock.nowMs() },
      });
    const leftovers = async () => (await world.store.threads.view()).leftovers.map(({ target }) => target.threadId);
    await world.store.threads.intend({
      epoch,
      provision: { ...the.provision("p", 1, "A"), startedAtMs: world.clock.nowMs() },
      abandons: null,
    });
    world.held.add(the.seat(1));
    await seen(1, "Thread A");
    await seen(2, "Nobody's");
    await world.clock.advance(29_000);
    expect([await leftovers(), await bound(world)]).toEqual([[], []]);
    await world.clock.advance(2_000);
    // Whoever began the first has not been answered by now: the thread is its seat's.
    expect([await leftovers(), await bound(world)]).toEqual([[2], [1]]);
    expect(world.telegram.calls).toEqual([]);
  });

  test("a seat whose holder can be proven neither alive nor dead is the operator's to end, and then its thread has its grace time", async () => {
    const world = open();
    const epoch = await world.lead();
    await world.claim(1);
    await world.seat(epoch, 1, "g");
    const forget = () => world.ask({ kind: "forgetSeat", seat: the.seat(1) });
    expect(await forget()).toMatch(/^refused: .* is held by a running instance/);
    world.processes.set(the.instance(1), "unverifiable");
    expect(await forget()).toMatch(/^done: the seat's holder counts as gone/);
    expect(await instructions(world)).toMatchObject([{ reason: "ended" }]);
    expect(await forget()).toMatch(/^refused: nobody sits on/);
    await world.clock.advance(the.graceMs);
    expect(world.deleted).toEqual([1]);
  });

  test("a thread that is taken up after its maker's death has the name that its user gave it meanwhile", async () => {
    const world = open();
    const epoch = await world.lead();
    await world.store.threads.intend({ epoch, provision: the.provision("p", 1, "A"), abandons: null });
    const tell = (what: "created" | "renamed", name: string, by: "bot" | "person") =>
      world.store.cleanups.observe({ epoch, evidence: { ...the.evidence(1, what), name, by, atMs: the.startMs } });
    await tell("created", "Thread A", "bot");
    await world.store.threads.noteCreated({
      provisionId: "p",
      target: the.target(1),
      threadName: "Thread A",
      atMs: the.startMs,
    });
    await tell("renamed", "My work", "person");
    await world.clock.advance(2_000);
    const { bindings } = await world.store.threads.view();
    expect(bindings.map(({ seat, thread }) => [seat, thread.threadName])).toEqual([[the.seat(1), "My work"]]);
  });

  test("C40: a thread that its user renamed before anybody knew whose it is is only offered, and the operator gives it to its seat", async () => {
    const world = open();
    const epoch = await world.lead();
    const begun = { ...the.provision("p", 1, "A"), status: "ambiguous" as const, startedAtMs: world.clock.nowMs() };
    await world.store.threads.intend({ epoch, provision: begun, abandons: null });
    const tell = (what: "created" | "renamed", name: string, by: "bot" | "person") =>
      world.store.cleanups.observe({
        epoch,
        evidence: { ...the.evidence(1, what), name, by, atMs: world.clock.nowMs() },
      });
    await tell("created", "Thread A", "bot");
    await tell("renamed", "My work", "person");
    await world.clock.advance(minuteMs);
    const { leftovers, provisions, bindings } = await world.store.threads.view();
    expect(leftovers).toMatchObject([{ target: the.target(1), threadName: "My work", seat: null }]);
    expect([provisions.map(({ id }) => id), bindings, world.telegram.calls]).toEqual([["p"], [], []]);
    expect(await world.ask({ kind: "adopt", seat: the.seat(1), target: the.target(1) })).toMatch(/^done/);
    const after = await world.store.threads.view();
    expect(after.bindings).toMatchObject([{ seat: the.seat(1), thread: { threadName: "My work", slot: "A" } }]);
    expect([after.provisions, after.leftovers]).toEqual([[], []]);
  });

  test("what was ordered before an adoption does not undo it", async () => {
    const world = open();
    const epoch = await world.lead();
    await world.seat(epoch, 1);
    world.answerDeletion({ kind: "throttled", retryAfterMs: 60_000, error: { error_code: 429, description: "later" } });
    expect(await world.ask({ kind: "release", target: the.target(1) })).toMatch(/^done/);
    expect(await world.ask({ kind: "adopt", seat: the.seat(1), target: the.target(1) })).toMatch(/^done/);
    world.telegram.answer("deleteForumTopic", null);
    await world.clock.advance(5 * minuteMs);
    expect(await bound(world)).toEqual([1]);
    expect(world.deleted).toEqual([1]);
  });
});

describe("threads/SY-4: the pace, with a thousand threads", () => {
  const many = Array.from({ length: 1_000 }, (_, n) => n + 1);

  test("S-47, T-34: beginning to lead asks nothing of Telegram, and every idle thread has its deadline soon", async () => {
    const world = open();
    const epoch = await the.lead(world.store, 1);
    for (const n of many) await world.seat(epoch, n);
    world.reconcile(epoch);
    await world.clock.advance(2_000);
    expect(await instructions(world)).toHaveLength(many.length);
    expect(world.telegram.calls).toEqual([]);
    const largest = world.facts.map((fact) => (fact.type === "reconciliation.planned" ? fact.actions : 0));
    expect(Math.max(...largest)).toBe(200);
  });

  test("deletions come one a second, none while a message is on its way, and operators are answered in between", async () => {
    const world = open();
    const epoch = await world.lead();
    for (const n of many) await intend(world, epoch, n);
    await world.clock.advance(20_000);
    const { length } = world.deleted;
    expect(length).toBeGreaterThanOrEqual(19);
    expect(length).toBeLessThanOrEqual(21);
    world.say("long", 10_000);
    await world.clock.advance(6_000);
    expect(await world.ask({ kind: "release", target: the.target(5_000) }, 3_000)).toMatch(/^refused/);
    expect(world.deleted.length).toBe(length);
    await world.clock.advance(10_000);
    expect(world.deleted.length).toBeGreaterThan(length);
    expect(await world.ask({ kind: "release", target: the.target(5_000) }, 7_000)).toMatch(/^refused/);
    expect(new Set(world.deleted).size).toBe(world.deleted.length);
  });

  test("a pause that Telegram asks for is kept by all of them", async () => {
    const world = open();
    const epoch = await world.lead();
    const error = { error_code: 429, description: "Too Many Requests" };
    world.answerDeletion({ kind: "throttled", retryAfterMs: 30_000, error });
    for (const n of many) await intend(world, epoch, n);
    await world.clock.advance(30_000);
    expect(world.deleted.length).toBe(1);
    await world.clock.advance(30_000);
    expect(world.deleted.length).toBe(2);
    world.telegram.answer("deleteForumTopic", null);
    await world.clock.advance(40_000);
    expect(await instructions(world)).not.toHaveLength(many.length);
  });
});
