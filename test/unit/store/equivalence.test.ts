/**
 * Property: over any sequence of operations, both stores give the same answers.
 *
 * Owns: the comparison. Does not own: which answers are right (the contract).
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openMemoryStore, MemoryDatabase } from "../../../adapters/store/memory/index.ts";
import { tombstoneKeepMs } from "../../../adapters/store/limits.ts";
import { acquisitionId, chatId, epoch, journalSeq, lane, messageId, updateId } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import { laneOfThread, urgentLaneOf } from "../../../machines/updates.rules.ts";
import { createStoreSteps } from "../../../testing/simulator/store-steps.ts";
import { dependingOnTheAsker, storeParts } from "./store-parts.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { inTemporaryFolder, openOrThrow } from "./on-disk.ts";

/** Whatever is asked of the store, in whatever order: what it then holds. What depends on who asks is not judged here. */
const judgeAll = judgeOf(storeParts);
const judge = (view: Parameters<typeof judgeAll>[0]) =>
  judgeAll(view).filter((name) => !dependingOnTheAsker.includes(name));

type Operation = (store: Store, clock: the.StoppedClock) => Promise<unknown>;

const small = fc.integer({ min: 1, max: 3 });
const anEpoch = fc.integer({ min: 0, max: 4 }).map(epoch);
const aSeq = fc.integer({ min: 1, max: 8 }).map(journalSeq);
const anAcquisition = fc.constantFrom("a1", "a2", "a3", "a4");
const aLane = fc.constantFrom("l1", "l2", "ü", laneOfThread(the.target(1)), urgentLaneOf(laneOfThread(the.target(2))));
const aGeneration = fc.constantFrom("g1", "g2");
const anUpdate = fc
  .tuple(fc.integer({ min: 1, max: 4 }), aLane, fc.constantFrom("x", "y"))
  .map(([n, name, text]) => the.update(n, name, text));

/** The epoch that a leader of this store would use: mostly the current one. */
const asLeader =
  (by: number, act: (store: Store, e: ReturnType<typeof epoch>, nowMs: number) => Promise<unknown>): Operation =>
  async (store, clock) => {
    const { epoch: current } = await store.lease.read();
    return await act(store, epoch(Math.max(0, current - by)), clock.nowMs());
  };
const behind = fc.constantFrom(0, 0, 0, 0, 0, 1);

const lease: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(small, anEpoch, fc.constantFrom(0, 0, 1), fc.constantFrom("vacant", "expired", "holderGone", "own")).map(
    ([n, e, renewals, evidence]): Operation =>
      (s) =>
        s.lease.acquire({ me: the.holder(n), expected: { epoch: e, renewals }, evidence, durationMs: 6_000 }),
  ),
  small.map(
    (n): Operation =>
      (s) =>
        the.lead(s, n),
  ),
  anEpoch.map(
    (e): Operation =>
      (s) =>
        s.lease.renew({ epoch: e, durationMs: 6_000 }),
  ),
  anEpoch.map(
    (e): Operation =>
      (s) =>
        s.lease.release({ epoch: e }),
  ),
);

const seats: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(small, small, fc.option(small)).map(
    ([n, i, old]): Operation =>
      (s) =>
        s.seats.claim({
          seat: the.seat(n),
          instanceId: the.instance(i),
          incarnation: the.incarnation(i),
          threadGraceMs: the.graceMs,
          expected: old === null ? null : the.instance(old),
        }),
  ),
  fc.tuple(small, small).map(
    ([n, i]): Operation =>
      (s) =>
        s.seats.release({ seat: the.seat(n), instanceId: the.instance(i) }),
  ),
  fc.tuple(small, small, aGeneration, behind, fc.boolean()).map(([n, i, g, by, bare]) =>
    asLeader(by, (s, e) => {
      const full = the.registration(n, i, g);
      return s.registrations.commit({ epoch: e, registration: bare ? { ...full, thread: null } : full });
    }),
  ),
  fc.tuple(small, aGeneration, behind).map(([n, g, by]) =>
    asLeader(by, (s, e) =>
      s.registrations.end({
        epoch: e,
        seat: the.seat(n),
        generation: the.generation(g),
        reason: g === "g1" ? "died" : "forgotten",
        atMs: 1,
      }),
    ),
  ),
);

