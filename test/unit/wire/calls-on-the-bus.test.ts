/** Calls of an instance of ours that follows a v1 leader: what goes over the bus, what never does, what an answer means. */
import { expect, test } from "vitest";
import { crossTargetDeliveryMarker } from "../../../machines/wire/constants.ts";
import type { Ack } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { callsUnderWayMax } from "../../../services/room.ts";
import { owner } from "../../support/wire/leader.ts";
import { startFollower, startInFleet, until } from "../../support/wire/follower.ts";
import type { FleetWorld } from "../../support/wire/follower.ts";
import { settled } from "../../support/wire/manual-clock.ts";

const asked = ({ v1 }: FleetWorld) => v1.of("follower.callApi").map(({ method, args }) => [method, ...args]);

/** A call, answered by the v1 leader like this. */
async function called(ack: Partial<Ack>, method = "sendMessage", body: object = { text: "x" }) {
  const world = await startFollower();
  world.v1.answer = ({ kind }) => (kind === "follower.callApi" ? ack : null);
  const outcome = world.instance.call({ method, body: { ...body } });
  await settled();
  return { world, outcome: await outcome };
}

test("protocol/AC-1 superseded: unregistered, nothing is sent; the call waits for a leader, and is told after 30 s that there was none", async () => {
  const world = await startInFleet({ isServing: false });
  const told: unknown[] = [];
  void world.instance.call({ method: "sendMessage", body: { text: "x" } }).then((outcome) => told.push(outcome));
  await world.clock.advance(29_000);
  expect(told).toEqual([]);
  await world.clock.advance(2_000);
  expect(told).toMatchObject([{ kind: "notSent" }]);
  await world.v1.serve();
  await until(world, () => world.v1.of("follower.heartbeat").length > 0);
  expect(asked(world)).toEqual([]);
});

test("of many calls that hang the leader gets so many that heartbeats still pass; the others wait for their turn", async () => {
  const world = await startFollower();
  const hanging: ((ack: Partial<Ack>) => void)[] = [];
  world.v1.answer = ({ kind }) =>
    kind === "follower.callApi" ? new Promise<Partial<Ack>>((resolve) => hanging.push(resolve)) : null;
  const calls = Array.from({ length: callsUnderWayMax + 10 }, () =>
    world.instance.call({ method: "sendMessage", body: { text: "x" } }),
  );
  await settled();
  expect(asked(world)).toHaveLength(callsUnderWayMax);
  let answered = 0;
  while (answered < calls.length) {
    for (const give of hanging.splice(0)) give({ result: { message_id: (answered += 1) } });
    await settled();
  }
  expect(new Set((await Promise.all(calls)).map(({ kind }) => kind))).toEqual(new Set(["ok"]));
  expect(asked(world)).toHaveLength(calls.length);
});

test("protocol/AC-2 polling and webhooks are no follower's: refused here, in any spelling, and never sent", async () => {
  const world = await startFollower();
  for (const method of ["getUpdates", "deleteWebhook", "GETUPDATES"])
    expect(await world.instance.call({ method, body: {} })).toMatchObject({
      kind: "rejected",
      error: { error_code: 403 },
    });
  expect(asked(world)).toEqual([]);
});

test("protocol/AC-3, O-36 a draft and an action get the own chat and thread, a message to another agent the marker, and nothing has options", async () => {
  const world = await startFollower();
  world.v1.answer = ({ kind }) =>
    kind === "follower.resolveAgentTarget" ? { result: { chatId: owner, threadId: 43, threadName: "Citrine" } } : null;
  await world.instance.call({ method: "sendMessageDraft", body: { draft_id: 1, text: "x" } });
  await world.instance.call({ method: "sendChatAction", body: { action: "typing" } });
  await world.instance.sendToAgent({ threadName: "Citrine" }, "over to you");
  const own = { chat_id: owner, message_thread_id: 42 };
  expect(asked(world)).toEqual([
    ["call", "sendMessageDraft", { draft_id: 1, text: "x", ...own }],
    ["call", "sendChatAction", { action: "typing", ...own }],
    [
      "call",
      "sendMessage",
      { chat_id: owner, message_thread_id: 43, text: "over to you", [crossTargetDeliveryMarker]: true },
    ],
  ]);
});

test.each([
  [
    "commit-unknown",
    {
      ok: false,
      message: wireText.callCommitUnknown("sendMessage"),
      error: { code: "commit-unknown", method: "sendMessage" },
    },
    { kind: "ambiguous", reason: wireText.callCommitUnknown("sendMessage") },
  ],
  [
    "any other refusal",
    { ok: false, message: "Bad Request: message text is empty" },
    { kind: "rejected", error: { error_code: 400, description: "Bad Request: message text is empty" } },
  ],
  [
    "a refusal without a word",
    { ok: false },
    { kind: "rejected", error: { error_code: 400, description: wireText.callFailed } },
  ],
  [
    "the leader's own no",
    { ok: false, message: wireText.callNotAllowed },
    { kind: "rejected", error: { error_code: 403, description: `Forbidden: ${wireText.callNotAllowed}` } },
  ],
] as const)("protocol/AC-5, P-51 %s is told as what it is, and nothing is repeated", async (_, ack, expected) => {
  const { world, outcome } = await called(ack);
  expect(outcome).toEqual(expected);
  await world.clock.advance(5_000);
  expect(asked(world)).toHaveLength(1);
});

test("protocol/AC-5 a connection that ends without an answer leaves a send ambiguous, and a harmless call is asked again", async () => {
  const world = await startFollower();
  const never = new Promise<Partial<Ack>>(() => undefined);
  world.v1.answer = ({ kind }) => (kind === "follower.callApi" ? never : null);
  const send = world.instance.call({ method: "sendMessage", body: { text: "x" } });
  const look = world.instance.call({ method: "getMe", body: {} });
  await settled();
  await world.v1.close();
  expect(await send).toMatchObject({ kind: "ambiguous" });
  world.v1.answer = ({ kind }) => (kind === "follower.callApi" ? { result: { id: 1 } } : null);
  await world.v1.serve();
  await world.clock.advance(2_000);
  expect(await look).toEqual({ kind: "ok", result: { id: 1 } });
  expect(asked(world).map(([, method]) => method)).toEqual(["sendMessage", "getMe", "getMe"]);
});

test("protocol/AC-6 superseded: an edit that changes nothing is told in Telegram's own words, as any bot library expects it", async () => {
  const message = "Bad Request: message is not modified: specified new message content is the same";
  const { outcome } = await called({ ok: false, message }, "editMessageText", { message_id: 7, text: "x" });
  expect(outcome).toEqual({ kind: "rejected", error: { error_code: 400, description: message } });
});
