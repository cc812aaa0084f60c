import { expect, test as plain } from "vitest";
import { chatId, epoch, journalSeq, lane, messageId, updateId, type Epoch } from "../../../machines/ids.ts";
import { laneOfThread } from "../../../machines/updates.rules.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

/** Every write that a leader makes. The fence must stop each of them. */
export const leaderWrites: Readonly<Record<string, (store: Store, epoch: Epoch) => Promise<unknown>>> = {
  commitIfHeld: (s, e) => s.lease.commitIfHeld(e, () => undefined),
  "registrations.commit": (s, e) => s.registrations.commit({ epoch: e, registration: the.registration(1, 9, "new") }),
  "registrations.end": (s, e) =>
    s.registrations.end({ epoch: e, seat: the.seat(1), generation: the.generation("g1"), reason: "died", atMs: 1 }),
  "threads.intend": (s, e) => s.threads.intend({ epoch: e, provision: the.provision("p9", 9, "Z"), abandons: "p2" }),
  "threads.bind": (s, e) => s.threads.bind({ epoch: e, provisionId: "p2", binding: the.binding(2, 2) }),
  "threads.giveUp abandoned": (s, e) => s.threads.giveUp({ epoch: e, provisionId: "p2", as: "abandoned" }),
  "threads.giveUp ambiguous": (s, e) => s.threads.giveUp({ epoch: e, provisionId: "p2", as: "ambiguous" }),
  "threads.mark": (s, e) =>
    s.threads.mark({ epoch: e, target: the.target(3), standing: "closed", reason: "x", atMs: 1 }),
  "threads.lose": (s, e) => s.threads.lose({ epoch: e, target: the.target(3), reason: "x", atMs: 1 }),
  "threads.addLeftover": (s, e) =>
    s.threads.addLeftover({
      epoch: e,
      leftover: { target: the.target(8), threadName: "x", seat: null, reason: "x", atMs: 1 },
    }),
  "cleanups.intend": (s, e) => s.cleanups.intend({ epoch: e, ...the.cleanup(4, 4) }),
  "cleanups.begin": (s, e) => s.cleanups.begin({ epoch: e, target: the.target(3), seenDead: null }),
  "cleanups.postpone": (s, e) =>
    s.cleanups.postpone({ epoch: e, target: the.target(3), reason: "no", dueAtMs: 9, isCertain: true }),
  "cleanups.confirm": (s, e) => s.cleanups.confirm({ epoch: e, target: the.target(3), atMs: 8 }),
  "cleanups.cancel": (s, e) => s.cleanups.cancel({ epoch: e, target: the.target(3) }),
  "cleanups.unbind": (s, e) => s.cleanups.unbind({ epoch: e, target: the.target(3) }),
  "cleanups.observe": (s, e) => s.cleanups.observe({ epoch: e, evidence: the.evidence(3, "renamed") }),
  "cleanups.doubt": (s, e) =>
    s.cleanups.doubt({
      epoch: e,
      seat: the.seat(1),
      generation: the.generation("g1"),
      doubt: { sinceMs: 5, reason: "another host" },
    }),
  "cleanups.answer": (s, e) => s.cleanups.answer({ epoch: e, answer: { id: "r1", kind: "done", text: "" } }),
  "journal.admit": (s, e) => the.admit(s, e, [the.update(700)]),
  "journal.drop": (s, e) => s.journal.drop({ epoch: e, seq: journalSeq(1), reason: "rule", nowMs: the.startMs }),
  "journal.redirect": (s, e) => s.journal.redirect({ epoch: e, from: the.target(7), to: the.target(1) }),
  "journal.deadLetter": (s, e) =>
    s.journal.deadLetter({ epoch: e, seq: journalSeq(1), reason: "24 h", nowMs: the.startMs }),
  "status.notePolling": (s, e) => s.status.notePolling({ epoch: e, okAtMs: 5, health: "ok" }),
};

/** Something in every table, so that a write that slips through shows. */
async function furnish(store: Store, e: Epoch): Promise<void> {
  await store.registrations.commit({ epoch: e, registration: the.registration(1, 1, "g1") });
  await store.threads.bind({ epoch: e, provisionId: null, binding: the.binding(3, 3) });
  await store.threads.intend({ epoch: e, provision: the.provision("p2", 2, "B"), abandons: null });
  await store.cleanups.intend({ epoch: e, ...the.cleanup(3, 3) });
  await store.cleanups.ask({ id: "r1", wish: { kind: "leave", seat: the.seat(1) }, atMs: 1 });
  await the.admit(store, e, [the.update(1), the.update(2, "lane-2"), the.update(3, laneOfThread(the.target(7)))]);
  await store.ownership.record([{ chatId: chatId(1), messageId: messageId(1), seat: the.seat(1) }]);
}

const picture = async (store: Store) => ({
  status: await store.status.read(),
  heads: await store.journal.heads({ ...the.oneEach, except: [], limit: 100 }),
  view: await store.threads.view(),
  reconciliation: await store.cleanups.view(),
});

