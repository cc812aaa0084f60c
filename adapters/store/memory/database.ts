/**
 * What several in-memory stores share: the tables, as maps.
 *
 * Owns: the data and the fence. Does not own: the operations. Each operation runs synchronously from start to end, so it
 * is atomic; values are replaced, never changed in place, so what was given out stays as it was.
 */
import type { KeptMove } from "../../../machines/chats.rules.ts";
import type {
  AcquisitionId,
  Epoch,
  Generation,
  InstanceId,
  JournalSeq,
  MessageId,
  ChatId,
  OfferId,
  SeatKey,
  ThreadTarget,
  UpdateId,
} from "../../../machines/ids.ts";
import { epoch as epochOf } from "../../../machines/ids.ts";
import type { LeaseHolder } from "../../../machines/lease.rules.ts";
import type {
  Cleanup,
  Observation,
  OperatorAnswer,
  OperatorRequest,
  SeatRecord,
} from "../../../machines/reconciliation.types.ts";
import type { PairingView } from "../../../machines/pairing.rules.ts";
import type { LeftoverThread, LostThread } from "../../../machines/threads.rules.ts";
import type {
  BegunProvision,
  Binding,
  Fenced,
  HeldEntry,
  Holder,
  JournalEntry,
  MessageOwner,
  SeatClaim,
  SeatEnd,
  SeatRegistration,
  StoreStatus,
} from "../../../services/ports.ts";
import { closedError } from "../errors.ts";
import { ownedMessageIdsMax, pollingUnknown } from "../limits.ts";

export const keyOfThread = ({ chatId, threadId }: ThreadTarget): string => `${chatId}:${threadId}`;

export interface Claim {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  readonly acquisition: AcquisitionId;
}

export interface OpenEntry {
  readonly entry: JournalEntry;
  readonly key: string;
  readonly claim: Claim | null;
  /** Held out to another instance: nobody's to touch. */
  readonly offer: OfferId | null;
  /** What its handler said the last time that it failed. */
  readonly lastFailure: string | null;
}

export interface OfferState {
  readonly id: OfferId;
  readonly donor: Holder;
  readonly recipient: Holder;
  readonly seqs: readonly JournalSeq[];
  readonly placement: string;
  readonly status: "open" | "accepted" | "ended";
  readonly offeredAtMs: number;
}

export interface KeptLetter {
  readonly open: OpenEntry;
  readonly reason: string;
  readonly deadAtMs: number;
}

export interface LeaseState {
  readonly epoch: Epoch;
  readonly renewals: number;
  readonly holder: LeaseHolder | null;
  readonly expiresAtMs: number;
  readonly grantedAtMs: number | null;
}

export class MemoryDatabase {
  readonly profileId: string;
  lease: LeaseState = { epoch: epochOf(0), renewals: 0, holder: null, expiresAtMs: 0, grantedAtMs: null };
  cursor: UpdateId | null = null;
  lastSeq = 0;
  polling: StoreStatus["polling"] = pollingUnknown;
  /** Under which the note on polling was written. */
  pollingEpoch: Epoch | null = null;
  readonly seatClaims = new Map<SeatKey, SeatClaim>();
  readonly registrations = new Map<SeatKey, SeatRegistration & { readonly ended: SeatEnd | null }>();
  /** By seat and chat. */
  readonly bindings = new Map<string, Binding>();
  readonly provisions = new Map<string, BegunProvision>();
  /** What a begun creation made, by its id. */
  readonly createdThreads = new Map<string, ThreadTarget>();
  /** Newest last. */
  lostThreads: readonly LostThread[] = [];
  readonly chatMoves: KeptMove[] = [];
  /** By thread. */
  readonly leftovers = new Map<string, LeftoverThread>();
  /** By thread, like observations. */
  readonly cleanups = new Map<string, Cleanup>();
  readonly observations = new Map<string, Observation>();
  readonly requests = new Map<string, OperatorRequest>();
  readonly answers = new Map<string, { readonly answer: OperatorAnswer; readonly atMs: number }>();
  /** What each holder of a seat wishes for its thread. */
  readonly graceOfClaim = new Map<SeatKey, number | null>();
  readonly endedAt = new Map<SeatKey, number>();
  readonly doubts = new Map<SeatKey, NonNullable<SeatRecord["unprovable"]>>();
  /** Open entries in order of admission: a map keeps the order of first insertion, replacement included. */
  readonly updates = new Map<JournalSeq, OpenEntry>();
  /** Keys (id and digest) of open entries. */
  readonly openKeys = new Set<string>();
  /** Open entries of each id, in order of admission. */
  readonly openById = new Map<UpdateId, readonly JournalSeq[]>();
  /** When an update (id and digest) was settled, in order of settlement. */
  readonly tombstones = new Map<string, number>();
  /** Which tombstone an acquisition left, and the other way round. */
  private readonly settledBy = new Map<AcquisitionId, string>();
  private readonly settlerOf = new Map<string, AcquisitionId>();
  /** In order of the offers. */
  readonly offers = new Map<OfferId, OfferState>();
  readonly wishes = new Map<JournalSeq, SeatKey>();
  readonly deadLetters = new Map<string, KeptLetter>();
  pairing: PairingView = { paired: null, requests: [] };
  readonly owners = new Map<ChatId, Map<MessageId, SeatKey>>();
  readonly counters = new Map<string, number>();

