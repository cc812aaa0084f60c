/**
 * Which thread a v1 follower gets that brings one along, or comes back as another instance: the very one, once it is proven
 * to exist (`editForumTopic` without a change), and a fresh one only when it is proven gone.
 */
import { expect, test } from "vitest";
import { chatId, instanceId, seatKey, threadId } from "../../../machines/ids.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { owner, seated, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const seat = "manual:owner-2001";
const thread = (id: number) => ({ chatId: chatId(owner), threadId: threadId(id) });

/** Calls of a kind, about one thread. */
const made = (world: LeaderWorld, method: string, id: number) =>
  world.telegram.of(method).filter(({ payload }) => payload["message_thread_id"] === id).length;
const created = (world: LeaderWorld) => world.telegram.of("createForumTopic").length - 1; // the leader's own
const bindingOf = async (world: LeaderWorld, of = seat) =>
  (await world.store.status.read()).bindings.find((each) => each.seat === of) ?? null;
const answered = (id: number) => ({ ok: true, result: { chatId: owner, threadId: id } });

/** A registration that waits for Telegram: time passes until it is answered. */
async function registered(world: LeaderWorld, peer: V1Peer, differs: Parameters<V1Peer["register"]>[0] = {}) {
  const ack = peer.register(differs);
  await world.clock.advance(2_000);
  return ack;
}

/** What a fleet looks like a while after one of it was given a thread: the notice of it has been sent. */
async function settledPeer(world: LeaderWorld, profileKey: string) {
  const former = await seated(world, { profileKey });
  await world.clock.advance(2_000);
  expect(made(world, "sendMessage", former.thread)).toBe(1);
  return former;
}

const gone: CallOutcome = {
  kind: "rejected",
  error: { error_code: 400, description: "Bad Request: message thread not found" },
};
const unclear: CallOutcome = { kind: "ambiguous", reason: "the connection broke" };

test("protocol/S-34: a follower whose seat gets another key, and that says whom it goes on for, keeps its thread; the former entry is gone", async () => {
  const world = await startLeader();
  const former = await settledPeer(world, "cwd:/srv/peer");
  const next = await V1Peer.open(world, { pid: 2002, profileKey: seat });
  const brings = { previousInstanceId: former.id, target: thread(former.thread) };
  expect(await registered(world, next, brings)).toMatchObject(answered(former.thread));
  expect(created(world)).toBe(1);
  expect((await bindingOf(world))?.thread.target.threadId).toBe(former.thread);
  expect(await bindingOf(world, "cwd:/srv/peer")).toBeNull();
  expect(await next.heartbeat()).toMatchObject({ ok: true });
  expect(await former.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
});

test("protocol/S-35, SR-6: an exact session handoff is proven by a look that nobody sees (editForumTopic), with one connected notice in all", async () => {
  const world = await startLeader();
  const former = await settledPeer(world, seat);
  const next = await V1Peer.open(world, { pid: 2002, profileKey: seat });
  const brings = { previousInstanceId: former.id, target: thread(former.thread) };
  expect(await registered(world, next, brings)).toMatchObject(answered(former.thread));
  await world.clock.advance(2_000);
  expect(made(world, "editForumTopic", former.thread)).toBe(1);
  expect(made(world, "sendMessage", former.thread)).toBe(1);
  expect(made(world, "sendChatAction", former.thread)).toBe(0);
  expect(created(world)).toBe(1);
});

test("protocol/S-36: another instance of the seat that names nobody gets the thread once it is proven (editForumTopic), and a notice of its own", async () => {
  const world = await startLeader();
  const former = await settledPeer(world, seat);
  const next = await V1Peer.open(world, { pid: 2002, profileKey: seat });
  expect(await registered(world, next)).toMatchObject(answered(former.thread));
  await world.clock.advance(2_000);
  expect(made(world, "editForumTopic", former.thread)).toBe(1);
  expect(made(world, "sendMessage", former.thread)).toBe(2);
  expect(created(world)).toBe(1);
  const registration = (await world.store.status.read()).registrations.find((each) => each.seat === seat);
  expect(registration?.instanceId).toBe(instanceId("2002:1"));
});

test("protocol/S-37: a thread that the look proves gone is replaced by a new one; its notice does not hold the answer up", async () => {
  const world = await startLeader();
  const former = await settledPeer(world, seat);
  world.telegram.answer("editForumTopic", () => gone);
  const notices: ((outcome: CallOutcome) => void)[] = [];
  world.telegram.answer("sendMessage", () => new Promise((resolve) => notices.push(resolve)));
  const next = await V1Peer.open(world, { pid: 2002, profileKey: seat });
  const ack = await registered(world, next);
  const fresh = (ack.result as { threadId: number }).threadId; // a positive answer names a thread
  expect(ack.ok).toBe(true);
  expect(fresh).not.toBe(former.thread);
  expect(notices).toHaveLength(1);
  expect(made(world, "sendMessage", fresh)).toBe(1);
  expect((await bindingOf(world))?.thread.target.threadId).toBe(fresh);
});

test("protocol/S-38: a carried thread that nobody knows, and whose look was lost, is looked at again at the next try, and is the follower's then", async () => {
  const world = await startLeader();
  world.telegram.answer("editForumTopic", () => unclear);
  const peer = await V1Peer.open(world);
  const refused = await registered(world, peer, { target: thread(333) });
  expect(refused).toMatchObject({ ok: false, message: expect.stringContaining("the connection broke") as string });
  expect(created(world)).toBe(0);
  expect(await bindingOf(world)).toMatchObject({ standing: "suspect", thread: { target: thread(333) } });
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });

  world.telegram.answer("editForumTopic", null);
  expect(await registered(world, peer)).toMatchObject(answered(333));
  expect(made(world, "editForumTopic", 333)).toBe(2);
  expect(created(world)).toBe(0);
  expect(await bindingOf(world)).toMatchObject({ standing: "open", thread: { target: thread(333) } });
});

