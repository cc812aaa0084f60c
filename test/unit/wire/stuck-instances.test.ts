/** Instances that do not answer, and what they must not take from the others, in virtual time. */
import { expect, test } from "vitest";
import { acquisitionId, seatKey, updateId } from "../../../machines/ids.ts";
import type { Envelope } from "../../../machines/wire/envelopes.ts";
import { owner, seated, startLeader } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

let lastId = 500;
function say({ telegram }: LeaderWorld, thread: number, text: string): number {
  lastId += 1;
  const person = { id: owner, is_bot: false, first_name: "U" };
  telegram.give({
    update_id: lastId,
    ...{
      message: {
        message_id: lastId,
        date: 1,
        chat: { id: owner, type: "private", first_name: "U" },
        from: person,
        message_thread_id: thread,
        is_topic_message: true,
        text,
      },
    },
  });
  return lastId;
}

const never = (): Promise<never> => new Promise(() => undefined);
type Peer = Awaited<ReturnType<typeof seated>>;
const textIn = (request: Envelope): string | null => {
  if (request.kind !== "leader.forwardMessage") return null;
  const { message } = request;
  return typeof message === "object" && message !== null && "text" in message ? String(message.text) : null;
};
const textsOf = ({ received }: Peer): string[] => received.flatMap((each) => textIn(each) ?? []);

/** As one of ours takes an update: by a claim of its row, which it settles at once. */
async function take(world: LeaderWorld, peer: Peer, request: Envelope) {
  if (!("delivery" in request)) throw new Error(`${request.kind} brings no update`);
  const { deliveryId, sourceUpdateId } = request.delivery;
  await world.store.work.claim({
    updateId: updateId(sourceUpdateId),
    seq: null,
    claimant: {
      seat: seatKey(`manual:owner-${peer.pid}`),
      instanceId: peer.id,
      generation: peer.generation,
      acquisition: acquisitionId(`a-${sourceUpdateId}`),
    },
    owners: [],
    settleAtMs: world.clock.nowMs(),
  });
  return { result: { deliveryId, sourceUpdateId } };
}

test("C74 updates/Q-26 forty instances that do not answer leave a place to every other one, and to new ones", async () => {
  const world = await startLeader();
  const stuck: Peer[] = [];
  for (let n = 0; n < 40; n += 1) stuck.push(await seated(world, { pid: 3_000 + n, isOwn: true, answer: never }));
  const healthy = await seated(world, { pid: 2_001 });
  for (let n = 0; n < 40; n += 1) for (const { thread } of stuck) say(world, thread, `work ${n}`);
  await world.clock.advance(500);
  const sent = stuck.reduce((sum, { received }) => sum + received.length, 0);
  // Neither all of the 1,024 places, nor as much as the first ones would like.
  expect(sent).toBeGreaterThan(512 - 32);
  expect(sent).toBeLessThan(512 + 64);
  expect(stuck.every(({ received }) => received.length > 0)).toBe(true);

  say(world, healthy.thread, "hello");
  await world.clock.advance(200);
  expect(textsOf(healthy)).toEqual(["hello"]);
});

test("/stop goes ahead of the work that it is to stop: behind a turn of minutes and a full hand it arrives at once", async () => {
  const world = await startLeader();
  const busy = await seated(world, { isOwn: true });
  busy.answer = (request) => (textIn(request) === "/stop" ? take(world, busy, request) : never());
  for (let n = 0; n < 60; n += 1) say(world, busy.thread, `work ${n}`);
  await world.clock.advance(1_000);
  const before = textsOf(busy);
  expect(before.length).toBeLessThan(60);
  say(world, busy.thread, "/stop");
  await world.clock.advance(100);
  expect(textsOf(busy).slice(before.length)).toEqual(["/stop"]);
});
