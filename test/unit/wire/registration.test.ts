/** How v1 followers come and go at our leader: one at a time for each seat, fenced by generation and epoch. */
import { expect, test } from "vitest";
import { generation, instanceId } from "../../../machines/ids.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { settled } from "../../support/wire/manual-clock.ts";
import { owner, seated, secret, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

/** Holds the answer to a method until it is given. */
function held(world: LeaderWorld, method: string) {
  const waiting: ((outcome: CallOutcome) => void)[] = [];
  world.telegram.answer(method, () => new Promise((resolve) => waiting.push(resolve)));
  return {
    count: () => waiting.length,
    give: async (outcome: CallOutcome) => {
      waiting.shift()?.(outcome);
      await settled();
    },
  };
}

/** A registration under way; `ack` resolves with its answer. */
function registering(peer: V1Peer) {
  const requestId = peer.nextId();
  const fresh = generation(requestId);
  const ack = peer
    .begin({
      kind: "follower.register",
      requestId,
      auth: secret,
      registration: peer.registration({ registrationGeneration: fresh }),
    })
    .then((answer) => {
      if (answer.ok) peer.generation = fresh;
      return answer;
    });
  return { ack };
}

const thread = (id: number): CallOutcome => ({ kind: "ok", result: { message_thread_id: id, name: "t" } });
const ok: CallOutcome = { kind: "ok", result: true };
const threadsMade = (world: LeaderWorld) => world.telegram.of("createForumTopic").length - 1; // the leader's own

test("protocol/S-26, threads/CL-3: a registration without a generation is refused and nobody sits; a disconnect without one is stale, nothing is deleted", async () => {
  const world = await startLeader();
  const peer = await V1Peer.open(world);
  expect(await peer.register({ registrationGeneration: generation("") })).toMatchObject({
    ok: false,
    message: wireText.registrationNeedsGeneration,
    protocol: { protocolVersion: 1 },
  });
  expect(threadsMade(world)).toBe(0);
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });

  const sitting = await seated(world, { pid: 2002 });
  const { registrationGeneration: _none, ...base } = sitting.base();
  expect(await sitting.send({ kind: "follower.disconnect", ...base })).toMatchObject({
    ok: false,
    message: wireText.staleGeneration,
  });
  expect(world.telegram.of("deleteForumTopic")).toEqual([]);
  expect(await sitting.heartbeat()).toMatchObject({ ok: true });
});

test("protocol/S-27, threads/S-23: a follower whose thread took 20 s is alive from then on, not from when it asked", async () => {
  const world = await startLeader();
  const topic = held(world, "createForumTopic");
  const peer = await V1Peer.open(world);
  const { ack } = registering(peer);
  await settled();
  await world.clock.advance(20_000);
  expect(topic.count()).toBe(1);
  await topic.give(thread(77));
  expect(await ack).toMatchObject({ ok: true, result: { threadId: 77 } });
  await world.clock.advance(4_900);
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
});

test("protocol/S-28: a leader that lost its epoch while the thread was made refuses in these words, and nobody sits", async () => {
  const world = await startLeader();
  const topic = held(world, "createForumTopic");
  const peer = await V1Peer.open(world);
  const { ack } = registering(peer);
  await settled();
  const record = await world.store.lease.read();
  if (record.holder === null) throw new Error("nobody leads");
  const rival = { ...record.holder, instanceId: instanceId("9:9") };
  const { epoch, renewals } = record;
  await world.store.lease.acquire({
    me: rival,
    expected: { epoch, renewals },
    evidence: "holderGone",
    durationMs: 6_000,
  });
  await topic.give(thread(77));
  expect(await ack).toMatchObject({ ok: false, message: wireText.registrationLostOwnership });
  const { bindings, registrations } = await world.store.status.read();
  expect(bindings.map(({ seat }) => seat)).not.toContain("manual:owner-2001");
  expect(registrations.map((each) => each.instanceId)).not.toContain(peer.id);
});

test("protocol/S-29, threads/OP-17 and TP-10: a thread whose making had an unknown outcome: the reason is the answer, nobody sits, and no second one is made", async () => {
  const world = await startLeader();
  world.telegram.answer("createForumTopic", () => ({ kind: "ambiguous", reason: "the connection broke" }));
  const peer = await V1Peer.open(world);
  const ack = await peer.register();
  expect(ack).toMatchObject({ ok: false, message: expect.stringContaining("the connection broke") as string });
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
  world.telegram.answer("createForumTopic", null);
  expect(await peer.register()).toMatchObject({ ok: false });
  expect(threadsMade(world)).toBe(1);
});

