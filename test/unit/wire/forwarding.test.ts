/** What our leader sends a v1 follower, and what it makes of the answers: only the exact receipt ends an entry. */
import { expect, test } from "vitest";
import { messageId, chatId } from "../../../machines/ids.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { owner, seated, startLeader } from "../../support/wire/leader.ts";
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
