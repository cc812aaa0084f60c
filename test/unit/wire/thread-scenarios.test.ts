/** Threads through a whole leader and its followers, in virtual time: what is called, what is written, what is said. */
import { expect, test } from "vitest";
import { chatId, seatKey, threadId } from "../../../machines/ids.ts";
import type { Epoch, SeatKey } from "../../../machines/ids.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { CallOutcome, Store } from "../../../services/ports.ts";
import { settled } from "../../support/wire/manual-clock.ts";
import { owner, seated, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";
import { lead } from "../store/fixtures.ts";

const thread = (id: number) => ({ chatId: chatId(owner), threadId: threadId(id) });
const made = ({ telegram }: LeaderWorld) => telegram.of("createForumTopic").length;
const deleted = ({ telegram }: LeaderWorld) =>
  telegram.of("deleteForumTopic").map(({ payload }) => payload["message_thread_id"]);
const bindings = async ({ store }: Pick<LeaderWorld, "store">) => (await store.threads.view()).bindings;
const limited = { error_code: 429, description: "Too Many Requests: retry after 31" };

/** The thread that a former process of the leader's name has left. */
const leaders = 12;
const target = thread(leaders);

/** The leader's store as a former process of its name left it, which may have begun more under its epoch. */
async function formerly(store: Store, more: (epoch: Epoch, seat: SeatKey) => Promise<unknown> = () => settled()) {
  const epoch = await lead(store, 1);
  const seat = seatKey(`manual:${await store.seats.profileId()}:leader`);
  const bound = { target, slot: "C", threadName: "Coral" };
  const proof = { createdAtMs: 1, standing: "open", reason: "", provenAtMs: 1 } as const;
  await store.threads.bind({ epoch, provisionId: null, binding: { seat, thread: bound, ...proof } });
  await more(epoch, seat);
  await store.lease.release({ epoch });
}

test("threads/S-1, S-2: whoever registers again is asked nothing of Telegram, with its thread or without: it has the same one", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  await world.clock.advance(2_000);
  const before = await bindings(world);
  const calls = world.telegram.calls.length;
  for (const differs of [{ target: thread(peer.thread) }, {}]) {
    expect(await peer.register(differs)).toMatchObject({ ok: true, result: { threadId: peer.thread } });
    expect(await bindings(world)).toEqual(before);
  }
  await world.clock.advance(2_000);
  expect(world.telegram.calls.slice(calls)).toEqual([]);
});

/** Registers while Telegram takes so long to make a thread; the phases that this came to. */
async function registersIn(tookMs: number) {
  const world = await startLeader();
  let give: (outcome: CallOutcome) => void = () => undefined;
  world.telegram.answer("createForumTopic", () => new Promise((resolve) => (give = resolve)));
  const peer = await V1Peer.open(world);
  const registering = peer.register();
  await settled();
  await world.clock.advance(tookMs);
  give({ kind: "ok", result: { message_thread_id: 77 } });
  expect(await registering).toMatchObject({ ok: true });
  return world.log.filter(({ phase }) => phase === "follower-register-critical").map(({ fields }) => fields);
}

test("threads/S-24, FP-17: a registration that takes 1000 ms is told of, one of 999 ms is not", async () => {
  expect(await registersIn(999)).toEqual([]);
  expect(await registersIn(1_000)).toEqual([
    { elapsedMs: 1_000, instanceId: "2001:1", reused: false, chatId: owner, threadId: 77 },
  ]);
});

test("threads/S-25, T-55, FP-B1: a connected notice that fails is a line in the log: the follower sits all the same", async () => {
  const world = await startLeader();
  world.telegram.answer("sendMessage", () => ({ kind: "throttled", retryAfterMs: 31_000, error: limited }));
  const peer = await seated(world);
  await world.clock.advance(2_000);
  const said = world.log.filter(({ phase }) => phase === "thread-not-announced").map(({ fields }) => fields);
  expect(said).toEqual([{ thread: peer.thread, reason: limited.description }]);
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
  expect(made(world)).toBe(2);
});

