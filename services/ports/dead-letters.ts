/**
 * Port of dead letters: updates that were set aside because nobody could take them or their handler kept failing.
 *
 * Owns: the contract. Does not own: what becomes a dead letter (`JournalStore.deadLetter`). The rules of `ports.ts` hold.
 */
import type { JournalSeq, Lane, UpdateId } from "../../machines/ids.ts";

export interface DeadLetter {
  readonly seq: JournalSeq;
  readonly updateId: UpdateId;
  readonly lane: Lane;
  readonly body: string;
  readonly admittedAtMs: number;
  /** Handler failures before it was set aside. */
  readonly attempts: number;
  /** What the last of them said; null when no handler failed. */
  readonly lastFailure: string | null;
  readonly reason: string;
  readonly deadAtMs: number;
}

/** Any process may act on them, under no epoch: whoever acts first wins, and the other finds nothing. */
export interface DeadLetterStore {
  /** In the order of their admission, at most `limit`. */
  list(limit: number): Promise<readonly DeadLetter[]>;
  /**
   * Puts it back into the journal, in one transaction: the same entry at its old place in its lane, with no attempts behind
   * it, admitted at `nowMs`. `full` when the journal holds its maximum: nothing was changed.
   */
  retry(request: {
    readonly seq: JournalSeq;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "retried" | "missing" | "full" }>;
  /** Ends it for good, counted as `discarded`; a tombstone stays, so it is recognised when it comes again. */
  discard(request: {
    readonly seq: JournalSeq;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "discarded" | "missing" }>;
}