const threads: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(small, small, fc.constantFrom("A", "B", "C"), fc.option(small), behind).map(([p, n, slot, old, by]) =>
    asLeader(by, (s, e) =>
      s.threads.intend({
        epoch: e,
        provision: the.provision(`p${p}`, n, slot),
        abandons: old === null ? null : `p${old}`,
      }),
    ),
  ),
  fc
    .tuple(fc.option(small), small, small, behind)
    .map(([p, n, t, by]) =>
      asLeader(by, (s, e) =>
        s.threads.bind({ epoch: e, provisionId: p === null ? null : `p${p}`, binding: the.binding(n, t) }),
      ),
    ),
  fc.tuple(small, small).map(
    ([p, t]): Operation =>
      (s) =>
        s.threads.noteCreated({ provisionId: `p${p}`, target: the.target(t), threadName: "Made", atMs: t }),
  ),
  fc.tuple(small, small).map(([n, i]): Operation => async (s) => {
    await s.seats.disown({ seat: the.seat(n), instanceId: the.instance(i) });
    return [await s.threads.view(), await s.threads.seatOf(the.target(n))];
  }),
  fc
    .tuple(small, fc.constantFrom("open", "closed", "suspect"), behind)
    .map(([t, standing, by]) =>
      asLeader(by, (s, e, atMs) =>
        s.threads.mark({ epoch: e, target: the.target(t), standing, reason: standing, atMs }),
      ),
    ),
  fc
    .tuple(small, behind)
    .map(([t, by]) =>
      asLeader(by, (s, e, atMs) => s.threads.lose({ epoch: e, target: the.target(t), reason: "gone", atMs })),
    ),
  fc.tuple(small, behind).map(([t, by]) =>
    asLeader(by, (s, e, atMs) =>
      s.threads.addLeftover({
        epoch: e,
        leftover: { target: the.target(t), threadName: "Left", seat: the.seat(t), reason: "x", atMs },
      }),
    ),
  ),
  small.map(
    (n): Operation =>
      (s) =>
        s.threads.bindingOf({ seat: the.seat(n), chatId: the.target(1).chatId }),
  ),
  fc
    .tuple(small, fc.constantFrom("abandoned", "ambiguous"), behind)
    .map(([p, as, by]) => asLeader(by, (s, e) => s.threads.giveUp({ epoch: e, provisionId: `p${p}`, as }))),
);

const aTarget = small.map(the.target);
const cleanups: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .tuple(small, aTarget, fc.constantFrom("ended", "left", "operator"), fc.integer({ min: 0, max: 9 }), behind)
    .map(([n, target, reason, dueAtMs, by]) =>
      asLeader(by, (s, e, atMs) => s.cleanups.intend({ epoch: e, seat: the.seat(n), target, reason, atMs, dueAtMs })),
    ),
  fc
    .tuple(aTarget, fc.option(small), behind)
    .map(([target, dead, by]) =>
      asLeader(by, (s, e) =>
        s.cleanups.begin({ epoch: e, target, seenDead: dead === null ? null : the.instance(dead) }),
      ),
    ),
  fc
    .tuple(aTarget, fc.boolean(), behind)
    .map(([target, isCertain, by]) =>
      asLeader(by, (s, e) => s.cleanups.postpone({ epoch: e, target, reason: "no", dueAtMs: 7, isCertain })),
    ),
  fc
    .tuple(aTarget, behind)
    .map(([target, by]) => asLeader(by, (s, e, atMs) => s.cleanups.confirm({ epoch: e, target, atMs }))),
  fc
    .tuple(aTarget, fc.boolean(), behind)
    .map(([target, isUnbound, by]) =>
      asLeader(by, (s, e) =>
        isUnbound ? s.cleanups.unbind({ epoch: e, target }) : s.cleanups.cancel({ epoch: e, target }),
      ),
    ),
  fc
    .tuple(small, fc.constantFrom("created", "renamed", "closed", "reopened"), fc.constantFrom("bot", "person"), behind)
    .map(([n, what, who, by]) =>
      asLeader(by, (s, e, atMs) =>
        s.cleanups.observe({ epoch: e, evidence: { ...the.evidence(n, what), by: who, atMs } }),
      ),
    ),
  fc.tuple(small, aGeneration, fc.boolean(), behind).map(([n, g, isOver, by]) =>
    asLeader(by, (s, e) =>
      s.cleanups.doubt({
        epoch: e,
        seat: the.seat(n),
        generation: the.generation(g),
        doubt: isOver ? null : { sinceMs: 3, reason: "another host" },
      }),
    ),
  ),
  fc.tuple(fc.constantFrom("r1", "r2"), small).map(
    ([id, n]): Operation =>
      (s, clock) =>
        s.cleanups.ask({ id, wish: { kind: "leave", seat: the.seat(n) }, atMs: clock.nowMs() }),
  ),
  fc.tuple(fc.constantFrom("r1", "r2"), behind).map(([id, by]) =>
    asLeader(by, async (s, e) => {
      const answer = { id, kind: "done", text: "so be it" } as const;
      return [await s.cleanups.answer({ epoch: e, answer }), await s.cleanups.answerTo(id)];
    }),
  ),
);

