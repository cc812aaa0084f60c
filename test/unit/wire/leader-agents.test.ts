/** Messages between agents through a leader of ours (protocol §3.8, §3.9, §4.8). */
import { expect, test } from "vitest";
import { chatId, generation, messageId, threadId } from "../../../machines/ids.ts";
import type { Ack, AgentSelector, Envelope } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { owner, seated, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const resolveBy = (peer: V1Peer, selector: AgentSelector): Promise<Ack> =>
  peer.send({ kind: "follower.resolveAgentTarget", ...peer.base(), selector });

function routeOf(peer: V1Peer, thread: number, differs: { requestId?: string; text?: string; sentAtMs?: number } = {}) {
  const { text = "over to you", ...rest } = differs;
  return {
    kind: "follower.routeAgentMessage",
    ...peer.base(),
    message: { target: { chatId: chatId(owner), threadId: threadId(thread) }, messageId: 901, text },
    ...rest,
  } as const;
}

const ownThread = ({ instance }: LeaderWorld) => {
  const thread = instance.runtime.board.place?.thread ?? null;
  if (thread === null) throw new Error("the leader has no thread");
  return thread;
};

const forwardsAt = (peer: V1Peer): readonly Envelope[] =>
  peer.received.filter(({ kind }) => kind === "leader.forwardMessage");

async function fleet() {
  const world = await startLeader();
  const first = await seated(world, { pid: 2001 });
  const second = await seated(world, { pid: 2002 });
  const nameOf = async (peer: V1Peer & { readonly thread: number }, asker: V1Peer): Promise<string> =>
    ((await resolveBy(asker, { threadId: peer.thread })).result as { readonly threadName: string }).threadName; // a follower's target has a name
  return { world, first, second, nameOfSecond: await nameOf(second, first) };
}

const unavailable = { ok: false, message: wireText.agentTargetUnavailable };

test("protocol/AG-3: a thread is found by id and by name, in any case, with slot and name; the leader's own with neither", async () => {
  const { world, first, second, nameOfSecond } = await fleet();
  const result = { chatId: owner, threadId: second.thread, slot: "C", threadName: nameOfSecond };
  expect(await resolveBy(first, { threadId: second.thread })).toMatchObject({ ok: true, result });
  expect(
    await resolveBy(first, { threadName: ` ${nameOfSecond.toUpperCase()} `, chatId: chatId(owner) }),
  ).toMatchObject({
    ok: true,
    result,
  });
  const { target, threadName } = ownThread(world);
  for (const selector of [{ threadId: target.threadId }, { threadName }])
    expect((await resolveBy(first, selector)).result).toEqual({ chatId: owner, threadId: target.threadId });
});

test("protocol/P-38, AG-1, AG-2, AG-3, AG-4, updates/Q-90, T-103: nobody unknown, in another chat, the asker itself, or gone is a target", async () => {
  const { world, first, second } = await fleet();
  for (const selector of [
    { threadId: 999 },
    { threadName: "nobody of that name" },
    { threadId: second.thread, chatId: chatId(owner + 1) },
    { threadId: first.thread },
  ])
    expect(await resolveBy(first, selector)).toMatchObject(unavailable);
  // Silent for too long: its binding is still in the store.
  await world.clock.advance(4_000);
  await first.heartbeat();
  await world.clock.advance(4_000);
  await first.heartbeat();
  expect(await resolveBy(first, { threadId: second.thread })).toMatchObject(unavailable);
  expect((await world.store.threads.view()).bindings.map(({ thread }) => thread.target.threadId)).toContain(
    second.thread,
  );
});

test("updates/T-101, protocol/AG-4: a name that two threads share means neither", async () => {
  const world = await startLeader();
  const asker = await seated(world, { pid: 2001 });
  for (const pid of [2002, 2003]) {
    const twin = await V1Peer.open(world, { pid, isOwn: true });
    expect(await twin.register({ threadName: "twin" })).toMatchObject({ ok: true });
  }
  const names = (await world.store.threads.view()).bindings.map(({ thread }) => thread.threadName);
  expect(names.filter((name) => name === "twin")).toHaveLength(2);
  expect(await resolveBy(asker, { threadName: "twin" })).toMatchObject(unavailable);
});

test("updates/Q-92: an unknown sender and a stale generation are refused, at both requests", async () => {
  const { world, first, second } = await fleet();
  const stranger = await V1Peer.open(world, { pid: 3001 });
  for (const [peer, message] of [
    [stranger, wireText.unknownFollower],
    [first, wireText.staleGeneration],
  ] as const) {
    if (peer === first) first.generation = generation("an earlier one");
    expect(await resolveBy(peer, { threadId: second.thread })).toMatchObject({ ok: false, message });
    expect(await peer.send(routeOf(peer, second.thread))).toMatchObject({ ok: false, message });
  }
  await world.clock.advance(1_000);
  expect(forwardsAt(second)).toEqual([]);
});

test("protocol/AG-5, O-40, updates/OP-35, Q-91: a routed message is the user's turn in the other's thread, with a durable id and its source", async () => {
  const { world, first, second, nameOfSecond } = await fleet();
  const cursor = await world.store.journal.cursor();
  const route = routeOf(first, second.thread);
  expect(await first.send(route)).toEqual({ kind: "bus.ack", requestId: route.requestId, ok: true });
  // Nudged: no clock had to move.
  const [arrived] = forwardsAt(second);
  expect(arrived).toMatchObject({
    recipientInstanceId: second.id,
    message: {
      message_id: 901,
      message_thread_id: second.thread,
      from: { id: owner, is_bot: false },
      chat: { id: owner, type: "private" },
      text: "over to you",
    },
  });
  const { message, delivery } = arrived as Extract<Envelope, { kind: "leader.forwardMessage" }>;
  expect(message).toHaveProperty("pi_telegram_agent_source_thread");
  expect((message as Record<string, unknown>)["pi_telegram_agent_source_thread"]).not.toBe(nameOfSecond);
  expect(delivery.sourceUpdateId).toBeGreaterThanOrEqual(2 ** 52);
  expect(Number.isSafeInteger(delivery.sourceUpdateId)).toBe(true);
  expect(await world.store.journal.cursor()).toBe(cursor);
});

test("protocol/AG-7 superseded: a repeated route is recognised by the journal, also when the ledger does not know it", async () => {
  const { world, first, second } = await fleet();
  const route = routeOf(first, second.thread);
  expect(await first.send(route)).toMatchObject({ ok: true });
  // Another endpoint of the same line would have an empty ledger: the desk is asked directly.
  const { desk, from } = deskOf(world, first);
  const again = {
    sender: first.id,
    from,
    requestId: route.requestId,
    message: { ...route.message, sentAtMs: route.sentAtMs },
  };
  expect(await desk.route(again)).toEqual({ kind: "routed" });
  await world.clock.advance(1_000);
  expect(forwardsAt(second)).toHaveLength(1);
  expect(await desk.route({ ...again, requestId: "another" })).toEqual({ kind: "routed" });
  await world.clock.advance(1_000);
  expect(forwardsAt(second)).toHaveLength(2);
});

function deskOf(world: LeaderWorld, peer: V1Peer & { readonly thread: number }) {
  const desk = world.instance.runtime.board.agents;
  if (desk === null) throw new Error("the instance leads and has no desk");
  const asker = ownThread(world);
  const from = desk.resolve(asker, { threadId: peer.thread })?.thread;
  if (from === undefined) throw new Error("the peer does not live");
  return { desk, from };
}

test("updates/T-102, protocol/O-9: a target that vanished before the route is the generic refusal, and the log has the cause", async () => {
  const { world, first, second } = await fleet();
  await second.disconnect();
  await world.clock.advance(1_000);
  const route = routeOf(first, second.thread);
  expect(await first.send(route)).toEqual({
    kind: "bus.ack",
    requestId: route.requestId,
    ok: false,
    message: wireText.handlerFailed,
  });
  expect(world.log).toContainEqual(
    expect.objectContaining({
      phase: "agent-message-not-routed",
      fields: { from: first.id, reason: "Telegram agent target is no longer live." },
    }),
  );
  expect(world.counted).toContain("agent-message-not-routed");
});

test("a message to the leader's own agent reaches its handlers, and stays its sender's", async () => {
  const { world, first } = await fleet();
  const sent = await first.call("sendMessage", {
    chat_id: owner,
    message_thread_id: ownThread(world).target.threadId,
    text: "over to you",
    __piTelegramCrossTargetDelivery: true,
  });
  const { message_id: posted } = sent.result as { readonly message_id: number }; // sent a moment ago
  const route = routeOf(first, ownThread(world).target.threadId);
  await first.send({ ...route, message: { ...route.message, messageId: posted } });
  await world.clock.advance(100);
  expect(world.handed.map(({ update }) => update)).toMatchObject([{ message: { text: "over to you" } }]);
  expect(await world.store.ownership.ownerOf(chatId(owner), messageId(posted))).toBe("manual:owner-2001");
});

test("protocol/AG-6: a message to a v1 peer stays its sender's: the peer cannot delete it", async () => {
  const { world, first, second } = await fleet();
  const body = { chat_id: owner, message_thread_id: second.thread, text: "x", __piTelegramCrossTargetDelivery: true };
  const sent = await first.call("sendMessage", body);
  const { message_id: posted } = sent.result as { readonly message_id: number }; // sent a moment ago
  const route = routeOf(first, second.thread);
  await first.send({ ...route, message: { ...route.message, messageId: posted } });
  await world.clock.advance(100);
  expect(forwardsAt(second)).toHaveLength(1);
  expect(await world.store.ownership.ownerOf(chatId(owner), messageId(posted))).toBe("manual:owner-2001");
});

test("our own instance writes to another agent: the post in its thread, then its turn; the marker reaches nobody", async () => {
  const { world, second, nameOfSecond } = await fleet();
  const before = world.telegram.of("sendMessage").length;
  const outcome = world.instance.sendToAgent({ threadName: nameOfSecond }, "over to you");
  await world.clock.advance(100);
  expect(await outcome).toMatchObject({ kind: "sent", agent: { target: { threadId: second.thread } } });
  expect(world.telegram.of("sendMessage").slice(before)).toEqual([
    { method: "sendMessage", payload: { chat_id: owner, message_thread_id: second.thread, text: "over to you" } },
  ]);
  expect(forwardsAt(second)).toHaveLength(1);
  expect(await world.instance.sendToAgent({ threadName: "nobody" }, "x")).toEqual({ kind: "nobody" });
});

test("the public call cannot reach another thread by the bus's own marker", async () => {
  const { world, second } = await fleet();
  const before = world.telegram.of("sendMessage").length;
  const outcome = await world.instance.call({
    method: "sendMessage",
    body: { chat_id: owner, message_thread_id: second.thread, text: "x", __piTelegramCrossTargetDelivery: true },
  });
  expect(outcome).toMatchObject({ kind: "rejected", error: { error_code: 403 } });
  expect(world.telegram.of("sendMessage")).toHaveLength(before);
});
