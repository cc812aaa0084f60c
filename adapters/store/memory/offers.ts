/**
 * Offers in memory: authority over queued work on its way from one live instance to another.
 *
 * Owns: offering, acceptance, cancellation, wishes. Does not own: when an instance offers or accepts (the handoff charts).
 * The rules are the SQLite twin's.
 */
import { instanceId, sameTarget, seatKey } from "../../../machines/ids.ts";
import type { AcquisitionId, SeatKey } from "../../../machines/ids.ts";
import { laneOfThread, movedLaneOf, ordinaryLaneOf } from "../../../machines/updates.rules.ts";
import type { HeldEntry, Holder, JournalEntry, OfferStore, SeatRegistration } from "../../../services/ports.ts";
import { offerKeepMs } from "../limits.ts";
import { byBytes } from "../order.ts";
import type { MemoryDatabase, MemoryHandle, OfferState, OpenEntry } from "./database.ts";

const isSame = (a: Holder, b: Holder): boolean => a.seat === b.seat && a.instanceId === b.instanceId;

/** Who sits there, if it is one of ours: only those claim their seats in the store. */
function sitterOn(db: MemoryDatabase, seat: SeatKey): SeatRegistration | null {
  const registration = db.registrations.get(seat);
  if (registration?.ended !== null) return null;
  return db.seatClaims.get(seat)?.instanceId === registration.instanceId ? registration : null;
}

function heldOf(db: MemoryDatabase, entry: HeldEntry, donor: Holder): OpenEntry | null {
  const open = db.heldBy(entry);
  return open?.claim !== null && open !== null && isSame(open.claim, donor) ? open : null;
}

const entriesOf = (db: MemoryDatabase, { id, seqs }: OfferState): readonly OpenEntry[] =>
  seqs.flatMap((seq) => {
    const open = db.updates.get(seq);
    return open?.offer === id ? [open] : [];
  });

function prune(db: MemoryDatabase, nowMs: number): void {
  for (const { id, status, offeredAtMs } of [...db.offers.values()])
    if (status !== "open" && offeredAtMs <= nowMs - offerKeepMs) db.offers.delete(id);
}

type OfferRequest = Parameters<OfferStore["offer"]>[0];

function offerEntries(db: MemoryDatabase, request: OfferRequest): Awaited<ReturnType<OfferStore["offer"]>> {
  const { id, donor, entries, recipientSeat, placement, nowMs } = request;
  const known = db.offers.get(id);
  if (known?.status === "ended") return { kind: "refused", reason: "ended" };
  if (known !== undefined) return { kind: "offered" };
  const sitter = sitterOn(db, recipientSeat);
  if (sitter === null) return { kind: "refused", reason: "nobody" };
  if (sitter.instanceId === donor.instanceId) return { kind: "refused", reason: "self" };
  const held = entries.flatMap((entry) => heldOf(db, entry, donor) ?? []);
  if (entries.length === 0 || held.length < entries.length) return { kind: "refused", reason: "notHeld" };
  prune(db, nowMs);
  db.offers.set(id, {
    id,
    donor,
    recipient: { seat: recipientSeat, instanceId: sitter.instanceId },
    seqs: entries.map((entry) => entry.seq).sort((a, b) => a - b),
    placement,
    status: "open",
    offeredAtMs: nowMs,
  });
  for (const open of held) db.replaceEntry({ ...open, offer: id });
  return { kind: "offered" };
}

type AcceptRequest = Parameters<OfferStore["accept"]>[0];
type AcceptOutcome = Awaited<ReturnType<OfferStore["accept"]>>;

function acceptedBefore(db: MemoryDatabase, offer: OfferState): AcceptOutcome {
  const entries = offer.seqs.flatMap((seq) => {
    const open = db.updates.get(seq);
    return open?.claim !== null && open !== undefined && isSame(open.claim, offer.recipient)
      ? [{ entry: open.entry, acquisition: open.claim.acquisition }]
      : [];
  });
  return { kind: "accepted", entries };
}

function acceptOffer(db: MemoryDatabase, { id, recipient, acquisitions }: AcceptRequest): AcceptOutcome {
  const offer = db.offers.get(id);
  if (offer === undefined || offer.status === "ended" || !isSame(offer.recipient, recipient))
    return { kind: "conflict" };
  if (offer.status === "accepted") return acceptedBefore(db, offer);
  const sitter = sitterOn(db, recipient.seat);
  if (sitter?.instanceId !== recipient.instanceId || sitter.generation !== recipient.generation)
    return { kind: "stale" };
  const opens = entriesOf(db, offer);
  if (acquisitions.length < opens.length) throw new Error(`offer ${id} has more entries than acquisitions were given`);
  const moved = opens.map((open, index) => {
    // Counted above: there is one for each.
    const acquisition = acquisitions[index] as AcquisitionId;
    const entry = { ...open.entry, ...placeOf(open.entry, sitter) };
    const { seat, instanceId, generation } = recipient;
    db.replaceEntry({ ...open, entry, claim: { seat, instanceId, generation, acquisition }, offer: null });
    return { entry, acquisition };
  });
  db.offers.set(id, { ...offer, status: "accepted" });
  return { kind: "accepted", entries: moved };
}

