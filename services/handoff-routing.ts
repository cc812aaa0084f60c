/**
 * An offer of queued work, carried from one v1 follower to another (protocol §3.10, §3.11, §4.11).
 *
 * Owns: the leader's checks after authentication, in the wire's order and words; the hop to the recipient.
 * Does not own: authority over the work (the journal that donor and recipient share), the generation checks of the
 * recipient's own endpoint.
 *
 * Invariants: an offer reaches a recipient only when leader, donor and recipient all handle handoffs, under the exact
 * generations of both, and never its donor (protocol P-45). Nothing is stored here, and nothing is repeated: the donor
 * asks again with an offer of its own. Own and v1 instances keep different journals, so no work moves between them.
 */
import { capability, timeoutMs } from "../machines/wire/constants.ts";
import type { Ack, FollowerOfferRequest, LeaderOfferRequest } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { isTied } from "./follower-links.ts";
import type { FollowerLinks } from "./follower-links.ts";
import type { RequestOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";
import type { Seated, Seats } from "./seats.ts";

export interface HandoffRoute {
  readonly seats: Seats;
  readonly links: FollowerLinks;
}

type Judged =
  { readonly kind: "refused"; readonly text: string } | { readonly kind: "open"; readonly recipient: Seated };

const handles = (capabilities: readonly string[]): boolean => capabilities.includes(capability.queueHandoff);

/** Rows 4 to 6 of §3.10; the recipient that passes them. */
function judge({ settings }: Runtime, seats: Seats, offer: FollowerOfferRequest, donor: Seated): Judged {
  const recipient = seats.byInstance(offer.recipientInstanceId);
  const isNegotiated =
    recipient !== null &&
    [settings.identity.capabilities, donor.sitter.capabilities, recipient.sitter.capabilities].every(handles) &&
    isTied(donor.sitter) === isTied(recipient.sitter);
  if (!isNegotiated) return { kind: "refused", text: wireText.handoffNotNegotiated };
  if (recipient.sitter.generation !== offer.recipientRegistrationGeneration)
    return { kind: "refused", text: wireText.handoffRecipientStale };
  if (recipient.sitter.instanceId === donor.sitter.instanceId)
    return { kind: "refused", text: wireText.handoffToItself };
  return { kind: "open", recipient };
}

/** Names the donor by its registration, never by its claim. */
function relayed(offer: FollowerOfferRequest, donor: Seated): LeaderOfferRequest {
  const { instanceId: _claimed, registrationGeneration: _fence, ...carried } = offer;
  return { ...carried, kind: "leader.offerQueueHandoff", donorInstanceId: donor.sitter.instanceId };
}

/** What the donor hears; null = a failure of the transport, whose cause is not on the wire (W-11). */
function answerTo(requestId: string, outcome: RequestOutcome): Ack | null {
  const refused = (message: string): Ack => ({ kind: "bus.ack", requestId, ok: false, message });
  if (outcome.kind === "notSent") return null;
  if (outcome.kind === "lost") return outcome.how === "closed" ? refused(wireText.handoffNotAcknowledged) : null;
  // Of a recipient's answer only these travel on.
  const { ok, message, result } = outcome.ack;
  if (!ok) return { kind: "bus.ack", requestId, ok, ...(message === undefined ? {} : { message }) };
  return { kind: "bus.ack", requestId, ok, ...(result === undefined ? {} : { result }) };
}

/** The answer to an offer of a donor that passed authentication and its own generation check. */
export async function routeHandoff(
  runtime: Runtime,
  { seats, links }: HandoffRoute,
  offer: FollowerOfferRequest,
  donor: Seated,
): Promise<Ack> {
  const { requestId } = offer;
  const judged = judge(runtime, seats, offer, donor);
  if (judged.kind === "refused") return { kind: "bus.ack", requestId, ok: false, message: judged.text };
  const { seat, sitter } = judged.recipient;
  const outcome = await links.request(
    { seat, generation: sitter.generation },
    relayed(offer, donor),
    timeoutMs.handoffHop,
  );
  const answer = answerTo(requestId, outcome);
  if (answer === null) {
    const reason = outcome.kind === "answered" ? "" : outcome.reason;
    runtime.ports.counters.count("handoff-not-relayed");
    runtime.ports.stage.log.event("warn", "handoff-not-relayed", { to: sitter.instanceId, reason });
    return { kind: "bus.ack", requestId, ok: false, message: wireText.handlerFailed };
  }
  if (answer.ok) {
    // Only a positive answer is a sign of life (protocol O-3), and only of these registrations (O-4).
    seats.heard(donor.sitter.instanceId, donor.sitter.generation);
    seats.heard(sitter.instanceId, sitter.generation);
  }
  return answer;
}
