/** What a v1 follower may have done at Telegram through our leader: the three operations of `follower.callApi`. */
import { expect, test } from "vitest";
import { chatId, generation, instanceId, messageId, seatKey } from "../../../machines/ids.ts";
import { defaultOwnerTimings } from "../../../machines/owner.contract.ts";
import { aggregateDeliveryMarker, crossTargetDeliveryMarker } from "../../../machines/wire/constants.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { owner, seated, secret, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";
import { MemoryOwners } from "../../support/wire/follower.ts";

/** The calls from now on, but those that the leader makes by the clock. */
function callsFromNow(world: LeaderWorld) {
  const from = world.telegram.calls.length;
  return () => world.telegram.calls.slice(from).filter(({ method }) => method !== "getMe");
}
const ownerOf = (world: LeaderWorld, message: number, chat = owner) =>
  world.store.ownership.ownerOf(chatId(chat), messageId(message));

test("protocol/AP-1: a call goes out without its markers, and its result comes back as Telegram gave it", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const own = { chat_id: owner, message_thread_id: peer.thread };
  const ack = await peer.call("sendMessage", { ...own, text: "a", [aggregateDeliveryMarker]: false });
  expect(ack).toEqual({
    kind: "bus.ack",
    requestId: ack.requestId,
    ok: true,
    result: { message_id: expect.any(Number) as number, chat: { id: owner }, message_thread_id: peer.thread },
  });
  const main = { chat_id: owner, text: "b" };
  expect(await peer.call("sendMessage", { ...main, [aggregateDeliveryMarker]: true })).toMatchObject({ ok: true });
  const elsewhere = { chat_id: owner, message_thread_id: peer.thread + 1, text: "c" };
  expect(await peer.call("sendMessage", { ...elsewhere, [crossTargetDeliveryMarker]: true })).toMatchObject({
    ok: true,
  });
  expect(made().map(({ payload }) => payload)).toEqual([{ ...own, text: "a" }, main, elsewhere]);
});

test("protocol/S-88: an unmarked send elsewhere, a marked one to another chat, and a marked one into the own thread are refused", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const other = peer.thread + 1;
  const cross = { [crossTargetDeliveryMarker]: true };
  const bodies = [
    { chat_id: owner, message_thread_id: other, text: "x" },
    { chat_id: owner, text: "x" },
    { chat_id: owner + 1, message_thread_id: other, text: "x", ...cross },
    { chat_id: owner, message_thread_id: peer.thread, text: "x", ...cross },
    { chat_id: owner, message_thread_id: other, text: "x", [crossTargetDeliveryMarker]: "true" },
    { chat_id: owner, message_thread_id: other, text: "x", [aggregateDeliveryMarker]: true },
  ];
  for (const body of bodies) {
    const ack = await peer.call("sendMessage", body);
    expect(ack).toEqual({ kind: "bus.ack", requestId: ack.requestId, ok: false, message: wireText.callNotAllowed });
  }
  expect(made()).toEqual([]);
});

test.each([
  ["a method of its own name", ["frobnicate", "sendMessage", {}]],
  ["a Bot API method that is no text", ["call", 7, {}]],
  ["a body that is a list", ["call", "sendMessage", []]],
  ["no arguments", ["call"]],
  ["an upload's method that is no text", ["callMultipart", null, {}]],
  ["an upload by a method without that row", ["callMultipart", "sendVideo", {}, "video", "/tmp/v", "v"]],
  ["what is the line's alone", ["call", "getUpdates", {}]],
] as const)("protocol §4.9: %s is refused in the wire's words, and nothing is called", async (_, [method, ...args]) => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const ack = await peer.callApi(method, ...args);
  expect(ack).toEqual({ kind: "bus.ack", requestId: ack.requestId, ok: false, message: wireText.callNotAllowed });
  expect(made()).toEqual([]);
});

test("protocol/AP-2, MO-1, O-13, updates/OP-42: a file goes with its fields, and the message is the follower's, sendAudio's too", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const fields = { chat_id: String(owner), message_thread_id: String(peer.thread), caption: "c" };
  for (const [method, field] of [
    ["sendDocument", "document"],
    ["sendAudio", "audio"],
  ] as const) {
    const ack = await peer.callApi("callMultipart", method, fields, field, "/srv/peer/a.bin", "a.bin", null);
    expect(ack.ok).toBe(true);
    expect(made().at(-1)).toEqual({
      method,
      payload: { ...fields, [field]: { field, path: "/srv/peer/a.bin", name: "a.bin" } },
    });
    const { message_id: made_ } = ack.result as { message_id: number }; // the scripted Telegram answers a message
    expect(await ownerOf(world, made_)).toBe("manual:owner-2001");
  }
});