const journal: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .tuple(fc.array(anUpdate, { maxLength: 4 }), behind)
    .map(([updates, by]) => asLeader(by, (s, e, nowMs) => the.admit(s, e, updates, nowMs))),
  fc
    .tuple(
      fc.array(aLane, { maxLength: 2 }),
      fc.option(fc.array(aLane, { maxLength: 3 })),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 4 }),
    )
    .map(
      ([except, only, perLane, limit]): Operation =>
        (s) =>
          s.journal.heads({ except: except.map(lane), only: only?.map(lane) ?? null, perLane, limit }),
    ),
  fc
    .tuple(aSeq, behind)
    .map(([seq, by]) => asLeader(by, (s, e, nowMs) => s.journal.drop({ epoch: e, seq, reason: "rule", nowMs }))),
  fc
    .tuple(small, small, behind)
    .map(([from, to, by]) =>
      asLeader(by, (s, e) => s.journal.redirect({ epoch: e, from: the.target(from), to: the.target(to) })),
    ),
  fc
    .tuple(aSeq, behind)
    .map(([seq, by]) => asLeader(by, (s, e, nowMs) => s.journal.deadLetter({ epoch: e, seq, reason: "x", nowMs }))),
  fc.tuple(aSeq, fc.boolean()).map(([seq, isRetry]): Operation => async (s, clock) => {
    const request = { seq, nowMs: clock.nowMs() };
    return [
      await (isRetry ? s.deadLetters.retry(request) : s.deadLetters.discard(request)),
      await s.deadLetters.list(9),
    ];
  }),
);

const work: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 4 }), small, small, aGeneration, anAcquisition, fc.option(aSeq), fc.boolean())
    .map(([u, n, i, g, a, seq, settles]): Operation => async (s, clock) => {
      const owners = [{ chatId: chatId(1), messageId: messageId(u), seat: the.seat(n) }];
      const settleAtMs = settles ? clock.nowMs() : null;
      const claimant = the.claimant(n, i, g, a);
      const outcome = await s.work.claim({ updateId: updateId(u), seq, claimant, owners, settleAtMs });
      return [outcome, await s.ownership.ownerOf(chatId(1), messageId(u))];
    }),
  fc.tuple(aSeq, anAcquisition).map(
    ([seq, a]): Operation =>
      (s, clock) =>
        s.work.settle({ seq, acquisition: acquisitionId(a), nowMs: clock.nowMs() }),
  ),
  fc.tuple(aSeq, anAcquisition).map(
    ([seq, a]): Operation =>
      (s) =>
        s.work.fail({ seq, acquisition: acquisitionId(a), reason: "threw", nextAttemptAtMs: 7.5 }),
  ),
  fc.tuple(small, small, small).map(([c, m, n]): Operation => async (s) => {
    await s.ownership.record([{ chatId: chatId(c), messageId: messageId(m), seat: the.seat(n) }]);
    return await s.ownership.ownerOf(chatId(c), messageId(m));
  }),
);

/** As a live holder acts: a claim under a registration that is current, of an update that waits. */
const heldWork: fc.Arbitrary<Operation> = fc
  .tuple(fc.nat(2), fc.nat(1), anAcquisition)
  .map(([n, h, a]): Operation => async (s) => {
    const current = (await s.status.read()).registrations.filter((one) => one.ended === null);
    const who = current[n % Math.max(1, current.length)];
    const heads = await s.journal.heads({ ...the.oneEach, except: [], limit: 3 });
    const head = heads[h % Math.max(1, heads.length)];
    if (who === undefined || head === undefined) return null;
    const { seat, instanceId, generation } = who;
    return await s.work.claim({
      ...the.plainly,
      ...the.plainly,
      updateId: head.updateId,
      seq: head.seq,
      settleAtMs: h === 1 ? 5 : null,
      claimant: { seat, instanceId, generation, acquisition: acquisitionId(a) },
    });
  });

