/**
 * The wire as it is: what a server remembers of requests, where the leader's stable path leads, the file of v1 owners.
 *
 * Owns: the shapes. Does not own: how they come about, any judgement.
 */
import type { Generation, InstanceId, SeatKey } from "../ids.ts";

/** A request that a server's ledger was given; shown again once its answer is there. */
export interface LedgerStepView {
  /** What must be equal for two requests under one key to be the same request. */
  readonly content: string;
  /** Content of the request that the ledger has under this key, when this one came; null = it has none. */
  readonly remembered: string | null;
  /** The handler was run for this very request. */
  readonly hasRun: boolean;
  /** Why it was turned away; null when it was not. */
  readonly refusal: "collision" | "full" | null;
  /** Null while there is none. */
  readonly answer: string | null;
  /** What the run came to that this key is remembered for, this one's own or an earlier one's; null while it goes on. */
  readonly answerOfRun: string | null;
  /** Runs of this key that were under way after this request was taken in. */
  readonly inFlight: number;
}

/** What became of the leader's stable path when somebody started, recovered or stopped an endpoint. */
export interface EndpointStepView {
  readonly what: "start" | "recover" | "stop";
  readonly by: string;
  /** Where the path leads; null = nowhere. */
  readonly before: string | null;
  readonly after: string | null;
  /** Whether what the path led to was still there, before. */
  readonly wasReachable: boolean;
  /** Each change of the path that was let through to a publication. */
  readonly commits: readonly {
    /** Who was the owner at that moment. */
    readonly owner: string;
    /** The path is the very link that had been made beside it. */
    readonly isRename: boolean;
    /** The endpoint that published had been told to stop. */
    readonly wasStopped: boolean;
    readonly from: string | null;
    readonly to: string | null;
  }[];
  /** It is the owner who starts, and it got no endpoint. */
  readonly isBlocked: boolean;
  /** Endpoints of others, open and with their socket in place, that do not answer any more. */
  readonly othersLost: number;
  /** It answers although it was told to stop. */
  readonly outlivesStop: boolean;
}

/** A request to one slot of the v1 owner file. Texts are of files as they stand on disk; null = there is none. */
export interface OwnerFileStepView {
  readonly slot: string;
  readonly before: OwnerFilesView;
  readonly after: OwnerFilesView;
  /** Whether the file could be read as what it must be, before; an absent one can. */
  readonly wasReadable: boolean;
  /** Whether the guard was there and nobody could say whose it is. */
  readonly wasGuardUnverifiable: boolean;
}

export interface OwnerFilesView {
  readonly file: string | null;
  /** The guard with all that is in it. */
  readonly guard: string | null;
  /** The values of all slots, by name, as text; null when the file cannot be read. */
  readonly slots: ReadonlyMap<string, string> | null;
}

/** One end of an offer, with what its leader knows of it. */
export interface OfferEndView {
  readonly id: InstanceId;
  readonly capabilities: readonly string[];
  /** What the offer says, and what the leader has acknowledged last. */
  readonly presented: Generation;
  readonly acknowledged: Generation;
}

/** An offer of queued work that arrived at a recipient over the wire. */
export interface OfferRelayView {
  /** Whose endpoint it reached, and whom it names. */
  readonly reached: InstanceId;
  readonly donorNamed: InstanceId;
  readonly donor: OfferEndView;
  readonly recipient: OfferEndView;
}

/** An offer of queued work as it ended for its donor. */
export interface OfferEndedView {
  readonly recipient: SeatKey;
  /** Its donor takes the work for done. */
  readonly isTransferred: boolean;
  /** Seats of others that the store has let accept this work since it was offered. */
  readonly takenBy: readonly SeatKey[];
}

/** A message that was edited or deleted at Telegram for a follower. */
export interface MessageChangeView {
  readonly by: SeatKey;
  /** The seat that sent it, under whatever instance; null when none did. */
  readonly sender: SeatKey | null;
}

/** The outcome of a heartbeat, as it came to whoever had sent it. */
export interface HeartbeatEndView {
  readonly by: InstanceId;
  /** The registration that it was sent for, and the one that its sender had when the outcome came; null = none. */
  readonly generation: Generation;
  readonly current: Generation | null;
  /** All that a heartbeat may change, just before the outcome came and once it was taken up, in text. */
  readonly before: string;
  readonly after: string;
}
