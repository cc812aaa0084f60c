import { expect } from "vitest";
import type { CleanupReason } from "../../../machines/reconciliation.types.ts";
import type { SeatEnd, Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

/** Seat 1 is bound to thread 1 and registered; whether its instance still claims it is the test's. */
async function seated(store: Store, isClaimed = false) {
  const epoch = await the.lead(store, 1);
  if (isClaimed)
    await store.seats.claim({
      seat: the.seat(1),
      instanceId: the.instance(1),
      incarnation: the.incarnation(1),
      threadGraceMs: the.graceMs,
      expected: null,
    });
  await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
  await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
  const end = (reason: SeatEnd, atMs = 5) =>
    store.registrations.end({ epoch, seat: the.seat(1), generation: the.generation("g1"), reason, atMs });
  const begin = (seenDead: number | null = null) =>
    store.cleanups.begin({ epoch, target: the.target(1), seenDead: seenDead === null ? null : the.instance(seenDead) });
  const intend = (reason: CleanupReason) => store.cleanups.intend({ epoch, ...the.cleanup(1, 1, reason) });
  const confirm = () => store.cleanups.confirm({ epoch, target: the.target(1), atMs: 9 });
  const register = (gen: string) => store.registrations.commit({ epoch, registration: the.registration(1, 1, gen) });
  const all = async () => (await store.cleanups.view()).cleanups;
  return { epoch, end, begin, intend, confirm, register, all };
}

const waiting = { phase: "waiting", attempts: 0, lastReason: null };

export function cleanupsContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  for (const reason of ["died", "forgotten"] as const)
    test(`threads/T-30: a registration that ends (${reason}) starts its thread's deadline, durably`, async (given) => {
      const { store, harness } = given;
      const { end } = await seated(store);
      await end(reason, 5);
      const due = { ...the.cleanup(1, 1, "ended"), atMs: 5, dueAtMs: 5 + the.graceMs, ...waiting };
      expect((await (await harness.open()).cleanups.view()).cleanups).toEqual([due]);
      await end(reason, 700); // the first answer was lost
      expect((await store.cleanups.view()).cleanups).toEqual([due]);
    });

  test("giving the seat up starts the deadline too, by the clock; the holder's own wish decides how long", async (given) => {
    const { store, clock } = given;
    const epoch = await the.lead(store, 1);
    const claim = { seat: the.seat(1), instanceId: the.instance(1), incarnation: the.incarnation(1), expected: null };
    await store.seats.claim({ ...claim, threadGraceMs: 42 });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
    await store.seats.release({ seat: the.seat(1), instanceId: the.instance(1) });
    const [cleanup] = (await store.cleanups.view()).cleanups;
    expect(cleanup).toMatchObject({ reason: "ended", atMs: clock.nowMs(), dueAtMs: clock.nowMs() + 42 });
  });

  test("a thread that is to be kept has no deadline, and neither has one that was given up", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    const kept = { ...the.registration(1, 1, "g1"), threadGraceMs: null };
    for (const [n, registration] of [kept, the.registration(2, 2, "g2")].entries()) {
      await store.threads.bind({ epoch, provisionId: null, binding: the.binding(n + 1, n + 1) });
      await store.registrations.commit({ epoch, registration });
      const reason = n === 0 ? "died" : "left";
      const { seat, generation } = registration;
      await store.registrations.end({ epoch, seat, generation, reason, atMs: 5 });
    }
    expect((await store.cleanups.view()).cleanups).toEqual([]);
  });

  test("threads/OP-29, S-65: a registration cancels the clean-up of its thread, and no other", async ({ store }) => {
    const { epoch, register, all } = await seated(store);
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 1) });
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 7) });
    await store.registrations.commit({ epoch, registration: { ...the.registration(1, 1, "g0"), thread: null } });
    expect(await all()).toHaveLength(2);
    expect(await register("g2")).toEqual({ kind: "committed" });
    expect((await all()).map(({ target }) => target.threadId)).toEqual([7]);
    expect(await store.cleanups.confirm({ epoch, target: the.target(1), atMs: 9 })).toEqual({ kind: "superseded" });
    expect((await store.threads.view()).bindings).toHaveLength(1);
  });

  test("an instruction is one per thread, due when either is; a deadline never replaces an order", async ({
    store,
  }) => {
    const { epoch, intend, all } = await seated(store);
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 1, "ended"), dueAtMs: 900 });
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 1, "left"), dueAtMs: 100 });
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 1, "ended"), dueAtMs: 500 });
    expect(await all()).toEqual([{ ...the.cleanup(1, 1, "left"), dueAtMs: 100, ...waiting }]);
    await intend("operator");
    expect(await all()).toMatchObject([{ reason: "operator", dueAtMs: 100 }]);
  });

  test("threads/T-14, T-28: once deletion has begun, no registration gets the thread until that is known", async (given) => {
    const { store } = given;
    const { epoch, intend, begin, register, all } = await seated(store);
    await intend("left");
    expect(await begin()).toEqual({ kind: "begun", attempts: 1 });
    const before = await store.status.read();
    expect(await register("g2")).toEqual({ kind: "threadGone" });
    expect(await store.cleanups.cancel({ epoch, target: the.target(1) })).toEqual({ kind: "gone" });
    expect(await store.status.read()).toEqual(before);
    const postpone = (isCertain: boolean) =>
      store.cleanups.postpone({ epoch, target: the.target(1), reason: "no", dueAtMs: 77, isCertain });
    await postpone(false); // it may be gone
    expect(await all()).toMatchObject([{ phase: "deleting", dueAtMs: 77, lastReason: "no", attempts: 1 }]);
    expect(await register("g2")).toEqual({ kind: "threadGone" });
    await postpone(true); // it still exists
    expect(await register("g2")).toEqual({ kind: "committed" });
    expect(await all()).toEqual([]);
    expect(await begin()).toEqual({ kind: "superseded" });
  });

  test("threads/T-15, S-63, CL-5: confirmation removes instruction and binding, ends the registration, and is remembered", async (given) => {
    const { store } = given;
    const { epoch, intend, begin, confirm, register, all } = await seated(store);
    await intend("left");
    await begin();
    expect(await confirm()).toEqual({ kind: "removed" });
    expect(await confirm()).toEqual({ kind: "superseded" });
    expect((await store.threads.view()).bindings).toEqual([]);
    expect(await all()).toEqual([]);
    expect((await store.status.read()).registrations).toMatchObject([{ ended: "left" }]);
    // Nothing brings the thread back, and nothing deletes it a second time.
    expect(await register("g2")).toEqual({ kind: "threadGone" });
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 1, "operator") });
    expect(await all()).toEqual([]);
    expect((await store.cleanups.view()).observations).toMatchObject([{ target: the.target(1), status: "deleted" }]);
  });

  test("threads/T-30: the last proof: a deadline is not carried out while somebody sits or claims the seat", async ({
    store,
  }) => {
    const { end, begin, register } = await seated(store, true);
    await end("died");
    expect(await begin()).toEqual({ kind: "held" });
    expect(await begin(9)).toEqual({ kind: "held" });
    expect(await begin(1)).toEqual({ kind: "begun", attempts: 1 });
    expect(await register("g2")).toEqual({ kind: "threadGone" });
  });

  test("threads/T-47: a deletion that was begun goes on, whoever claims the seat since: it can only be ended", async ({
    store,
  }) => {
    const { end, begin } = await seated(store, true);
    await end("died");
    expect(await begin(1)).toEqual({ kind: "begun", attempts: 1 });
    const claim = { seat: the.seat(1), instanceId: the.instance(2), incarnation: the.incarnation(2) };
    await store.seats.claim({ ...claim, expected: the.instance(1), threadGraceMs: the.graceMs });
    expect(await begin()).toEqual({ kind: "begun", attempts: 2 });
  });

  test("only the one who leaves may give up a thread that a registration has", async ({ store }) => {
    const { intend, begin } = await seated(store);
    await intend("operator");
    expect(await begin()).toEqual({ kind: "held" });
    await intend("left");
    expect(await begin()).toEqual({ kind: "begun", attempts: 1 });
  });

  test("threads/S-68, OP-18: the instruction is void when another seat is bound to the thread by now", async ({
    store,
  }) => {
    const { epoch, end, begin, all } = await seated(store);
    await end("died");
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(2, 1) });
    expect(await begin()).toEqual({ kind: "superseded" });
    expect(await all()).toEqual([]);
  });

  test("forgetting a seat ends its registration and its holder's claim; a thread can be taken off the books", async (given) => {
    const { store } = given;
    const { epoch, end } = await seated(store, true);
    await end("forgotten");
    expect(await store.seats.holderOf(the.seat(1))).toBeNull();
    await store.cleanups.unbind({ epoch, target: the.target(1) });
    expect(await store.cleanups.view()).toMatchObject({ bindings: [], cleanups: [], observations: [] });
  });

  test("C42: a person's name for a thread becomes its name and is kept for good; the bot's edit sets no lock", async (given) => {
    const { store } = given;
    const { epoch } = await seated(store);
    const rename = (name: string, by: "bot" | "person") =>
      store.cleanups.observe({ epoch, evidence: { ...the.evidence(1, "renamed"), name, by } });
    const seen = async () => {
      const { observations, bindings } = await store.cleanups.view();
      return [observations[0]?.isNamedByPerson, observations[0]?.name, bindings[0]?.thread.threadName];
    };
    await rename("By bot", "bot");
    expect(await seen()).toEqual([false, "By bot", "By bot"]);
    await rename("My work", "person");
    expect(await seen()).toEqual([true, "My work", "My work"]);
    await rename("Bot again", "bot");
    expect(await seen()).toEqual([true, "Bot again", "Bot again"]);
    expect((await store.status.read()).registrations[0]?.thread?.threadName).toBe("Bot again");
  });

  test("threads/OP-23: closing and reopening are seen; what was deleted stays deleted", async ({ store }) => {
    const { epoch, intend, begin, confirm } = await seated(store);
    const observe = (what: "created" | "closed" | "reopened" | "renamed") =>
      store.cleanups.observe({ epoch, evidence: the.evidence(1, what) });
    const status = async () => (await store.cleanups.view()).observations[0]?.status;
    await observe("closed");
    await observe("renamed");
    expect(await status()).toBe("closed");
    await observe("reopened");
    expect(await status()).toBe("open");
    await intend("left");
    await begin();
    await confirm();
    await observe("reopened");
    expect(await status()).toBe("deleted");
  });

  test("an owner that can be proven neither way is told since when and why, until a registration or an end", async (given) => {
    const { store } = given;
    const { epoch, register, end } = await seated(store);
    const doubt = (gen: string, sinceMs: number | null) =>
      store.cleanups.doubt({
        epoch,
        seat: the.seat(1),
        generation: the.generation(gen),
        doubt: sinceMs === null ? null : { sinceMs, reason: "another host" },
      });
    const seen = async () => (await store.cleanups.view()).seats[0]?.unprovable;
    await doubt("g0", 3);
    expect(await seen()).toBeNull();
    await doubt("g1", 4);
    expect(await seen()).toEqual({ sinceMs: 4, reason: "another host" });
    await doubt("g1", null);
    expect(await seen()).toBeNull();
    await doubt("g1", 5);
    await register("g2");
    expect(await seen()).toBeNull();
    await doubt("g2", 6);
    await end("died");
    expect(await seen()).toEqual({ sinceMs: 6, reason: "another host" }); // not its generation
  });

  test("the operator's requests come in order, are answered once, and the answer is there for whoever asked", async (given) => {
    const { store, harness } = given;
    const epoch = await the.lead(store, 1);
    const other = await harness.open();
    await other.cleanups.ask({ id: "r2", wish: { kind: "release", target: the.target(2) }, atMs: 2 });
    await other.cleanups.ask({ id: "r1", wish: { kind: "leave", seat: the.seat(1) }, atMs: 1 });
    await other.cleanups.ask({ id: "r1", wish: { kind: "leave", seat: the.seat(9) }, atMs: 9 });
    const requests = async () => (await store.cleanups.view()).requests;
    expect(await requests()).toEqual([
      { id: "r1", wish: { kind: "leave", seat: the.seat(1) }, atMs: 1 },
      { id: "r2", wish: { kind: "release", target: the.target(2) }, atMs: 2 },
    ]);
    expect(await other.cleanups.answerTo("r1")).toBeNull();
    const answer = (kind: "done" | "refused") =>
      store.cleanups.answer({ epoch, answer: { id: "r1", kind, text: "so" } });
    await answer("done");
    await answer("refused");
    expect(await other.cleanups.answerTo("r1")).toEqual({ id: "r1", kind: "done", text: "so" });
    expect((await requests()).map(({ id }) => id)).toEqual(["r2"]);
  });
}
