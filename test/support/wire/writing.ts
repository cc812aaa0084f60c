/** A user who writes into threads, and instances that take it as ours do. */
import { acquisitionId, seatKey, updateId } from "../../../machines/ids.ts";
import type { Envelope } from "../../../machines/wire/envelopes.ts";
import { owner } from "./leader.ts";
import type { LeaderWorld, seated } from "./leader.ts";

let lastId = 500;
export function say({ telegram }: LeaderWorld, thread: number, text: string): number {
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

export type Peer = Awaited<ReturnType<typeof seated>>;
export const textIn = (request: Envelope): string | null => {
  if (request.kind !== "leader.forwardMessage") return null;
  const { message } = request;
  return typeof message === "object" && message !== null && "text" in message ? String(message.text) : null;
};
export const textsOf = ({ received }: Peer): string[] => received.flatMap((each) => textIn(each) ?? []);

/** As one of ours takes an update: by a claim of its row, which it settles at once. */
export async function take(world: LeaderWorld, peer: Peer, request: Envelope) {
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