  constructor(profileId: string) {
    this.profileId = profileId;
  }

  isCurrent(epoch: Epoch): boolean {
    return this.lease.epoch === epoch && this.lease.holder !== null;
  }

  isRegistered(who: Pick<SeatRegistration, "seat" | "instanceId">): boolean {
    const present = this.registrations.get(who.seat);
    return present?.ended === null && present.instanceId === who.instanceId;
  }

  /** The entry, if it is held under this acquisition and not on offer to another instance. */
  heldBy({ seq, acquisition }: HeldEntry): OpenEntry | null {
    const open = this.updates.get(seq);
    return open?.claim?.acquisition === acquisition && open.offer === null ? open : null;
  }

  endOffer(id: OfferId): void {
    const seqs = this.offers.get(id)?.seqs ?? [];
    for (const seq of seqs) {
      const open = this.updates.get(seq);
      if (open?.offer === id) this.replaceEntry({ ...open, offer: null });
    }
    const offer = this.offers.get(id);
    if (offer !== undefined) this.offers.set(id, { ...offer, status: "ended" });
  }

  /** Ends the open offers by and to a seat, but those of `keep`. */
  voidOffers(seat: SeatKey, keep: InstanceId | null): void {
    for (const { id, status, donor, recipient } of [...this.offers.values()])
      if (status === "open" && [donor, recipient].some((each) => each.seat === seat && each.instanceId !== keep))
        this.endOffer(id);
  }

  /** A new entry, or one that was set aside and returns to its old place. */
  addEntry(open: OpenEntry): void {
    const { seq, updateId } = open.entry;
    // The newest of all is the usual case, and has none after it: looking would cost as much as the journal is deep.
    const later = seq === this.lastSeq ? [] : [...this.updates].filter(([other]) => other > seq);
    for (const [other] of later) this.updates.delete(other);
    for (const [each, entry] of [[seq, open] as const, ...later]) this.updates.set(each, entry);
    this.openKeys.add(open.key);
    const ofId = [...(this.openById.get(updateId) ?? []), seq].sort((one, other) => one - other);
    this.openById.set(updateId, ofId);
  }

  replaceEntry(open: OpenEntry): void {
    this.updates.set(open.entry.seq, open);
  }

  /** Whether an earlier entry of its lane is in nobody's hand, or tried again after its handler failed. */
  isOvertaking({ entry }: OpenEntry): boolean {
    for (const earlier of this.updates.values()) {
      if (earlier.entry.seq >= entry.seq) return false;
      const goesFirst = earlier.claim === null || earlier.entry.attempts > 0;
      if (goesFirst && earlier.entry.lane === entry.lane) return true;
    }
    return false;
  }

  removeEntry({ entry, key }: OpenEntry): void {
    this.updates.delete(entry.seq);
    this.openKeys.delete(key);
    const others = (this.openById.get(entry.updateId) ?? []).filter((seq) => seq !== entry.seq);
    if (others.length === 0) this.openById.delete(entry.updateId);
    else this.openById.set(entry.updateId, others);
  }

  bury(open: OpenEntry, nowMs: number): void {
    this.removeEntry(open);
    this.putTombstone(open.key, nowMs);
    if (open.claim === null) return;
    this.settledBy.set(open.claim.acquisition, open.key);
    this.settlerOf.set(open.key, open.claim.acquisition);
  }

  putTombstone(key: string, nowMs: number): void {
    this.tombstones.delete(key); // last in the order of settlement again
    this.tombstones.set(key, nowMs);
    this.forgetSettler(key);
  }

  /** Whether this acquisition has settled what it held: the tombstone remembers it. */
  wasSettledBy(acquisition: AcquisitionId): boolean {
    return this.settledBy.has(acquisition);
  }

  removeTombstone(key: string): void {
    this.tombstones.delete(key);
    this.forgetSettler(key);
  }

  private forgetSettler(key: string): void {
    const settler = this.settlerOf.get(key);
    this.settlerOf.delete(key);
    if (settler !== undefined) this.settledBy.delete(settler);
  }

  recordOwners(entries: readonly MessageOwner[]): void {
    for (const { chatId, messageId, seat } of entries) {
      const ofChat = this.owners.get(chatId) ?? new Map<MessageId, SeatKey>();
      this.owners.set(chatId, ofChat.set(messageId, seat));
      const forgottenUpTo = messageId - ownedMessageIdsMax;
      if (forgottenUpTo > 0) for (const known of ofChat.keys()) if (known <= forgottenUpTo) ofChat.delete(known);
    }
  }

  addToCounter(reason: string, by: number): void {
    this.counters.set(reason, (this.counters.get(reason) ?? 0) + by);
  }
}

/** One handle: runs operations while it is open, and answers on a microtask. */
export class MemoryHandle {
  readonly db: MemoryDatabase;
  #closed = false;

  constructor(db: MemoryDatabase) {
    this.db = db;
  }

  // `async` turns a thrown error into a rejection and the value into a promise; the body runs at the call.

  async run<T>(operation: () => T): Promise<T> {
    if (this.#closed) throw closedError();
    return operation();
  }

  runAsLeader<T>(epoch: Epoch, change: () => T): Promise<T | Fenced> {
    return this.run(() => {
      if (!this.db.isCurrent(epoch)) return { kind: "fenced", current: this.db.lease.epoch } as const;
      return change();
    });
  }

  close(): void {
    this.#closed = true;
  }
}
