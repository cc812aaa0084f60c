/** What the store keeps of threads beyond bindings: evidence of creations, how threads stand, losses, leftovers. */
import { expect } from "vitest";
import { chatId, threadId } from "../../../machines/ids.ts";
import { keptReason, lostThreadsMax } from "../../../machines/threads.rules.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

export function threadsKeptContract(make: () => Promise<Harness>): void {
  const test = testWith(make);
  const created = (store: Store, provisionId: string, thread: number) =>
    store.threads.noteCreated({ provisionId, target: the.target(thread), threadName: "Made", atMs: 3 });

  test("threads/T-12, TP-12: what a creation made is kept without an epoch, and its first word stands", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    await store.threads.intend({ epoch, provision: the.provision("p1", 1, "A"), abandons: null });
    await the.lead(store, 2); // the one who asked for it leads no more
    await created(store, "p1", 7);
    await created(store, "p1", 8);
    expect((await store.threads.view()).provisions).toEqual([{ ...the.provision("p1", 1, "A"), threadId: 7 }]);
  });

  test("threads/ST-12 superseded: what ends an instance leaves its thread with its seat, for whoever sits there next", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const registration = the.registration(1, 1, "g1");
    const { seat, instanceId } = registration;
    await store.registrations.commit({ epoch, registration });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    const before = (await store.threads.view()).bindings;
    expect(before).toMatchObject([{ seat, thread: the.binding(1, 1).thread, standing: "open" }]);
    const generation = the.generation("g1");
    expect(await store.registrations.end({ epoch, seat, generation, reason: "died", atMs: 5 })).toEqual({
      kind: "ended",
    });
    await store.seats.release({ seat, instanceId });
    expect((await store.threads.view()).bindings).toEqual(before);
    await store.registrations.commit({ epoch, registration: the.registration(1, 2, "g2") });
    const [after, ...more] = (await store.threads.view()).bindings;
    expect([after, more]).toMatchObject([{ seat, thread: the.binding(1, 1).thread, holder: the.instance(2) }, []]);
  });

  test("a creation that made a thread is neither given up nor abandoned for another", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    await store.threads.intend({ epoch, provision: the.provision("p1", 1, "A"), abandons: null });
    await created(store, "p1", 7);
    const next = { epoch, provision: the.provision("p2", 1, "B"), abandons: "p1" };
    expect(await store.threads.intend(next)).toEqual({ kind: "conflict" });
    expect(await store.threads.giveUp({ epoch, provisionId: "p1", as: "abandoned" })).toEqual({
      kind: "noted",
      threadId: 7,
    });
    const [kept] = (await store.threads.view()).provisions;
    expect(kept).toEqual({ ...the.provision("p1", 1, "A"), status: "ambiguous", threadId: 7 });
    await store.threads.bind({ epoch, provisionId: "p1", binding: the.binding(1, 7) });
    expect((await store.threads.view()).provisions).toEqual([]);
    // The id of a creation may come again: what the first one made is not the next one's.
    await store.threads.intend({ epoch, provision: the.provision("p1", 2, "B"), abandons: null });
    expect((await store.threads.view()).provisions).toEqual([the.unseen(the.provision("p1", 2, "B"))]);
  });

  test("what comes to light after its creation was given up is a leftover, unless somebody has it", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    await created(store, "gone", 1);
    await created(store, "gone", 2);
    const leftover = { target: the.target(2), threadName: "Made", seat: null, atMs: 3 };
    expect((await store.threads.view()).leftovers).toEqual([{ ...leftover, reason: "created after it was given up" }]);
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(2, 2) });
    expect((await store.status.read()).leftovers).toEqual([]);
  });

  test("C38: the creation of one who left for good binds nothing, and its thread is to be deleted", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const mine = { seat: the.seat(1), instanceId: the.instance(1) };
    await store.threads.intend({ epoch, provision: the.provision("p1", 1, "A"), abandons: null });
    await store.seats.disown(mine); // holds nothing
    expect((await store.threads.view()).provisions[0]?.status).toBe("inFlight");
    await store.seats.claim({ ...mine, incarnation: the.incarnation(1), threadGraceMs: null, expected: null });
    await store.seats.disown(mine);
    expect((await store.threads.view()).provisions[0]?.status).toBe("unwanted");
    // The seat's next holder begins one of its own, in another slot.
    expect(await store.threads.intend({ epoch, provision: the.provision("p2", 1, "A"), abandons: null })).toEqual({
      kind: "conflict",
    });
    expect(await store.threads.intend({ epoch, provision: the.provision("p2", 1, "B"), abandons: null })).toEqual({
      kind: "intended",
    });
    const binding = the.binding(1, 6, 50);
    expect(await store.threads.bind({ epoch, provisionId: "p1", binding })).toEqual({ kind: "unwanted" });
    const { bindings, provisions, cleanups } = await store.status.read();
    expect({ bindings, provisions: provisions.map((each) => each.id), cleanups }).toEqual({
      bindings: [],
      provisions: ["p2"],
      cleanups: [
        { ...the.cleanup(1, 6, "left"), atMs: 50, dueAtMs: 50, phase: "waiting", attempts: 0, lastReason: null },
      ],
    });
  });

  test("threads/ST-11: how a thread stands is written for the bound one only; open is proof of it", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const mark = (thread: number, standing: "open" | "closed" | "suspect", atMs: number) =>
      store.threads.mark({ epoch, target: the.target(thread), standing, reason: `is ${standing}`, atMs });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    expect(await mark(2, "closed", 5)).toEqual({ kind: "missing" });
    expect(await mark(1, "closed", the.startMs + 1)).toEqual({ kind: "marked" });
    const binding = { seat: the.seat(1), chatId: the.target(1).chatId };
    const closed = { ...the.unheld(the.binding(1, 1)), standing: "closed", reason: "is closed" };
    expect(await store.threads.bindingOf(binding)).toEqual(closed);
    await mark(1, "open", the.startMs + 2);
    expect(await store.threads.bindingOf(binding)).toMatchObject({ standing: "open", provenAtMs: the.startMs + 2 });
  });

  test("a thread that another instance of its seat takes up is noted as kept, in the registration's transaction", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const bindingOf = () => store.threads.bindingOf({ seat: the.seat(1), chatId: the.target(1).chatId });
    const register = (instance: number, thread = the.thread(1)) =>
      store.registrations.commit({
        epoch,
        registration: { ...the.registration(1, instance, `g${String(instance)}`), thread },
      });
    const made = { ...the.binding(1, 1), reason: "made" };
    await store.threads.bind({ epoch, provisionId: null, binding: made });
    await register(1);
    await register(1);
    expect(await bindingOf()).toMatchObject({ reason: "made" });
    await register(2);
    expect(await bindingOf()).toMatchObject({ reason: keptReason, standing: "open" });
    // One that is closed says so; another thread of the seat is no kept one.
    await store.threads.mark({
      epoch,
      target: the.target(1),
      standing: "closed",
      reason: "the user closed it",
      atMs: 5,
    });
    await register(3);
    expect(await bindingOf()).toMatchObject({ reason: "the user closed it" });
    await store.threads.bind({ epoch, provisionId: null, binding: { ...the.binding(1, 2), reason: "made anew" } });
    await register(4, the.thread(2));
    expect(await bindingOf()).toMatchObject({ reason: "made anew" });
    // Nor is the thread of a seat touched by another's registration.
    await store.threads.bind({ epoch, provisionId: null, binding: { ...the.binding(2, 2), reason: "passed on" } });
    await register(5, the.thread(2));
    expect(await store.threads.bindingOf({ seat: the.seat(2), chatId: the.target(2).chatId })).toMatchObject({
      reason: "passed on",
    });
  });

  test("a status tells since when a seat's holder is in doubt, and when a seat ended", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    const mine = { epoch, seat: the.seat(1), generation: the.generation("g1") };
    await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
    const doubt = { sinceMs: 7, reason: "another host" };
    await store.cleanups.doubt({ ...mine, doubt });
    const standing = the.standing(the.registration(1, 1, "g1"));
    expect((await store.status.read()).registrations).toEqual([{ ...standing, unprovable: doubt }]);
    await store.registrations.end({ ...mine, reason: "died", atMs: 9 });
    expect((await store.status.read()).registrations).toEqual([{ ...standing, ended: "died", endedAtMs: 9 }]);
  });

  test("threads/OP-4, S-57, ST-10: a lost thread is remembered with its seat until it is proven after all", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const lose = (thread: number) =>
      store.threads.lose({ epoch, target: the.target(thread), reason: "TOPIC_DELETED", atMs: 9 });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    expect(await lose(2)).toEqual({ kind: "missing" });
    expect(await store.threads.seatOf(the.target(1))).toBe(the.seat(1));
    expect(await lose(1)).toEqual({ kind: "lost" });
    expect(await lose(1)).toEqual({ kind: "missing" });
    expect(await store.threads.view()).toMatchObject({
      bindings: [],
      lost: [{ seat: the.seat(1), thread: the.thread(1), reason: "TOPIC_DELETED", atMs: 9 }],
    });
    expect(await store.threads.seatOf(the.target(1))).toBe(the.seat(1));
    expect(await store.threads.seatOf(the.target(2))).toBeNull();
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(2, 1) });
    expect((await store.status.read()).lostThreads).toEqual([]);
  });

  test("losses are bounded: the oldest are forgotten", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    for (let n = 1; n <= lostThreadsMax + 2; n += 1) {
      const target = { chatId: chatId(5), threadId: threadId(n) };
      const thread = { ...the.thread(1), target };
      await store.threads.bind({ epoch, provisionId: null, binding: { ...the.binding(1, 1), thread } });
      await store.threads.lose({ epoch, target, reason: "", atMs: n });
    }
    const { lost } = await store.threads.view();
    expect([lost.length, lost[0]?.atMs]).toEqual([lostThreadsMax, 3]);
  });

  test("threads/FP-4a: a seat has a thread in each chat, and one does not take the other's place", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const target = { chatId: chatId(5), threadId: threadId(1) };
    const elsewhere = { ...the.binding(1, 1), thread: { ...the.thread(1), target } };
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    await store.threads.intend({
      epoch,
      provision: { ...the.provision("p1", 1, "A"), chatId: chatId(5) },
      abandons: null,
    });
    await store.threads.bind({ epoch, provisionId: "p1", binding: elsewhere });
    expect((await store.threads.view()).bindings).toEqual([the.unheld(the.binding(1, 1)), the.unheld(elsewhere)]);
    expect((await store.threads.view()).leftovers).toEqual([]);
  });

  test("threads/EB-8 superseded: a seat's thread that is replaced unproven is left over, with the reason", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 2, 70) });
    const { leftovers } = await store.threads.view();
    expect(leftovers).toEqual([
      { target: the.target(1), threadName: "Thread 1", seat: the.seat(1), reason: "replaced by thread 2", atMs: 70 },
    ]);
    const told = { target: the.target(2), threadName: "x", seat: null, reason: "y", atMs: 1 };
    expect(await store.threads.addLeftover({ epoch, leftover: told })).toEqual({ kind: "bound" });
    const other = { ...told, target: the.target(9) };
    expect(await store.threads.addLeftover({ epoch, leftover: other })).toEqual({ kind: "added" });
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 9, "operator") });
    await store.cleanups.confirm({ epoch, target: the.target(9), atMs: 2 });
    expect((await store.threads.view()).leftovers).toEqual(leftovers);
  });
}
