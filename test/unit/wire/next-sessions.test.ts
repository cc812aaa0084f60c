/**
 * What a v1 peer does for a session that replaces another, and what holds in its place here: an instance is its own session,
 * each registration is made anew, and what one leaves to the next is its seat's in the store.
 */
import { expect, test } from "vitest";
import { chatId, threadId } from "../../../machines/ids.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { kill, owner, seated, startLeader, V1Peer } from "../../support/wire/leader.ts";

const seat = "manual:owner-2001";

test("protocol/O-34: what a seat had is kept while no leader can be seen, and its next process has it as soon as there is one", async () => {
  const world = await startLeader();
  const former = await seated(world, { profileKey: seat, isOwn: true });
  await world.clock.advance(2_000);
  await kill(world);
  // For longer than a v1 session's note is fresh.
  await world.clock.advance(40_000);
  expect((await world.store.lease.read()).remainingMs).toBeLessThanOrEqual(0);

  const later = await startLeader({ after: world });
  const next = await V1Peer.open(later, { pid: 2002, profileKey: seat, isOwn: true });
  const ack = next.register();
  await later.clock.advance(2_000);
  expect(await ack).toMatchObject({ ok: true, result: { threadId: former.thread } });
});

test("protocol/O-35: a registration does not outlive its session: the next one makes its own with what was handed to it, and the former's is over", async () => {
  const world = await startLeader();
  const former = await seated(world, { profileKey: seat });
  await world.clock.advance(2_000);
  const next = await V1Peer.open(world, { pid: 2002, profileKey: seat });
  // Under the former's generation nothing is asked by anybody else.
  next.generation = former.generation;
  expect(await next.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });

  const target = { chatId: chatId(owner), threadId: threadId(former.thread) };
  const ack = next.register({ previousInstanceId: former.id, target });
  await world.clock.advance(2_000);
  expect(await ack).toMatchObject({ ok: true, result: { threadId: former.thread } });
  const say = { chat_id: owner, message_thread_id: former.thread, text: "x" };
  expect(await former.call("sendMessage", say)).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(await next.call("sendMessage", say)).toMatchObject({ ok: true });
});
