import { expect } from "vitest";
import { chatId, messageId, seatKey } from "../../../machines/ids.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

export function threadsContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("the profile id is one for all handles and can stand in a seat key", async ({ harness, store }) => {
    const other = await harness.open();
    const profile = await store.seats.profileId();
    expect(profile).toMatch(/^[^:]+$/);
    expect(await other.seats.profileId()).toBe(profile);
  });

  test("a seat is claimed by compare-and-set on its holder", async ({ store }) => {
    const claim = (n: number, expected: number | null) =>
      store.seats.claim({
        seat: the.seat(1),
        instanceId: the.instance(n),
        incarnation: the.incarnation(n),
        threadGraceMs: the.graceMs,
        expected: expected === null ? null : the.instance(expected),
      });
    const by = (n: number) => ({ seat: the.seat(1), instanceId: the.instance(n), incarnation: the.incarnation(n) });
    expect(await claim(1, null)).toEqual({ kind: "claimed" });
    expect(await claim(1, null)).toEqual({ kind: "claimed" }); // the first answer was lost
    expect(await claim(2, null)).toEqual({ kind: "taken", by: by(1) });
    expect(await claim(2, 3)).toEqual({ kind: "taken", by: by(1) });
    expect(await claim(2, 1)).toEqual({ kind: "claimed" });
    expect(await claim(1, 1)).toEqual({ kind: "taken", by: by(2) });
    await store.seats.release({ seat: the.seat(1), instanceId: the.instance(1) });
    expect(await store.seats.holderOf(the.seat(1))).toEqual(by(2));
    expect(await store.seats.holderOf(the.seat(2))).toBeNull();
    expect(await store.seats.claimsOf("own")).toEqual([by(2)]);
    await store.seats.release({ seat: the.seat(1), instanceId: the.instance(2) });
    expect(await store.seats.claimsOf("own")).toEqual([]);
    expect(await claim(4, 2)).toEqual({ kind: "claimed" }); // the expected holder has left: nobody is in the way
  });

  test("the same instance name in another incarnation is another instance", async ({ store }) => {
    const claim = {
      seat: the.seat(1),
      instanceId: the.instance(1),
      incarnation: the.incarnation(1),
      expected: null,
      threadGraceMs: null,
    };
    await store.seats.claim(claim);
    const twin = { ...claim, incarnation: { ...the.incarnation(1), counter: 1 } };
    expect(await store.seats.claim(twin)).toMatchObject({ kind: "taken" });
  });

  test("claims of one owner come in order of key, without owners that merely begin alike", async ({ store }) => {
    const keys = ["manual:own:b", "manual:own:a", "manual:own:10", "manual:owner:1", "manual:ow:1", "manual:own"];
    for (const [n, key] of keys.entries())
      await store.seats.claim({
        seat: seatKey(key),
        instanceId: the.instance(n),
        incarnation: the.incarnation(n),
        threadGraceMs: the.graceMs,
        expected: null,
      });
    const claims = await store.seats.claimsOf("own");
    expect(claims.map((claim) => claim.seat)).toEqual(["manual:own:10", "manual:own:a", "manual:own:b"]);
  });

  test("a registration becomes current, is replaced, and ends only under its own generation", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    const end = (gen: string, reason: "died" | "left") =>
      store.registrations.end({ epoch, seat: the.seat(1), generation: the.generation(gen), reason, atMs: 5 });
    expect(await end("g1", "died")).toEqual({ kind: "superseded" });
    await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
    const second = { ...the.registration(1, 2, "g2"), incarnation: null, thread: null };
    expect(await store.registrations.commit({ epoch, registration: second })).toEqual({ kind: "committed" });
    expect(await end("g1", "died")).toEqual({ kind: "superseded" });
    expect((await store.status.read()).registrations).toEqual([the.standing(second)]);
    expect(await end("g2", "left")).toEqual({ kind: "ended" });
    expect(await end("g2", "died")).toEqual({ kind: "ended" });
    expect((await store.status.read()).registrations).toEqual([
      { ...the.standing(second), ended: "left", endedAtMs: 5 },
    ]);
    await store.registrations.commit({ epoch, registration: the.registration(1, 3, "g3") });
    expect((await store.status.read()).registrations).toEqual([the.standing(the.registration(1, 3, "g3"))]);
  });

  const claimed = (seat: number, by: number) => ({
    seat: the.seat(seat),
    instanceId: the.instance(by),
    incarnation: the.incarnation(by),
  });

  test("giving a seat up ends the registration of its holder, and no other", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    for (const n of [1, 2]) {
      await store.seats.claim({ ...claimed(n, n), threadGraceMs: the.graceMs, expected: null });
      await store.registrations.commit({ epoch, registration: the.registration(n, n, `g${n}`) });
    }
    await store.seats.release(claimed(1, 1));
    expect((await store.status.read()).registrations).toEqual([
      { ...the.standing(the.registration(1, 1, "g1")), ended: "stopped", endedAtMs: the.startMs },
      the.standing(the.registration(2, 2, "g2")),
    ]);
    await store.seats.release(claimed(2, 1));
    expect((await store.status.read()).registrations).toContainEqual(the.standing(the.registration(2, 2, "g2")));
  });

  test("giving a seat up leaves how its registration ended before, and the one of a predecessor", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
    await store.registrations.end({
      epoch,
      seat: the.seat(1),
      generation: the.generation("g1"),
      reason: "left",
      atMs: 5,
    });
    await store.registrations.commit({ epoch, registration: the.registration(2, 1, "g2") });
    await store.seats.claim({ ...claimed(1, 1), threadGraceMs: the.graceMs, expected: null });
    await store.seats.claim({ ...claimed(2, 2), threadGraceMs: the.graceMs, expected: null });
    await store.seats.release(claimed(1, 1));
    await store.seats.release(claimed(2, 2));
    expect((await store.status.read()).registrations).toEqual([
      { ...the.standing(the.registration(1, 1, "g1")), ended: "left", endedAtMs: 5 },
      the.standing(the.registration(2, 1, "g2")),
    ]);
  });

  test("a registration of one who does not hold the seat any more is refused, and changes nothing", async (given) => {
    const { store } = given;
    const epoch = await the.lead(store, 1);
    const commit = (instance: number, gen: string) =>
      store.registrations.commit({ epoch, registration: the.registration(1, instance, gen) });
    await store.seats.claim({ ...claimed(1, 1), threadGraceMs: the.graceMs, expected: null });
    expect(await commit(1, "g1")).toEqual({ kind: "committed" });
    await store.seats.claim({ ...claimed(1, 2), threadGraceMs: the.graceMs, expected: the.instance(1) });
    await store.cleanups.intend({ epoch, ...the.cleanup(1, 1) });
    const before = await store.status.read();
    expect(await commit(1, "g1b")).toEqual({ kind: "superseded" });
    expect(await commit(3, "g3")).toEqual({ kind: "superseded" });
    expect(await store.status.read()).toEqual(before);
    expect(await commit(2, "g2")).toEqual({ kind: "committed" });
    await store.seats.release(claimed(1, 2));
    expect(await commit(3, "g3")).toEqual({ kind: "committed" }); // nobody holds it
  });

  test("under an old epoch it is the epoch that is told, not the seat", async ({ store }) => {
    const old = await the.lead(store, 1);
    await store.seats.claim({ ...claimed(1, 2), threadGraceMs: the.graceMs, expected: null });
    const current = await the.lead(store, 2);
    const late = { epoch: old, registration: the.registration(1, 1, "g1") };
    expect(await store.registrations.commit(late)).toEqual({ kind: "fenced", current });
  });

  test("threads/T-8, T-10, one begun creation per seat and per slot, none for a bound seat or a taken slot", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const intend = (name: string, seat: number, slot: string, abandons: string | null = null) =>
      store.threads.intend({ epoch, provision: the.provision(name, seat, slot), abandons });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(9, 3) }); // slot C
    expect(await intend("p1", 1, "A")).toEqual({ kind: "intended" });
    expect(await intend("p1", 2, "B")).toEqual({ kind: "conflict" });
    expect(await intend("p2", 1, "B")).toEqual({ kind: "conflict" });
    expect(await intend("p2", 2, "A")).toEqual({ kind: "conflict" });
    expect(await intend("p2", 2, "C")).toEqual({ kind: "conflict" });
    expect(await intend("p2", 9, "D")).toEqual({ kind: "conflict" });
    expect(await intend("p2", 2, "B", "p-unknown")).toEqual({ kind: "intended" });
    expect(await intend("p3", 1, "B", "p1")).toEqual({ kind: "conflict" });
    expect((await store.threads.view()).provisions.map((p) => p.id)).toEqual(["p1", "p2"]);
    expect(await intend("p3", 1, "A", "p1")).toEqual({ kind: "intended" });
    expect((await store.threads.view()).provisions.map((p) => p.id)).toEqual(["p2", "p3"]);
  });

  test("threads/T-13, S-32, TP-13, TP-14: binding ends the creation it came from; giving up removes it or keeps it in doubt", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    const p = [the.provision("p1", 1, "A"), the.provision("p2", 2, "B"), the.provision("p3", 3, "C")] as const;
    for (const provision of p) await store.threads.intend({ epoch, provision, abandons: null });
    const bind = { epoch, provisionId: "p1", binding: the.binding(1, 1) };
    const noted = { kind: "noted", threadId: null };
    expect(await store.threads.bind(bind)).toEqual({ kind: "bound" });
    expect(await store.threads.giveUp({ epoch, provisionId: "p2", as: "abandoned" })).toEqual(noted);
    expect(await store.threads.giveUp({ epoch, provisionId: "p3", as: "ambiguous" })).toEqual(noted);
    expect(await store.threads.giveUp({ epoch, provisionId: "p4", as: "ambiguous" })).toEqual(noted);
    const view = {
      bindings: [the.unheld(the.binding(1, 1))],
      provisions: [{ ...the.unseen(p[2]), status: "ambiguous" }],
    };
    expect(await store.threads.view()).toEqual({ ...view, lost: [], leftovers: [] });
    expect(await store.status.read()).toMatchObject(view);
  });

  test("threads/T-5, ST-9: a thread belongs to one seat: binding it to another takes it from the first", async ({
    store,
  }) => {
    const epoch = await the.lead(store, 1);
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(2, 2) });
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 2, 9) });
    expect((await store.threads.view()).bindings).toEqual([the.unheld(the.binding(1, 2, 9))]);
  });

  test("a message belongs to the seat recorded last, per chat", async ({ store }) => {
    const { ownership } = store;
    const [chat, message] = [chatId(-5), messageId(2 ** 40)];
    expect(await ownership.ownerOf(chat, message)).toBeNull();
    await ownership.record([]);
    await ownership.record([
      { chatId: chat, messageId: message, seat: the.seat(1) },
      { chatId: chatId(6), messageId: message, seat: the.seat(2) },
    ]);
    await ownership.record([{ chatId: chat, messageId: message, seat: the.seat(3) }]);
    expect(await ownership.ownerOf(chat, message)).toBe(the.seat(3));
    expect(await ownership.ownerOf(chatId(6), message)).toBe(the.seat(2));
  });
}
