/**
 * Envelopes of the v1 wire (protocol §3), as types.
 *
 * Owns: what a parsed envelope looks like. Does not own: parsing (`adapters/transport/wire`), digests (the `Ids` port).
 * Identities are branded here, after parsing; values from Telegram stay `unknown` until a rule has looked at them.
 */
import type { ChatId, Generation, InstanceId, JournalSeq, SeatKey, Target, ThreadTarget, UpdateId } from "../ids.ts";
import type { ProtocolIdentity } from "./constants.ts";

export type WireErrorCode = "commit-unknown" | "request-id-collision" | "ledger-overloaded" | "incompatible-protocol";

export interface Ack {
  readonly kind: "bus.ack";
  readonly requestId: string;
  readonly ok: boolean;
  readonly message?: string;
  readonly result?: unknown;
  readonly protocol?: ProtocolIdentity;
  readonly error?: { readonly code: WireErrorCode; readonly method?: string };
  /** Only on an ack that somebody sends as a request; an answer carries none. */
  readonly auth?: string;
}

/** What every request has. `auth` is absent when the sender sent none, and then no handler runs. */
interface Request<Kind extends string> {
  readonly kind: Kind;
  readonly requestId: string;
  readonly auth?: string;
}

export interface Registration {
  readonly instanceId: InstanceId;
  readonly connectedAtMs: number;
  readonly registrationGeneration?: Generation;
  readonly protocol?: ProtocolIdentity;
  readonly previousInstanceId?: InstanceId;
  readonly profileKey?: SeatKey;
  readonly threadName?: string;
  readonly slot?: string;
  readonly cwd?: string;
  readonly pid?: number;
  readonly processBirthId?: string;
  readonly sessionGeneration?: number;
  readonly target?: Target;
  readonly busSocketPath?: string;
}

export interface RegisterRequest extends Request<"follower.register"> {
  readonly registration: Registration;
}

/** Requests of a follower after its registration: all carry the generation that fences them. */
interface FollowerRequest<Kind extends string> extends Request<Kind> {
  readonly instanceId: InstanceId;
  readonly registrationGeneration?: Generation;
  readonly sentAtMs: number;
}

export type HeartbeatRequest = FollowerRequest<"follower.heartbeat">;
export type DisconnectRequest = FollowerRequest<"follower.disconnect">;

export interface CallApiRequest extends FollowerRequest<"follower.callApi"> {
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface AgentSelector {
  readonly chatId?: ChatId;
  readonly threadId?: number;
  readonly threadName?: string;
}

export interface ResolveAgentTargetRequest extends FollowerRequest<"follower.resolveAgentTarget"> {
  readonly selector: AgentSelector;
}

export interface RouteAgentMessageRequest extends FollowerRequest<"follower.routeAgentMessage"> {
  readonly message: { readonly target: ThreadTarget; readonly messageId: number; readonly text: string };
}

/** Who offers queued work, and to whom (protocol §3.10); the payload is checked against §3.12 by the parser. */
interface HandoffOffer {
  readonly recipientInstanceId: InstanceId;
  readonly recipientRegistrationGeneration: Generation;
  readonly donorProcessId: number;
  readonly donorProcessBirthId: string;
  readonly donorSessionGeneration: number;
  readonly donorAcquisitionId: string;
  readonly donorAcquiredAtMs: number;
  readonly handoffToken: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly sentAtMs: number;
}

export interface FollowerOfferRequest extends Request<"follower.offerQueueHandoff">, HandoffOffer {
  readonly instanceId: InstanceId;
  readonly registrationGeneration: Generation;
}

export interface LeaderOfferRequest extends Request<"leader.offerQueueHandoff">, HandoffOffer {
  readonly donorInstanceId: InstanceId;
}

export interface Delivery {
  readonly deliveryId: string;
  readonly sourceUpdateId: UpdateId;
  readonly recipientBindingKey: SeatKey;
}

/** The very entry of the journal that own peers share: ids restart, so the id alone may name an older one. */
export interface JournalPlace {
  readonly seq: JournalSeq;
  readonly redelivered: boolean;
}

/** Requests of the leader to a follower that carry one update. */
interface ForwardRequest<Kind extends string> extends Request<Kind> {
  readonly recipientInstanceId: InstanceId;
  readonly recipientRegistrationGeneration: Generation;
  readonly delivery: Delivery;
  /** Between own peers only. */
  readonly journal?: JournalPlace;
  readonly sentAtMs: number;
}

export interface ForwardMessageRequest extends ForwardRequest<"leader.forwardMessage"> {
  readonly message?: unknown;
  readonly forwardCommentBatchPosition?: "comment" | "forward";
}
export interface ForwardEditedMessageRequest extends ForwardRequest<"leader.forwardEditedMessage"> {
  readonly message?: unknown;
}
export interface ForwardCallbackRequest extends ForwardRequest<"leader.forwardCallback"> {
  readonly query?: unknown;
}
export interface ForwardReactionRequest extends ForwardRequest<"leader.forwardReaction"> {
  readonly reactionUpdate?: unknown;
}

export interface ReplaceTargetRequest extends Request<"leader.replaceFollowerTarget"> {
  readonly recipientInstanceId: InstanceId;
  readonly recipientRegistrationGeneration?: Generation;
  readonly target: ThreadTarget;
  readonly oldTarget?: ThreadTarget;
  readonly reason: "thread-restore";
  readonly sentAtMs: number;
}

export type AnyForwardRequest =
  ForwardMessageRequest | ForwardEditedMessageRequest | ForwardCallbackRequest | ForwardReactionRequest;

export type FollowerToLeader =
  | RegisterRequest
  | HeartbeatRequest
  | DisconnectRequest
  | CallApiRequest
  | ResolveAgentTargetRequest
  | RouteAgentMessageRequest
  | FollowerOfferRequest;

export type LeaderToFollower = AnyForwardRequest | ReplaceTargetRequest | LeaderOfferRequest;

export type RequestEnvelope = FollowerToLeader | LeaderToFollower;
export type Envelope = RequestEnvelope | Ack;

/** Result of a handled registration: the thread, flat. */
export interface RegistrationResult {
  readonly chatId: number;
  readonly threadId?: number;
  readonly slot?: string;
  readonly threadName?: string;
}

/** The durable receipt of a forward. */
export interface ForwardReceipt {
  readonly deliveryId: string;
  readonly sourceUpdateId: number;
}

export type ForwardKind = AnyForwardRequest["kind"];

/** The exact text whose SHA-256 is the delivery id (protocol §6.8): this key order, no spaces. */
export const deliveryIdText = (kind: ForwardKind, recipientBindingKey: SeatKey, sourceUpdateId: UpdateId): string =>
  `{"version":1,"kind":${JSON.stringify(kind)},"recipientBindingKey":${JSON.stringify(recipientBindingKey)},"sourceUpdateId":${String(sourceUpdateId)}}`;
