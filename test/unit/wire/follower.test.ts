/** Our follower at a leader that a test scripts: registering, beating, and what becomes of it when something goes wrong. */
import { expect, test } from "vitest";
import { capability } from "../../../machines/wire/constants.ts";
import type { Ack } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { isJoined, startFollower } from "../../support/wire/own-follower.ts";
import type { FollowerWorld, LeaderAnswer } from "../../support/wire/own-follower.ts";
import { owner, v1Protocol } from "../../support/wire/leader.ts";
import { settled } from "../../support/wire/manual-clock.ts";

/** Answers to one kind of request; the rest is as usual. */
const answering =
  (kind: string, answer: LeaderAnswer): LeaderAnswer =>
  (request) =>
    request.kind === kind ? answer(request) : {};

const generations = ({ leader }: FollowerWorld) =>
  leader.of("follower.register").map(({ registration }) => registration.registrationGeneration);

test("protocol/S-11: a registration that finds no leader's endpoint is tried again until it is there", async () => {
  const world = await startFollower({ isLeaderLate: true });
  await world.clock.advance(700);
  expect(isJoined(world)).toBe(false);
  await world.leader.open();
  await world.clock.advance(2_500);
  expect(isJoined(world)).toBe(true);
  expect(world.leader.of("follower.register")).toHaveLength(1);
});

test("protocol/S-12: a leader that needs longer for the thread than for anything else is waited for", async () => {
  const slow: { answer: (ack: Partial<Ack>) => void } = { answer: () => undefined };
  const world = await startFollower({
    answer: answering("follower.register", () => new Promise((resolve) => (slow.answer = resolve))),
  });
  await world.clock.advance(29_000);
  expect(world.leader.of("follower.register")).toHaveLength(1);
  slow.answer({});
  await settled();
  expect(isJoined(world)).toBe(true);
});

test.each([
  ["without an identity", {}, "missing-identity"],
  [
    "of a leader without durable admission",
    { protocol: { ...v1Protocol, capabilities: [capability.queueHandoff] } },
    "missing-capability",
  ],
  ["of a leader of version 2", { protocol: { ...v1Protocol, protocolVersion: 2 } }, "version-mismatch"],
] as const)(
  "protocol/S-23: a positive answer %s is no registration: the reason is told, and nobody can reach us",
  async (_, said, reason) => {
    const world = await startFollower({
      answer: (request) => (request.kind === "follower.register" ? { protocol: undefined, ...said } : {}),
    });
    await world.clock.advance(1);
    expect(isJoined(world)).toBe(false);
    expect(world.instance.runtime.board.leader).toBeNull();
    expect(world.troubles).toContain(`Incompatible Telegram bus leader protocol: ${reason}.`);
    await expect(world.leader.forward(900)).rejects.toThrow(/ECONNREFUSED|ENOENT/);
    expect(world.handed).toEqual([]);
    expect(world.leader.of("follower.heartbeat")).toEqual([]);
  },
);

test("protocol/S-33: whoever lost its registration registers again under a fresh generation, with its last thread, slot and name", async () => {
  const world = await startFollower();
  expect(world.leader.registration).not.toHaveProperty("target");
  world.leader.answer = answering("follower.heartbeat", () => ({ ok: false, message: wireText.unknownFollower }));
  await world.clock.advance(1_100);
  world.leader.answer = () => ({});
  await world.clock.advance(2_500);
  expect(isJoined(world)).toBe(true);
  expect(new Set(generations(world)).size).toBe(generations(world).length);
  expect(generations(world).length).toBeGreaterThan(1);
  expect(world.leader.registration).toMatchObject({
    target: { chatId: owner, threadId: 42 },
    slot: "B",
    threadName: "Beryl",
  });
});

test("protocol/HB-3: each positive heartbeat brings the roster anew, none that fails touches it, and it is kept while there is no registration", async () => {
  const world = await startFollower();
  const { board } = world.instance.runtime;
  const beat = async (answer: LeaderAnswer) => {
    world.leader.answer = answering("follower.heartbeat", answer);
    await world.clock.advance(1_000);
    return board.roster;
  };
  expect(await beat(() => ({ result: { eligibleElectionSlots: ["C", "A", "C", 7, "a"] } }))).toEqual(["A", "C"]);
  expect(await beat(() => ({ result: {} }))).toEqual([]);
  expect(await beat(() => ({ result: { eligibleElectionSlots: ["B"] } }))).toEqual(["B"]);
  const refused = { ok: false, message: wireText.staleGeneration, result: { eligibleElectionSlots: ["Z"] } };
  expect(await beat(() => refused)).toEqual(["B"]);
  expect(board.leader).toBeNull();
});

test("protocol/S-42: while one heartbeat is not answered no other is sent", async () => {
  const slow: { answer: (ack: Partial<Ack>) => void } = { answer: () => undefined };
  const world = await startFollower({
    answer: answering("follower.heartbeat", () => new Promise((resolve) => (slow.answer = resolve))),
  });
  // The first one leaves at once.
  expect(world.leader.of("follower.heartbeat")).toHaveLength(1);
  await world.clock.advance(990);
  expect(world.leader.of("follower.heartbeat")).toHaveLength(1);
  slow.answer({});
  // The second that the first one took to be answered does not count: a timer of its own would beat here.
  await world.clock.advance(990);
  expect(world.leader.of("follower.heartbeat")).toHaveLength(1);
  await world.clock.advance(10);
  expect(world.leader.of("follower.heartbeat")).toHaveLength(2);
  expect(generations(world)).toHaveLength(1);
});

