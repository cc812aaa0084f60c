/** What our leader sends a v1 follower, and what it makes of the answers: only the exact receipt ends an entry. */
import { expect, test } from "vitest";
import { messageId, chatId } from "../../../machines/ids.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { allowedUpdates } from "../../../machines/updates.rules.ts";
import { awayText } from "../../../services/away.ts";
import { owner, seated, startInstance, startLeader } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const written = (thread: number, id: number) => ({
  update_id: id,
  message: {
    message_id: id,
    date: 1,
    chat: { id: owner, type: "private", first_name: "U" },
    from: { id: owner, is_bot: false, first_name: "U" },
    message_thread_id: thread,
    is_topic_message: true,
    text: "x",
  },
});
const waiting = async (world: LeaderWorld) => (await world.store.status.read()).journal;
const reasons = (world: LeaderWorld) =>
  world.log.flatMap(({ phase, fields }) => (phase === "forward-not-taken" ? [fields["reason"]] : []));

test("protocol/P-42 updates/T-33: an exact receipt ends the entry, and the message is the follower's (MO-6)", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  world.telegram.give(written(peer.thread, 501));
  await world.clock.advance(100);
  expect(peer.received.map(({ kind }) => kind)).toEqual(["leader.forwardMessage"]);
  expect(await waiting(world)).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
  expect(await world.store.ownership.ownerOf(chatId(owner), messageId(501))).toBe("manual:owner-2001");
});

test("protocol/S-77: for a seat that nobody holds nothing is sent, and the update waits", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  await world.clock.advance(6_000); // silent for too long
  world.telegram.give(written(peer.thread, 501));
  await world.clock.advance(1_000);
  expect(peer.received).toEqual([]);
  expect(await waiting(world)).toMatchObject({ waiting: 1, deadLetters: 0 });
  await peer.register();
  await world.clock.advance(5_000);
  expect(peer.received.map(({ kind }) => kind)).toEqual(["leader.forwardMessage"]);
  expect(await waiting(world)).toMatchObject({ waiting: 0 });
});

test.each([
  ["protocol/S-78: a refusal", { ok: false, message: wireText.staleGeneration }, wireText.staleGeneration],
  [
    "protocol/S-83: a full journal",
    { ok: false, message: "The journal of the follower is full." },
    "The journal of the follower is full.",
  ],
  ["protocol/S-79: a yes without a receipt", {}, "Follower acknowledgement omitted the durable receipt."],
  [
    "protocol/S-79: a receipt of something else",
    { result: { deliveryId: "telegram-follower-v1-0", sourceUpdateId: 501 } },
    "Follower acknowledgement returned a mismatched durable receipt.",
  ],
] as const)(
  "%s ends nothing: the reason is kept in its words, and the update comes again",
  async (_, answer, reason) => {
    const world = await startLeader();
    const peer = await seated(world);
    const usual = peer.answer;
    let isOdd = true;
    peer.answer = (request) => (isOdd ? answer : usual(request));
    world.telegram.give(written(peer.thread, 501));
    await world.clock.advance(200);
    expect(reasons(world)).toContain(reason);
    expect(await waiting(world)).toMatchObject({ waiting: 1, deadLetters: 0 });
    isOdd = false;
    for (let second = 0; second < 40 && (await waiting(world)).waiting > 0; second += 1) {
      await peer.heartbeat();
      await world.clock.advance(1_000);
    }
    expect(await waiting(world)).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
    const ids = peer.received.map((request) => ("delivery" in request ? request.delivery.deliveryId : ""));
    // The same delivery each time: the follower can tell that it has it.
    expect(new Set(ids).size).toBe(1);
  },
);

test("protocol/MO-6: a reaction, which names no thread, goes to the follower that got the message", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const neighbour = await seated(world, { pid: 2002 });
  world.telegram.give(written(peer.thread, 501));
  await world.clock.advance(100);
  const user = { id: owner, is_bot: false, first_name: "U" };
  const chat = { id: owner, type: "private", first_name: "U" };
  const reaction = { chat, message_id: 501, user, date: 2, old_reaction: [], new_reaction: [] };
  world.telegram.give(Object.assign({ update_id: 502 }, { message_reaction: reaction }));
  await world.clock.advance(100);
  expect(peer.received.map(({ kind }) => kind)).toEqual(["leader.forwardMessage", "leader.forwardReaction"]);
  expect(neighbour.received).toEqual([]);
});