test("protocol/P-48: markers among the fields of a file steer nothing, and do not reach Telegram", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const fields = { chat_id: String(owner), message_thread_id: String(peer.thread) };
  const marked = { ...fields, [crossTargetDeliveryMarker]: true, [aggregateDeliveryMarker]: true };
  expect(await peer.callApi("callMultipart", "sendDocument", marked, "document", "/a", "a")).toMatchObject({
    ok: true,
  });
  expect(made()).toEqual([
    { method: "sendDocument", payload: { ...fields, document: { field: "document", path: "/a", name: "a" } } },
  ]);
});

test("protocol/§4.9: what a v1 follower may not call is refused in these words, also when its chat has become another", async () => {
  const group = chatId(-5);
  const world = await startLeader();
  const [v1, own] = [await seated(world), await seated(world, { pid: 2002, isOwn: true })];
  Object.assign(world.instance.runtime.chats, { former: [group] });
  const made = callsFromNow(world);
  const edit = { chat_id: group, message_id: 1, text: "x" };
  expect(await v1.call("editMessageText", edit)).toMatchObject({ ok: false, message: wireText.callNotAllowed });
  expect(await own.call("editMessageText", edit)).toMatchObject({
    ok: false,
    message: expect.stringContaining("upgraded") as string,
  });
  expect(made()).toEqual([]);
});

test("protocol/P-50: a file into another thread is refused, marked or not", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const fields = { chat_id: String(owner), message_thread_id: String(peer.thread + 1) };
  for (const marker of [{}, { [crossTargetDeliveryMarker]: true }, { [aggregateDeliveryMarker]: true }])
    expect(
      await peer.callApi("callMultipart", "sendDocument", { ...fields, ...marker }, "document", "/a", "a"),
    ).toMatchObject({ ok: false, message: wireText.callNotAllowed });
  expect(made()).toEqual([]);
});

test("protocol/AP-3: a download is passed through, its result is a path; Telegram's refusal is passed on in its words", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  world.telegram.answer("download", () => ({ kind: "ok", result: "/srv/files/1/a.txt" }));
  const ack = await peer.callApi("downloadFile", "file-1", "a.txt");
  expect(ack).toEqual({ kind: "bus.ack", requestId: ack.requestId, ok: true, result: "/srv/files/1/a.txt" });
  expect(made()).toEqual([{ method: "download", payload: { fileId: "file-1", suggestedName: "a.txt" } }]);
  const error = { error_code: 400, description: "Bad Request: wrong file_id" };
  world.telegram.answer("download", () => ({ kind: "rejected", error }));
  expect(await peer.callApi("downloadFile", "file-2", "a.txt")).toMatchObject({
    ok: false,
    message: "Bad Request: wrong file_id",
  });
  expect(await peer.callApi("downloadFile", 7, "a.txt")).toMatchObject({ ok: false, message: wireText.callFailed });
});

test("protocol/S-84, MO-2 and MO-3, updates/OP-42: a sent message is its sender's, in the chat that it names, else in the one that was asked for", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const body = { chat_id: owner, message_thread_id: peer.thread, text: "x" };
  world.telegram.answer("sendMessage", () => ({ kind: "ok", result: { message_id: 71, chat: { id: owner + 5 } } }));
  await peer.call("sendMessage", body);
  world.telegram.answer("sendMessage", () => ({ kind: "ok", result: { message_id: "72" } }));
  await peer.call("sendMessage", { ...body, chat_id: String(owner) });
  expect(await ownerOf(world, 71, owner + 5)).toBe("manual:owner-2001");
  expect(await ownerOf(world, 71)).toBeNull();
  expect(await ownerOf(world, 72)).toBe("manual:owner-2001");
});

test("protocol/O-14: a send is answered as done although its message could not be written down", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  world.store.ownership.record = () => Promise.reject(new Error("the store is busy"));
  const body = { chat_id: owner, message_thread_id: peer.thread, text: "x" };
  expect(await peer.call("sendMessage", body)).toMatchObject({
    ok: true,
    result: { message_id: expect.any(Number) as number },
  });
  expect(world.log.map(({ phase }) => phase)).toContain("ownership-not-recorded");
});

test("protocol/S-85: a call of a replaced generation is stale and not executed, one of a stranger is unknown", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const before = peer.generation;
  expect((await peer.register()).ok).toBe(true);
  peer.generation = before;
  const body = { chat_id: owner, message_thread_id: peer.thread, text: "x" };
  expect(await peer.call("sendMessage", body)).toMatchObject({ ok: false, message: wireText.staleGeneration });
  expect(await peer.callApi("downloadFile", "f", "x")).toMatchObject({ ok: false, message: wireText.staleGeneration });
  const stranger = await V1Peer.open(world, { pid: 3001 });
  stranger.generation = generation("g");
  // Known comes before current, and both before what is asked.
  expect(await stranger.callApi("frobnicate")).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(made()).toEqual([]);
});

