/** An instance of ours as a follower of a v1 leader: what it sends, what it refuses, what it does when it is not answered. */
import { expect, onTestFinished, test } from "vitest";
import { chatId, generation, seatKey, threadId, updateId } from "../../../machines/ids.ts";
import type { Ack } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { Holdings } from "../../../services/holdings.ts";
import { Inbox } from "../../../services/inbox.ts";
import type { Transport } from "../../../services/ports.ts";
import { createReceiver } from "../../../services/receiver.ts";
import type { Runtime } from "../../../services/runtime.ts";
import { settled } from "../../support/wire/manual-clock.ts";
import { owner, v1Protocol } from "../../support/wire/leader.ts";
import {
  deliveryOf,
  isRegistered,
  roleIn,
  startFollower,
  startInFleet,
  until,
  v1Thread,
  V1Leader,
} from "../../support/wire/follower.ts";
import type { FleetWorld } from "../../support/wire/follower.ts";

const journal = async ({ store }: FleetWorld) => (await store.status.read()).journal;
const texts = ({ handed }: FleetWorld) =>
  handed.map(({ update }) => (update as { message: { text: string } }).message.text); // forwarded messages
const accepted: Partial<Ack> = { protocol: v1Protocol, result: v1Thread };
const never = new Promise<Partial<Ack>>(() => undefined);

/** Holds the answers to one kind of request until they are given. */
function held(world: Pick<FleetWorld, "v1">, kind: string) {
  const waiting: ((ack: Partial<Ack>) => void)[] = [];
  world.v1.answer = (request) => (request.kind === kind ? new Promise((resolve) => waiting.push(resolve)) : null);
  return async (ack: Partial<Ack>) => {
    waiting.shift()?.(ack);
    await settled();
  };
}

test("protocol/S-75 a forward that overtakes our registration's answer is stale, and accepted when it comes again", async () => {
  const world = await startInFleet({ isServing: false });
  const give = held(world, "follower.register");
  await world.v1.serve();
  await until(world, () => world.v1.of("follower.register").length === 1);
  expect(await world.v1.forward(900)).toMatchObject({ ok: false, message: wireText.staleGeneration });
  expect(await journal(world)).toMatchObject({ waiting: 0, claimed: 0 });
  // The secret counts from the moment we ask, and no other one does.
  expect(await world.v1.forward(900, { auth: "x".repeat(43) })).toMatchObject({ message: wireText.unauthorized });
  await give(accepted);
  expect(await world.v1.forward(900)).toMatchObject({ ok: true, result: { sourceUpdateId: 900 } });
  await until(world, () => world.handed.length === 1);
  expect(texts(world)).toEqual(["m900"]);
});

test("protocol/§3.2 a leader may name our thread in an object of its own; slot and name stand beside it", async () => {
  const world = await startInFleet({ isServing: false });
  const { chatId, threadId, slot, threadName } = v1Thread;
  // What stands beside an object is no thread, even where it looks like one.
  const result = { target: { chatId, threadId }, chatId: 1, threadId: 1, slot, threadName };
  world.v1.answer = ({ kind }) => (kind === "follower.register" ? { protocol: v1Protocol, result } : null);
  await world.v1.serve();
  await until(world, () => isRegistered(world));
  expect(world.instance.runtime.board.place?.thread).toEqual({ target: { chatId, threadId }, slot, threadName });
});

