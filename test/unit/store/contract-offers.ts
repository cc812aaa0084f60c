import { expect } from "vitest";
import { acquisitionId, journalSeq, lane, offerId, threadId, updateId } from "../../../machines/ids.ts";
import { movedLaneOf, urgentLaneOf } from "../../../machines/updates.rules.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

const at = the.startMs;
const held = (seq: number, acquisition: string) => ({
  seq: journalSeq(seq),
  acquisition: acquisitionId(acquisition),
});
const who = (n: number) => ({ seat: the.seat(n), instanceId: the.instance(n) });
const id = offerId("handoff-1");
const ownLane = lane(`${String(the.target(2).chatId)}:${String(the.target(2).threadId)}`);

/** Instances 1 and 2 on their seats; 1 holds updates 1 and 2 under `a1` and `a2`; 3 waits in the same lane. */
async function furnished(store: Store, laneName = "lane-1") {
  const epoch = await the.lead(store, 1);
  for (const n of [1, 2]) {
    await store.seats.claim({ ...who(n), incarnation: the.incarnation(n), expected: null, threadGraceMs: null });
    await store.registrations.commit({ epoch, registration: the.registration(n, n, `g${n}`) });
  }
  await the.admit(
    store,
    epoch,
    [1, 2, 3].map((n) => the.update(n, laneName)),
  );
  for (const n of [1, 2])
    await store.work.claim({ ...the.plainly, updateId: updateId(n), claimant: the.claimant(1, 1, "g1", `a${n}`) });
  return epoch;
}

const offering = (store: Store, more: Partial<Parameters<Store["offers"]["offer"]>[0]> = {}) =>
  store.offers.offer({
    id,
    donor: who(1),
    entries: [held(1, "a1"), held(2, "a2")],
    recipientSeat: the.seat(2),
    placement: "{}",
    nowMs: at,
    ...more,
  });
const accepting = (store: Store, n = 2, g = "g2", given: readonly string[] = ["b1", "b2"]) =>
  store.offers.accept({
    id,
    recipient: { ...who(n), generation: the.generation(g) },
    acquisitions: given.map(acquisitionId),
  });
const cancelling = (store: Store, n = 1) => store.offers.cancel({ id, donor: who(n), nowMs: at });
const settle = (store: Store, seq: number, acquisition: string) =>
  store.work.settle({ ...held(seq, acquisition), nowMs: at });

function together(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("updates/Q-15, T-28, T-30: several entries are settled together, or none is; to repeat it is harmless", async ({
    store,
  }) => {
    await furnished(store);
    const all = (b: string) => store.queue.settleAll({ entries: [held(1, "a1"), held(2, b)], nowMs: at });
    expect(await all("other")).toEqual({ kind: "notYours" });
    expect((await store.status.read()).journal).toMatchObject({ claimed: 2, waiting: 1 });
    expect(await all("a2")).toEqual({ kind: "settled" });
    expect(await all("a2")).toEqual({ kind: "settled" });
    expect((await store.status.read()).journal).toMatchObject({ claimed: 0, waiting: 1 });
  });

  test("a command sweeps what stands before it in its thread and is in nobody's hand", async ({ store }) => {
    const epoch = await furnished(store);
    const urgent = urgentLaneOf(lane("lane-1"));
    await the.admit(store, epoch, [the.update(4, urgent), the.update(5), the.update(6, "lane-2")]);
    await store.work.claim({ ...the.plainly, updateId: updateId(4), claimant: the.claimant(1, 1, "g1", "stop") });
    expect(await store.queue.sweep({ ...held(4, "x"), nowMs: at })).toEqual({ kind: "notYours" });
    expect(await store.queue.sweep({ ...held(4, "stop"), nowMs: at })).toEqual({ kind: "swept", count: 1 });
    const left = await store.offers.list(9);
    expect(left.map((entry) => entry.updateId)).toEqual([1, 2, 4, 5, 6]);
    expect((await store.status.read()).drops).toEqual({ stopped: 1 });
  });
}

function offeringContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("updates/Q-45: what is offered is neither settled nor failed nor offered again", async ({ store }) => {
    await furnished(store);
    expect(await offering(store)).toEqual({ kind: "offered" });
    expect(await offering(store)).toEqual({ kind: "offered" });
    expect(await settle(store, 1, "a1")).toEqual({ kind: "notYours" });
    const failing = { ...held(1, "a1"), reason: "x", nextAttemptAtMs: at };
    expect(await store.work.fail(failing)).toEqual({ kind: "notYours" });
    expect(await offering(store, { id: offerId("handoff-2") })).toEqual({ kind: "refused", reason: "notHeld" });
    const [offer, ...others] = await store.offers.offersTo(who(2));
    expect(others).toEqual([]);
    expect(offer).toMatchObject({ id, donorSeat: the.seat(1), placement: "{}", offeredAtMs: at });
    expect(offer?.entries.map((entry) => entry.updateId)).toEqual([1, 2]);
    expect(await store.offers.offersTo(who(1))).toEqual([]);
  });

  test("updates/Q-53: nobody offers to himself; to an empty seat, or to a peer of another program, nobody can", async ({
    store,
  }) => {
    const epoch = await furnished(store);
    expect(await offering(store, { recipientSeat: the.seat(1) })).toEqual({ kind: "refused", reason: "self" });
    expect(await offering(store, { recipientSeat: the.seat(3) })).toEqual({ kind: "refused", reason: "nobody" });
    // It is registered, and has claimed no seat in the store: its journal is another one.
    await store.registrations.commit({ epoch, registration: the.registration(3, 3, "g3") });
    expect(await offering(store, { recipientSeat: the.seat(3) })).toEqual({ kind: "refused", reason: "nobody" });
    expect(await settle(store, 1, "a1")).toEqual({ kind: "settled" });
  });

  test("updates/Q-46, Q-47: acceptance moves all entries in one step, and only once", async ({ store }) => {
    await furnished(store);
    await offering(store);
    const first = await accepting(store);
    expect(first).toMatchObject({ kind: "accepted", entries: [{ acquisition: "b1" }, { acquisition: "b2" }] });
    // The answer was lost, and it is asked again with others.
    expect(await accepting(store, 2, "g2", ["c1", "c2"])).toEqual(first);
    expect(await cancelling(store)).toEqual({ kind: "conflict" });
    expect(await settle(store, 1, "a1")).toEqual({ kind: "notYours" });
    expect(await settle(store, 1, "b1")).toEqual({ kind: "settled" });
    expect(await store.offers.standing({ id, entries: [held(2, "a2")] })).toEqual({ kind: "gone" });
    expect(await store.offers.standing({ id, entries: [held(2, "b2")] })).toEqual({ kind: "returned" });
  });

  test("updates/Q-46, T-84: a cancelled offer cannot be accepted, nor cancelled twice", async ({ store }) => {
    await furnished(store);
    await offering(store);
    expect(await store.offers.standing({ id, entries: [held(1, "a1"), held(2, "a2")] })).toEqual({ kind: "open" });
    expect(await cancelling(store, 2)).toEqual({ kind: "conflict" });
    expect(await cancelling(store)).toEqual({ kind: "cancelled" });
    expect(await cancelling(store)).toEqual({ kind: "conflict" });
    expect(await accepting(store)).toEqual({ kind: "conflict" });
    expect(await settle(store, 1, "a1")).toEqual({ kind: "settled" });
  });

  test("updates/Q-55: an offer that was cancelled before its request arrived is never made", async ({ store }) => {
    await furnished(store);
    expect(await cancelling(store)).toEqual({ kind: "cancelled" });
    expect(await offering(store)).toEqual({ kind: "refused", reason: "ended" });
    expect(await settle(store, 1, "a1")).toEqual({ kind: "settled" });
  });

  test("updates/Q-55: a request that comes after its offer has ended does not make it again", async ({ store }) => {
    await furnished(store);
    await offering(store);
    await store.seats.release(who(2));
    const again = { ...who(2), incarnation: the.incarnation(2), expected: null, threadGraceMs: null };
    await store.seats.claim(again);
    expect(await offering(store)).toEqual({ kind: "refused", reason: "ended" });
    expect(await store.offers.standing({ id, entries: [held(1, "a1"), held(2, "a2")] })).toEqual({ kind: "returned" });
  });

  test("updates/Q-48, T-85, T-91: only the recipient that was named accepts, under its current generation", async ({
    store,
  }) => {
    await furnished(store);
    await offering(store);
    expect(await accepting(store, 1, "g1")).toEqual({ kind: "conflict" });
    expect(await accepting(store, 2, "g1")).toEqual({ kind: "stale" });
    expect(await accepting(store)).toMatchObject({ kind: "accepted" });
  });

  test("updates/T-90: who knows the work and not its offer accepts nothing", async ({ store }) => {
    await furnished(store);
    await offering(store);
    const guessed = { id: offerId("handoff-9"), recipient: { ...who(2), generation: the.generation("g2") } };
    const acquisitions = ["b1", "b2"].map(acquisitionId);
    expect(await store.offers.accept({ ...guessed, acquisitions })).toEqual({ kind: "conflict" });
    expect(await settle(store, 1, "b1")).toEqual({ kind: "notYours" });
    expect(await accepting(store)).toMatchObject({ kind: "accepted" });
  });

  test("updates/OP-11: what was accepted can be offered on", async ({ store }) => {
    await furnished(store);
    await offering(store);
    await accepting(store);
    const on = {
      id: offerId("handoff-2"),
      donor: who(2),
      entries: [held(1, "b1"), held(2, "b2")],
      recipientSeat: the.seat(1),
    };
    expect(await offering(store, on)).toEqual({ kind: "offered" });
    const back = { id: on.id, recipient: { ...who(1), generation: the.generation("g1") } };
    const acquisitions = ["c1", "c2"].map(acquisitionId);
    expect(await store.offers.accept({ ...back, acquisitions })).toMatchObject({ kind: "accepted" });
    expect(await settle(store, 1, "c1")).toEqual({ kind: "settled" });
  });
}

function endsContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("updates/OP-2, T-98: a dead donor's offer is voided in the transaction that recovers its work", async ({
    store,
  }) => {
    const epoch = await furnished(store);
    await offering(store);
    const end = { epoch, seat: the.seat(1), generation: the.generation("g1"), reason: "died", atMs: at } as const;
    await store.registrations.end(end);
    expect(await store.offers.offersTo(who(2))).toEqual([]);
    expect(await accepting(store)).toEqual({ kind: "conflict" });
    const [head] = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    expect(head).toMatchObject({ updateId: 1, redelivered: true });
  });

  test("a dead donor's offer is voided as well when the next process of its seat registers first", async ({
    store,
  }) => {
    const epoch = await furnished(store);
    await offering(store);
    const next = { seat: the.seat(1), instanceId: the.instance(5), incarnation: the.incarnation(5) };
    await store.seats.claim({ ...next, expected: the.instance(1), threadGraceMs: null });
    expect(await store.registrations.commit({ epoch, registration: the.registration(1, 5, "g5") })).toEqual({
      kind: "committed",
    });
    expect(await store.offers.offersTo(who(2))).toEqual([]);
    expect(await accepting(store)).toEqual({ kind: "conflict" });
  });

  test("a recipient's end ends the offers to it, and the donor has its work again", async ({ store }) => {
    await furnished(store);
    await offering(store);
    await store.seats.release(who(2));
    expect(await store.offers.standing({ id, entries: [held(1, "a1"), held(2, "a2")] })).toEqual({
      kind: "returned",
    });
    expect(await settle(store, 1, "a1")).toEqual({ kind: "settled" });
  });

  test("an offer outlives another registration of the same donor or recipient", async ({ store }) => {
    const epoch = await furnished(store);
    await offering(store);
    await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g9") });
    await store.registrations.commit({ epoch, registration: the.registration(2, 2, "g9") });
    expect(await accepting(store)).toEqual({ kind: "stale" });
    expect(await accepting(store, 2, "g9")).toMatchObject({ kind: "accepted" });
  });

  test("updates/T-99: a recipient that dies after acceptance leaves the work to its seat, not to the thread's owner", async ({
    store,
  }) => {
    const epoch = await furnished(store);
    await offering(store);
    await accepting(store);
    const end = { epoch, seat: the.seat(2), generation: the.generation("g2"), reason: "died", atMs: at } as const;
    await store.registrations.end(end);
    const heads = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    // The thread goes on: its next update is a head beside what was moved.
    expect(heads).toMatchObject([
      { updateId: 1, assignedTo: the.seat(2), lane: movedLaneOf(the.seat(2)), redelivered: true },
      { updateId: 3, assignedTo: null, lane: "lane-1" },
    ]);
  });

  test("what moves to the owner of its own thread stays in its lane", async ({ store }) => {
    await furnished(store, ownLane);
    await offering(store);
    expect(await accepting(store)).toMatchObject({ entries: [{ entry: { lane: ownLane, assignedTo: null } }, {}] });
    expect(await store.offers.sitterOn(the.target(2))).toBe(the.seat(2));
    expect(await store.offers.sitterOn({ ...the.target(2), threadId: threadId(9_999) })).toBeNull();
  });

  test("updates/OP-4: what could not be published is given back, without an attempt", async ({ store }) => {
    await furnished(store);
    await offering(store);
    await accepting(store);
    expect(await store.offers.giveBack({ entries: [held(1, "a1")] })).toEqual({ kind: "notYours" });
    const entries = [held(1, "b1"), held(2, "b2")];
    expect(await store.offers.giveBack({ entries })).toEqual({ kind: "returned" });
    const [head] = await store.journal.heads({ ...the.oneEach, except: [], limit: 1 });
    expect(head).toMatchObject({ updateId: 1, attempts: 0, assignedTo: null, redelivered: false });
  });
}

function wishesContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("a wish moves what is in nobody's hand, and asks whoever holds it", async ({ store }) => {
    await furnished(store);
    const wish = (seq: number, seat = 2) =>
      store.offers.wish({ seq: journalSeq(seq), recipientSeat: the.seat(seat), nowMs: at });
    expect(await wish(9)).toEqual({ kind: "missing" });
    expect(await wish(1, 3)).toEqual({ kind: "nobody" });
    expect(await wish(3)).toEqual({ kind: "moved" });
    expect(await wish(1)).toEqual({ kind: "asked" });
    expect(await store.offers.takeWishes(who(2))).toEqual([]);
    expect(await store.offers.takeWishes(who(1))).toEqual([{ seq: 1, recipientSeat: the.seat(2) }]);
    expect(await store.offers.takeWishes(who(1))).toEqual([]);
    const [head] = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    expect(head).toMatchObject({ updateId: 3, assignedTo: the.seat(2) });
  });

  test("what was wished or offered can be withdrawn from outside, until it has happened", async ({ store }) => {
    await furnished(store);
    const withdraw = (seq: number) => store.offers.withdraw({ seq: journalSeq(seq) });
    expect(await withdraw(9)).toEqual({ kind: "missing" });
    expect(await withdraw(1)).toEqual({ kind: "nothing" });
    await store.offers.wish({ seq: journalSeq(1), recipientSeat: the.seat(2), nowMs: at });
    expect(await withdraw(1)).toEqual({ kind: "withdrawn" });
    expect(await store.offers.takeWishes(who(1))).toEqual([]);
    await offering(store);
    expect(await withdraw(2)).toEqual({ kind: "withdrawn" });
    expect(await accepting(store)).toEqual({ kind: "conflict" });
    expect(await settle(store, 1, "a1")).toEqual({ kind: "settled" });
    expect(await withdraw(1)).toEqual({ kind: "missing" });
  });

  test("the list shows what waits and who has what", async ({ store }) => {
    await furnished(store);
    await offering(store, { entries: [held(1, "a1")] });
    const shown = (await store.offers.list(2)).map(({ updateId: u, heldBy, isOffered }) => ({ u, heldBy, isOffered }));
    expect(shown).toEqual([
      { u: 1, heldBy: the.seat(1), isOffered: true },
      { u: 2, heldBy: the.seat(1), isOffered: false },
    ]);
  });
}

export function offersContract(make: () => Promise<Harness>): void {
  together(make);
  offeringContract(make);
  endsContract(make);
  wishesContract(make);
}
