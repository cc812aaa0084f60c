/**
 * What followers ask of the leader, answered in the exact words of the wire.
 *
 * Owns: authentication, the order of checks of each request kind, turning a seat's reply into an acknowledgement.
 * Does not own: framing and the request ledger (transport), what happens to a seat (its chart), the calls' tables.
 */
import type { BoundThread, Generation, Incarnation, InstanceId } from "../machines/ids.ts";
import { generation, seatKey } from "../machines/ids.ts";
import { foreignIncarnation, unknownFact } from "../machines/incarnation.rules.ts";
import type { Follower, SeatReply } from "../machines/registration.machine.ts";
import { capability, incompatibilityOf } from "../machines/wire/constants.ts";
import type {
  Ack,
  CallApiRequest,
  DisconnectRequest,
  Envelope,
  FollowerOfferRequest,
  HeartbeatRequest,
  RegisterRequest,
  Registration,
  RegistrationResult,
  ResolveAgentTargetRequest,
  RouteAgentMessageRequest,
} from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import type { AgentDesk } from "./agents.ts";
import { callForFollower } from "./follower-calls.ts";
import { isTied } from "./follower-links.ts";
import type { FollowerLinks } from "./follower-links.ts";
import { routeHandoff } from "./handoff-routing.ts";
import type { Inbound } from "./ports.ts";
import type { Runtime } from "./runtime.ts";
import type { Seated, Seats } from "./seats.ts";

/** Compares a presented secret with the expected one, in constant time; an absent one never matches. */
export type SecretCheck = (given: string | undefined, expected: string) => boolean;

const refuse = (requestId: string, message: string): Ack => ({ kind: "bus.ack", requestId, ok: false, message });

const isOwnPeer = (registration: Registration): boolean =>
  registration.protocol?.capabilities.includes(capability.sharedStore) ?? false;

function carriedBy({ target, slot, threadName }: Registration): BoundThread | null {
  if (target?.threadId === undefined) return null;
  const { chatId, threadId } = target;
  return { target: { chatId, threadId }, slot: slot ?? "", threadName: threadName ?? "" };
}

function refusalText(reply: Exclude<SeatReply, { kind: "registered" | "alive" | "left" }>): string {
  switch (reply.kind) {
    case "unknown":
      return wireText.unknownFollower;
    case "stale":
      return wireText.staleGeneration;
    case "lostOwnership":
      return wireText.registrationLostOwnership;
    case "refused":
      return reply.reason;
    case "failed":
      return wireText.handlerFailed;
  }
}

/** The thread as the wire tells it: to a v1 peer a slot of two letters is left out (threads OP-6). */
function threadResult(isOwn: boolean, { target, slot, threadName }: BoundThread): RegistrationResult {
  const isSlotShown = slot !== "" && (slot.length === 1 || isOwn);
  return { chatId: target.chatId, threadId: target.threadId, ...(isSlotShown ? { slot } : {}), threadName };
}

type Registered = Extract<SeatReply, { kind: "registered" }>;

/** From when on a registration is told of as slow, in milliseconds. */
const slowRegistrationMs = 1_000;

type Sender = { readonly kind: "refused"; readonly text: string } | ({ readonly kind: "known" } & Seated);

export interface LeaderDesks {
  readonly seats: Seats;
  readonly links: FollowerLinks;
  readonly agents: AgentDesk;
}

export class LeaderHandler {
  private readonly runtime: Runtime;
  private readonly seats: Seats;
  private readonly links: FollowerLinks;
  private readonly agents: AgentDesk;
  private readonly isSecret: SecretCheck;

  constructor(runtime: Runtime, { seats, links, agents }: LeaderDesks, isSecret: SecretCheck) {
    this.runtime = runtime;
    this.seats = seats;
    this.links = links;
    this.agents = agents;
    this.isSecret = isSecret;
  }

  async handle(request: Envelope, from: Inbound): Promise<Ack> {
    const { counters } = this.runtime.ports;
    // Before authentication, unlike a follower's endpoint (§4.4).
    if (request.kind === "bus.ack") {
      counters.count("ack-as-request");
      return refuse(request.requestId, wireText.responseAsRequest);
    }
    if (!this.isSecret(request.auth, this.runtime.settings.secret)) {
      counters.count("request-unauthorized");
      return this.unauthorized(request);
    }
    switch (request.kind) {
      case "follower.register":
        return this.registered(request, from);
      case "follower.heartbeat":
      case "follower.disconnect":
        return this.ask(request);
      case "follower.callApi":
        return this.callApi(request);
      case "follower.resolveAgentTarget":
        return this.resolveAgent(request);
      case "follower.routeAgentMessage":
        return this.routeAgentMessage(request);
      case "follower.offerQueueHandoff":
        return this.offerHandoff(request);
      default:
        return refuse(request.requestId, wireText.notHandledByLeader);
    }
  }

