/**
 * A follower's own endpoint: where the leader's forwards arrive.
 *
 * Owns: serving it for as long as the instance lives, the answer to each request.
 * Does not own: what a forward must satisfy (`machines/forward.rules.ts`), the claim and the handing out (`inbox.ts`).
 *
 * The positive answer is the durable receipt: it is given only after the claim is on disk.
 */
import { refusalOfAddress, refusalOfForward, updateOfForward } from "../machines/forward.rules.ts";
import { lane } from "../machines/ids.ts";
import { deliveryIdText } from "../machines/wire/envelopes.ts";
import type { Ack, AnyForwardRequest, Envelope, ForwardReceipt } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { isTaken } from "./inbox.ts";
import type { Arrival, Inbox } from "./inbox.ts";
import type { AdmittedUpdate, Endpoint, ListenRequest } from "./ports.ts";
import type { OwnPlace, Runtime } from "./runtime.ts";

export interface Receiver {
  /** The address to register with; the endpoint is there, and can be found, when this resolves. */
  ensure(): Promise<string>;
  /** Under a v1 leader, which dispatches nothing of ours: hands out what of our thread is due again. */
  resume(): void;
  close(): Promise<void>;
}

/** Under a v1 leader everything of a seat is one lane, its thread's: the leader has decided that it is ours. */
const laneOfPlace = ({ thread, seat }: OwnPlace) =>
  lane(thread === null ? seat : `${String(thread.target.chatId)}:${String(thread.target.threadId)}`);

/** A forwarded update as Telegram sent it to the leader. */
function foreignUpdate(request: AnyForwardRequest, place: OwnPlace): AdmittedUpdate {
  const { sourceUpdateId: updateId } = request.delivery;
  const update = updateOfForward(request);
  return { updateId, lane: laneOfPlace(place), body: JSON.stringify(update) };
}

const forwardKinds: readonly string[] = [
  "leader.forwardMessage",
  "leader.forwardEditedMessage",
  "leader.forwardCallback",
  "leader.forwardReaction",
];
const isForward = (request: Envelope): request is AnyForwardRequest => forwardKinds.includes(request.kind);

const refuse = (requestId: string, message: string): Ack => ({ kind: "bus.ack", requestId, ok: false, message });

type MoveRequest = Extract<Envelope, { kind: "leader.replaceFollowerTarget" }>;

/** Another thread for the same registration (protocol §6.15): slot and name stay, the generation too. */
function moveThread(runtime: Runtime, request: MoveRequest): Ack {
  const { requestId, recipientInstanceId, recipientRegistrationGeneration: generation, target } = request;
  const { board, settings } = runtime;
  if (recipientInstanceId !== settings.me) return refuse(requestId, wireText.receiverCannotHandle);
  if (board.leader === null || generation !== board.leader.generation)
    return refuse(requestId, wireText.staleGeneration);
  const { place } = board;
  if (place === null) return refuse(requestId, wireText.noActiveContext);
  const thread = { slot: "", threadName: "", ...place.thread, target };
  board.place = { ...place, thread };
  board.lastThread = thread;
  runtime.onPlaceMoved.fire();
  return { kind: "bus.ack", requestId, ok: true };
}

function resumeWork(runtime: Runtime, inbox: Inbox): void {
  const { place, leader } = runtime.board;
  if (place === null || leader?.dialect !== "v1") return;
  inbox.adopt(null, laneOfPlace(place), place).catch((error: unknown) => {
    runtime.ports.stage.log.event("warn", "update-not-adopted", { reason: String(error) });
  });
}
const arrivalOf = (request: AnyForwardRequest): Arrival => ({
  updateId: request.delivery.sourceUpdateId,
  seq: request.journal?.seq ?? null,
  update: updateOfForward(request),
  redelivered: request.journal?.redelivered ?? false,
});

/** Our own instances stage nothing: a v1 donor's journal is foreign, and our own work moves in the shared one. */
const refusalOfOffer = (...asked: Parameters<typeof refusalOfAddress>): string =>
  refusalOfAddress(...asked) ?? wireText.cannotAcceptHandoff;

/** A follower's address is its own: nobody else could have published there. */
const publishAtOnce: ListenRequest["publish"] = (commit) => {
  commit();
  return Promise.resolve(true);
};

export function createReceiver(
  runtime: Runtime,
  inbox: Inbox,
  isSecret: (given: string | undefined, expected: string) => boolean,
): Receiver {
  const { transport, ids } = runtime.ports;
  const { me } = runtime.settings;
  let endpoint: Promise<Endpoint> | null = null;

  const admit = async (request: AnyForwardRequest): Promise<Ack> => {
    const { place, leader } = runtime.board;
    const { requestId, delivery } = request;
    // Only a registration that the leader acknowledged may receive; while leading, nothing is forwarded to us.
    const generation = leader?.generation ?? null;
    const misaddressed = refusalOfAddress(request, { instanceId: me, generation });
    if (misaddressed !== null) return refuse(requestId, misaddressed);
    if (place === null) return refuse(requestId, wireText.noActiveContext);
    const expected = ids.sha256Hex(deliveryIdText(request.kind, delivery.recipientBindingKey, delivery.sourceUpdateId));
    const refusal = refusalOfForward(
      request,
      { instanceId: me, seat: place.seat, generation },
      `telegram-follower-v1-${expected}`,
    );
    if (refusal !== null) return refuse(requestId, refusal);
    const receipt: ForwardReceipt = { deliveryId: delivery.deliveryId, sourceUpdateId: delivery.sourceUpdateId };
    if (leader?.dialect === "v1") {
      const adopted = await inbox.adopt(foreignUpdate(request, place), laneOfPlace(place), place);
      if (adopted === "adopted") return { kind: "bus.ack", requestId, ok: true, result: receipt };
      return refuse(requestId, adopted === "stale" ? wireText.staleGeneration : "The journal of the follower is full.");
    }
    const outcome = await inbox.take(arrivalOf(request), place);
    if (outcome === "stale") return refuse(requestId, wireText.staleGeneration);
    if (!isTaken(outcome)) return refuse(requestId, wireText.dispatchFailed);
    return { kind: "bus.ack", requestId, ok: true, result: receipt };
  };

  const handle = async (request: Envelope): Promise<Ack> => {
    const { leader, leaderSecret } = runtime.board;
    // Authentication first, also of an ack that comes as a request (protocol A-8).
    if (leaderSecret === null || !isSecret(request.auth, leaderSecret)) {
      runtime.ports.counters.count("request-unauthorized");
      return refuse(request.requestId, wireText.unauthorized);
    }
    if (request.kind === "bus.ack") runtime.ports.counters.count("ack-as-request");
    if (isForward(request)) return admit(request);
    if (request.kind === "leader.replaceFollowerTarget") return moveThread(runtime, request);
    if (request.kind === "leader.offerQueueHandoff")
      return refuse(
        request.requestId,
        refusalOfOffer(request, { instanceId: me, generation: leader?.generation ?? null }),
      );
    return refuse(request.requestId, wireText.receiverCannotHandle);
  };

  const open = (): Promise<Endpoint> =>
    transport.listen({ address: transport.followerAddress(me), handle, publish: publishAtOnce });

  return {
    async ensure() {
      endpoint ??= open().catch((error: unknown) => {
        endpoint = null;
        throw error;
      });
      const opened = await endpoint;
      // One that cannot be published again now still serves its connections, and is asked again.
      await opened.ensure();
      return opened.address;
    },
    resume: () => resumeWork(runtime, inbox),
    async close() {
      const closing = endpoint;
      endpoint = null;
      if (closing !== null) await (await closing).close();
    },
  };
}
