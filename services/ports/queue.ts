/**
 * Ports of queued work: journal entries, what is in an instance's hand, and its way to another instance.
 *
 * Owns: the contracts. Does not own: any implementation (`adapters/store/`), any decision (`machines/`). The rules of
 * `ports.ts` hold.
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
} from "../../machines/ids.ts";

export interface AdmittedUpdate {
  readonly updateId: UpdateId;
  readonly lane: Lane;
  /** The update as Telegram sent it, compact JSON. */
  readonly body: string;
}

export interface JournalEntry extends AdmittedUpdate {
  readonly seq: JournalSeq;
  readonly admittedAtMs: number;
  /** Handler failures so far. */
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  /** An earlier holder of the seat took it and died before settling it. */
  readonly redelivered: boolean;
  /** The seat it was moved to, away from the owner of its thread; null = it belongs where its thread does. */
  readonly assignedTo: SeatKey | null;
}

/** Two threads: what waits in `from` becomes that of `to`. */
export interface RedirectRequest {
  readonly epoch: Epoch;
  readonly from: ThreadTarget;
  readonly to: ThreadTarget;
}

/**
 * Everything unclaimed of the one thread has become the other's, each entry at its place in the journal's order and with a
 * body that names that thread: in one transaction, all of it or nothing; `seqs` says which. `absent`: nobody is registered
 * there. `nothing`: nothing of `from` waits, or `from` is some seat's, which gets it itself.
 */
export type RedirectOutcome =
  { readonly kind: "redirected"; readonly seqs: readonly JournalSeq[] } | { readonly kind: "absent" | "nothing" };

/** What an instance does with several entries in its hand at once. */
export interface QueueStore {
  /**
   * Settles all of them in one transaction, or none (`notYours`). Repeating it, after an answer was lost, is `settled` again.
   * What is offered to another instance is not ours to settle.
   */
  settleAll(request: {
    readonly entries: readonly HeldEntry[];
    readonly nowMs: number;
  }): Promise<{ readonly kind: "settled" | "notYours" }>;
  /**
   * Ends, counting `stopped`, what stands before a command in its thread and is in nobody's hand. `notYours` when the
   * command itself is not held under this acquisition.
   */
  sweep(
    request: HeldEntry & { readonly nowMs: number },
  ): Promise<{ readonly kind: "swept"; readonly count: number } | { readonly kind: "notYours" }>;
}

/** An entry with the acquisition under which it is held. */
export interface HeldEntry {
  readonly seq: JournalSeq;
  readonly acquisition: AcquisitionId;
}

/** An item of one instance's queue, held out to another one. */
export interface Offer {
  readonly id: OfferId;
  readonly donorSeat: SeatKey;
  readonly entries: readonly JournalEntry[];
  /** Where it stood in the donor's queue, as the donor wrote it. */
  readonly placement: string;
  readonly offeredAtMs: number;
}

/**
 * `self`: donor and recipient are one. `nobody`: no live instance of ours sits there. `notHeld`: not the donor's to offer.
 * `ended`: this very offer was made, or cancelled, before.
 */
export type OfferRefusal = "self" | "nobody" | "notHeld" | "ended";

/** Authority over queued work on its way from one live instance to another: compare-and-set on the journal rows. */
export interface OfferStore {
  /**
   * Holds entries out to whoever sits on `recipientSeat` now. Until the offer ends they can be neither settled, failed nor
   * offered under another id; the donor's death ends it. Repeating it is `offered` again.
   */
  offer(request: {
    readonly id: OfferId;
    readonly donor: Holder;
    readonly entries: readonly HeldEntry[];
    readonly recipientSeat: SeatKey;
    readonly placement: string;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "offered" } | { readonly kind: "refused"; readonly reason: OfferRefusal }>;
  /** Open offers to this instance, oldest first. */
  offersTo(recipient: Holder): Promise<readonly Offer[]>;
  /**
   * The commit point: in one transaction the named recipient, currently registered, becomes the holder of all entries, each
   * under its new acquisition. `conflict` when the offer has ended or names somebody else; `stale` when the recipient's
   * generation is not the current one. Repeating it is `accepted` again, with the acquisitions of the first time.
   */
  accept(request: {
    readonly id: OfferId;
    readonly recipient: Holder & { readonly generation: Generation };
    readonly acquisitions: readonly AcquisitionId[];
  }): Promise<
    | { readonly kind: "accepted"; readonly entries: readonly { entry: JournalEntry; acquisition: AcquisitionId }[] }
    | { readonly kind: "conflict" | "stale" }
  >;
  /**
   * Takes an offer back, unless it was accepted or has ended: exactly one of them wins. One that is not made yet never will
   * be: its request may still be on its way.
   */
  cancel(request: {
    readonly id: OfferId;
    readonly donor: Holder;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "cancelled" | "conflict" }>;
  /**
   * Where the donor's entries are. `open`: on offer. `returned`: the donor's again. `gone`: another instance has them, or they
   * have ended.
   */
  standing(request: {
    readonly id: OfferId;
    readonly entries: readonly HeldEntry[];
  }): Promise<{ readonly kind: "open" | "returned" | "gone" }>;
  /** Puts entries in hand back into the journal without an attempt, for the owner of their thread. */
  giveBack(request: { readonly entries: readonly HeldEntry[] }): Promise<{ readonly kind: "returned" | "notYours" }>;
  /**
   * An operator's wish that an entry moves. `moved`: it was in nobody's hand. `asked`: its holder will see to it. `missing`:
   * there is none. `nobody`: no seat of that key has registered.
   */
  wish(request: {
    readonly seq: JournalSeq;
    readonly recipientSeat: SeatKey;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "moved" | "asked" | "missing" | "nobody" }>;
  /** Ends the open offer of an entry, and a wish about it that its holder has not seen: from outside, by the operator. */
  withdraw(request: { readonly seq: JournalSeq }): Promise<{ readonly kind: "withdrawn" | "nothing" | "missing" }>;
  /** Wishes about what this instance holds; each is told once. */
  takeWishes(holder: Holder): Promise<readonly { readonly seq: JournalSeq; readonly recipientSeat: SeatKey }[]>;
  /** The seat whose current holder, one of ours, has this thread; null when there is none. */
  sitterOn(target: ThreadTarget): Promise<SeatKey | null>;
  /** Open entries, oldest first, at most `limit`: what waits in the journal and what is in whose hand. */
  list(limit: number): Promise<readonly ListedEntry[]>;
}

/** An instance on its seat. */
export interface Holder {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
}

export interface ListedEntry extends JournalEntry {
  readonly heldBy: SeatKey | null;
  readonly isOffered: boolean;
}