test("protocol/S-30: who registers while the former one's thread is being deleted waits for that, and then sits under its own generation", async () => {
  const world = await startLeader();
  const former = await seated(world);
  const deletion = held(world, "deleteForumTopic");
  const leaving = former.begin({ kind: "follower.disconnect", ...former.base() });
  await settled();
  expect(deletion.count()).toBe(1);
  const successor = await V1Peer.open(world, { pid: 2002, profileKey: "manual:owner-2001" });
  const { ack } = registering(successor);
  await settled();
  expect(threadsMade(world)).toBe(1);
  await deletion.give(ok);
  expect(await leaving).toMatchObject({ ok: true });
  const answer = await ack;
  expect(answer).toMatchObject({ ok: true });
  expect((answer.result as { threadId: number }).threadId).not.toBe(former.thread); // a positive answer names a thread
  expect(await former.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(await successor.heartbeat()).toMatchObject({ ok: true });
});

test("protocol/S-31 and O-39, threads/S-20: two registrations of one seat at once are both answered, one after the other, with one thread", async () => {
  const world = await startLeader();
  const topic = held(world, "createForumTopic");
  const peer = await V1Peer.open(world);
  const both = [registering(peer), registering(peer)].map(({ ack }) => ack);
  await settled();
  expect(topic.count()).toBe(1);
  await topic.give(thread(77));
  for (const ack of await Promise.all(both)) expect(ack).toMatchObject({ ok: true, result: { threadId: 77 } });
  expect(threadsMade(world)).toBe(1);
});

test("protocol/S-32: another instance with the seat's key takes its place; the former one is unknown", async () => {
  const world = await startLeader();
  const former = await seated(world);
  const successor = await seated(world, { pid: 2002, profileKey: "manual:owner-2001" });
  expect(successor.thread).toBe(former.thread);
  expect(await former.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(await successor.heartbeat()).toMatchObject({ ok: true });
});

test("protocol/O-22, updates/OP-49, threads/OP-34: silence of 5000 ms is suspicious, and not a moment less", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  await world.clock.advance(4_999);
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
  await world.clock.advance(5_001);
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
});

test("protocol/O-5, threads/OP-43: who registers again, after almost too long a silence, has just been heard of", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  await world.clock.advance(4_900);
  expect(await peer.register()).toMatchObject({ ok: true });
  await world.clock.advance(4_900);
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
});

test("protocol/S-40, threads/ST-8: whoever changes what they sent or were answered changes nothing of what the leader knows", async () => {
  const world = await startLeader();
  const peer = await V1Peer.open(world);
  const sent = peer.registration({ registrationGeneration: generation("g") });
  const ack = await peer.send({ kind: "follower.register", requestId: "g", auth: secret, registration: sent });
  peer.generation = generation("g");
  const answered = ack.result as { threadId: number; threadName: string }; // a positive answer names a thread
  const { threadId, threadName } = answered;
  Object.assign(answered, { threadId: 1, threadName: "other", chatId: 1 });
  Object.assign(sent, { registrationGeneration: "other", instanceId: "other" });
  Object.assign(sent.protocol ?? {}, { capabilities: [] });
  const { registrations } = await world.store.status.read();
  for (const each of registrations) Object.assign(each.thread?.target ?? {}, { threadId: 1 });

  expect(await peer.heartbeat()).toMatchObject({ ok: true });
  const asker = await seated(world, { pid: 2002 });
  const { sentAtMs, ...base } = asker.base();
  const found = await asker.send({
    kind: "follower.resolveAgentTarget",
    ...base,
    sentAtMs,
    selector: { threadName },
  });
  expect(found).toMatchObject({ ok: true, result: { chatId: owner, threadId } });
  const again = (await world.store.status.read()).registrations.find(({ instanceId: who }) => who === peer.id);
  expect(again?.thread?.target.threadId).toBe(threadId);
});

test("protocol/W-21: two that ask the same seat under one request id at the same time are each answered for themselves", async () => {
  const world = await startLeader();
  const former = await seated(world);
  const deletion = held(world, "deleteForumTopic");
  const requestId = former.nextId();
  const leaving = former.begin({ kind: "follower.disconnect", ...former.base(), requestId });
  await settled();
  const next = await V1Peer.open(world, { pid: 2002, profileKey: "manual:owner-2001" });
  const registration = next.registration({ registrationGeneration: generation("g") });
  const coming = next.begin({ kind: "follower.register", requestId, auth: secret, registration });
  await settled();
  await deletion.give(ok);
  await world.clock.advance(2_000);
  expect(await leaving).toEqual({ kind: "bus.ack", requestId, ok: true });
  expect(await coming).toMatchObject({ requestId, ok: true, result: { chatId: owner } });
});

test("threads/OP-6: the roster of a v1 peer has no slot of two letters, that of one of ours has them in their order", async () => {
  const world = await startLeader();
  const peers = [];
  for (let pid = 2001; pid <= 2027; pid += 1) peers.push(await seated(world, { pid }));
  const own = await seated(world, { pid: 3001, isOwn: true });
  const letters = "BCDEFGHIJKLMNOPQRSTUVWXYZ".split("");
  // The leader has A.
  expect(await peers[0]?.heartbeat()).toMatchObject({ ok: true, result: { eligibleElectionSlots: letters } });
  expect(await own.heartbeat()).toMatchObject({
    ok: true,
    result: { eligibleElectionSlots: [...letters, "AA", "AB", "AC"] },
  });
});

test("protocol/S-41: the heartbeat of nobody is refused, and of a replaced generation stale", async () => {
  const world = await startLeader();
  const stranger = await V1Peer.open(world);
  expect(await stranger.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
  const peer = await seated(world, { pid: 2002 });
  const before = peer.generation;
  await peer.register();
  peer.generation = before;
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.staleGeneration });
});
