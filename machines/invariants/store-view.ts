/**
 * What the store holds, and one write of it: the parts of the view that speak of durable facts.
 *
 * Owns: the shapes. Does not own: how they are read (a world's own business), any judgement.
 */
import type {
  AcquisitionId,
  Epoch,
  Generation,
  InstanceId,
  JournalSeq,
  Lane,
  OfferId,
  SeatKey,
  ThreadTarget,
  UpdateId,
} from "../ids.ts";
import type { QueueItem } from "../queue.rules.ts";
import type { Cleanup, Observation } from "../reconciliation.types.ts";
import type { Binding, LeftoverThread, PendingProvision } from "../threads.rules.ts";

export interface ClaimView {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  readonly acquisition: AcquisitionId;
}

/** An open entry of the journal. */
export interface EntryView {
  readonly seq: JournalSeq;
  readonly updateId: UpdateId;
  /** Id and digest of the content: what makes two updates one. */
  readonly key: string;
  readonly lane: Lane;
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  readonly claim: ClaimView | null;
  readonly offer: OfferId | null;
}

export interface RegistrationView {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  readonly target: ThreadTarget | null;
  readonly ended: string | null;
}

export interface HolderView {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
}

export interface OfferView {
  readonly id: OfferId;
  readonly donor: HolderView;
  readonly recipient: HolderView;
  readonly seqs: readonly JournalSeq[];
  readonly isOpen: boolean;
}

export interface TablesView {
  readonly cursor: UpdateId | null;
  /** In order of admission. */
  readonly entries: ReadonlyMap<JournalSeq, EntryView>;
  /** Keys of what was set aside for the operator. */
  readonly deadLetters: ReadonlySet<string>;
  readonly offers: ReadonlyMap<OfferId, OfferView>;
  readonly seatClaims: ReadonlyMap<SeatKey, HolderView>;
  readonly registrations: ReadonlyMap<SeatKey, RegistrationView>;
  readonly bindings: readonly Binding[];
  readonly provisions: readonly PendingProvision[];
  readonly cleanups: readonly Cleanup[];
  readonly leftovers: readonly LeftoverThread[];
  readonly observations: readonly Observation[];
}

/** One write: what it was, what it was told, and the tables just before and just after. */
export interface StoreStepView {
  /** `table.operation` of the store's port. */
  readonly op: string;
  /** The answer's kind. */
  readonly kind: string;
  /** What a leader's write presented; null = it is nobody's as leader. */
  readonly epoch: Epoch | null;
  /** The entries that it names, with the acquisition under which it says to hold them. */
  readonly entries: readonly { readonly seq: JournalSeq; readonly acquisition: AcquisitionId | null }[];
  /** Who takes work, where somebody does. */
  readonly claimant: ClaimView | null;
  readonly seat: SeatKey | null;
  readonly target: ThreadTarget | null;
  /** The moment that the writer named, by its own clock; null where it names none. */
  readonly atMs: number | null;
  /** Keys and ids of admitted updates, in order, and the cursor that goes with them. */
  readonly admission: { readonly ids: readonly UpdateId[]; readonly cursor: UpdateId | null } | null;
  /** The holder of the seat lives; null where no seat is named or nobody holds it. */
  readonly holderLives: boolean | null;
  readonly before: TablesView;
  readonly after: TablesView;
}

/** An entry that came into a queue. */
export interface QueueEntryView {
  readonly seq: JournalSeq;
  /** Turns, settlements without a turn, losses, departures to another instance. */
  readonly ends: number;
  readonly isWaiting: boolean;
  /** In the item whose turn begins or runs. */
  readonly isCurrent: boolean;
}

/** The queue of one instance. */
export interface QueueView {
  readonly id: InstanceId;
  readonly items: readonly QueueItem[];
  readonly current: QueueItem | null;
  /** Turns that the host runs at this moment. */
  readonly turns: number;
}