test("threads/S-35: whoever gave up waiting while Telegram asked for a pause finds the thread of that attempt, and no other is made", async () => {
  const world = await startLeader();
  let isLimited = true;
  world.telegram.answer("createForumTopic", () =>
    isLimited
      ? { kind: "throttled", retryAfterMs: 31_000, error: limited }
      : { kind: "ok", result: { message_thread_id: 77 } },
  );
  const peer = await V1Peer.open(world);
  const first = peer.register();
  await world.clock.advance(30_500);
  isLimited = false;
  const second = peer.register();
  await world.clock.advance(1_000);
  for (const ack of [await first, await second]) expect(ack).toMatchObject({ ok: true, result: { threadId: 77 } });
  expect(made(world)).toBe(3); // the leader's own, the one put off, and the one that was made
  expect((await bindings(world)).map((each) => each.thread.target.threadId)).toContain(77);
});

test("threads/S-38, LP-11, OB-5, OB-8, TP-10: a leader that the store knows no thread of makes one, and says in it that it is connected", async () => {
  const world = await startLeader();
  await world.clock.advance(2_000);
  expect(world.telegram.calls.filter(({ method }) => /ForumTopic|^send/.test(method))).toMatchObject([
    { method: "createForumTopic", payload: { chat_id: owner } },
    { method: "sendMessage", payload: { chat_id: owner, text: expect.stringMatching(/connected/) as string } },
  ]);
});

test("threads/S-60, OP-1, LP-2, LP-9, LP-11, OB-6: the next process of a name has the thread of the one before, without a call or a word", async () => {
  const world = await startLeader({ prepare: ({ store }) => formerly(store) });
  await world.clock.advance(2_000);
  expect(world.instance.runtime.board.place?.thread?.target).toEqual(target);
  expect(world.telegram.calls.filter(({ method }) => /ForumTopic|^send/.test(method))).toEqual([]);
});

test("threads/S-41 superseded: an instruction for the thread of the very seat that starts again is taken back with its registration", async () => {
  const world = await startLeader({
    prepare: ({ store }) =>
      formerly(store, (epoch, seat) =>
        store.cleanups.intend({ epoch, seat, target, reason: "ended", atMs: 1, dueAtMs: 1 }),
      ),
  });
  await world.clock.advance(60_000);
  expect([made(world), deleted(world)]).toEqual([0, []]);
  expect((await world.store.cleanups.view()).cleanups).toEqual([]);
  // Nobody had to find out afterwards.
  expect(world.log.filter(({ phase }) => phase === "reconciliation.acted")).toEqual([]);
});

test("threads/S-41, LP-6 superseded: a deletion that was begun is brought to its end first, and the seat has a fresh thread after it", async () => {
  const world = await startLeader({
    prepare: ({ store }) =>
      formerly(store, async (epoch, seat) => {
        await store.cleanups.intend({ epoch, seat, target, reason: "left", atMs: 1, dueAtMs: 1 });
        await store.cleanups.begin({ epoch, target, seenDead: null });
      }),
  });
  await world.clock.advance(60_000);
  const calls = world.telegram.calls.flatMap(({ method }) => (method.endsWith("ForumTopic") ? [method] : []));
  expect(calls).toEqual(["deleteForumTopic", "createForumTopic"]);
  expect(deleted(world)).toEqual([leaders]);
  expect((await bindings(world)).map((each) => each.thread.target.threadId)).toEqual([
    world.instance.runtime.board.place?.thread?.target.threadId,
  ]);
});

