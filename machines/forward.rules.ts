/**
 * Carrying one update to a follower and checking what arrived (protocol §3.5, §6.8–6.10).
 *
 * Owns: which envelope an update becomes, what its answer means, what a receiver refuses.
 * Does not own: digests (brought by the caller), claims, the connection.
 */
import type { Generation, InstanceId, SeatKey, UpdateId } from "./ids.ts";
import { asBody } from "./calls.rules.ts";
import { sourceUpdateIdField } from "./wire/constants.ts";
import type { Ack, AnyForwardRequest, ForwardKind, JournalPlace } from "./wire/envelopes.ts";
import { wireText } from "./wire/texts.ts";
import type { RoutedKind } from "./updates.rules.ts";

const kindOf: Readonly<Record<RoutedKind, ForwardKind>> = {
  message: "leader.forwardMessage",
  edited_message: "leader.forwardEditedMessage",
  callback_query: "leader.forwardCallback",
  message_reaction: "leader.forwardReaction",
};
export const forwardKindOf = (kind: RoutedKind): ForwardKind => kindOf[kind];

export interface ForwardParts {
  readonly kind: RoutedKind;
  /** The update as Telegram sent it. */
  readonly update: unknown;
  readonly requestId: string;
  readonly auth: string;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  readonly seat: SeatKey;
  readonly updateId: UpdateId;
  readonly deliveryId: string;
  /** Where it is in the journal that an own peer shares; null for v1 peers. */
  readonly journal: JournalPlace | null;
  readonly sentAtMs: number;
}

/** The envelope that carries an update, its carrier stamped with the id it came from. */
export function forwardEnvelope(parts: ForwardParts): AnyForwardRequest {
  const carrier = { ...asBody(asBody(parts.update)?.[parts.kind]), [sourceUpdateIdField]: parts.updateId };
  const common = {
    requestId: parts.requestId,
    auth: parts.auth,
    recipientInstanceId: parts.instanceId,
    recipientRegistrationGeneration: parts.generation,
    delivery: {
      deliveryId: parts.deliveryId,
      sourceUpdateId: parts.updateId,
      recipientBindingKey: parts.seat,
    },
    ...(parts.journal === null ? {} : { journal: parts.journal }),
    sentAtMs: parts.sentAtMs,
  };
  switch (parts.kind) {
    case "message":
      return { kind: "leader.forwardMessage", ...common, message: carrier };
    case "edited_message":
      return { kind: "leader.forwardEditedMessage", ...common, message: carrier };
    case "callback_query":
      return { kind: "leader.forwardCallback", ...common, query: carrier };
    case "message_reaction":
      return { kind: "leader.forwardReaction", ...common, reactionUpdate: carrier };
  }
}

/** Why a forward is not accepted; null only on the exact receipt. */
export function faultOfReceipt(
  ack: Ack,
  sent: { readonly deliveryId: string; readonly updateId: UpdateId },
): string | null {
  if (!ack.ok) return ack.message ?? "Follower rejected forwarded Telegram update.";
  const receipt = asBody(ack.result);
  if (typeof receipt?.["deliveryId"] !== "string" || !Number.isSafeInteger(receipt["sourceUpdateId"]))
    return "Follower acknowledgement omitted the durable receipt.";
  return receipt["deliveryId"] === sent.deliveryId && receipt["sourceUpdateId"] === sent.updateId
    ? null
    : "Follower acknowledgement returned a mismatched durable receipt.";
}

/** What a receiver is, at the moment a forward arrives. */
export interface Receiver {
  readonly instanceId: InstanceId;
  readonly seat: SeatKey;
  /** Null while not registered. */
  readonly generation: Generation | null;
}

const carrierOf = (envelope: AnyForwardRequest): unknown => {
  if (envelope.kind === "leader.forwardCallback") return envelope.query;
  if (envelope.kind === "leader.forwardReaction") return envelope.reactionUpdate;
  return envelope.message;
};

/** The update that a forward carries, as Telegram sent it: the field that the bus added is gone (protocol §6.9). */
export function updateOfForward(envelope: AnyForwardRequest): Readonly<Record<string, unknown>> {
  const kind = (Object.keys(kindOf) as RoutedKind[]).find((each) => kindOf[each] === envelope.kind) ?? "message";
  const { [sourceUpdateIdField]: updateId, ...carrier } = asBody(carrierOf(envelope)) ?? {};
  return { update_id: updateId, [kind]: carrier };
}

/** The exact refusal of what is not for this registration of the receiver; null when it is. */
export function refusalOfAddress(
  envelope: Pick<AnyForwardRequest, "recipientInstanceId" | "recipientRegistrationGeneration">,
  receiver: Pick<Receiver, "instanceId" | "generation">,
): string | null {
  if (envelope.recipientInstanceId !== receiver.instanceId) return wireText.receiverCannotHandle;
  return receiver.generation === null || envelope.recipientRegistrationGeneration !== receiver.generation
    ? wireText.staleGeneration
    : null;
}

/** The exact refusal of a forward, in the wire's order of checks; null when it is to be admitted. */
export function refusalOfForward(
  envelope: AnyForwardRequest,
  receiver: Receiver,
  expectedDeliveryId: string,
): string | null {
  const misaddressed = refusalOfAddress(envelope, receiver);
  if (misaddressed !== null) return misaddressed;
  if (envelope.delivery.recipientBindingKey !== receiver.seat) return wireText.deliveryIdentityMismatch;
  if (envelope.delivery.deliveryId !== expectedDeliveryId) return wireText.invalidDeliveryId;
  return asBody(carrierOf(envelope))?.[sourceUpdateIdField] === envelope.delivery.sourceUpdateId
    ? null
    : wireText.sourceUpdateIdMismatch;
}