  /** Also to whom we know nothing of: a registration hears who refused it (protocol O-1). */
  private unauthorized(request: Envelope): Ack {
    const refusal = refuse(request.requestId, wireText.unauthorized);
    return request.kind === "follower.register" ? { ...refusal, protocol: this.runtime.settings.identity } : refusal;
  }

  /** Every answer to a registration says who gives it (protocol O-1), the one to a defect included. */
  private async registered(request: RegisterRequest, from: Inbound): Promise<Ack> {
    try {
      return await this.register(request, from);
    } catch (error) {
      this.runtime.ports.stage.log.event("error", "registration-failed", { reason: String(error) });
      return { ...refuse(request.requestId, wireText.handlerFailed), protocol: this.runtime.settings.identity };
    }
  }

  private async register(request: RegisterRequest, from: Inbound): Promise<Ack> {
    const { requestId, registration } = request;
    const protocol = this.runtime.settings.identity;
    const incompatible = incompatibilityOf(protocol, registration.protocol);
    if (incompatible !== null) {
      const message = wireText.incompatibleProtocol(incompatible);
      return { ...refuse(requestId, message), protocol, error: { code: "incompatible-protocol" } };
    }
    const fresh = registration.registrationGeneration;
    if (fresh === undefined || fresh === "")
      return { ...refuse(requestId, wireText.registrationNeedsGeneration), protocol };
    // An address that is guessed is that of another profile's follower, if anybody's (protocol O-20).
    const { busSocketPath } = registration;
    if (busSocketPath === undefined || busSocketPath === "")
      return { ...refuse(requestId, wireText.registrationNeedsAddress), protocol };
    if (this.runtime.gate.permit() === null)
      return { ...refuse(requestId, wireText.registrationNeedsOwnership), protocol };

    const seat = registration.profileKey ?? seatKey(`manual:${registration.instanceId}`);
    const follower = this.followerOf(registration, { generation: fresh, endpoint: busSocketPath });
    const { clock } = this.runtime.ports.stage;
    const sinceMs = clock.elapsedMs();
    const reply = await this.seats.register(requestId, seat, follower);
    if (reply.kind === "alive" || reply.kind === "left")
      throw new Error("a registration was answered as something else");
    if (reply.kind !== "registered") {
      const text = reply.kind === "failed" ? wireText.provisioningFailed : refusalText(reply);
      return { ...refuse(requestId, text), protocol };
    }
    this.tellIfSlow(follower, reply, clock.elapsedMs() - sinceMs);
    // A v1 peer opens a connection for each request: its end means nothing.
    if (isOwnPeer(registration))
      void from.closed.then(() => {
        this.seats.linkClosed(seat, fresh);
      });
    return {
      kind: "bus.ack",
      requestId,
      ok: true,
      protocol,
      result: threadResult(isOwnPeer(registration), reply.thread),
    };
  }

  /** Whoever waited so long may have given up by then: that is told, and changes nothing (threads §2.6). */
  private tellIfSlow({ instanceId }: Follower, { thread, origin }: Registered, elapsedMs: number): void {
    if (elapsedMs < slowRegistrationMs) return;
    const { chatId, threadId } = thread.target;
    const details = { elapsedMs, instanceId, reused: origin !== "created", chatId, threadId };
    this.runtime.ports.stage.log.event("warn", "follower-register-critical", details);
  }

  private followerOf(registration: Registration, its: Pick<Follower, "generation" | "endpoint">): Follower {
    const { processBirthId, instanceId } = registration;
    return {
      ...its,
      instanceId,
      incarnation: processBirthId === undefined ? null : this.incarnationOf(processBirthId),
      threadName: isOwnPeer(registration) ? (registration.threadName ?? null) : null,
      carried: carriedBy(registration),
      previous: registration.previousInstanceId ?? null,
      capabilities: registration.protocol?.capabilities ?? [],
    };
  }