test("threads/S-95, T-43: who leads no longer when a closing is to be written down writes nothing, and leaves the update to its successor", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const observe = world.store.cleanups.observe.bind(world.store.cleanups);
  let goOn: () => void = () => undefined;
  world.store.cleanups.observe = async (request) => {
    await new Promise<void>((resolve) => (goOn = resolve));
    return observe(request);
  };
  const message = { message_id: 5, date: 1, chat: { id: owner, type: "private" }, from: { id: owner, is_bot: false } };
  const closed = { ...message, message_thread_id: peer.thread, is_topic_message: true, forum_topic_closed: {} };
  world.telegram.give({ update_id: 5, ...{ message: closed } });
  await world.clock.advance(1_000);
  await lead(world.store, 2);
  const before = await world.store.cleanups.view();
  goOn();
  await world.clock.advance(2_000);
  expect(await world.store.cleanups.view()).toEqual(before);
  expect((await world.store.status.read()).journal).toMatchObject({ waiting: 1, deadLetters: 0 });
});

test("threads/S-108: a send that is put off is told, and one with an unknown outcome is not repeated: a request each", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  await world.clock.advance(2_000);
  const answers: CallOutcome[] = [
    { kind: "throttled", retryAfterMs: 31_000, error: limited },
    { kind: "ambiguous", reason: "502" },
  ];
  const before = world.telegram.of("sendMessage").length;
  world.telegram.answer("sendMessage", () => answers.shift() ?? { kind: "notSent", reason: "a third request" });
  const say = () => peer.call("sendMessage", { chat_id: owner, message_thread_id: peer.thread, text: "hi" });
  expect(await say()).toMatchObject({ ok: false, message: limited.description });
  expect(await say()).toMatchObject({ ok: false, error: { code: "commit-unknown", method: "sendMessage" } });
  await world.clock.advance(60_000);
  expect(world.telegram.of("sendMessage").length - before).toBe(2);
});

/** A follower leaves for good, and Telegram answers its thread's deletion like this, then with yes. */
async function leaves(...answers: CallOutcome[]) {
  const world = await startLeader();
  const peer = await seated(world);
  world.telegram.answer("deleteForumTopic", () => answers.shift() ?? { kind: "ok", result: true });
  return { world, peer, ack: await peer.disconnect() };
}
const lost: CallOutcome = { kind: "ambiguous", reason: "502" };
const limitedFor = (ms: number): CallOutcome => ({ kind: "throttled", retryAfterMs: ms, error: limited });

test("threads/S-109, CL-6: a deletion with an unknown outcome is asked for again until it is known: two losses, three requests", async () => {
  const { world, peer } = await leaves(lost, lost);
  await world.clock.advance(60_000);
  expect(deleted(world)).toEqual([peer.thread, peer.thread, peer.thread]);
  const view = await world.store.cleanups.view();
  expect([view.cleanups, view.bindings.map((each) => each.thread.target.threadId)]).toEqual([[], [41]]);
});

test("threads/S-110: a leader that stops while a deletion waits for its time stops at once, and asks no second time", async () => {
  const { world, peer } = await leaves(limitedFor(10_000));
  await world.clock.advance(1_000);
  world.instance.actor.send({ type: "instance.stop", leave: false });
  await world.clock.advance(2_000);
  expect(world.instance.actor.getSnapshot().status).toBe("done");
  await world.clock.advance(60_000);
  expect(deleted(world)).toEqual([peer.thread]);
});

test("threads/OP-44, CL-6, S-64: why a disconnect failed is in the log and with the instruction, not on the wire; the follower still sits", async () => {
  const { world, peer, ack } = await leaves(limitedFor(10_000));
  expect(ack).toMatchObject({ ok: false, message: wireText.handlerFailed });
  const failed = world.log.filter(({ phase }) => phase === "request-failed").map(({ fields }) => fields);
  const reason = expect.stringContaining(limited.description) as string;
  expect(failed).toMatchObject([{ kind: "follower.disconnect", reason }]);
  expect((await world.store.cleanups.view()).cleanups).toMatchObject([
    { target: thread(peer.thread), reason: "left", lastReason: reason },
  ]);
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
});