/** As an instance lives: it claims a seat that is free, is registered, and gives it up, with whatever it has in hand. */
const heldSeat: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(small, small, aGeneration).map(([n, i, g]): Operation => async (s) => {
    const seat = the.seat(n);
    const holder = await s.seats.holderOf(seat);
    const claim = { seat, instanceId: the.instance(i), incarnation: the.incarnation(i) };
    const taken = await s.seats.claim({ ...claim, threadGraceMs: the.graceMs, expected: holder?.instanceId ?? null });
    const { epoch: current } = await s.lease.read();
    return [taken, await s.registrations.commit({ epoch: current, registration: the.registration(n, i, g) })];
  }),
  fc.tuple(small, small, aGeneration).map(([n, i, g]): Operation => async (s) => {
    const { epoch: current } = await s.lease.read();
    const answer = await s.registrations.commit({ epoch: current, registration: the.registration(n, i, g) });
    return [answer, await s.seats.holderOf(the.seat(n))];
  }),
  small.map((n): Operation => async (s) => {
    const holder = await s.seats.holderOf(the.seat(n));
    if (holder !== null) await s.seats.release({ seat: holder.seat, instanceId: holder.instanceId });
    return await s.journal.heads({ ...the.oneEach, except: [], limit: 9 });
  }),
);

const time: fc.Arbitrary<Operation> = fc
  .constantFrom(1, 3_000, 6_000, tombstoneKeepMs)
  .map((byMs): Operation => (_, clock) => {
    clock.advance(byMs);
    return Promise.resolve(null);
  });

const operations = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: lease },
    { weight: 4, arbitrary: seats },
    { weight: 5, arbitrary: threads },
    { weight: 4, arbitrary: cleanups },
    { weight: 4, arbitrary: journal },
    { weight: 4, arbitrary: work },
    { weight: 4, arbitrary: heldWork },
    { weight: 2, arbitrary: heldSeat },
    { weight: 1, arbitrary: time },
  ),
  { maxLength: 60, size: "max" },
);

test("memory and SQLite give the same answers to any sequence of operations", async () => {
  const property = fc.asyncProperty(operations, (sequence) =>
    inTemporaryFolder(async (folder) => {
      const clocks = [new the.StoppedClock(), new the.StoppedClock()] as const;
      const database = new MemoryDatabase("p");
      const steps = createStoreSteps({ database, isAlive: () => false, onStep: () => undefined });
      const memory = steps.watch(openMemoryStore({ database, clock: clocks[0] }));
      const sqlite = await openOrThrow(folder, clocks[1]);
      try {
        for (const operation of [(s: Store) => the.lead(s, 1), ...sequence]) {
          const expected = await operation(memory, clocks[0]);
          expect(await operation(sqlite, clocks[1])).toEqual(expected);
          expect(judge({ tables: steps.tables(), storeSteps: steps.take() })).toEqual([]);
          expect(await sqlite.status.read()).toEqual(await memory.status.read());
          expect(await sqlite.cleanups.view()).toEqual(await memory.cleanups.view());
        }
        const all = { ...the.oneEach, except: [], limit: 100 };
        expect(await sqlite.journal.heads(all)).toEqual(await memory.journal.heads(all));
      } finally {
        await sqlite.close();
      }
    }),
  );
  await fc.assert(property, { numRuns: 40, endOnFailure: false });
}, 120_000);

// Shortest trace: claim a1, settle a1, the tombstone expires, the update is admitted anew, drop: asked again, memory says
// that a1 settled (it looks for a tombstone of the update, whoever left it), SQLite that it did not.
test("an acquisition whose tombstone is gone is known to neither, when the update was ended anew", async () => {
  await inTemporaryFolder(async (folder) => {
    const clock = new the.StoppedClock();
    const memory = openMemoryStore({ database: new MemoryDatabase("p"), clock });
    const sqlite = await openOrThrow(folder, clock);
    const settlement = { seq: journalSeq(1), acquisition: acquisitionId("a1"), nowMs: the.startMs };
    const play = async (store: Store): Promise<unknown> => {
      const e = await the.lead(store, 1);
      await store.registrations.commit({ epoch: e, registration: the.registration(1, 1, "g1") });
      await the.admit(store, e, [the.update(1)]);
      await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
      await store.work.settle(settlement);
      const laterMs = the.startMs + tombstoneKeepMs + 1;
      await the.admit(store, e, [the.update(1)], laterMs);
      await store.journal.drop({ epoch: e, seq: journalSeq(2), reason: "rule", nowMs: laterMs });
      return await store.work.settle(settlement);
    };
    const answers = [await play(memory), await play(sqlite)];
    await sqlite.close();
    expect(answers).toEqual([{ kind: "notYours" }, { kind: "notYours" }]);
  });
});
