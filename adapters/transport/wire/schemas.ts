/**
 * One compiled schema for each envelope kind of protocol §3.
 *
 * Owns: the field tables of §3. Does not own: reading a line (parse.ts), and every check that needs state (services).
 * Invariants: the key order here is "parser order" of the ledger fingerprint (W-22). Reordering keys changes nothing on
 * the wire, for a fingerprint never leaves its process.
 */
import { z } from "zod";
import { deliveryIdPrefix } from "../../../machines/wire/constants.ts";
import type { Envelope } from "../../../machines/wire/envelopes.ts";
import {
  chatIdField,
  generationField,
  instanceIdField,
  integer,
  journalSeqField,
  lenient,
  naturalSafeInt,
  nonBlank,
  positiveSafeInt,
  protocolIdentity,
  record,
  seatKeyField,
  target,
  threadTarget,
  updateIdField,
} from "./fields.ts";
import { handoffPayload } from "./handoff-payload.ts";

const request = <Kind extends string>(kind: Kind) => ({
  kind: z.literal(kind),
  requestId: z.string(),
  auth: lenient(z.string()),
});

const ofFollower = { instanceId: instanceIdField, registrationGeneration: lenient(generationField) };
const sentAtMs = z.number();
const freeForm = z.unknown().optional();

const wireError = record({
  code: z.enum(["commit-unknown", "request-id-collision", "ledger-overloaded", "incompatible-protocol"]),
  method: lenient(z.string()),
});

const ack = record({
  kind: z.literal("bus.ack"),
  requestId: z.string(),
  ok: z.boolean(),
  message: lenient(z.string()),
  result: freeForm,
  protocol: lenient(protocolIdentity),
  error: lenient(wireError),
  auth: lenient(z.string()),
});

const registration = record({
  instanceId: instanceIdField,
  connectedAtMs: z.number(),
  registrationGeneration: lenient(generationField),
  protocol: lenient(protocolIdentity),
  previousInstanceId: lenient(instanceIdField),
  profileKey: lenient(seatKeyField),
  threadName: lenient(z.string()),
  // One letter in v1; threads/OP-6 continues after Z with two.
  slot: lenient(z.string().regex(/^[A-Z]{1,2}$/)),
  cwd: lenient(z.string()),
  pid: lenient(z.number()),
  processBirthId: lenient(z.string().min(1)),
  sessionGeneration: lenient(positiveSafeInt),
  target: target.optional(),
  busSocketPath: lenient(z.string()),
});

/** §3.8: exactly one of the two selectors must survive. */
const agentSelector = record({
  chatId: lenient(chatIdField.refine(Number.isInteger)),
  threadId: lenient(integer.positive()),
  threadName: lenient(z.string().trim().min(1)),
}).refine((selector) => (selector.threadId === undefined) !== (selector.threadName === undefined));

const agentMessage = record({ target: threadTarget, messageId: integer.positive(), text: nonBlank });

const delivery = record({
  deliveryId: z.string().regex(new RegExp(`^${deliveryIdPrefix}[a-f0-9]{64}$`)),
  sourceUpdateId: updateIdField,
  recipientBindingKey: seatKeyField,
});

/** Beyond v1: own peers share a journal, and say where in it. A v1 peer neither sends nor reads it. */
const journalPlace = record({ seq: journalSeqField, redelivered: z.boolean() });

const forward = {
  recipientInstanceId: instanceIdField,
  recipientRegistrationGeneration: generationField,
  delivery,
  journal: lenient(journalPlace),
  sentAtMs,
};

const offer = {
  recipientInstanceId: instanceIdField,
  recipientRegistrationGeneration: generationField,
  donorProcessId: positiveSafeInt,
  donorProcessBirthId: z.string().min(1).max(256),
  donorSessionGeneration: positiveSafeInt,
  donorAcquisitionId: z.string().min(1).max(256),
  donorAcquiredAtMs: naturalSafeInt,
  handoffToken: z.string().min(32).max(256),
  payload: handoffPayload,
  sentAtMs,
};

/** What a schema yields: the envelope of that kind. Removed keys show up as `undefined` in types only. */
type Parsed<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]: Parsed<T[K]> | AbsentIn<T, K> }
    : T;
type AbsentIn<T, K extends keyof T> = Partial<Pick<T, K>> extends Pick<T, K> ? undefined : never;
type Schemas = { readonly [Kind in Envelope["kind"]]: z.ZodType<Parsed<Extract<Envelope, { kind: Kind }>>> };

export const envelopeSchemas: Schemas = {
  "bus.ack": ack,
  "follower.register": record({ ...request("follower.register"), registration }),
  "follower.heartbeat": record({ ...request("follower.heartbeat"), ...ofFollower, sentAtMs }),
  "follower.disconnect": record({ ...request("follower.disconnect"), ...ofFollower, sentAtMs }),
  "follower.callApi": record({
    ...request("follower.callApi"),
    ...ofFollower,
    method: z.string(),
    args: z.array(z.unknown()),
    sentAtMs,
  }),
  "follower.resolveAgentTarget": record({
    ...request("follower.resolveAgentTarget"),
    ...ofFollower,
    selector: agentSelector,
    sentAtMs,
  }),
  "follower.routeAgentMessage": record({
    ...request("follower.routeAgentMessage"),
    ...ofFollower,
    message: agentMessage,
    sentAtMs,
  }),
  "follower.offerQueueHandoff": record({
    ...request("follower.offerQueueHandoff"),
    instanceId: instanceIdField,
    registrationGeneration: generationField,
    ...offer,
  }),
  "leader.offerQueueHandoff": record({
    ...request("leader.offerQueueHandoff"),
    donorInstanceId: instanceIdField,
    ...offer,
  }),
  "leader.forwardMessage": record({
    ...request("leader.forwardMessage"),
    ...forward,
    message: freeForm,
    forwardCommentBatchPosition: lenient(z.enum(["comment", "forward"])),
  }),
  "leader.forwardEditedMessage": record({ ...request("leader.forwardEditedMessage"), ...forward, message: freeForm }),
  "leader.forwardCallback": record({ ...request("leader.forwardCallback"), ...forward, query: freeForm }),
  "leader.forwardReaction": record({ ...request("leader.forwardReaction"), ...forward, reactionUpdate: freeForm }),
  "leader.replaceFollowerTarget": record({
    ...request("leader.replaceFollowerTarget"),
    recipientInstanceId: instanceIdField,
    recipientRegistrationGeneration: lenient(generationField),
    target: threadTarget,
    oldTarget: threadTarget.optional(),
    reason: z.literal("thread-restore"),
    sentAtMs,
  }),
};