  /**
   * A birth id does not say in which pid namespace its pid counts. Ours is lent to it only when exactly this birth is seen
   * alive here: one that counts elsewhere would look dead, and its thread would be deleted (protocol O-16).
   */
  private incarnationOf(birthId: string): Incarnation | null {
    const { settings, ports } = this.runtime;
    const ifHere = foreignIncarnation(birthId, settings.incarnation.pidNamespace);
    if (ifHere === null) return null;
    try {
      if (ports.processes.liveness(ifHere) === "alive") return ifHere;
    } catch (error) {
      // A look that failed has seen nobody.
      ports.stage.log.event("warn", "process-not-seen", { birthId, reason: String(error) });
    }
    return foreignIncarnation(birthId, unknownFact);
  }

  private async ask(request: HeartbeatRequest | DisconnectRequest): Promise<Ack> {
    const { kind, requestId, instanceId, registrationGeneration } = request;
    const given = registrationGeneration ?? generation("");
    const reply = await this.seats.ask(kind, { requestId, instanceId, generation: given });
    if (reply.kind === "alive") {
      const asker = this.seats.byInstance(instanceId);
      const eligibleElectionSlots = this.seats.slots(asker !== null && isTied(asker.sitter));
      return { kind: "bus.ack", requestId, ok: true, result: { eligibleElectionSlots } };
    }
    if (reply.kind === "left") return { kind: "bus.ack", requestId, ok: true };
    if (reply.kind === "registered") throw new Error("a heartbeat was answered as a registration");
    if (reply.kind === "failed")
      this.runtime.ports.stage.log.event("warn", "request-failed", { kind, reason: reply.reason });
    return refuse(requestId, refusalText(reply));
  }

  private async callApi(request: CallApiRequest): Promise<Ack> {
    const sender = this.senderOf(request);
    if (sender.kind === "refused") return refuse(request.requestId, sender.text);
    this.seats.heard(request.instanceId, sender.sitter.generation);
    const keeper = this.seats.keeperOf(sender.seat, sender.sitter.generation);
    return callForFollower(this.runtime, request, { ...sender, keeper });
  }

  private async offerHandoff(request: FollowerOfferRequest): Promise<Ack> {
    const sender = this.senderOf(request);
    if (sender.kind === "refused") return refuse(request.requestId, sender.text);
    return routeHandoff(this.runtime, { seats: this.seats, links: this.links }, request, sender);
  }

  private resolveAgent(request: ResolveAgentTargetRequest): Ack {
    const { requestId, selector } = request;
    const sender = this.senderOf(request);
    if (sender.kind === "refused") return refuse(requestId, sender.text);
    this.seats.heard(request.instanceId, sender.sitter.generation);
    const found = this.agents.resolve(sender.sitter.thread, selector);
    if (found === null) return refuse(requestId, wireText.agentTargetUnavailable);
    const { target } = found.thread;
    const result = found.isLeader
      ? { chatId: target.chatId, threadId: target.threadId }
      : threadResult(isTied(sender.sitter), found.thread);
    return { kind: "bus.ack", requestId, ok: true, result };
  }

  private async routeAgentMessage(request: RouteAgentMessageRequest): Promise<Ack> {
    const { requestId, message, sentAtMs } = request;
    const sender = this.senderOf(request);
    if (sender.kind === "refused") return refuse(requestId, sender.text);
    this.seats.heard(request.instanceId, sender.sitter.generation);
    const answer = await this.agents.route({
      sender: request.instanceId,
      from: sender.sitter.thread,
      requestId,
      message: { ...message, sentAtMs },
    });
    // The cause is not on the wire (protocol O-9): the desk has logged and counted it.
    return answer.kind === "routed"
      ? { kind: "bus.ack", requestId, ok: true }
      : refuse(requestId, wireText.handlerFailed);
  }

  /** The routable follower that a fenced request comes from, or the exact refusal. */
  private senderOf({ instanceId, registrationGeneration }: FencedRequest): Sender {
    const found = this.seats.byInstance(instanceId);
    if (found === null) return { kind: "refused", text: wireText.unknownFollower };
    if (found.sitter.generation !== registrationGeneration) return { kind: "refused", text: wireText.staleGeneration };
    return { kind: "known", ...found };
  }
}

interface FencedRequest {
  readonly requestId: string;
  readonly instanceId: InstanceId;
  readonly registrationGeneration?: Generation;
}