test("threads/OP-13, FP-7 superseded: two instances that ask for one seat at once are taken one after the other: each is answered for itself", async () => {
  const world = await startLeader();
  let give: (outcome: CallOutcome) => void = () => undefined;
  world.telegram.answer("createForumTopic", () => new Promise((resolve) => (give = resolve)));
  const one = await V1Peer.open(world);
  const two = await V1Peer.open(world, { pid: 2002, profileKey: "manual:owner-2001" });
  const acks = [one.register(), two.register()];
  await settled();
  give({ kind: "ok", result: { message_thread_id: 77 } });
  await world.clock.advance(2_000);
  for (const ack of acks) expect(await ack).toMatchObject({ ok: true, result: { threadId: 77 } });
  expect(made(world)).toBe(2);
  expect(await one.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(await two.heartbeat()).toMatchObject({ ok: true });
  const { holder } = (await bindings(world)).find((each) => each.thread.target.threadId === threadId(77)) ?? {};
  expect(holder).toBe(two.id);
});

test("threads/OP-40: thread 0 is no thread: nobody is registered with it, and nothing is asked about it", async () => {
  const world = await startLeader();
  const peer = await V1Peer.open(world);
  const ack = await peer.register({ target: thread(0) });
  expect(world.telegram.of("editForumTopic")).toEqual([]);
  expect(ack).toMatchObject({ ok: true, result: { threadId: 42 } });
});

test("threads/TP-5, FP-5: an instance that registers under another key has its thread under that one, without a call", async () => {
  const world = await startLeader();
  const peer = await seated(world, { profileKey: "manual:fallback" });
  await world.clock.advance(2_000);
  const calls = world.telegram.calls.length;
  expect(await peer.register({ profileKey: seatKey("manual:stable") })).toMatchObject({
    ok: true,
    result: { threadId: peer.thread },
  });
  await world.clock.advance(2_000);
  expect(world.telegram.calls.slice(calls)).toEqual([]);
  expect((await bindings(world)).flatMap(({ seat, holder }) => (holder === peer.id ? [seat] : []))).toEqual([
    "manual:stable",
  ]);
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
});

test("threads/FP-18: a registration is answered while the connected notice is still on its way", async () => {
  const world = await startLeader();
  world.telegram.answer("sendMessage", () => new Promise(() => undefined));
  const peer = await seated(world);
  expect(world.telegram.of("sendMessage").at(-1)?.payload).toMatchObject({ message_thread_id: peer.thread });
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
});

test("threads/CL-8 superseded: of a follower that leaves the log tells that it went and that its thread is deleted", async () => {
  const { world, peer, ack } = await leaves();
  expect(ack).toMatchObject({ ok: true });
  const told = world.log.filter(({ phase }) => phase === "seat.gone" || phase === "thread-deleted");
  expect(told.map(({ fields }) => fields)).toEqual([
    { thread: peer.thread },
    { seat: "manual:owner-2001", instanceId: peer.id, why: "left" },
  ]);
});

test("threads/CL-11, CL-12, CL-13, CL-14: a leader that leaves stops though its thread was not deleted, says so, and the instruction stays", async () => {
  const world = await startLeader();
  const own = world.instance.runtime.board.place?.thread?.target;
  world.telegram.answer("deleteForumTopic", () => lost);
  const facts: object[] = [];
  world.instance.actor.on("*", (fact) => void facts.push(fact));
  world.instance.actor.send({ type: "instance.stop", leave: true });
  await world.clock.advance(5_000);
  expect(world.instance.actor.getSnapshot().status).toBe("done");
  expect(world.instance.runtime.board.place).toBeNull();
  expect((await world.store.lease.read()).holder).toBeNull();
  expect(facts).toContainEqual({
    type: "instance.troubled",
    trouble: "thread",
    reason: expect.stringContaining("could not be deleted") as string,
  });
  expect((await world.store.cleanups.view()).cleanups).toMatchObject([{ target: own, reason: "left" }]);
});