test("protocol/S-86, AP-5: a send whose answer was lost is commit-unknown, with its method, and made once", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const made = callsFromNow(world);
  const lost = { kind: "ambiguous", reason: "the connection broke" } as const;
  world.telegram.answer("sendMessage", () => lost);
  world.telegram.answer("sendPhoto", () => lost);
  const own = { chat_id: owner, message_thread_id: peer.thread };
  const acks = [
    [await peer.call("sendMessage", { ...own, text: "x" }), "sendMessage"],
    [await peer.callApi("callMultipart", "sendPhoto", own, "photo", "/a.png", "a.png"), "sendPhoto"],
  ] as const;
  for (const [ack, method] of acks)
    expect(ack).toEqual({
      kind: "bus.ack",
      requestId: ack.requestId,
      ok: false,
      message: wireText.callCommitUnknown(method),
      error: { code: "commit-unknown", method },
    });
  expect(made()).toHaveLength(2);
});

test("protocol/O-12: a download whose answer was lost is a plain failure: nothing was committed, it may be asked for again", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  world.telegram.answer("download", () => ({ kind: "ambiguous", reason: "the connection broke" }));
  const ack = await peer.callApi("downloadFile", "file-1", "a.bin");
  expect(ack).toEqual({ kind: "bus.ack", requestId: ack.requestId, ok: false, message: "the connection broke" });
});

test("protocol/O-17: once another process has taken our owner record no call of a follower is carried out, before our own look at it", async () => {
  const fleet: { owners?: MemoryOwners } = {};
  const world = await startLeader({
    v1: ({ clock }) => {
      fleet.owners = new MemoryOwners(clock, null);
      return {
        store: fleet.owners,
        self: { pid: 1000, cwd: "/srv/bus", instanceId: instanceId("1000:1"), runtimeGeneration: 1, secret },
        timings: defaultOwnerTimings,
        mintEpoch: () => "epoch-1",
      };
    },
  });
  const { owners } = fleet;
  const peer = await seated(world);
  const made = callsFromNow(world);
  const say = { chat_id: owner, message_thread_id: peer.thread, text: "x" };
  expect(await peer.call("sendMessage", say)).toMatchObject({ ok: true });
  if (owners === undefined || owners.record === null) throw new Error("nobody owns the record");
  owners.record = { ...owners.record, pid: 77, instanceId: "77:1", leaderEpoch: "another" };
  const ack = await peer.call("sendMessage", say);
  expect(ack).toEqual({
    kind: "bus.ack",
    requestId: ack.requestId,
    ok: false,
    message: "this instance does not lead (any more)",
  });
  expect(await peer.callApi("callMultipart", "sendPhoto", say, "photo", "/a", "a")).toMatchObject({ ok: false });
  expect(made()).toHaveLength(1);
});

test("protocol/S-89, P-49, MO-4, MO-5: an edit of an unowned message is refused; what the seat sent before its replacement is still its own", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const neighbour = await seated(world, { pid: 2002 });
  const sent = await peer.call("sendMessage", { chat_id: owner, message_thread_id: peer.thread, text: "x" });
  const { message_id: message } = sent.result as { message_id: number }; // the scripted Telegram answers a message
  const edit = { chat_id: owner, message_id: message, text: "y" };
  const refused = { ok: false, message: wireText.callNotAllowed };
  for (const method of ["editMessageText", "deleteMessage", "editMessageReplyMarkup"])
    expect(await neighbour.call(method, edit)).toMatchObject(refused);
  expect(await peer.call("editMessageText", { ...edit, message_id: 5 })).toMatchObject(refused);
  const successor = await seated(world, { pid: 2003, profileKey: "manual:owner-2001" });
  expect(await successor.call("editMessageText", { ...edit, message_id: String(message) })).toMatchObject({ ok: true });
  expect(await peer.call("editMessageText", edit)).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(await ownerOf(world, message)).toBe(seatKey("manual:owner-2001"));
});

test("C32: what a follower does in General of a supergroup names no thread where it is said, and 1 where it is typing", async () => {
  const group = -1_001_234_567_890;
  const world = await startLeader({
    settings: { chat: chatId(group) },
    prepare: ({ telegram }) => {
      telegram.answer("getChat", () => ({ kind: "ok", result: { id: group, is_forum: true } }));
    },
  });
  const peer = await seated(world);
  await world.clock.advance(2_000);
  const made = callsFromNow(world);
  const general = { chat_id: group, message_thread_id: 1 };
  const said = { text: "x", [crossTargetDeliveryMarker]: true };
  expect(await peer.call("sendChatAction", { chat_id: group, action: "typing" })).toMatchObject({ ok: true });
  expect(await peer.call("sendMessage", { ...general, ...said })).toMatchObject({ ok: true });
  expect(await peer.call("sendChatAction", { ...general, message_thread_id: peer.thread })).toMatchObject({ ok: true });
  expect(made().map(({ payload }) => payload)).toEqual([
    { ...general, action: "typing" },
    { chat_id: group, text: "x" },
    { chat_id: group, message_thread_id: peer.thread },
  ]);
});
