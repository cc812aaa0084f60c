import { expect } from "vitest";
import { ownedMessageIdsMax, tombstoneKeepMs } from "../../../adapters/store/limits.ts";
import { acquisitionId, chatId, journalSeq, messageId, updateId } from "../../../machines/ids.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

/** Two seats with a registration each, and three updates. */
async function furnished(store: Store) {
  const epoch = await the.lead(store, 1);
  await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
  await store.registrations.commit({ epoch, registration: the.registration(2, 2, "g2") });
  await the.admit(store, epoch, [the.update(1), the.update(2), the.update(3, "lane-2")]);
  return epoch;
}

const settlement = (seq: number, acquisition: string) =>
  ({ seq: journalSeq(seq), acquisition: acquisitionId(acquisition), nowMs: the.startMs }) as const;

export function workContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("protocol/S-80, S-83 a foreign update is adopted once, in order, by the holder of the seat alone", async ({
    store,
  }) => {
    const claimant = the.claimant(1, 1, "g1", "a1");
    const { lane } = the.update(1);
    const adopt = (update: ReturnType<typeof the.update> | null, acquisition: string) =>
      store.work.adopt({
        update,
        lane,
        claimant: { ...claimant, acquisition: acquisitionId(acquisition) },
        nowMs: the.startMs,
      });
    expect(await adopt(the.update(1), "a1")).toEqual({ kind: "stale" });
    const { seat, instanceId, incarnation } = the.registration(1, 1, "g1");
    if (incarnation === null) throw new Error("the fixture proves nothing");
    await store.seats.claim({ seat, instanceId, incarnation, expected: null, threadGraceMs: null });
    expect(await adopt(the.update(1), "a1")).toMatchObject({ kind: "adopted", claimed: { updateId: 1 } });
    expect(await adopt(the.update(1), "a1")).toMatchObject({ kind: "adopted", claimed: { updateId: 1 } });
    expect(await adopt(the.update(1), "a2")).toEqual({ kind: "adopted", claimed: null });
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "settled" });
    expect(await adopt(the.update(1), "a3")).toEqual({ kind: "adopted", claimed: null });
  });

  test("what was admitted is adopted although the clock was set back since", async ({ store }) => {
    await furnished(store);
    const { seat, instanceId, incarnation } = the.registration(1, 1, "g1");
    if (incarnation === null) throw new Error("the fixture proves nothing");
    await store.seats.claim({ seat, instanceId, incarnation, expected: null, threadGraceMs: null });
    const { lane } = the.update(1);
    const claimant = the.claimant(1, 1, "g1", "a1");
    expect(await store.work.adopt({ update: null, lane, claimant, nowMs: the.startMs - 3_600_000 })).toMatchObject({
      kind: "adopted",
      claimed: { updateId: 1 },
    });
  });

  test("updates/T-34 a claim is granted once; the holder hears repeated, others heldElsewhere", async ({ store }) => {
    await furnished(store);
    const claim = (s: number, i: number, g: string, a: string) =>
      store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(s, i, g, a) });
    expect(await claim(1, 1, "g1", "a1")).toMatchObject({ kind: "claimed", entry: { seq: 1, ...the.update(1) } });
    const repeated = { kind: "repeated", acquisition: "a1", entry: { seq: 1, ...the.update(1) } };
    expect(await claim(1, 1, "g1", "a2")).toMatchObject(repeated);
    expect(await claim(2, 2, "g2", "a3")).toEqual({ kind: "heldElsewhere" });
    expect((await store.status.read()).journal).toEqual({ waiting: 2, claimed: 1, deadLetters: 0 });
  });

  test("only the seat's current registration claims", async ({ store }) => {
    const epoch = await furnished(store);
    const claim = (s: number, i: number, g: string) =>
      store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(s, i, g, "a") });
    expect(await claim(3, 3, "g1")).toEqual({ kind: "stale" });
    expect(await claim(1, 1, "g0")).toEqual({ kind: "stale" });
    expect(await claim(1, 2, "g1")).toEqual({ kind: "stale" });
    const generation = the.generation("g1");
    await store.registrations.end({ epoch, seat: the.seat(1), generation, reason: "stopped", atMs: 1 });
    expect(await claim(1, 1, "g1")).toEqual({ kind: "stale" });
    expect((await store.status.read()).journal.claimed).toBe(0);
  });

  test("updates/OP-36, T-35 what is not open any more is settled, whatever ended it", async ({ store }) => {
    const epoch = await furnished(store);
    const claim = (id: number) =>
      store.work.claim({ ...the.plainly, updateId: updateId(id), claimant: the.claimant(1, 1, "g1", `b${id}`) });
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    await store.work.settle(settlement(1, "a1"));
    await store.journal.deadLetter({ epoch, seq: journalSeq(2), reason: "x", nowMs: the.startMs });
    for (const id of [1, 2, 99]) expect(await claim(id)).toEqual({ kind: "settled" });
  });

  test("a claim may settle, and say whose message it is, in one change", async ({ store }) => {
    const epoch = await furnished(store);
    const owners = [{ chatId: chatId(-5), messageId: messageId(7), seat: the.seat(1) }];
    const request = {
      updateId: updateId(1),
      seq: journalSeq(1),
      claimant: the.claimant(1, 1, "g1", "a1"),
      owners,
      settleAtMs: the.startMs,
    };
    expect(await store.work.claim(request)).toMatchObject({ kind: "claimed", entry: { seq: 1 } });
    expect((await store.status.read()).journal).toEqual({ waiting: 2, claimed: 0, deadLetters: 0 });
    expect(await store.ownership.ownerOf(chatId(-5), messageId(7))).toBe(the.seat(1));
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "settled" });
    expect(await the.admit(store, epoch, [the.update(1)])).toMatchObject({ added: 0, duplicates: 1 });
  });

  test("asked again under the acquisition that settled it, it says so: the first answer may have been lost", async ({
    store,
  }) => {
    await furnished(store);
    const request = { ...the.plainly, updateId: updateId(1), settleAtMs: the.startMs };
    const mine = { ...request, claimant: the.claimant(1, 1, "g1", "a1") };
    expect((await store.work.claim(mine)).kind).toBe("claimed");
    expect(await store.work.claim(mine)).toEqual({ kind: "settledByUs" });
    expect(await store.work.claim({ ...mine, claimant: the.claimant(1, 1, "g9", "a1") })).toEqual({
      kind: "settledByUs",
    });
    expect(await store.work.claim({ ...request, claimant: the.claimant(1, 1, "g1", "a2") })).toEqual({
      kind: "settled",
    });
  });

  test("what is refused records nobody's message and settles nothing", async ({ store }) => {
    await furnished(store);
    const owners = [{ chatId: chatId(-5), messageId: messageId(7), seat: the.seat(3) }];
    const stranger = { ...the.plainly, owners, settleAtMs: 1, claimant: the.claimant(3, 3, "g3", "a3") };
    expect(await store.work.claim({ ...stranger, updateId: updateId(1) })).toEqual({ kind: "stale" });
    expect(await store.ownership.ownerOf(chatId(-5), messageId(7))).toBeNull();
    expect((await store.status.read()).journal.waiting).toBe(3);
  });

  test("C18 of two open entries with one id the very one is claimed that is meant", async ({ store }) => {
    const epoch = await furnished(store);
    await the.admit(store, epoch, [the.update(1, "lane-of-its-own", "after an id restart")]);
    const exact = (seq: number, id: number) =>
      store.work.claim({
        ...the.plainly,
        updateId: updateId(id),
        seq: journalSeq(seq),
        claimant: the.claimant(1, 1, "g1", `e${seq}`),
      });
    expect(await exact(4, 1)).toMatchObject({ kind: "claimed", entry: { seq: 4, lane: "lane-of-its-own" } });
    expect(await exact(1, 1)).toMatchObject({ kind: "claimed", entry: { seq: 1 } });
    expect(await exact(2, 1)).toEqual({ kind: "settled" }); // no such entry: that number has another id
  });

  test("only the exact acquisition settles or returns an entry; to settle may be repeated", async ({ store }) => {
    await furnished(store);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    const fail = (seq: number, a: string) =>
      store.work.fail({ seq: journalSeq(seq), acquisition: acquisitionId(a), reason: "threw", nextAttemptAtMs: 9 });
    expect(await store.work.settle(settlement(1, "other"))).toEqual({ kind: "notYours" });
    expect(await store.work.settle(settlement(2, "a1"))).toEqual({ kind: "notYours" });
    expect(await fail(1, "other")).toEqual({ kind: "notYours" });
    expect(await fail(1, "a1")).toEqual({ kind: "returned" });
    expect(await fail(1, "a1")).toEqual({ kind: "notYours" });
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "notYours" });
    const again = await store.work.claim({
      ...the.plainly,
      updateId: updateId(1),
      claimant: the.claimant(2, 2, "g2", "a2"),
    });
    expect(again).toMatchObject({ kind: "claimed", entry: { attempts: 1, nextAttemptAtMs: 9, redelivered: false } });
    expect(await store.work.settle(settlement(1, "a2"))).toEqual({ kind: "settled" });
    const before = await store.status.read();
    expect(await store.work.settle(settlement(1, "a2"))).toEqual({ kind: "settled" }); // the first answer was lost
    expect(await store.status.read()).toEqual(before);
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "notYours" });
    expect(await fail(1, "a2")).toEqual({ kind: "notYours" });
  });

  test("a settlement is known again to any handle, until its tombstone is gone", async ({ harness, store, clock }) => {
    const epoch = await furnished(store);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    await store.work.settle(settlement(1, "a1"));
    const other = await harness.open();
    expect(await other.work.settle(settlement(1, "a1"))).toEqual({ kind: "settled" });
    clock.advance(tombstoneKeepMs + 1);
    await the.admit(store, epoch, [the.update(9)], clock.nowMs()); // prunes
    expect(await other.work.settle(settlement(1, "a1"))).toEqual({ kind: "notYours" });
  });

  test("updates/OP-50, T-78: a new holder of the seat gets what the old one held, in order, marked redelivered", async (given) => {
    const { store } = given;
    const epoch = await furnished(store);
    for (const id of [1, 2])
      await store.work.claim({ ...the.plainly, updateId: updateId(id), claimant: the.claimant(1, 1, "g1", `a${id}`) });
    await store.work.claim({ ...the.plainly, updateId: updateId(3), claimant: the.claimant(2, 2, "g2", "a3") });
    await store.registrations.commit({ epoch, registration: the.registration(1, 5, "g5") });
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "notYours" });
    const [head] = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    expect(head).toMatchObject({ updateId: 1, redelivered: true, attempts: 0 });
    expect((await store.status.read()).journal).toMatchObject({ waiting: 2, claimed: 1 });
    expect(await store.work.settle(settlement(3, "a3"))).toEqual({ kind: "settled" });
  });

  test("nothing of a lane is claimed before what came back to it; other lanes go on", async ({ store }) => {
    await furnished(store);
    const claim = (id: number, a: string) =>
      store.work.claim({ ...the.plainly, updateId: updateId(id), claimant: the.claimant(1, 1, "g1", a) });
    expect(await claim(2, "early")).toEqual({ kind: "outOfOrder" });
    expect(await claim(3, "a3")).toMatchObject({ kind: "claimed" });
    expect(await claim(1, "a1")).toMatchObject({ kind: "claimed" });
    await store.work.fail({
      seq: journalSeq(1),
      acquisition: acquisitionId("a1"),
      reason: "threw",
      nextAttemptAtMs: the.startMs + 9,
    });
    expect(await claim(2, "a2")).toEqual({ kind: "outOfOrder" });
    expect(await claim(1, "a1b")).toMatchObject({ kind: "claimed", entry: { attempts: 1 } });
    expect(await claim(2, "a2")).toEqual({ kind: "outOfOrder" });
    await store.work.settle(settlement(1, "a1b"));
    expect(await claim(2, "a2")).toMatchObject({ kind: "claimed" });
  });

  /** Update 1 failed once and is being tried again, under the acquisition `a1b`. */
  async function tryingAgain(store: Store) {
    const epoch = await furnished(store);
    const claim = (id: number, a: string) =>
      store.work.claim({ ...the.plainly, updateId: updateId(id), claimant: the.claimant(1, 1, "g1", a) });
    const fail = (a: string) =>
      store.work.fail({ seq: journalSeq(1), acquisition: acquisitionId(a), reason: "threw", nextAttemptAtMs: 9 });
    const heads = async () =>
      (await store.journal.heads({ ...the.oneEach, except: [], limit: 9 })).map((entry) => entry.updateId);
    await claim(1, "a1");
    expect(await heads()).toEqual([2, 3]); // at the first attempt the lane goes on
    await fail("a1");
    expect(await heads()).toEqual([1, 3]);
    await claim(1, "a1b");
    return { epoch, claim, fail, heads };
  }

  test("updates/T-22, OP-25 an entry that is tried again holds its lane, and no other, until it is settled", async ({
    store,
  }) => {
    const { claim, heads } = await tryingAgain(store);
    expect(await heads()).toEqual([3]);
    expect(await claim(2, "a2")).toEqual({ kind: "outOfOrder" });
    expect(await claim(3, "a3")).toMatchObject({ kind: "claimed" });
    expect(await store.work.settle(settlement(1, "a1b"))).toEqual({ kind: "settled" });
    expect(await heads()).toEqual([2]);
    expect(await claim(2, "a2")).toMatchObject({ kind: "claimed" });
  });

  test("an entry that failed again is its lane's head again; set aside, it holds the lane no more", async (given) => {
    const { store } = given;
    const { epoch, claim, fail, heads } = await tryingAgain(store);
    expect(await fail("a1b")).toEqual({ kind: "returned" });
    expect(await heads()).toEqual([1, 3]);
    expect(await claim(2, "a2")).toEqual({ kind: "outOfOrder" });
    await store.journal.deadLetter({ epoch, seq: journalSeq(1), reason: "x", nowMs: the.startMs });
    expect(await heads()).toEqual([2, 3]);
    expect(await claim(2, "a2")).toMatchObject({ kind: "claimed" });
  });

  test("an entry that is tried again by one who is gone is its lane's head again", async ({ store }) => {
    const { epoch, claim, heads } = await tryingAgain(store);
    await store.registrations.commit({ epoch, registration: the.registration(1, 5, "g5") });
    expect(await heads()).toEqual([1, 3]);
    expect(await claim(2, "a2")).toEqual({ kind: "stale" });
  });

  test("an entry that is tried again does not hold what was admitted before it", async ({ store }) => {
    await furnished(store);
    const claim = (id: number, a: string) =>
      store.work.claim({ ...the.plainly, updateId: updateId(id), claimant: the.claimant(1, 1, "g1", a) });
    const fail = (seq: number, a: string) =>
      store.work.fail({ seq: journalSeq(seq), acquisition: acquisitionId(a), reason: "threw", nextAttemptAtMs: 9 });
    await claim(1, "a1");
    await claim(2, "a2");
    await fail(2, "a2");
    expect(await claim(2, "a2b")).toMatchObject({ kind: "claimed", entry: { attempts: 1 } });
    await fail(1, "a1");
    const heads = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    expect(heads.map((entry) => entry.updateId)).toEqual([1, 3]);
    expect(await claim(1, "a1b")).toMatchObject({ kind: "claimed", entry: { attempts: 1 } });
  });

  test("updates/T-26, OP-17 who gives its seat up gives back what it held, marked redelivered; its acquisition settles nothing", async ({
    store,
  }) => {
    await furnished(store);
    const mine = { seat: the.seat(1), instanceId: the.instance(1) };
    await store.seats.claim({ ...mine, incarnation: the.incarnation(1), threadGraceMs: the.graceMs, expected: null });
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    await store.work.claim({ ...the.plainly, updateId: updateId(3), claimant: the.claimant(2, 2, "g2", "a3") });
    await store.seats.release(mine);
    const [head] = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    expect(head).toMatchObject({ updateId: 1, redelivered: true, attempts: 0 });
    expect((await store.status.read()).journal).toMatchObject({ waiting: 2, claimed: 1 });
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "notYours" });
    expect(await store.work.settle(settlement(3, "a3"))).toEqual({ kind: "settled" });
    const late = { ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a9") };
    expect(await store.work.claim(late)).toEqual({ kind: "stale" });
  });

  test("what was settled before the seat was given up stays settled", async ({ store }) => {
    await furnished(store);
    const mine = { seat: the.seat(1), instanceId: the.instance(1) };
    await store.seats.claim({ ...mine, incarnation: the.incarnation(1), threadGraceMs: the.graceMs, expected: null });
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    await store.work.settle(settlement(1, "a1"));
    await store.seats.release(mine);
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "settled" });
    expect((await store.status.read()).journal).toMatchObject({ waiting: 2, claimed: 0 });
  });

  test("who does not hold the seat gives nothing up", async ({ store }) => {
    await furnished(store);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    await store.seats.release({ seat: the.seat(1), instanceId: the.instance(1) }); // nobody claimed it
    await store.seats.claim({
      seat: the.seat(1),
      instanceId: the.instance(5),
      incarnation: the.incarnation(5),
      threadGraceMs: the.graceMs,
      expected: null,
    });
    await store.seats.release({ seat: the.seat(1), instanceId: the.instance(1) });
    expect((await store.status.read()).journal).toMatchObject({ waiting: 2, claimed: 1 });
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "settled" });
  });

  test("updates/T-81, OP-15 what an ended registration held goes back, marked redelivered; its acquisition settles nothing", async ({
    store,
  }) => {
    const epoch = await furnished(store);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    const end = { epoch, seat: the.seat(1), generation: the.generation("g1"), reason: "died", atMs: 1 } as const;
    expect(await store.registrations.end(end)).toEqual({ kind: "ended" });
    const [head] = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    expect(head).toMatchObject({ updateId: 1, redelivered: true });
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "notYours" });
  });

  test("the same instance registering again keeps what it holds", async ({ store }) => {
    const epoch = await furnished(store);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g9") });
    const repeat = await store.work.claim({
      ...the.plainly,
      updateId: updateId(1),
      claimant: the.claimant(1, 1, "g9", "a2"),
    });
    expect(repeat).toMatchObject({ kind: "repeated", acquisition: "a1" });
    expect(await store.work.settle(settlement(1, "a1"))).toEqual({ kind: "settled" });
  });

  test("calls of one turn take effect in their order, each with its own answer", async ({ store }) => {
    await furnished(store);
    const claim = (a: string) =>
      store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", a) });
    const answers = await Promise.all([
      claim("a1"),
      claim("a2"),
      store.work.settle(settlement(1, "a2")),
      store.work.settle(settlement(1, "a1")),
      claim("a3"),
      store.journal.heads({ ...the.oneEach, except: [], limit: 1 }).then(([head]) => ({ kind: head?.updateId })),
    ]);
    const kinds = answers.map((answer) => answer.kind);
    expect(kinds).toEqual(["claimed", "repeated", "notYours", "settled", "settled", 2]);
  });

  test("of a chat's messages the latest are remembered with their owner, and those of other chats are left alone", async ({
    store,
  }) => {
    const of = (chat: number, message: number) => ({
      chatId: chatId(chat),
      messageId: messageId(message),
      seat: the.seat(1),
    });
    const knows = async (chat: number, message: number): Promise<boolean> =>
      (await store.ownership.ownerOf(chatId(chat), messageId(message))) !== null;
    await store.ownership.record([of(1, 7), of(1, 8), of(2, 7)]);
    await store.ownership.record([of(1, 7 + ownedMessageIdsMax)]);
    expect([await knows(1, 7), await knows(1, 8), await knows(1, 7 + ownedMessageIdsMax), await knows(2, 7)]).toEqual([
      false,
      true,
      true,
      true,
    ]);
    // Recorded late, an old one is kept until the next new one comes.
    await store.ownership.record([of(1, 7)]);
    expect(await knows(1, 7)).toBe(true);
    await store.ownership.record([of(1, 9 + ownedMessageIdsMax)]);
    expect([await knows(1, 7), await knows(1, 8)]).toEqual([false, false]);
  });

  test("counters add up; polling shows the leader's last note; any handle sees it", async ({ harness, store }) => {
    expect((await store.status.read()).polling).toEqual({ okAtMs: null, health: "not polled yet" });
    const epoch = await the.lead(store, 1);
    await store.status.count("unwanted type", 2, 5);
    await store.status.count("unwanted type", 3, 6);
    await store.status.count("__proto__", 1, 6);
    await store.status.notePolling({ epoch, okAtMs: 77, health: "ok" });
    const other = await harness.open();
    const status = await other.status.read();
    expect(Object.entries(status.drops).sort()).toEqual([
      ["__proto__", 1],
      ["unwanted type", 5],
    ]);
    expect(status.polling).toEqual({ okAtMs: 77, health: "ok" });
    await store.status.notePolling({ epoch, okAtMs: null, health: "token rejected" });
    expect((await other.status.read()).polling).toEqual({ okAtMs: null, health: "token rejected" });
  });

  test("the present leader's health is its own note: none before it, and none of an earlier leadership", async ({
    store,
  }) => {
    expect(await store.status.presentHealth()).toBeNull();
    const epoch = await the.lead(store, 1);
    expect(await store.status.presentHealth()).toBeNull();
    await store.status.notePolling({ epoch, okAtMs: null, health: "token rejected" });
    expect(await store.status.presentHealth()).toBe("token rejected");
    await store.lease.release({ epoch });
    expect(await store.status.presentHealth()).toBeNull();
    await the.lead(store, 2);
    expect(await store.status.presentHealth()).toBeNull();
  });
}
