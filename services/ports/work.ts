/**
 * What is asked of the journal for the sake of one entry, and what it answers: claims and adoptions.
 *
 * Owns: the shapes. Does not own: the operations (`WorkStore` in `ports.ts`), any implementation (`adapters/store/`).
 */
import type {
  AcquisitionId,
  ChatId,
  Generation,
  InstanceId,
  JournalSeq,
  MessageId,
  SeatKey,
  UpdateId,
} from "../../machines/ids.ts";
import type { JournalEntry } from "./queue.ts";

export interface Claimant {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  readonly acquisition: AcquisitionId;
}

/** Whose message it is. */
export interface MessageOwner {
  readonly chatId: ChatId;
  readonly messageId: MessageId;
  readonly seat: SeatKey;
}

export interface ClaimRequest {
  readonly updateId: UpdateId;
  /**
   * The very entry that is meant. Ids restart, so an older open entry may carry the same one. Null where the journal was
   * not read by whoever asks: then the earliest open entry with this id.
   */
  readonly seq: JournalSeq | null;
  readonly claimant: Claimant;
  /** Written down in the same transaction, if the entry becomes or is the claimant's. */
  readonly owners: readonly MessageOwner[];
  /** Settles what was claimed in the same transaction; null = it stays in hand. */
  readonly settleAtMs: number | null;
}

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly entry: JournalEntry }
  /**
   * This instance holds it already, by the acquisition of an earlier claim whose answer may have been lost. So it is
   * told whatever its generation: what it holds stays its own when it registers again.
   */
  | { readonly kind: "repeated"; readonly entry: JournalEntry; readonly acquisition: AcquisitionId }
  /** An earlier update of its lane is not in anybody's hand: that one goes first. */
  | { readonly kind: "outOfOrder" }
  /** Claimed and settled by this very acquisition: the answer to the same request was lost. */
  | { readonly kind: "settledByUs" }
  /** Settled before: a late duplicate. Not to be run again. */
  | { readonly kind: "settled" }
  | { readonly kind: "heldElsewhere" }
  /** The claimant's generation is not the seat's current one. */
  | { readonly kind: "stale" };

export type AdoptOutcome =
  { readonly kind: "adopted"; readonly claimed: JournalEntry | null } | { readonly kind: "stale" | "full" };