test("protocol/§3.2 and §6.4.5 a yes without a result registers us: one registration, heartbeats under it, and a thread whenever the leader gives one", async () => {
  const world = await startInFleet({ isServing: false });
  world.v1.answer = ({ kind }) => (kind === "follower.register" ? { protocol: v1Protocol } : null);
  const threads: unknown[] = [];
  world.instance.actor.on("instance.ready", ({ thread }) => threads.push(thread?.target));
  await world.v1.serve();
  await until(world, () => world.v1.of("follower.heartbeat").length === 3);
  expect(world.v1.of("follower.register")).toHaveLength(1);
  expect(threads).toEqual([]);
  expect(await world.instance.call({ method: "sendMessage", body: { text: "x" } })).toMatchObject({ kind: "rejected" });
  const { instanceId: me, registrationGeneration = generation("") } = world.v1.registration;
  const given = await world.v1.send({
    kind: "leader.replaceFollowerTarget",
    requestId: world.v1.nextId(),
    auth: world.v1.secret,
    recipientInstanceId: me,
    recipientRegistrationGeneration: registrationGeneration,
    target: { chatId: chatId(v1Thread.chatId), threadId: threadId(v1Thread.threadId) },
    reason: "thread-restore",
    sentAtMs: world.clock.nowMs(),
  });
  expect(given).toMatchObject({ ok: true });
  expect(threads).toEqual([{ chatId: v1Thread.chatId, threadId: v1Thread.threadId }]);
  expect(world.v1.of("follower.register")).toHaveLength(1);
});

test("protocol/P-24 a follower whose registration was refused serves nobody any more", async () => {
  const world = await startInFleet({ isServing: false });
  world.v1.answer = ({ kind }) =>
    kind === "follower.register" ? { ok: false, message: "no", protocol: v1Protocol } : null;
  await world.v1.serve();
  await until(world, () => world.v1.of("follower.register").length === 1);
  await expect(world.v1.forward(900)).rejects.toThrow(/ECONNREFUSED|ENOENT/);
});

test("protocol/S-81, S-82 and P-43 a late forward of an earlier generation is stale, one for another seat or of another digest is refused: none is admitted", async () => {
  const world = await startFollower();
  const { profileKey = seatKey(""), registrationGeneration = generation("") } = world.v1.registration;
  await world.v1.close();
  await until(world, () => !isRegistered(world));
  await world.v1.serve();
  await until(world, () => isRegistered(world));
  expect(world.v1.registration.registrationGeneration).not.toBe(registrationGeneration);
  const refusals = [
    [{ recipientRegistrationGeneration: registrationGeneration }, wireText.staleGeneration],
    [{ delivery: deliveryOf(seatKey("manual:another"), updateId(900)) }, wireText.deliveryIdentityMismatch],
    [
      { delivery: { ...deliveryOf(profileKey, updateId(901)), sourceUpdateId: updateId(900) } },
      wireText.invalidDeliveryId,
    ],
    [{ delivery: deliveryOf(profileKey, updateId(901)) }, wireText.sourceUpdateIdMismatch],
  ] as const;
  for (const [differs, message] of refusals)
    expect(await world.v1.forward(900, differs)).toMatchObject({ ok: false, message });
  expect(await journal(world)).toMatchObject({ waiting: 0, claimed: 0 });
  expect(await world.v1.forward(900)).toMatchObject({ ok: true });
  await until(world, () => world.handed.length > 0);
  expect(texts(world)).toEqual(["m900"]);
});

test("protocol/§3.5 of what is wrong with a forward the first is told: addressee, generation, then that there is no place, whatever it holds", async () => {
  const world = await startFollower();
  const { v1, instance } = world;
  await until(world, () => v1.of("follower.heartbeat").length > 0);
  instance.runtime.board.place = null;
  const wrong = { delivery: deliveryOf(seatKey("other"), updateId(900)) };
  const said = async (differs: Parameters<typeof v1.forward>[1]) =>
    (await v1.forward(901, { ...wrong, ...differs })).message;
  expect(await said({ recipientInstanceId: v1.id })).toBe(wireText.receiverCannotHandle);
  expect(await said({ recipientRegistrationGeneration: generation("g") })).toBe(wireText.staleGeneration);
  expect(await said({})).toBe(wireText.noActiveContext);
});

test("protocol/S-83 a full journal is refused in these words, without a receipt; with room the same forward is taken", async () => {
  const world = await startFollower();
  const adopt = world.store.work.adopt.bind(world.store.work);
  world.store.work.adopt = () => Promise.resolve({ kind: "full" });
  const ack = await world.v1.forward(900);
  expect(ack).toEqual({
    kind: "bus.ack",
    requestId: ack.requestId,
    ok: false,
    message: "The journal of the follower is full.",
  });
  expect(texts(world)).toEqual([]);
  world.store.work.adopt = adopt;
  expect(await world.v1.forward(900)).toMatchObject({ ok: true, result: { sourceUpdateId: 900 } });
  await until(world, () => world.handed.length > 0);
  expect(texts(world)).toEqual(["m900"]);
});

