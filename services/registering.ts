/**
 * Registering at a leader: the request that is sent, and what its answer means.
 *
 * Owns: the words on the wire in this direction. Does not own: when to register, the connection.
 */
import type { BoundThread, Generation } from "../machines/ids.ts";
import { chatId, threadId } from "../machines/ids.ts";
import { asBody } from "../machines/calls.rules.ts";
import { birthId } from "../machines/incarnation.rules.ts";
import type { RegisterAnswer, RegisterInput } from "../machines/membership.machine.ts";
import type { Dialect } from "../machines/lease.rules.ts";
import { capability, incompatibilityOf } from "../machines/wire/constants.ts";
import type { ProtocolIdentity } from "../machines/wire/constants.ts";
import type { RegisterRequest } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import type { RequestOutcome } from "./ports.ts";
import type { Runtime, Settings } from "./runtime.ts";

export function registerRequest(
  { settings, ports, board }: Runtime,
  input: RegisterInput,
  attempt: { readonly generation: Generation; readonly address: string },
): RegisterRequest {
  const known = board.lastThread;
  const threadName = known?.threadName ?? settings.name;
  return {
    kind: "follower.register",
    requestId: attempt.generation,
    auth: input.leader.secret,
    registration: {
      instanceId: settings.me,
      profileKey: input.seat,
      ...(threadName === null || threadName === "" ? {} : { threadName }),
      ...(ports.v1 === null ? {} : { cwd: ports.v1.self.cwd }),
      pid: settings.incarnation.pid,
      processBirthId: birthId(settings.incarnation, settings.me),
      sessionGeneration: 1,
      ...(known === null ? {} : { target: known.target }),
      // One letter is all that the wire knows; two are among our own peers.
      ...(known === null || known.slot === "" ? {} : { slot: known.slot }),
      busSocketPath: attempt.address,
      registrationGeneration: attempt.generation,
      protocol: identityFor(settings, input.leader.dialect),
      connectedAtMs: ports.stage.clock.nowMs(),
    },
  };
}

/** Who we say we are: a v1 leader's journal is foreign to our handoffs, so they are not offered to it. */
export function identityFor({ identity }: Settings, dialect: Dialect): ProtocolIdentity {
  if (dialect === "own") return identity;
  return { ...identity, capabilities: identity.capabilities.filter((each) => each !== capability.queueHandoff) };
}

/** The election roster of a heartbeat's answer, filtered and sorted (protocol §4.6); empty when there is none. */
export function readRoster(result: unknown): readonly string[] {
  const slots: unknown = asBody(result)?.["eligibleElectionSlots"];
  if (!Array.isArray(slots)) return [];
  const valid = slots.filter((each): each is string => typeof each === "string" && /^[A-Z]{1,2}$/.test(each));
  return [...new Set(valid)].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
}

/** The thread in a registration's answer, flat or in a `target` of its own (protocol §3.2); null when it names none. */
function readThread(result: unknown): BoundThread | null {
  const fields = asBody(result);
  const target = asBody(fields?.["target"]) ?? fields;
  const chat = target?.["chatId"];
  const thread = target?.["threadId"];
  if (fields === null || !Number.isSafeInteger(chat) || !Number.isSafeInteger(thread)) return null;
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    target: { chatId: chatId(Number(chat)), threadId: threadId(Number(thread)) },
    slot: text(fields["slot"]),
    threadName: text(fields["threadName"]),
  };
}

/** What an answer to a registration means (protocol §6.4; O-1: a refusal without an identity is told in its own words). */
export function readRegistration(
  identity: ProtocolIdentity,
  outcome: RequestOutcome,
  generation: Generation,
): RegisterAnswer {
  if (outcome.kind !== "answered") return { kind: "unreachable", reason: outcome.reason };
  const { ack } = outcome;
  const refused: RegisterAnswer = {
    kind: "refused",
    reason: ack.message ?? "Telegram bus follower registration was rejected.",
  };
  // The address is another leader's by now: a matter for the lease, not a refusal of us.
  if (!ack.ok && ack.message === wireText.unauthorized) return { kind: "unreachable", reason: wireText.unauthorized };
  if (!ack.ok && ack.protocol === undefined) return refused;
  const incompatible = incompatibilityOf(identity, ack.protocol);
  if (incompatible !== null)
    return { kind: "refused", reason: `Incompatible Telegram bus leader protocol: ${incompatible}.` };
  if (!ack.ok) return refused;
  const thread = readThread(ack.result);
  return thread === null
    ? { kind: "refused", reason: "the leader accepted the registration and named no thread" }
    : { kind: "accepted", generation, thread };
}
