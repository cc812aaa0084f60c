/**
 * The leader's endpoint: what followers ask, answered in the exact words of the wire.
 *
 * Owns: authentication, the order of checks of each request kind, turning a seat's reply into an acknowledgement.
 * Does not own: framing and the request ledger (transport), what happens to a seat (its chart), the calls' table.
 */
import { fromCallback } from "xstate";
import type { Epoch, Generation, InstanceId } from "../machines/ids.ts";
import { generation, seatKey } from "../machines/ids.ts";
import { foreignIncarnation } from "../machines/incarnation.rules.ts";
import type { Follower, SeatReply } from "../machines/registration.machine.ts";
import { capability, incompatibilityOf } from "../machines/wire/constants.ts";
import type {
  Ack,
  CallApiRequest,
  DisconnectRequest,
  HeartbeatRequest,
  RegisterRequest,
  Registration,
  RequestEnvelope,
} from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { callForFollower } from "./follower-calls.ts";
import type { Endpoint, Inbound } from "./ports.ts";
import type { Runtime } from "./runtime.ts";
import type { Seats } from "./seats.ts";

export type SecretCheck = (given: string | undefined, expected: string) => boolean;

/** How often the published address is looked at, in milliseconds. */
const ensureEveryMs = 1_000;

const refuse = (requestId: string, message: string): Ack => ({ kind: "bus.ack", requestId, ok: false, message });

/** The words for what became of a request; `unregistered` is how a refused registration names its cause. */
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

export function createLeaderHandler(runtime: Runtime, seats: Seats, isSecret: SecretCheck) {
  const { settings, ports } = runtime;
  const { identity } = settings;

  const followerOf = (registration: Registration, fresh: Generation): Follower => ({
    instanceId: registration.instanceId,
    generation: fresh,
    incarnation:
      registration.processBirthId === undefined
        ? null
        : foreignIncarnation(registration.processBirthId, settings.incarnation.pidNamespace),
    endpoint: registration.busSocketPath ?? ports.transport.followerAddress(registration.instanceId),
    threadName: isOwnPeer(registration) ? (registration.threadName ?? null) : null,
    capabilities: registration.protocol?.capabilities ?? [],
  });

  const register = async (request: RegisterRequest, from: Inbound): Promise<Ack> => {
    const { requestId, registration } = request;
    const incompatible = incompatibilityOf(identity, registration.protocol);
    if (incompatible !== null)
      return {
        ...refuse(requestId, wireText.incompatibleProtocol(incompatible)),
        protocol: identity,
        error: { code: "incompatible-protocol" },
      };
    const fresh = registration.registrationGeneration;
    if (fresh === undefined || fresh === "")
      return { ...refuse(requestId, wireText.registrationNeedsGeneration), protocol: identity };
    if (runtime.gate.permit() === null)
      return { ...refuse(requestId, wireText.registrationNeedsOwnership), protocol: identity };
    const seat = registration.profileKey ?? seatKey(`manual:${registration.instanceId}`);
    const reply = await seats.register(requestId, seat, followerOf(registration, fresh));
    if (reply.kind !== "registered") {
      if (reply.kind === "alive" || reply.kind === "left")
        throw new Error("a registration was answered as something else");
      const text = reply.kind === "failed" ? wireText.provisioningFailed : refusalText(reply);
      return { ...refuse(requestId, text), protocol: identity };
    }
    void from.closed.then(() => {
      seats.linkClosed(seat, fresh);
    });
    const { target, slot, threadName } = reply.thread;
    const shown = slot === "" || (slot.length > 1 && !isOwnPeer(registration)) ? {} : { slot };
    return {
      kind: "bus.ack",
      requestId,
      ok: true,
      protocol: identity,
      result: { chatId: target.chatId, threadId: target.threadId, ...shown, threadName },
    };
  };

  const ask = async (request: HeartbeatRequest | DisconnectRequest): Promise<Ack> => {
    const { requestId, instanceId, registrationGeneration } = request;
    const given = registrationGeneration ?? generation("");
    const reply = await seats.ask(request.kind, { requestId, instanceId, generation: given });
    if (reply.kind === "alive")
      return { kind: "bus.ack", requestId, ok: true, result: { eligibleElectionSlots: seats.slots() } };
    if (reply.kind === "left") return { kind: "bus.ack", requestId, ok: true };
    if (reply.kind === "registered") throw new Error("a heartbeat was answered as a registration");
    if (reply.kind === "failed")
      ports.stage.log.event("warn", "request-failed", { kind: request.kind, reason: reply.reason });
    return refuse(requestId, refusalText(reply));
  };

  /** The routable follower that a fenced request comes from, or the exact refusal. */
  const senderOf = (from: { readonly instanceId: InstanceId; readonly registrationGeneration?: Generation }) => {
    const found = seats.sitterByInstance(from.instanceId);
    if (found === null) return { kind: "refused", text: wireText.unknownFollower } as const;
    if (found.sitter.generation !== from.registrationGeneration)
      return { kind: "refused", text: wireText.staleGeneration } as const;
    return { kind: "known", ...found } as const;
  };

  const callApi = async (request: CallApiRequest): Promise<Ack> => {
    const sender = senderOf(request);
    if (sender.kind === "refused") return refuse(request.requestId, sender.text);
    seats.heard(request.instanceId, sender.sitter.generation);
    return callForFollower(runtime, request, sender);
  };

  return async (request: RequestEnvelope, from: Inbound): Promise<Ack> => {
    if (!isSecret(request.auth, settings.secret)) return refuse(request.requestId, wireText.unauthorized);
    switch (request.kind) {
      case "follower.register":
        return register(request, from);
      case "follower.heartbeat":
      case "follower.disconnect":
        return ask(request);
      case "follower.callApi":
        return callApi(request);
      case "follower.resolveAgentTarget":
      case "follower.routeAgentMessage": {
        const sender = senderOf(request);
        if (sender.kind === "refused") return refuse(request.requestId, sender.text);
        return refuse(
          request.requestId,
          request.kind === "follower.resolveAgentTarget"
            ? wireText.agentTargetUnavailable
            : wireText.agentRoutingUnavailable,
        );
      }
      case "follower.offerQueueHandoff": {
        const sender = senderOf(request);
        return refuse(request.requestId, sender.kind === "refused" ? sender.text : wireText.handoffNotNegotiated);
      }
      default:
        return refuse(request.requestId, wireText.notHandledByLeader);
    }
  };
}