test("protocol/S-54, HB-2 and P-35 stopped while a heartbeat is under way, it takes no notice of the late answer and beats no more", async () => {
  const world = await startFollower();
  const { board } = world.instance.runtime;
  const give = held(world, "follower.heartbeat");
  const before = world.v1.of("follower.heartbeat").length;
  await until(world, () => world.v1.of("follower.heartbeat").length > before);
  const { roster } = board;
  world.instance.actor.send({ type: "instance.stop", leave: false });
  await give({ ok: true, result: { eligibleElectionSlots: ["A", "Q"] } });
  await world.clock.advance(10_000);
  expect(board.roster).toEqual(roster);
  expect(world.v1.of("follower.heartbeat")).toHaveLength(before + 1);
  expect(world.instance.actor.getSnapshot().status).toBe("done");
});

test("protocol/HB-1 and P-36 beats right after it registered and every second, one at a time: a slow answer delays the next", async () => {
  const world = await startFollower();
  await settled();
  expect(world.v1.of("follower.heartbeat")).toHaveLength(1);
  await world.clock.advance(3_000);
  expect(world.v1.of("follower.heartbeat")).toHaveLength(4);
  const give = held(world, "follower.heartbeat");
  await world.clock.advance(1_900);
  expect(world.v1.of("follower.heartbeat")).toHaveLength(5);
  await give({ ok: true, result: {} });
  await world.clock.advance(1_000);
  expect(world.v1.of("follower.heartbeat")).toHaveLength(6);
});

test("protocol/S-87 a send whose answer is lost is told as ambiguous and made once", async () => {
  const world = await startFollower();
  world.v1.answer = ({ kind }) => (kind === "follower.callApi" ? never : null);
  const outcome = world.instance.call({ method: "sendMessage", body: { text: "x" } });
  await world.clock.advance(31_000);
  expect(await outcome).toMatchObject({ kind: "ambiguous" });
  await world.clock.advance(12_000);
  expect(world.v1.of("follower.callApi")).toHaveLength(1);
});

test("protocol/O-32 a stop that leaves nothing sends nothing: the v1 leader prunes us, and keeps the thread", async () => {
  const world = await startFollower();
  const kinds = () => new Set(world.v1.received.map(({ kind }) => kind));
  world.instance.actor.send({ type: "instance.stop", leave: false });
  await world.clock.advance(2_000);
  expect(world.instance.actor.getSnapshot().status).toBe("done");
  expect(kinds()).toEqual(new Set(["follower.register", "follower.heartbeat"]));
});

test("protocol/O-30 between the disconnect and its answer no heartbeat is sent, and a refused one starts no recovery", async () => {
  const world = await startFollower();
  const give = held(world, "follower.disconnect");
  world.instance.actor.send({ type: "instance.stop", leave: true });
  await settled();
  expect(world.v1.of("follower.disconnect")).toHaveLength(1);
  const before = world.v1.received.length;
  await world.clock.advance(900);
  expect(world.v1.received).toHaveLength(before);
  await give({ ok: true });
  await world.clock.advance(5_000);
  expect(world.v1.of("follower.register")).toHaveLength(1);
  expect(world.instance.actor.getSnapshot().status).toBe("done");
});

test("protocol/O-29 after a lost election the whole binding is carried: thread, slot and name", async () => {
  const world = await startFollower();
  const rival = new V1Leader(world, 3000);
  await world.v1.close();
  world.owners.alive.delete(world.v1.pid);
  // Faster than ours: the record is the rival's when ours stands.
  world.owners.alive.add(rival.pid);
  world.owners.record = rival.record;
  await rival.serve();
  await until(world, () => rival.of("follower.register").length === 1);
  expect(rival.registration).toMatchObject({
    target: { chatId: owner, threadId: 42 },
    slot: "B",
    threadName: "Beryl",
  });
  expect(roleIn(world)).toBe("follower");
});

