/** Which followers our leader takes for gone, and what becomes of their threads: silence, proof, the deadline. */
import { expect, test } from "vitest";
import { generation } from "../../../machines/ids.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { settled } from "../../support/wire/manual-clock.ts";
import { owner, seated, secret, startInstance, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const graceMs = 10_000;
const phases = (world: LeaderWorld) =>
  world.log.map(({ phase, fields }) => (typeof fields["why"] === "string" ? `${phase} ${fields["why"]}` : phase));
const deleted = (world: LeaderWorld) =>
  world.telegram.of("deleteForumTopic").map(({ payload }) => payload["message_thread_id"]);
const topicsMade = (world: LeaderWorld) => world.telegram.of("createForumTopic").length;

/** Answers to a method that are given when the test says so. */
function held(world: LeaderWorld, method: string) {
  const waiting: ((outcome: CallOutcome) => void)[] = [];
  world.telegram.answer(method, () => new Promise((resolve) => waiting.push(resolve)));
  return {
    count: () => waiting.length,
    give: async (outcome: CallOutcome = { kind: "ok", result: true }) => {
      waiting.shift()?.(outcome);
      await settled();
    },
  };
}

/** A follower that was seen alive when it registered, and has died without a word. */
async function dead(world: LeaderWorld) {
  const peer = await seated(world);
  world.processes.set(peer.pid, "dead");
  return peer;
}

test("protocol/S-92 of a silent and a fresh follower only the silent one is removed, and its thread kept", async () => {
  const world = await startLeader({ settings: { threadGraceMs: graceMs } });
  const silent = await seated(world);
  const fresh = await seated(world, { pid: 2002 });
  for (let second = 0; second < 7; second += 1) {
    expect(await fresh.heartbeat()).toMatchObject({ ok: true });
    await world.clock.advance(1_000);
  }
  expect(await silent.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(await fresh.heartbeat()).toMatchObject({ ok: true });
  expect(deleted(world)).toEqual([]);
  const { bindings } = await world.store.status.read();
  expect(bindings.map(({ thread }) => thread.target.threadId)).toContain(silent.thread);
});

test("protocol/S-93 superseded: silent and proven absent, its thread is deleted once, at the deadline, with exactly its target", async () => {
  const world = await startLeader({ settings: { threadGraceMs: graceMs } });
  const peer = await dead(world);
  await world.clock.advance(7_000);
  expect(phases(world)).toContain("seat.gone died");
  expect(deleted(world)).toEqual([]);
  await world.clock.advance(graceMs + 5_000);
  expect(world.telegram.of("deleteForumTopic")).toEqual([
    { method: "deleteForumTopic", payload: { chat_id: owner, message_thread_id: peer.thread } },
  ]);
  await world.clock.advance(graceMs);
  expect(deleted(world)).toHaveLength(1);
});

/** It tells neither a pid nor a birth. */
function registerUnproven(peer: V1Peer) {
  peer.generation = generation(peer.nextId());
  const { processBirthId: _birth, pid: _pid, ...registration } = peer.registration();
  return peer.send({ kind: "follower.register", requestId: peer.generation, auth: secret, registration });
}

test.each([
  ["alive", "alive", graceMs, ["seat.gone silent"]],
  ["of no pid that could be proven", null, graceMs, ["seat.gone silent", "seat.unprovable"]],
  ["dead, and threads are kept", "dead", null, ["seat.gone silent", "seat.gone died"]],
] as const)(
  "protocol/S-94 a silent follower that is %s is removed, its thread kept, and the log tells which it was",
  async (_, seen, threadGraceMs, said) => {
    const world = await startLeader({ settings: { threadGraceMs } });
    const peer = await V1Peer.open(world);
    expect(await (seen === null ? registerUnproven(peer) : peer.register())).toMatchObject({ ok: true });
    world.processes.set(peer.pid, seen ?? "alive");
    await world.clock.advance(3 * graceMs);
    expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
    expect(phases(world).filter((phase) => /gone|unprovable/.test(phase))).toEqual(said);
    expect(deleted(world)).toEqual([]);
  },
);

test("protocol/S-95, threads/S-75: a proof that is still being taken when the leadership ends deletes nothing, and no second one is begun meanwhile", async () => {
  const world = await startLeader({ settings: { threadGraceMs: graceMs } });
  await dead(world);
  const begin = world.store.cleanups.begin.bind(world.store.cleanups);
  const asked: (() => void)[] = [];
  world.store.cleanups.begin = async (request) => {
    await new Promise<void>((resolve) => asked.push(resolve));
    return begin(request);
  };
  await world.clock.advance(graceMs + 12_000);
  expect(asked).toHaveLength(1);
  world.instance.actor.send({ type: "instance.stop", leave: false });
  await world.clock.advance(3_000);
  for (const go of asked) go();
  await world.clock.advance(3_000);
  expect(deleted(world)).toEqual([]);
});

test("protocol/S-96 superseded: whoever registers while the deadline's deletion is under way waits for it, and gets another thread", async () => {
  const world = await startLeader({ settings: { threadGraceMs: graceMs } });
  const former = await dead(world);
  const deletion = held(world, "deleteForumTopic");
  await world.clock.advance(graceMs + 10_000);
  expect(deletion.count()).toBe(1);
  const made = topicsMade(world);
  const successor = await V1Peer.open(world, { pid: 2002, profileKey: "manual:owner-2001" });
  const answer: { ok: boolean | null } = { ok: null };
  const registering = successor.register().then((ack) => {
    answer.ok = ack.ok;
    return ack;
  });
  await world.clock.advance(1_000);
  expect(answer.ok).toBeNull();
  expect(topicsMade(world)).toBe(made);
  await deletion.give();
  await world.clock.advance(1_000);
  const ack = await registering;
  expect(ack).toMatchObject({ ok: true });
  expect((ack.result as { threadId: number }).threadId).not.toBe(former.thread); // a positive answer names a thread
  expect(topicsMade(world)).toBe(made + 1);
});

test("protocol/O-31 and P-33 a follower whose disconnect is being carried out is not pruned meanwhile: it is told that it has left", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const deletion = held(world, "deleteForumTopic");
  const leaving = peer.begin({ kind: "follower.disconnect", ...peer.base() });
  await world.clock.advance(20_000);
  expect(phases(world)).not.toContain("seat.gone silent");
  await deletion.give();
  expect(await leaving).toMatchObject({ ok: true });
});

test("protocol/O-45 a leadership that ends while silent followers are looked at has told of each of them", async () => {
  const world = await startLeader();
  const peers = [await seated(world), await seated(world, { pid: 2002 }), await seated(world, { pid: 2003 })];
  await world.clock.advance(5_500);
  world.instance.actor.send({ type: "instance.stop", leave: false });
  await world.clock.advance(3_000);
  const told = world.log.filter(({ phase }) => phase === "seat.gone").map(({ fields }) => fields["instanceId"]);
  expect(told.sort()).toEqual(peers.map(({ id }) => id));
});

test("protocol/S-97 and P-14 until the leader's own thread is settled nobody can connect; then they can", async () => {
  let give: (outcome: CallOutcome) => void = () => undefined;
  const topic = new Promise<CallOutcome>((resolve) => {
    give = resolve;
  });
  const world = await startInstance({
    prepare: ({ telegram }) => {
      telegram.answer("createForumTopic", () => topic);
    },
  });
  await world.clock.advance(5_000);
  expect(topicsMade(world)).toBe(1);
  const peer = await V1Peer.open(world);
  await expect(peer.begin({ kind: "follower.heartbeat", ...peer.base() })).rejects.toThrow(/ENOENT/);
  give({ kind: "ok", result: { message_thread_id: 41, name: "t" } });
  await world.clock.advance(100);
  world.telegram.answer("createForumTopic", null);
  expect(await peer.register()).toMatchObject({ ok: true });
});