const isOwnPeer = (registration: Registration): boolean =>
  registration.protocol?.capabilities.includes(capability.sharedStore) ?? false;

/** The endpoint as a companion of the activation chart: `endpoint.open` once it is published under our epoch. */
export function provideEndpoint(runtime: Runtime, seats: Seats, isSecret: SecretCheck) {
  const { transport, store, stage } = runtime.ports;
  return fromCallback<{ readonly type: "never" }, { readonly epoch: Epoch }>(({ input: { epoch }, sendBack }) => {
    let opened: Endpoint | null = null;
    let isLeft = false;
    let timer: unknown = null;

    const closing = (endpoint: Endpoint): void => {
      endpoint.close().catch((error: unknown) => {
        stage.log.event("warn", "endpoint-close", { reason: String(error) });
      });
    };
    const watch = (endpoint: Endpoint): void => {
      timer = stage.clock.setTimeout(() => {
        endpoint.ensure().then(
          (recovered) => {
            if (recovered) stage.log.event("warn", "leader-endpoint-recovery", { address: endpoint.address });
            if (!isLeft) watch(endpoint);
          },
          (error: unknown) => {
            if (!isLeft) sendBack({ type: "endpoint.failed", reason: String(error) });
          },
        );
      }, ensureEveryMs);
    };

    transport
      .listen({
        address: transport.leaderAddress,
        handle: createLeaderHandler(runtime, seats, isSecret),
        publish: async (commit) => (await store.lease.commitIfHeld(epoch, commit)).kind === "committed",
      })
      .then(
        (endpoint) => {
          if (isLeft) {
            closing(endpoint);
            return;
          }
          opened = endpoint;
          watch(endpoint);
          sendBack({ type: "endpoint.open" });
        },
        (error: unknown) => {
          if (!isLeft) sendBack({ type: "endpoint.failed", reason: String(error) });
        },
      );

    return () => {
      isLeft = true;
      if (timer !== null) stage.clock.clearTimeout(timer);
      if (opened !== null) closing(opened);
    };
  });
}