/** A press of a button under a message; the message names no thread, so that only its owner leads anywhere. */
const pressed = (message: number, id: number) =>
  Object.assign(
    { update_id: id },
    {
      callback_query: {
        id: `press-${String(id)}`,
        from: { id: owner, is_bot: false, first_name: "U" },
        chat_instance: "1",
        data: "yes",
        message: { message_id: message, date: 1, chat: { id: owner, type: "private", first_name: "U" }, text: "?" },
      },
    },
  );

test("updates/T-37, Q-69: a press on what the seat's former holder sent goes to the one who has the seat now", async () => {
  const world = await startLeader();
  const former = await seated(world);
  const { result } = await former.call("sendMessage", { chat_id: owner, message_thread_id: former.thread, text: "?" });
  const { message_id: sent } = result as { readonly message_id: number }; // the leader's answer to a send
  const next = await seated(world, { pid: 2002, profileKey: "manual:owner-2001" });
  world.telegram.give(pressed(sent, 503));
  await world.clock.advance(200);
  expect(next.received.map(({ kind }) => kind)).toEqual(["leader.forwardCallback"]);
  expect(former.received).toEqual([]);
  expect(await waiting(world)).toMatchObject({ waiting: 0 });
});

test("updates/T-41, T-42, Q-68: a press that cannot be forwarded is answered with words, and these settle nothing", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const { result } = await peer.call("sendMessage", { chat_id: owner, message_thread_id: peer.thread, text: "?" });
  const { message_id: sent } = result as { readonly message_id: number }; // the leader's answer to a send
  await world.clock.advance(6_000); // silent for too long
  world.telegram.give(pressed(sent, 504));
  await world.clock.advance(1_000);
  const said = world.telegram.of("answerCallbackQuery").map(({ payload }) => payload);
  expect(said).toMatchObject([{ callback_query_id: "press-504", text: awayText }]);
  expect(await waiting(world)).toMatchObject({ waiting: 1, deadLetters: 0 });
  await peer.register();
  await world.clock.advance(5_000);
  expect(peer.received.map(({ kind }) => kind)).toEqual(["leader.forwardCallback"]);
  expect(await waiting(world)).toMatchObject({ waiting: 0 });
});

test("updates/OP-39: what is sent to a follower that does not answer is no sign of its life", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  peer.answer = () => new Promise<never>(() => undefined);
  await world.clock.advance(4_000);
  world.telegram.give(written(peer.thread, 505));
  await world.clock.advance(900);
  expect(peer.received.map(({ kind }) => kind)).toEqual(["leader.forwardMessage"]);
  await world.clock.advance(200);
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
});

test("updates/T-56, Q-72: Telegram's word that a thread was made, which nobody knows, is looked at and no more", async () => {
  const world = await startLeader();
  const before = await world.store.threads.view();
  const calls = world.telegram.calls.length;
  const { message, ...rest } = written(77, 506);
  world.telegram.give({ ...rest, message: { ...message, forum_topic_created: { name: "new", icon_color: 1 } } } as {
    readonly update_id: number; // the stand-in takes any update
  });
  await world.clock.advance(1_000);
  expect((await world.store.status.read()).drops).toEqual({ "topic-service-message": 1 });
  expect(await waiting(world)).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
  expect((await world.store.threads.view()).bindings).toEqual(before.bindings);
  expect(world.telegram.calls.slice(calls)).toEqual([]);
  expect(world.handed).toEqual([]);
});

test("updates/OP-30: the first poll of all names no offset, and the types of updates that it wants", async () => {
  const asked: Readonly<Record<string, unknown>>[] = [];
  const world = await startInstance({
    prepare: ({ telegram }) => {
      telegram.answer("getUpdates", (call) => {
        asked.push(call.payload);
        return new Promise<never>(() => undefined);
      });
    },
  });
  await world.clock.advance(2_000);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.["offset"]).toBeUndefined();
  expect(asked[0]?.["allowed_updates"]).toEqual(allowedUpdates);
});
