/** What a store must do with what is written in threads that nobody has. */
import { expect } from "vitest";
import { updateId } from "../../../machines/ids.ts";
import { laneOfThread, urgentLaneOf } from "../../../machines/updates.rules.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

const strange = the.target(77);
const written = (id: number, isUrgent = false) => {
  const message = { message_id: id, message_thread_id: 77, is_topic_message: true, text: isUrgent ? "/stop" : "x" };
  const lane = laneOfThread(strange);
  return {
    updateId: updateId(id),
    lane: isUrgent ? urgentLaneOf(lane) : lane,
    body: JSON.stringify({ update_id: id, message }),
  };
};

/** Seat 1 sits on thread 1; two messages and a `/stop` wait in a thread that nobody has, and one in that of the seat. */
async function waiting(store: Store) {
  const epoch = await the.lead(store, 1);
  await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
  await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
  const own = { ...the.update(9), lane: laneOfThread(the.target(1)) };
  await the.admit(store, epoch, [written(1), written(2, true), written(3), own]);
  const heads = async () => (await store.journal.heads({ except: [], only: null, perLane: 9, limit: 9 })).map(placeOf);
  const redirect = (thread = 1) => store.journal.redirect({ epoch, from: strange, to: the.target(thread) });
  return { epoch, heads, redirect };
}
const placeOf = ({ updateId: id, lane, body }: { updateId: number; lane: string; body: string }) => [
  id,
  lane,
  (JSON.parse(body) as { readonly message?: { readonly message_thread_id?: number } }).message?.message_thread_id,
];

export function rerouteContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("updates/OP-40: everything that waits in a thread goes to another one at once, each at its place, once", async (given) => {
    const { store, harness } = given;
    const { heads, redirect } = await waiting(store);
    expect(await redirect()).toEqual({ kind: "redirected", seqs: [1, 2, 3] });
    const there = laneOfThread(the.target(1));
    const moved = [
      [1, there, 1],
      [2, urgentLaneOf(there), 1],
      [3, there, 1],
      [9, there, undefined],
    ];
    expect(await heads()).toEqual(moved);
    expect(await redirect()).toEqual({ kind: "nothing" });
    const other = await harness.open();
    expect((await other.journal.heads({ ...the.oneEach, except: [], limit: 9 })).map(placeOf)).toEqual(
      moved.slice(0, 2),
    );
  });

  test("what went to another thread is still known when Telegram gives it again", async ({ store }) => {
    const { epoch, redirect } = await waiting(store);
    await redirect();
    expect(await the.admit(store, epoch, [written(1), written(3)])).toMatchObject({ added: 0, duplicates: 2 });
  });

  test("updates/OP-34: nothing goes to a thread on which nobody is registered", async ({ store }) => {
    const { epoch, heads, redirect } = await waiting(store);
    const before = await heads();
    expect(await redirect(5)).toEqual({ kind: "absent" });
    await store.registrations.end({
      epoch,
      seat: the.seat(1),
      generation: the.generation("g1"),
      reason: "died",
      atMs: 1,
    });
    expect(await redirect()).toEqual({ kind: "absent" });
    expect(await heads()).toEqual(before);
  });

  test("nothing is taken from a thread that some seat has by now: that seat gets it", async ({ store }) => {
    const { epoch, heads, redirect } = await waiting(store);
    const before = await heads();
    await store.threads.bind({ epoch, provisionId: null, binding: the.binding(2, 77) });
    expect(await redirect()).toEqual({ kind: "nothing" });
    expect(await heads()).toEqual(before);
  });

  test("what is in somebody's hand stays there", async ({ store }) => {
    const { redirect } = await waiting(store);
    await store.work.claim({ ...the.plainly, updateId: updateId(1), claimant: the.claimant(1, 1, "g1", "a1") });
    expect(await redirect()).toEqual({ kind: "redirected", seqs: [2, 3] });
  });

  test("only the leader of now moves anything", async ({ store, clock }) => {
    const { epoch, heads } = await waiting(store);
    const before = await heads();
    clock.advance(60_000);
    await the.lead(store, 2);
    const late = await store.journal.redirect({ epoch, from: strange, to: the.target(1) });
    expect(late).toMatchObject({ kind: "fenced" });
    expect(await heads()).toEqual(before);
  });

  test("updates/Q-71: a thread is not deleted for its content having gone while something of it waits", async ({
    store,
  }) => {
    const { epoch, redirect } = await waiting(store);
    const intend = () =>
      store.cleanups.intend({ epoch, ...the.cleanup(1, 77, "rerouted"), seat: the.seat(9), atMs: 1, dueAtMs: 1 });
    const begin = () => store.cleanups.begin({ epoch, target: strange, seenDead: null });
    await intend();
    expect(await begin()).toEqual({ kind: "superseded" });
    expect((await store.cleanups.view()).cleanups).toEqual([]);
    await redirect();
    await intend();
    expect(await begin()).toEqual({ kind: "begun", attempts: 1 });
    // A call is under way: what comes now comes too late, and the deletion has its end.
    await the.admit(store, epoch, [written(20)]);
    expect(await begin()).toEqual({ kind: "begun", attempts: 2 });
    expect(await store.cleanups.confirm({ epoch, target: strange, atMs: 9 })).toEqual({ kind: "removed" });
  });
}