test.each([wireText.unknownFollower, wireText.staleGeneration, wireText.unauthorized, "anything else"])(
  "protocol/S-44: a heartbeat that is refused (%s) leads back to a registration, and work goes on under it",
  async (message) => {
    const world = await startFollower();
    world.leader.answer = answering("follower.heartbeat", () => ({ ok: false, message }));
    await world.clock.advance(1_000);
    expect(world.instance.runtime.board.leader).toBeNull();
    world.leader.answer = () => ({});
    await world.clock.advance(2_500);
    expect(isJoined(world)).toBe(true);
    expect(generations(world).length).toBeGreaterThan(1);
    expect(await world.leader.forward(901)).toMatchObject({ kind: "answered", ack: { ok: true } });
    expect(world.handed).toHaveLength(1);
  },
);

test("protocol/S-45: a leader whose endpoint is gone is knocked at until it is back; work goes on under a fresh generation", async () => {
  const world = await startFollower();
  const [before] = generations(world);
  await world.leader.close();
  await world.clock.advance(3_000);
  expect(isJoined(world)).toBe(false);
  await world.leader.open();
  await world.clock.advance(2_500);
  expect(isJoined(world)).toBe(true);
  expect(generations(world).at(-1)).not.toBe(before);
  expect(await world.leader.forward(902)).toMatchObject({ kind: "answered", ack: { ok: true } });
  expect(world.handed).toHaveLength(1);
});

test("protocol/O-7: a heartbeat that nobody answers is a failure, not silence to be ignored", async () => {
  const world = await startFollower();
  world.leader.answer = answering("follower.heartbeat", () => null);
  await world.clock.advance(2_000);
  expect(world.instance.runtime.board.leader).toBeNull();
  world.leader.answer = () => ({});
  await world.clock.advance(2_500);
  expect(generations(world)).toHaveLength(2);
  expect(isJoined(world)).toBe(true);
});

test.each([
  ["sendMessage", "ambiguous"],
  ["sendPhoto", "ambiguous"],
] as const)(
  "protocol/O-10: a leader that goes away while it carries out %s leaves an unknown outcome, and nothing is repeated",
  async (method, kind) => {
    const world = await startFollower({ answer: answering("follower.callApi", () => null) });
    const outcome = world.instance.call({ method, body: { text: "x" } });
    await settled();
    expect(world.leader.of("follower.callApi")).toHaveLength(1);
    await world.leader.close();
    await settled();
    expect(await outcome).toMatchObject({ kind });
    world.leader.answer = () => ({});
    await world.leader.open();
    await world.clock.advance(5_000);
    expect(world.leader.of("follower.callApi")).toHaveLength(1);
  },
);

test("protocol/O-10: what may be done twice is asked again, of the leader that is there then", async () => {
  const world = await startFollower({ answer: answering("follower.callApi", () => null) });
  const outcome = world.instance.call({ method: "sendChatAction", body: { action: "typing" } });
  await settled();
  await world.leader.close();
  world.leader.answer = () => ({});
  await world.leader.open();
  await world.clock.advance(5_000);
  expect(await outcome).toMatchObject({ kind: "ok" });
  expect(world.leader.of("follower.callApi")).toHaveLength(2);
});

test("protocol/O-11: a send for which there is no leader never left: after half a minute it is a plain failure, not an unknown outcome", async () => {
  const world = await startFollower();
  await world.leader.close();
  const outcome = world.instance.call({ method: "sendMessage", body: { text: "x" } });
  await world.clock.advance(31_000);
  expect(await outcome).toMatchObject({ kind: "notSent" });
  await world.leader.open();
  await world.clock.advance(5_000);
  expect(world.leader.of("follower.callApi")).toEqual([]);
});

test("protocol/O-19: a follower whose address vanished is reachable again after its next heartbeat, under the same registration", async () => {
  const world = await startFollower();
  world.network.unpublish(world.leader.registration.busSocketPath ?? "");
  await expect(world.leader.forward(903)).rejects.toThrow("ENOENT");
  await world.clock.advance(1_000);
  expect(await world.leader.forward(903)).toMatchObject({ kind: "answered", ack: { ok: true } });
  expect(world.handed).toHaveLength(1);
  expect(generations(world)).toHaveLength(1);
});

/** Everything of the store that is about threads. */
const threadsIn = async ({ store }: FollowerWorld) => {
  const { bindings, provisions, leftovers } = await store.threads.view();
  return { bindings, provisions, leftovers, cleanups: (await store.cleanups.view()).cleanups };
};

test.each([
  ["is refused", { ok: false, message: wireText.staleGeneration }],
  ["is not answered", null],
] as const)(
  "threads/S-77 and CL-10 superseded: a follower that leaves asks its leader once, touches no thread itself, and goes though it %s",
  async (_, answer) => {
    const world = await startFollower({ answer: answering("follower.disconnect", () => answer) });
    expect(isJoined(world)).toBe(true);
    const kept = await threadsIn(world);
    world.instance.actor.send({ type: "instance.stop", leave: true });
    await world.clock.advance(20_000);
    expect(world.leader.of("follower.disconnect")).toHaveLength(1);
    expect(world.instance.actor.getSnapshot().status).toBe("done");
    expect(world.telegram.calls).toEqual([]);
    expect(await threadsIn(world)).toEqual(kept);
    expect(world.troubles).toHaveLength(1);
  },
);

test("threads/S-77 superseded: a follower whose leader cannot be reached goes, and says that it could not be told", async () => {
  const world = await startFollower();
  await world.leader.close();
  world.instance.actor.send({ type: "instance.stop", leave: true });
  await world.clock.advance(20_000);
  expect(world.instance.actor.getSnapshot().status).toBe("done");
  expect(world.telegram.calls).toEqual([]);
  expect(world.troubles.at(-1)).toContain("could not be told");
});