test("protocol/S-39: while a carried thread that nobody knows is being looked at, nobody has it", async () => {
  const world = await startLeader();
  const looks: ((outcome: CallOutcome) => void)[] = [];
  world.telegram.answer("editForumTopic", () => new Promise((resolve) => looks.push(resolve)));
  const peer = await V1Peer.open(world);
  const asked = peer.register({ target: thread(333) });
  await world.clock.advance(2_000);
  expect(looks).toHaveLength(1);
  const open = (await world.store.status.read()).bindings.filter(({ standing }) => standing === "open");
  expect(open.map((each) => each.thread.target.threadId)).not.toContain(333);
  expect((await world.store.status.read()).registrations.map((each) => each.seat)).not.toContain(seatKey(seat));
  looks[0]?.({ kind: "ok", result: true });
  await world.clock.advance(100);
  expect(await asked).toMatchObject(answered(333));
  expect(await bindingOf(world)).toMatchObject({ standing: "open" });
});

test("protocol/O-6: who registers again while its lost thread is being replaced is neither reverted nor locked out: it gets the new thread, under its own generation", async () => {
  const world = await startLeader();
  const peer = await settledPeer(world, seat);
  const former = peer.generation;
  const topics: ((outcome: CallOutcome) => void)[] = [];
  world.telegram.answer("sendMessage", () => gone);
  world.telegram.answer("createForumTopic", () => new Promise((resolve) => topics.push(resolve)));
  const said = peer.begin({
    kind: "follower.callApi",
    ...peer.base(),
    method: "call",
    args: ["sendMessage", { chat_id: owner, message_thread_id: peer.thread, text: "x" }],
  });
  await world.clock.advance(2_000);
  expect(topics).toHaveLength(1);
  world.telegram.answer("sendMessage", null);
  const again = peer.register();
  await world.clock.advance(100);
  topics[0]?.({ kind: "ok", result: { message_thread_id: 333, name: "t" } });
  await world.clock.advance(2_000);
  expect(await again).toMatchObject(answered(333));
  await said;
  expect(peer.generation).not.toBe(former);
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
  expect(await bindingOf(world)).toMatchObject({ thread: { target: thread(333) } });
  // What was told of the move was told to the registration that it was for.
  const moves = peer.received.flatMap((each) => (each.kind === "leader.replaceFollowerTarget" ? [each] : []));
  for (const move of moves)
    expect(move).toMatchObject({ recipientRegistrationGeneration: former, target: thread(333) });
  peer.generation = former;
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.staleGeneration });
});