test("protocol/S-51 a retry that finds no way is armed again, and registers once there is one", async () => {
  const world = await startFollower();
  await world.v1.close();
  await world.clock.advance(12_000);
  expect(isRegistered(world)).toBe(false);
  await world.v1.serve();
  await until(world, () => isRegistered(world));
  expect(world.v1.of("follower.register")).toHaveLength(2);
});

test("protocol/S-74 superseded: a live v1 owner without an endpoint is waited for, nothing is taken from it, and nobody is offered to", async () => {
  const world = await startInFleet({ isServing: false });
  await world.clock.advance(12_000);
  expect(world.owners.writes).toEqual([]);
  expect(world.owners.record?.pid).toBe(world.v1.pid);
  await world.v1.serve();
  await until(world, () => isRegistered(world));
});

test("a registration of which a frame was lost is sent again, byte for byte, without waiting for its whole time", async () => {
  const world = await startInFleet({ isServing: false });
  const lines: string[] = [];
  world.network.setFate(({ line, kind }) => {
    if (kind !== "request" || !line.includes("follower.register")) return { kind: "deliver" };
    lines.push(line);
    return { kind: lines.length === 1 ? "drop" : "deliver" };
  });
  await world.v1.serve();
  await until(world, () => isRegistered(world));
  expect(world.v1.of("follower.register")).toHaveLength(1);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toBe(lines[0]);
});

test("protocol/S-12 a thread that takes 20 s is waited for under one generation, with one registration at the leader", async () => {
  const world = await startInFleet({ isServing: false });
  const give = held(world, "follower.register");
  await world.v1.serve();
  await until(world, () => world.v1.of("follower.register").length === 1);
  await world.clock.advance(20_000);
  expect(world.v1.of("follower.register")).toHaveLength(1);
  await give(accepted);
  await until(world, () => isRegistered(world));
});

test("protocol/O-46 two that ask for our endpoint at once share one start, and both get it once it is there", async () => {
  const { instance } = await startFollower();
  const { runtime } = instance;
  const { transport } = runtime.ports;
  const opening: (() => void)[] = [];
  const listen: Transport["listen"] = async (request) => {
    await new Promise<void>((resolve) => opening.push(resolve));
    return transport.listen({ ...request, address: `${request.address}/again` });
  };
  const apart: Runtime = { ...runtime, ports: { ...runtime.ports, transport: { ...transport, listen } } };
  const hand = { holdings: new Holdings(apart), isFlowing: () => true };
  const receiver = createReceiver(apart, new Inbox(apart, hand, () => undefined), () => true);
  onTestFinished(() => receiver.close());
  const told: string[] = [];
  const both = [receiver.ensure(), receiver.ensure()].map((each) => each.then((address) => told.push(address)));
  await settled();
  expect(opening).toHaveLength(1);
  expect(told).toEqual([]);
  opening[0]?.();
  await Promise.all(both);
  expect(new Set(told).size).toBe(1);
  expect(told).toHaveLength(2);
  expect(opening).toHaveLength(1);
});

test("protocol/A-2 the secret is that of the record we register by, for all that we ask and for our own endpoint, until we register by another", async () => {
  const world = await startFollower();
  const { v1, owners } = world;
  // A v1 leader takes note of nothing that has another secret.
  await until(world, () => v1.of("follower.heartbeat").length > 1);
  expect(await v1.forward(901)).toMatchObject({ ok: true });

  await v1.close();
  const next = new V1Leader(world, 2050);
  owners.alive.delete(v1.pid);
  owners.alive.add(next.pid);
  owners.record = next.record;
  await next.serve();
  await until(world, () => next.of("follower.heartbeat").length > 0);
  expect(await next.forward(902, { auth: v1.secret })).toMatchObject({ ok: false, message: wireText.unauthorized });
  expect(await next.forward(902)).toMatchObject({ ok: true });
});
