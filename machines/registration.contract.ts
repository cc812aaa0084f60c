/**
 * What a seat is asked, what it answers and what it tells: the shapes around `registration.machine.ts`.
 *
 * Owns: the words between the seat's chart and its surroundings. Does not own: any decision.
 */
import type { BoundThread, ChatId, Epoch, Generation, Incarnation, InstanceId, SeatKey, ThreadTarget } from "./ids.ts";
import { reasonNotRemoved } from "./cleanup.machine.ts";
import type { CleanupOutput } from "./cleanup.machine.ts";
import type { ThreadDoubt, ThreadOrigin } from "./provisioning.contract.ts";
import type { CompanionFailed } from "./slots.ts";

export interface RegistrationInput {
  readonly seat: SeatKey;
  readonly epoch: Epoch;
  readonly chatId: ChatId;
  readonly timings: SeatTimings;
  /** Who sits according to the store, from an earlier leader's time; null = nobody. */
  readonly sitter: Sitter | null;
}

export interface SeatTimings {
  /** Silence after which a seat is suspect. Default 5000. */
  readonly silenceMs: number;
  /** Between two looks at a process whose connection closed. Default 15. */
  readonly proofMs: number;
  /** Between looks at a suspect. Default 1000. */
  readonly suspectMs: number;
  readonly proofLooksMax: number;
  /** A deletion of the seat's former thread is waited out for so many looks, a quarter of a second apart. */
  readonly lostThreadsMax: number;
}
export const defaultSeatTimings: SeatTimings = {
  silenceMs: 5_000,
  proofMs: 15,
  suspectMs: 1_000,
  proofLooksMax: 40,
  lostThreadsMax: 20,
};

/** A follower as it presented itself. */
export interface Follower {
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  /** What its death can be proven by; null when it sent nothing that proves. */
  readonly incarnation: Incarnation | null;
  readonly endpoint: string;
  readonly threadName: string | null;
  /** The thread it says it has; null = none. */
  readonly carried: BoundThread | null;
  /** The instance of its process that it goes on for; null = none. */
  readonly previous: InstanceId | null;
  readonly capabilities: readonly string[];
}

/** The one who sits. */
export interface Sitter extends Follower {
  readonly thread: BoundThread;
}

type Asked<Type extends string> = { readonly type: Type; readonly requestId: string; readonly generation: Generation };

export type SeatRequest =
  | { readonly type: "follower.register"; readonly requestId: string; readonly follower: Follower }
  | Asked<"follower.disconnect">;

export type RegistrationEvent =
  | SeatRequest
  | Asked<"follower.heartbeat">
  /** Authenticated traffic of this generation: as good as a heartbeat, and answered elsewhere. */
  | { readonly type: "follower.heard"; readonly generation: Generation }
  /** A connection of this generation closed, or could not be made: a hint. */
  | { readonly type: "link.closed"; readonly generation: Generation }
  /** Something that this registration sent speaks against its thread. */
  | { readonly type: "thread.doubted"; readonly generation: Generation; readonly doubt: ThreadDoubt }
  | CompanionFailed;

/** What a request comes to; the endpoint turns it into the exact words of the wire. */
export type SeatReply =
  | { readonly kind: "registered"; readonly thread: BoundThread; readonly origin: ThreadOrigin }
  | { readonly kind: "alive" }
  | { readonly kind: "left" }
  | { readonly kind: "unknown" }
  | { readonly kind: "stale" }
  | { readonly kind: "lostOwnership" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

/** `superseded`: another process holds the seat in the store, or may; whoever sits here is not proven dead by that. */
export type SeatLoss = "silent" | "closed" | "superseded" | "died" | "left";

export type RegistrationFact =
  | { readonly type: "seat.answered"; readonly requestId: string; readonly reply: SeatReply }
  | { readonly type: "seat.live"; readonly sitter: Sitter }
  /** The seat has another thread, under the same registration. */
  | { readonly type: "seat.moved"; readonly sitter: Sitter; readonly from: ThreadTarget }
  | { readonly type: "seat.notMoved"; readonly instanceId: InstanceId; readonly reason: string }
  /** The thread is new to the user, or to whoever sits there now. */
  | { readonly type: "seat.connected"; readonly thread: BoundThread }
  | { readonly type: "seat.gone"; readonly instanceId: InstanceId; readonly why: SeatLoss }
  | { readonly type: "seat.unprovable"; readonly instanceId: InstanceId };

export interface CommitRequest {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly sitter: Sitter;
}
export interface ProofRequest {
  readonly seat: SeatKey;
  readonly sitter: Sitter;
}
export interface CommitAnswer {
  /** `superseded`: another process holds the seat by now. `threadGone`: its thread is being deleted, or has been. */
  readonly kind: "committed" | "superseded" | "threadGone" | "fenced";
}
export interface EndRegistrationAnswer {
  readonly kind: "ended" | "superseded" | "fenced";
}
export interface SeatWrite {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly sitter: Sitter;
}

/** One who asks for the seat. */
export interface Candidate {
  readonly requestId: string;
  readonly follower: Follower;
  /** Where the seat is again when the registration is refused. */
  readonly before: "live" | "unheard" | "nobody";
}

export const candidateFrom = (event: RegistrationEvent, before: Candidate["before"]): Candidate | null =>
  event.type === "follower.register" ? { requestId: event.requestId, follower: event.follower, before } : null;

/** What one who leaves is told of its thread. */
export function farewellReply(output: CleanupOutput): SeatReply {
  if (output.kind === "removed") return { kind: "left" };
  return output.kind === "lostOwnership"
    ? { kind: "lostOwnership" }
    : { kind: "failed", reason: reasonNotRemoved(output) };
}