function cancelOffer(
  db: MemoryDatabase,
  { id, donor, nowMs }: Parameters<OfferStore["cancel"]>[0],
): Awaited<ReturnType<OfferStore["cancel"]>> {
  const offer = db.offers.get(id);
  if (offer === undefined) {
    prune(db, nowMs);
    const nobody = { seat: seatKey(""), instanceId: instanceId("") };
    const ended = {
      id,
      donor,
      recipient: nobody,
      seqs: [],
      placement: "",
      status: "ended",
      offeredAtMs: nowMs,
    } as const;
    db.offers.set(id, ended);
    return { kind: "cancelled" };
  }
  if (offer.status !== "open" || !isSame(offer.donor, donor)) return { kind: "conflict" };
  db.endOffer(id);
  return { kind: "cancelled" };
}

/** An entry of the recipient's own thread stays in its lane; any other one belongs to the recipient by assignment. */
function placeOf(entry: JournalEntry, { seat, thread }: SeatRegistration): Pick<JournalEntry, "assignedTo" | "lane"> {
  const isAtHome = thread !== null && ordinaryLaneOf(entry.lane) === laneOfThread(thread.target);
  return isAtHome ? { assignedTo: null, lane: entry.lane } : { assignedTo: seat, lane: movedLaneOf(seat) };
}

type WishRequest = Parameters<OfferStore["wish"]>[0];

function wishFor(db: MemoryDatabase, { seq, recipientSeat }: WishRequest): Awaited<ReturnType<OfferStore["wish"]>> {
  for (const old of [...db.wishes.keys()]) if (!db.updates.has(old)) db.wishes.delete(old);
  const open = db.updates.get(seq);
  if (open === undefined) return { kind: "missing" };
  if (!db.registrations.has(recipientSeat)) return { kind: "nobody" };
  if (open.claim !== null) {
    db.wishes.set(seq, recipientSeat);
    return { kind: "asked" };
  }
  const entry = { ...open.entry, assignedTo: recipientSeat, lane: movedLaneOf(recipientSeat) };
  db.replaceEntry({ ...open, entry });
  return { kind: "moved" };
}

export function offerStore(handle: MemoryHandle): OfferStore {
  const { db } = handle;
  return {
    offer: (request) => handle.run(() => offerEntries(db, request)),

    offersTo: (recipient) =>
      handle.run(() =>
        [...db.offers.values()]
          .filter((offer) => offer.status === "open" && isSame(offer.recipient, recipient))
          .sort((a, b) => a.offeredAtMs - b.offeredAtMs || byBytes(a.id, b.id))
          .map((offer) => ({
            id: offer.id,
            donorSeat: offer.donor.seat,
            entries: entriesOf(db, offer).map((open) => open.entry),
            placement: offer.placement,
            offeredAtMs: offer.offeredAtMs,
          })),
      ),

    accept: (request) => handle.run(() => acceptOffer(db, request)),

    cancel: (request) => handle.run(() => cancelOffer(db, request)),

    withdraw: ({ seq }) =>
      handle.run(() => {
        const open = db.updates.get(seq);
        if (open === undefined) return { kind: "missing" } as const;
        const isWished = db.wishes.delete(seq);
        if (open.offer !== null) db.endOffer(open.offer);
        return { kind: isWished || open.offer !== null ? "withdrawn" : "nothing" } as const;
      }),

    standing: ({ id, entries }) =>
      handle.run(() => {
        if (entries.every((entry) => db.heldBy(entry) !== null)) return { kind: "returned" } as const;
        const isOpen = entries.every(({ seq, acquisition }) => {
          const open = db.updates.get(seq);
          return open?.offer === id && open.claim?.acquisition === acquisition;
        });
        return { kind: isOpen ? "open" : "gone" } as const;
      }),

    giveBack: ({ entries }) =>
      handle.run(() => {
        const held = entries.flatMap((entry) => db.heldBy(entry) ?? []);
        if (held.length < entries.length) return { kind: "notYours" } as const;
        for (const open of held) db.replaceEntry({ ...open, claim: null, entry: { ...open.entry, assignedTo: null } });
        return { kind: "returned" } as const;
      }),

    wish: (request) => handle.run(() => wishFor(db, request)),

    takeWishes: (holder) =>
      handle.run(() => {
        const mine = [...db.wishes]
          .filter(([seq]) => {
            const claim = db.updates.get(seq)?.claim ?? null;
            return claim !== null && isSame(claim, holder);
          })
          .sort(([a], [b]) => a - b)
          .map(([seq, recipientSeat]) => ({ seq, recipientSeat }));
        for (const { seq } of mine) db.wishes.delete(seq);
        return mine;
      }),

    sitterOn: (target) =>
      handle.run(() => {
        const sitters = [...db.registrations.keys()].flatMap((seat) => sitterOn(db, seat) ?? []);
        const there = sitters.filter(({ thread }) => thread !== null && sameTarget(thread.target, target));
        return there.sort((a, b) => b.atMs - a.atMs)[0]?.seat ?? null;
      }),

    list: (limit) =>
      handle.run(() =>
        [...db.updates.values()]
          .slice(0, limit)
          .map(({ entry, claim, offer }) => ({ ...entry, heldBy: claim?.seat ?? null, isOffered: offer !== null })),
      ),
  };
}
