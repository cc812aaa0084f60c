/**
 * What a leader's answers mean to a follower: the checks of a registration's answer in their order, and the roster of a
 * heartbeat's.
 *
 * Owns: the reading of acks (protocol §3.2, §4.6, §6.4). Does not own: sending, connections, when to ask again.
 */
import { asBody } from "./calls.rules.ts";
import { chatId, threadId } from "./ids.ts";
import type { BoundThread, Generation } from "./ids.ts";
import { incompatibilityOf } from "./wire/constants.ts";
import type { ProtocolIdentity } from "./wire/constants.ts";
import type { Ack } from "./wire/envelopes.ts";
import { wireText } from "./wire/texts.ts";

export type RegisterAnswer =
  /** Registered. `thread` is null when the leader named none: it knows of none for us (protocol §3.2). */
  | { readonly kind: "accepted"; readonly generation: Generation; readonly thread: BoundThread | null }
  /** The leader answered no. */
  | { readonly kind: "refused"; readonly reason: string }
  /** No answer: nobody there, or the connection broke. */
  | { readonly kind: "unreachable"; readonly reason: string };

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

/**
 * What an answer to a registration means (protocol §6.4; O-1: a refusal without an identity is told in its own words). A
 * compatible yes is a yes, whatever its result holds.
 */
export function readRegistration(identity: ProtocolIdentity, ack: Ack, generation: Generation): RegisterAnswer {
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
  return ack.ok ? { kind: "accepted", generation, thread: readThread(ack.result) } : refused;
}