export function leaseContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  for (const [name, write] of Object.entries(leaderWrites)) {
    test(`${name} under an old epoch changes nothing and says who is current`, async ({ store }) => {
      const old = await the.lead(store, 1);
      await furnish(store, old);
      const present = await the.lead(store, 2);
      const before = await picture(store);
      const outcome = await write(store, old);
      if (name !== "status.notePolling") expect(outcome).toEqual({ kind: "fenced", current: present });
      expect(await picture(store)).toEqual(before);
    });

    test(`${name} after release is refused too`, async ({ store }) => {
      const mine = await the.lead(store, 1);
      await furnish(store, mine);
      await store.lease.release({ epoch: mine });
      const before = await picture(store);
      const outcome = await write(store, mine);
      if (name !== "status.notePolling") expect(outcome).toEqual({ kind: "fenced", current: mine });
      expect(await picture(store)).toEqual(before);
    });

    test(`${name} under the current epoch is done, even past the lease's end while nobody else took it`, async (given) => {
      const { store, clock } = given;
      const mine = await the.lead(store, 1);
      await furnish(store, mine);
      clock.advance(the.leaseMs * 2);
      const before = await picture(store);
      expect(await write(store, mine)).not.toMatchObject({ kind: "fenced" });
      if (name !== "commitIfHeld") expect(await picture(store)).not.toEqual(before);
    });
  }

  test("a fresh store has no holder, epoch 0, and lets nobody write under it", async ({ store }) => {
    expect(await store.lease.read()).toEqual({ epoch: 0, renewals: 0, holder: null, remainingMs: 0 });
    expect(await the.admit(store, epoch(0), [the.update(1)])).toEqual({ kind: "fenced", current: 0 });
    expect(await store.lease.release({ epoch: epoch(0) })).toEqual({ kind: "fenced", current: 0 });
  });

  test("a grant counts the epoch up and publishes the holder", async ({ store }) => {
    const expected = { epoch: epoch(0), renewals: 0 };
    const wish = { me: the.holder(1), expected, evidence: "vacant", durationMs: the.leaseMs } as const;
    const record = { epoch: 1, renewals: 0, holder: the.holder(1), remainingMs: the.leaseMs };
    expect(await store.lease.acquire(wish)).toEqual({ kind: "granted", record });
    expect(await store.lease.acquire(wish)).toEqual({ kind: "refused", record });
    expect(await store.lease.read()).toEqual(record);
  });

  test("two handles race for one record: exactly one is granted", async ({ harness, store }) => {
    const other = await harness.open();
    const expected = { epoch: epoch(0), renewals: 0 };
    const wish = (n: number) => ({ me: the.holder(n), expected, evidence: "vacant", durationMs: the.leaseMs }) as const;
    const answers = await Promise.all([store.lease.acquire(wish(1)), other.lease.acquire(wish(2))]);
    expect(answers.map((answer) => answer.kind).sort()).toEqual(["granted", "refused"]);
    expect(answers[0].record).toEqual(answers[1].record);
  });

  const evidences = [
    // evidence, who asks, state of the row, granted
    ["vacant", 2, "held", false],
    ["expired", 2, "held", false],
    ["own", 2, "held", false],
    ["own", 1, "held", true],
    ["holderGone", 2, "held", true],
    ["vacant", 2, "lapsed", false],
    ["expired", 2, "lapsed", true],
    ["own", 1, "lapsed", true],
    ["own", 2, "lapsed", false],
    ["vacant", 2, "released", true],
    ["expired", 2, "released", false],
    ["own", 1, "released", false],
  ] as const;
  for (const [evidence, who, state, isGranted] of evidences) {
    test(`evidence ${evidence} of ${who === 1 ? "the holder" : "another"} on a ${state} lease: ${isGranted ? "granted" : "refused"}`, async (given) => {
      const { store, clock } = given;
      const held = await the.lead(store, 1);
      if (state === "lapsed") clock.advance(the.leaseMs);
      if (state === "released") await store.lease.release({ epoch: held });
      const expected = { epoch: held, renewals: 0 };
      const answer = await store.lease.acquire({ me: the.holder(who), expected, evidence, durationMs: the.leaseMs });
      expect(answer.kind).toBe(isGranted ? "granted" : "refused");
      expect(answer.record.epoch).toBe(isGranted ? held + 1 : held);
    });
  }

  test("proof about a record that was renewed since is proof about nothing", async ({ store }) => {
    const held = await the.lead(store, 1);
    await store.lease.renew({ epoch: held, durationMs: the.leaseMs });
    const expected = { epoch: held, renewals: 0 };
    const wish = { me: the.holder(2), expected, evidence: "holderGone", durationMs: the.leaseMs } as const;
    expect(await store.lease.acquire(wish)).toMatchObject({ kind: "refused", record: { epoch: held, renewals: 1 } });
  });

  test("renewal extends; at the end it lapses; under another epoch it is fenced", async ({ store, clock }) => {
    const held = await the.lead(store, 1);
    clock.advance(5_999);
    const renewed = await store.lease.renew({ epoch: held, durationMs: the.leaseMs });
    expect(renewed).toMatchObject({ kind: "renewed", record: { epoch: held, renewals: 1, remainingMs: the.leaseMs } });
    clock.advance(6_000);
    const lapsed = await store.lease.renew({ epoch: held, durationMs: the.leaseMs });
    expect(lapsed).toMatchObject({ kind: "lapsed", record: { renewals: 1, remainingMs: 0 } });
    await the.lead(store, 2);
    const fenced = await store.lease.renew({ epoch: held, durationMs: the.leaseMs });
    expect(fenced).toMatchObject({ kind: "fenced", record: { epoch: held + 1 } });
  });

  test("release empties the row, may be repeated, and keeps the epoch for the next grant", async ({ store }) => {
    const held = await the.lead(store, 1);
    expect(await store.lease.release({ epoch: held })).toEqual({ kind: "released" });
    expect(await store.lease.release({ epoch: held })).toEqual({ kind: "released" });
    expect(await store.lease.read()).toMatchObject({ epoch: held, holder: null });
    expect(await store.lease.renew({ epoch: held, durationMs: 1 })).toMatchObject({ kind: "fenced" });
    expect(await the.lead(store, 2)).toBe(held + 1);
    expect(await store.lease.release({ epoch: held })).toEqual({ kind: "fenced", current: held + 1 });
  });

  test("commitIfHeld runs the callback once, inside, and only for the current epoch", async ({ store }) => {
    const held = await the.lead(store, 1);
    let runs = 0;
    expect(await store.lease.commitIfHeld(held, () => (runs += 1))).toEqual({ kind: "committed" });
    expect(await store.lease.commitIfHeld(epoch(held + 1), () => (runs += 1))).toMatchObject({ kind: "fenced" });
    expect(runs).toBe(1);
    const failure = new Error("rename failed");
    const fail = (): never => {
      throw failure;
    };
    expect(await the.rejectionOf(store.lease.commitIfHeld(held, fail))).toBe(failure);
    expect(await store.lease.renew({ epoch: held, durationMs: 1 })).toMatchObject({ kind: "renewed" });
  });

  test("a closed handle rejects everything and leaves the others alone", async ({ harness, store }) => {
    const other = await harness.open();
    await store.close();
    await store.close();
    const e = epoch(1);
    const calls = [
      () => store.lease.read(),
      () => store.work.settle({ seq: journalSeq(1), acquisition: the.claimant(1, 1, "g", "a").acquisition, nowMs: 1 }),
      () => store.journal.heads({ ...the.oneEach, except: [lane("x")], limit: 1 }),
      () => store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g", "a") }),
      ...Object.values(leaderWrites).map((write) => () => write(store, e)),
    ];
    for (const call of calls) expect(await the.rejectionOf(call())).toMatchObject({ code: "closed" });
    expect(await other.lease.read()).toMatchObject({ epoch: 0 });
  });

  plain("the list of leader writes is complete", async () => {
    const harness = await make();
    const store = await harness.open();
    const asked = new Set<string>();
    const spy = (part: keyof Store, api: object) =>
      new Proxy(api, {
        get: (object, key) => {
          asked.add(`${part}.${String(key)}`);
          const method: unknown = Reflect.get(object, key);
          return method;
        },
      });
    const watched = Object.fromEntries(
      Object.entries(store).map(([part, api]: [string, unknown]) =>
        // `part` is a key of the store we enumerate
        typeof api === "object" && api !== null ? [part, spy(part as keyof Store, api)] : [part, api],
      ),
    ) as unknown as Store; // a proxy of each part of a store is a store
    for (const write of Object.values(leaderWrites)) await write(watched, epoch(1));
    expect([...asked].sort()).toEqual([
      "cleanups.answer",
      "cleanups.begin",
      "cleanups.cancel",
      "cleanups.confirm",
      "cleanups.doubt",
      "cleanups.intend",
      "cleanups.observe",
      "cleanups.postpone",
      "cleanups.unbind",
      "journal.admit",
      "journal.deadLetter",
      "journal.drop",
      "journal.redirect",
      "lease.commitIfHeld",
      "registrations.commit",
      "registrations.end",
      "status.notePolling",
      "threads.addLeftover",
      "threads.bind",
      "threads.giveUp",
      "threads.intend",
      "threads.lose",
      "threads.mark",
    ]);
    const writers = (["registrations", "threads", "cleanups", "journal"] as const).flatMap((part) =>
      Object.keys(store[part]).map((method) => `${part}.${method}`),
    );
    // Evidence of a created thread is no authority, and the operator is nobody's leader: anybody may write these down.
    const unfenced = ["threads.view", "threads.bindingOf", "threads.seatOf", "threads.noteCreated"];
    unfenced.push("cleanups.view", "cleanups.ask", "cleanups.answerTo");
    const readers = [...unfenced, "journal.cursor", "journal.heads"];
    for (const method of writers.filter((one) => !readers.includes(one))) expect(asked).toContain(method);
    await harness.dispose();
  });
}
