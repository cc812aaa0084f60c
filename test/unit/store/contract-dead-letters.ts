import { expect } from "vitest";
import { journalSeq, updateId, type Epoch } from "../../../machines/ids.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

const laterMs = the.startMs + 60_000;
const heads = async (store: Store) =>
  (await store.journal.heads({ except: [], only: null, perLane: 9, limit: 9 })).map((entry) => entry.updateId);

/** Updates 1, 2 and 3 of one lane; the second one is set aside after its handler has failed once. */
async function oneSetAside(store: Store): Promise<Epoch> {
  const epoch = await the.lead(store, 1);
  await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
  await the.admit(store, epoch, [the.update(1), the.update(2), the.update(3)]);
  const claimant = the.claimant(1, 1, "g1", "a2");
  await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
  await store.work.claim({ ...the.plainly, updateId: updateId(2), claimant });
  const failure = { seq: journalSeq(2), acquisition: claimant.acquisition, nextAttemptAtMs: the.startMs };
  await store.work.fail({ ...failure, reason: "it threw" });
  await store.journal.deadLetter({ epoch, seq: journalSeq(2), reason: "12 attempts", nowMs: the.startMs + 7 });
  return epoch;
}

export function deadLettersContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("a dead letter is kept whole: its update, its tries, what the handler said, why and when", async ({ store }) => {
    await oneSetAside(store);
    expect(await store.deadLetters.list(9)).toEqual([
      {
        ...the.update(2),
        seq: 2,
        admittedAtMs: the.startMs,
        attempts: 1,
        lastFailure: "it threw",
        reason: "12 attempts",
        deadAtMs: the.startMs + 7,
      },
    ]);
    expect(await store.deadLetters.list(0)).toEqual([]);
  });

  test("updates/OP-24 retry puts it back once, at its old place, as if it had just come", async ({
    store,
    harness,
  }) => {
    await oneSetAside(store);
    const other = await harness.open();
    const request = { seq: journalSeq(2), nowMs: laterMs };
    const answers = await Promise.all([store.deadLetters.retry(request), other.deadLetters.retry(request)]);
    expect(answers.map(({ kind }) => kind).sort()).toEqual(["missing", "retried"]);
    expect(await store.deadLetters.discard(request)).toEqual({ kind: "missing" });
    expect(await store.deadLetters.list(9)).toEqual([]);
    const [again, ...rest] = await store.journal.heads({ except: [], only: null, perLane: 9, limit: 9 });
    expect(again).toEqual({
      ...the.update(2),
      seq: 2,
      admittedAtMs: laterMs,
      nextAttemptAtMs: laterMs,
      attempts: 0,
      redelivered: false,
      assignedTo: null,
    });
    expect(rest.map(({ seq }) => seq)).toEqual([3]);
    expect((await store.status.read()).journal).toEqual({ waiting: 2, claimed: 1, deadLetters: 0 });
  });

  test("what was retried is claimed, settled and known like any other", async ({ store }) => {
    const epoch = await oneSetAside(store);
    await store.deadLetters.retry({ seq: journalSeq(2), nowMs: laterMs });
    const claimant = the.claimant(1, 1, "g1", "a9");
    expect(await store.work.claim({ ...the.plainly, updateId: updateId(3), claimant })).toEqual({ kind: "outOfOrder" });
    expect(await store.work.claim({ ...the.plainly, updateId: updateId(2), claimant })).toMatchObject({
      kind: "claimed",
    });
    const held = { seq: journalSeq(2), acquisition: claimant.acquisition };
    expect(await store.work.settle({ ...held, nowMs: laterMs })).toEqual({ kind: "settled" });
    expect(await the.admit(store, epoch, [the.update(2)], laterMs)).toMatchObject({ added: 0, duplicates: 1 });
  });

  test("discard ends it once, counts it, and it is known when it comes again", async ({ store }) => {
    const epoch = await oneSetAside(store);
    const request = { seq: journalSeq(2), nowMs: laterMs };
    expect(await store.deadLetters.discard(request)).toEqual({ kind: "discarded" });
    expect(await store.deadLetters.discard(request)).toEqual({ kind: "missing" });
    expect(await store.deadLetters.retry(request)).toEqual({ kind: "missing" });
    expect(await store.status.read()).toMatchObject({ drops: { discarded: 1 }, journal: { deadLetters: 0 } });
    expect(await the.admit(store, epoch, [the.update(2)], laterMs)).toMatchObject({ added: 0, duplicates: 1 });
    expect(await heads(store)).toEqual([3]);
  });
}
