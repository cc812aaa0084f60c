import { expect } from "vitest";
import { journalSeq, lane, updateId, type Epoch } from "../../../machines/ids.ts";
import { journalEntriesMax, tombstoneKeepMs } from "../../../adapters/store/limits.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

const headIds = async (store: Store, except: readonly string[] = [], limit = 100) =>
  (await store.journal.heads({ ...the.oneEach, except: except.map(lane), limit })).map((entry) => entry.updateId);

/** Claims and settles the update as instance 1 on seat 1. */
async function settle(store: Store, id: number, nowMs: number): Promise<void> {
  const claimant = the.claimant(1, 1, "g1", `a-${id}-${nowMs}`);
  const claim = await store.work.claim({ ...the.plainly, updateId: updateId(id), claimant });
  if (claim.kind !== "claimed") throw new Error(`not claimed: ${claim.kind}`);
  await store.work.settle({ seq: claim.entry.seq, acquisition: claimant.acquisition, nowMs });
}

async function leadRegistered(store: Store): Promise<Epoch> {
  const epoch = await the.lead(store, 1);
  await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
  return epoch;
}

export function journalContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("several of each lane are told, in order, of the lanes that are asked for", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    await the.admit(
      store,
      epoch,
      [1, 2, 3].map((id) => the.update(id, "long")),
    );
    await the.admit(store, epoch, [the.update(4, "short"), the.update(5, "long")]);
    const ids = async (request: Partial<Parameters<typeof store.journal.heads>[0]>) =>
      (await store.journal.heads({ except: [], only: null, perLane: 9, limit: 9, ...request })).map((e) => e.updateId);
    expect(await ids({})).toEqual([1, 2, 3, 4, 5]);
    expect(await ids({ perLane: 2 })).toEqual([1, 2, 4]);
    expect(await ids({ only: [lane("short"), lane("none")] })).toEqual([4]);
    expect(await ids({ only: [lane("short"), lane("long")], except: [lane("long")] })).toEqual([4]);
    expect(await ids({ only: [] })).toEqual([]);
    expect(await ids({ limit: 2 })).toEqual([1, 2]);
    await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
    const claimant = the.claimant(1, 1, "g1", "a");
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant });
    const { acquisition } = claimant;
    await store.work.fail({ seq: journalSeq(1), acquisition, reason: "threw", nextAttemptAtMs: 5 });
    expect(await ids({})).toEqual([1, 4]); // nothing goes with, or behind, one that is tried again
  });

  test("updates/T-2 admission writes the entries in order and the cursor, as one", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    expect(await store.journal.cursor()).toBeNull();
    const outcome = await the.admit(store, epoch, [the.update(5), the.update(6, "lane-2"), the.update(7)]);
    expect(outcome).toEqual({ kind: "admitted", added: 3, duplicates: 0 });
    expect(await store.journal.cursor()).toBe(8);
    const at = {
      admittedAtMs: the.startMs,
      nextAttemptAtMs: the.startMs,
      attempts: 0,
      redelivered: false,
      assignedTo: null,
    };
    expect(await store.journal.heads({ ...the.oneEach, except: [], limit: 9 })).toEqual([
      { ...the.update(5), seq: 1, ...at },
      { ...the.update(6, "lane-2"), seq: 2, ...at },
    ]);
    expect((await store.status.read()).journal).toEqual({ waiting: 3, claimed: 0, deadLetters: 0 });
  });

  test("updates/T-21, Q-17 batches of two processes at once are both there, whole, and a repetition is known", async ({
    harness,
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const other = await harness.open();
    const shared = the.update(9, "lane-3");
    const outcomes = await Promise.all([
      the.admit(store, epoch, [the.update(1), the.update(2), shared]),
      the.admit(other, epoch, [the.update(3, "lane-2"), the.update(4, "lane-2"), shared]),
    ]);
    expect(outcomes).toMatchObject([{ kind: "admitted" }, { kind: "admitted" }]);
    const added = outcomes.map((each) => (each.kind === "admitted" ? each.added : 0));
    expect(added.reduce((sum, each) => sum + each, 0)).toBe(5);
    expect((await store.status.read()).journal).toMatchObject({ waiting: 5 });
  });

  test("updates/T-16 a repeated update is known: waiting, in hand, settled, set aside, dropped, or twice in one batch", async (given) => {
    const { store } = given;
    const epoch = await leadRegistered(store);
    const batch = [1, 2, 3, 4, 5].map((n) => the.update(n, `lane-${n}`));
    await the.admit(store, epoch, batch);
    await store.work.claim({ ...the.plainly, updateId: updateId(2), claimant: the.claimant(1, 1, "g1", "a2") });
    await settle(store, 3, the.startMs);
    await store.journal.deadLetter({ epoch, seq: journalSeq(4), reason: "24 h", nowMs: the.startMs });
    await store.journal.drop({ epoch, seq: journalSeq(5), reason: "rule", nowMs: the.startMs });
    const fresh = the.update(6, "lane-6");
    const outcome = await the.admit(store, epoch, [...batch, fresh, fresh]);
    expect(outcome).toEqual({ kind: "admitted", added: 1, duplicates: 6 });
    expect(await headIds(store)).toEqual([1, 6]);
  });

  test("updates/T-15 an id restart is no duplicate: the same id with other content is admitted", async ({ store }) => {
    const epoch = await leadRegistered(store);
    await the.admit(store, epoch, [the.update(7)]);
    await settle(store, 7, the.startMs);
    const again = await the.admit(store, epoch, [the.update(7, "lane-1", "other"), the.update(7, "lane-1", "third")]);
    expect(again).toEqual({ kind: "admitted", added: 2, duplicates: 0 });
    expect(await store.journal.cursor()).toBe(8);
    const claim = (a: string) =>
      store.work.claim({ ...the.plainly, updateId: updateId(7), claimant: the.claimant(1, 1, "g1", a) });
    expect(await claim("a1")).toMatchObject({ kind: "claimed", entry: { body: the.update(7, "", "other").body } });
    expect(await claim("a2")).toMatchObject({ kind: "repeated", acquisition: "a1" });
  });

  test("updates/OP-28 a tombstone counts for 8 days and no longer", async ({ store }) => {
    const epoch = await leadRegistered(store);
    await the.admit(store, epoch, [the.update(1)]);
    await settle(store, 1, the.startMs);
    const last = the.startMs + tombstoneKeepMs - 1;
    // Every batch forgets what has expired, and nothing else.
    await the.admit(store, epoch, [the.update(2)], last);
    expect(await the.admit(store, epoch, [the.update(1)], last)).toMatchObject({ added: 0, duplicates: 1 });
    expect(await the.admit(store, epoch, [the.update(1)], last + 1)).toMatchObject({ added: 1, duplicates: 0 });
  });

  test("an update settled again is remembered from the later time", async ({ store }) => {
    const epoch = await leadRegistered(store);
    await the.admit(store, epoch, [the.update(1)]);
    await settle(store, 1, the.startMs);
    const laterMs = the.startMs + tombstoneKeepMs;
    await the.admit(store, epoch, [the.update(1)], laterMs);
    await settle(store, 1, laterMs);
    expect(await the.admit(store, epoch, [the.update(1)], laterMs + tombstoneKeepMs - 1)).toMatchObject({ added: 0 });
  });

  test("updates/OP-28 an expired tombstone goes with the next batch, also one that was settled later under an earlier clock", async ({
    store,
  }) => {
    const epoch = await leadRegistered(store);
    await the.admit(store, epoch, [the.update(1), the.update(2)]);
    await settle(store, 1, the.startMs);
    const longAgoMs = the.startMs - tombstoneKeepMs;
    await settle(store, 2, longAgoMs);
    const claimant = the.claimant(1, 1, "g1", `a-2-${longAgoMs}`);
    const again = { ...the.plainly, updateId: updateId(2), seq: journalSeq(2), claimant };
    expect(await store.work.claim(again)).toEqual({ kind: "settledByUs" });
    await the.admit(store, epoch, []);
    expect(await store.work.claim(again)).toEqual({ kind: "settled" });
  });

  test("an empty batch moves the cursor", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    const request = { epoch, updates: [], cursor: updateId(40), nowMs: the.startMs };
    expect(await store.journal.admit(request)).toEqual({ kind: "admitted", added: 0, duplicates: 0 });
    expect(await store.journal.cursor()).toBe(40);
  });

  test("updates/T-14, OP-21 a journal at its maximum refuses a batch whole, takes known updates, and has room after an end", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const chunk = 2_000;
    for (let from = 1; from < journalEntriesMax; from += chunk)
      await the.admit(
        store,
        epoch,
        Array.from({ length: chunk }, (_, n) => the.update(from + n, `lane-${n % 7}`)).slice(from === 1 ? 1 : 0),
      );
    const [one, two] = [the.update(journalEntriesMax + 1), the.update(journalEntriesMax + 2)];
    const before = await store.status.read();
    expect(before.journal.waiting).toBe(journalEntriesMax - 1);
    expect(await the.admit(store, epoch, [one, two])).toEqual({ kind: "full" });
    expect(await store.status.read()).toEqual(before);
    expect(await the.admit(store, epoch, [one, the.update(9)])).toMatchObject({ added: 1, duplicates: 1 });
    expect(await the.admit(store, epoch, [two])).toEqual({ kind: "full" });
    expect(await the.admit(store, epoch, [one])).toMatchObject({ added: 0 });
    await store.journal.drop({ epoch, seq: journalSeq(1), reason: "rule", nowMs: the.startMs });
    expect(await the.admit(store, epoch, [two])).toMatchObject({ added: 1 });
  }, 120_000);

  test("heads: the earliest unclaimed entry of each lane, oldest first, without the excluded", async ({ store }) => {
    const epoch = await leadRegistered(store);
    const lanes = ["b", "a", "b", "c", "a", "", "ü", "c"];
    await the.admit(
      store,
      epoch,
      lanes.map((name, n) => the.update(n + 1, name)),
    );
    expect(await headIds(store)).toEqual([1, 2, 4, 6, 7]);
    expect(await headIds(store, [], 2)).toEqual([1, 2]);
    expect(await headIds(store, ["a", "ü", "unknown"])).toEqual([1, 4, 6]);
    expect(await headIds(store, ["b"], 1)).toEqual([2]);
    expect(await headIds(store, [], 0)).toEqual([]);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    expect(await headIds(store)).toEqual([2, 3, 4, 6, 7]);
    expect(await headIds(store, ["a", "b", "c", "", "ü"])).toEqual([]);
  });

  test("updates/OP-24: an entry that waits for its next attempt is its lane's head and holds the later ones", async (given) => {
    const { store } = given;
    const epoch = await leadRegistered(store);
    await the.admit(store, epoch, [the.update(1), the.update(2), the.update(3, "lane-2")]);
    const claimant = the.claimant(1, 1, "g1", "a1");
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant });
    const nextAttemptAtMs = the.startMs + 500.5;
    const failure = { seq: journalSeq(1), acquisition: claimant.acquisition, reason: "threw", nextAttemptAtMs };
    await store.work.fail(failure);
    const [first, second] = await store.journal.heads({ ...the.oneEach, except: [], limit: 9 });
    expect(first).toMatchObject({ updateId: 1, attempts: 1, nextAttemptAtMs, redelivered: false });
    expect(second).toMatchObject({ updateId: 3 });
  });

  test("a drop leaves a tombstone and counts its reason; a second one finds nothing", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    await the.admit(store, epoch, [the.update(1)]);
    const drop = { epoch, seq: journalSeq(1), reason: "unauthorised", nowMs: the.startMs };
    expect(await store.journal.drop(drop)).toEqual({ kind: "dropped" });
    expect(await store.journal.drop(drop)).toEqual({ kind: "missing" });
    expect(await store.status.read()).toMatchObject({ drops: { unauthorised: 1 }, journal: { waiting: 0 } });
  });

  test("a dead letter leaves the lane and is counted; a second one finds nothing", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    await the.admit(store, epoch, [the.update(1), the.update(2)]);
    const set = { epoch, seq: journalSeq(1), reason: "12 attempts", nowMs: the.startMs };
    expect(await store.journal.deadLetter(set)).toEqual({ kind: "deadLettered" });
    expect(await store.journal.deadLetter(set)).toEqual({ kind: "missing" });
    expect(await headIds(store)).toEqual([2]);
    const { journal, drops } = await store.status.read();
    expect({ journal, drops }).toEqual({ journal: { waiting: 1, claimed: 0, deadLetters: 1 }, drops: {} });
  });

  test("updates/T-77 the leader ends no entry that a current registration has in hand, but those of an ended one", async (given) => {
    const { store } = given;
    const epoch = await leadRegistered(store);
    await the.admit(store, epoch, [the.update(1), the.update(2)]);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    await store.work.claim({ ...the.plainly, updateId: updateId(2), claimant: the.claimant(1, 1, "g1", "a2") });
    const end = (seq: number) => ({ epoch, seq: journalSeq(seq), reason: "24 h", nowMs: the.startMs });
    expect(await store.journal.drop(end(1))).toEqual({ kind: "missing" });
    expect(await store.journal.deadLetter(end(2))).toEqual({ kind: "missing" });
    const generation = the.generation("g1");
    await store.registrations.end({ epoch, seat: the.seat(1), generation, reason: "died", atMs: 1 });
    expect(await store.journal.drop(end(1))).toEqual({ kind: "dropped" });
    expect(await store.journal.deadLetter(end(2))).toEqual({ kind: "deadLettered" });
  });
}
