/** The journal of updates: admission, order, authority over what is in hand, whose message is whose. */
import type {
  AcquisitionId,
  ChatId,
  Epoch,
  JournalSeq,
  Lane,
  MessageId,
  SeatKey,
  UpdateId,
} from "../../machines/ids.ts";
import type { Fenced } from "./fence.ts";
import type { AdmittedUpdate, JournalEntry, RedirectOutcome, RedirectRequest } from "./queue.ts";
import type { AdoptOutcome, ClaimOutcome, ClaimRequest, Claimant, MessageOwner } from "./work.ts";

export interface JournalStore {
  /** The next `update_id` to ask for, null before the first admission. */
  cursor(): Promise<UpdateId | null>;
  /**
   * One transaction: rows for the updates not yet known (by id and content, tombstones included), then the cursor; null =
   * it stays, for the updates are not Telegram's.
   * `full` when the journal holds its maximum: nothing was written.
   */
  admit(request: {
    readonly epoch: Epoch;
    readonly updates: readonly AdmittedUpdate[];
    readonly cursor: UpdateId | null;
    readonly nowMs: number;
  }): Promise<
    | { readonly kind: "admitted"; readonly added: number; readonly duplicates: number }
    | { readonly kind: "full" }
    | Fenced
  >;
  /**
   * The earliest unclaimed entries of each lane, at most `perLane` of it, oldest first, at most `limit` in all, without
   * `except` and, unless it is null, of no other lanes than `only`. An entry whose next attempt lies ahead is returned
   * too: it holds its lane, and the caller waits. Nothing is returned that lies behind an entry which is tried again:
   * its lane has no head, or no further one, until that is settled or has failed.
   */
  heads(request: {
    readonly except: readonly Lane[];
    readonly only: readonly Lane[] | null;
    readonly perLane: number;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]>;
  /** Ends an entry without running it, counting `reason` (a drop by rule). */
  drop(request: {
    readonly epoch: Epoch;
    readonly seq: JournalSeq;
    readonly reason: string;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "dropped" | "missing" } | Fenced>;
  /** Gives everything that waits in one thread to another one. */
  redirect(request: RedirectRequest): Promise<RedirectOutcome | Fenced>;
  /** Sets an entry aside for the operator. */
  deadLetter(request: {
    readonly epoch: Epoch;
    readonly seq: JournalSeq;
    readonly reason: string;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "deadLettered" | "missing" } | Fenced>;
}

/** Authority over entries in hand: taken by the seat that runs them. */
export interface WorkStore {
  claim(request: ClaimRequest): Promise<ClaimOutcome>;
  /**
   * For a seat whose leader keeps a journal of its own (a v1 peer), so that nobody dispatches ours. One transaction: writes
   * `update` (null = none) unless it is known by id and content; puts back, marked redelivered, what earlier instances of
   * the seat had in hand; claims the head of `lane` for the claimant if its time has come. The same acquisition again is
   * told the same entry. `stale` = the claimant does not hold the seat (`SeatStore.claim`): nothing was written.
   */
  adopt(request: {
    readonly update: AdmittedUpdate | null;
    readonly lane: Lane;
    readonly claimant: Claimant;
    readonly nowMs: number;
  }): Promise<AdoptOutcome>;
  /**
   * The entry is done: it leaves the journal and a tombstone stays. Only the exact acquisition settles; repeating it, after
   * an answer was lost, is `settled` again.
   */
  settle(request: {
    readonly seq: JournalSeq;
    readonly acquisition: AcquisitionId;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "settled" | "notYours" }>;
  /** The handler failed: the entry goes back, one attempt older, not before `nextAttemptAtMs`. */
  fail(request: {
    readonly seq: JournalSeq;
    readonly acquisition: AcquisitionId;
    readonly reason: string;
    readonly nextAttemptAtMs: number;
  }): Promise<{ readonly kind: "returned" | "notYours" }>;
}

/** Which seat a message belongs to: written for what was sent and what was delivered, read for callbacks and reactions. */
export interface OwnershipStore {
  record(entries: readonly MessageOwner[]): Promise<void>;
  ownerOf(chatId: ChatId, messageId: MessageId): Promise<SeatKey | null>;
}
