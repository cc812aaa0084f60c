/**
 * Offers: authority over queued work on its way from one live instance to another.
 *
 * Owns: `offers`, `wishes`, and the columns `offer` and `assigned_seat` of `updates`. Does not own: when an instance offers
 * or accepts (the handoff charts).
 *
 * Invariants:
 * 1. Before acceptance the donor holds the entries, after it the recipient; the change is one transaction.
 * 2. An entry on offer is neither settled nor returned nor offered again (`work.ts`, `queue.ts` look at `offer`).
 * 3. What ends a registration ends the offers by it and to it, in the same transaction.
 * 4. An offer that has ended stays known for a while: a request to make it that comes late makes nothing.
 */
import type {
  AcquisitionId,
  ChatId,
  Generation,
  InstanceId,
  JournalSeq,
  OfferId,
  SeatKey,
  ThreadId,
} from "../../../machines/ids.ts";
import { laneOfThread, movedLaneOf, ordinaryLaneOf } from "../../../machines/updates.rules.ts";
import type { HeldEntry, Holder, JournalEntry, Offer, OfferStore } from "../../../services/ports.ts";
import { offerKeepMs } from "../limits.ts";
import type { Connection } from "./connection.ts";
import { entryColumns, entryOf, type EntryRow } from "./rows.ts";
import { isHeld } from "./held.ts";

interface OfferRow {
  readonly id: OfferId;
  readonly donor_seat: SeatKey;
  readonly donor_instance: InstanceId;
  readonly recipient_seat: SeatKey;
  readonly recipient_instance: InstanceId;
  readonly entries: string;
  readonly placement: string;
  readonly status: "open" | "accepted" | "ended";
  readonly offered_at_ms: number;
}

interface SitterRow {
  readonly instance_id: InstanceId;
  readonly generation: Generation;
  readonly chat_id: ChatId | null;
  readonly thread_id: ThreadId | null;
}

/** Exported for the tests that read the query plans. */
export const offerSql = {
  byId: "SELECT * FROM offers WHERE id = ?",
  // Only an instance of ours claims its seat in the store: a peer of another program has a journal of its own.
  sitter: `SELECT r.instance_id, r.generation, r.chat_id, r.thread_id FROM registrations AS r
    JOIN seat_claims AS c ON c.seat = r.seat AND c.instance_id = r.instance_id WHERE r.seat = ? AND r.ended IS NULL`,
  sitterOn: `SELECT r.seat FROM registrations AS r
    JOIN seat_claims AS c ON c.seat = r.seat AND c.instance_id = r.instance_id
    WHERE r.chat_id = ? AND r.thread_id = ? AND r.ended IS NULL ORDER BY r.at_ms DESC LIMIT 1`,
  isOfferable: `SELECT 1 FROM updates
    WHERE seq = ? AND claim_acquisition = ? AND claim_seat = ? AND claim_instance = ? AND offer IS NULL`,
  mark: "UPDATE updates SET offer = ? WHERE seq = ?",
  put: `INSERT INTO offers
      (id, donor_seat, donor_instance, recipient_seat, recipient_instance, entries, placement, status, offered_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?)`,
  /** Ended before it was made: the request to make it may still be on its way. */
  putEnded: `INSERT INTO offers
      (id, donor_seat, donor_instance, recipient_seat, recipient_instance, entries, placement, status, offered_at_ms)
    VALUES (?, ?, ?, '', '', '[]', '', 'ended', ?)`,
  prune: "DELETE FROM offers WHERE status <> 'open' AND offered_at_ms <= ?",
  openTo: `SELECT * FROM offers INDEXED BY offers_by_recipient
    WHERE recipient_seat = ? AND status = 'open' AND recipient_instance = ? ORDER BY offered_at_ms, id`,
  entries: `SELECT ${entryColumns} FROM updates AS u INDEXED BY updates_offered WHERE u.offer = ? ORDER BY u.seq`,
  move: `UPDATE updates SET claim_seat = ?, claim_instance = ?, claim_generation = ?, claim_acquisition = ?,
      offer = NULL, assigned_seat = ?, lane = ? WHERE seq = ?`,
  accepted: "UPDATE offers SET status = 'accepted' WHERE id = ?",
  held: `SELECT ${entryColumns}, u.claim_acquisition FROM updates AS u
    WHERE u.seq = ? AND u.claim_seat = ? AND u.claim_instance = ?`,
  unmark: "UPDATE updates SET offer = NULL WHERE offer = ?",
  ended: "UPDATE offers SET status = 'ended' WHERE id = ?",
  isOnOffer: "SELECT 1 FROM updates WHERE seq = ? AND claim_acquisition = ? AND offer = ?",
  giveBack: `UPDATE updates SET assigned_seat = NULL,
      claim_seat = NULL, claim_instance = NULL, claim_generation = NULL, claim_acquisition = NULL WHERE seq = ?`,
  ofSeat: `SELECT id FROM offers INDEXED BY offers_by_donor
      WHERE donor_seat = :seat AND status = 'open' AND donor_instance IS NOT :keep
    UNION SELECT id FROM offers INDEXED BY offers_by_recipient
      WHERE recipient_seat = :seat AND status = 'open' AND recipient_instance IS NOT :keep`,
  entry: "SELECT claim_acquisition, offer FROM updates WHERE seq = ?",
  isKnownSeat: "SELECT 1 FROM registrations WHERE seat = ?",
  assign: "UPDATE updates SET assigned_seat = ?, lane = ? WHERE seq = ?",
  wish: `INSERT INTO wishes (seq, recipient_seat, at_ms) VALUES (?, ?, ?)
    ON CONFLICT (seq) DO UPDATE SET recipient_seat = excluded.recipient_seat, at_ms = excluded.at_ms`,
  pruneWishes: "DELETE FROM wishes WHERE seq NOT IN (SELECT seq FROM updates)",
  wishes: `SELECT w.seq, w.recipient_seat FROM wishes AS w JOIN updates AS u ON u.seq = w.seq
    WHERE u.claim_seat = ? AND u.claim_instance = ? ORDER BY w.seq`,
  unwish: "DELETE FROM wishes WHERE seq = ?",
  list: `SELECT ${entryColumns}, u.claim_seat, u.offer FROM updates AS u ORDER BY u.seq LIMIT ?`,
} as const;

/** Ends the open offers by and to a seat, but those of `keep`; the donor's entries are the donor's again. */
export function voidOffers(connection: Connection, seat: SeatKey, keep: InstanceId | null): void {
  for (const { id } of connection.sql<{ id: OfferId }>(offerSql.ofSeat).all({ seat, keep })) end(connection, id);
}

function end(connection: Connection, id: OfferId): void {
  connection.sql(offerSql.unmark).run(id);
  connection.sql(offerSql.ended).run(id);
}

const offerOf = (connection: Connection, row: OfferRow): Offer => ({
  id: row.id,
  donorSeat: row.donor_seat,
  entries: connection.sql<EntryRow>(offerSql.entries).all(row.id).map(entryOf),
  placement: row.placement,
  offeredAtMs: row.offered_at_ms,
});

const seqsOf = (row: OfferRow): readonly JournalSeq[] => JSON.parse(row.entries) as JournalSeq[]; // written by `offer`

type OfferRequest = Parameters<OfferStore["offer"]>[0];

function offerEntries(connection: Connection, request: OfferRequest): Awaited<ReturnType<OfferStore["offer"]>> {
  const { id, donor, entries, recipientSeat, placement, nowMs } = request;
  const known = connection.sql<OfferRow>(offerSql.byId).get(id);
  if (known?.status === "ended") return { kind: "refused", reason: "ended" };
  if (known !== undefined) return { kind: "offered" };
  const sitter = connection.sql<SitterRow>(offerSql.sitter).get(recipientSeat);
  if (sitter === undefined) return { kind: "refused", reason: "nobody" };
  if (sitter.instance_id === donor.instanceId) return { kind: "refused", reason: "self" };
  const isOfferable = ({ seq, acquisition }: HeldEntry): boolean =>
    connection.sql(offerSql.isOfferable).get(seq, acquisition, donor.seat, donor.instanceId) !== undefined;
  if (entries.length === 0 || !entries.every(isOfferable)) return { kind: "refused", reason: "notHeld" };
  connection.sql(offerSql.prune).run(nowMs - offerKeepMs);
  const seqs = JSON.stringify(entries.map((entry) => entry.seq).sort((a, b) => a - b));
  connection
    .sql(offerSql.put)
    .run(id, donor.seat, donor.instanceId, recipientSeat, sitter.instance_id, seqs, placement, nowMs);
  for (const { seq } of entries) connection.sql(offerSql.mark).run(id, seq);
  return { kind: "offered" };
}

type AcceptRequest = Parameters<OfferStore["accept"]>[0];
type AcceptOutcome = Awaited<ReturnType<OfferStore["accept"]>>;

/** What the recipient holds of an offer that it accepted before. */
function acceptedBefore(connection: Connection, row: OfferRow, { seat, instanceId }: Holder): AcceptOutcome {
  const entries = seqsOf(row).flatMap((seq) => {
    const held = connection
      .sql<EntryRow & { readonly claim_acquisition: AcquisitionId }>(offerSql.held)
      .get(seq, seat, instanceId);
    return held === undefined ? [] : [{ entry: entryOf(held), acquisition: held.claim_acquisition }];
  });
  return { kind: "accepted", entries };
}

function acceptOffer(connection: Connection, { id, recipient, acquisitions }: AcceptRequest): AcceptOutcome {
  const row = connection.sql<OfferRow>(offerSql.byId).get(id);
  if (row?.recipient_seat !== recipient.seat || row.recipient_instance !== recipient.instanceId)
    return { kind: "conflict" };
  if (row.status === "ended") return { kind: "conflict" };
  if (row.status === "accepted") return acceptedBefore(connection, row, recipient);
  const sitter = connection.sql<SitterRow>(offerSql.sitter).get(recipient.seat);
  if (sitter?.instance_id !== recipient.instanceId || sitter.generation !== recipient.generation)
    return { kind: "stale" };
  const entries = connection.sql<EntryRow>(offerSql.entries).all(id).map(entryOf);
  const moved = entries.map((entry, index): { entry: JournalEntry; acquisition: AcquisitionId } => {
    const acquisition = acquisitions[index];
    if (acquisition === undefined) throw new Error(`offer ${id} has more entries than acquisitions were given`);
    return { entry: { ...entry, ...placeOf(entry, recipient.seat, sitter) }, acquisition };
  });
  for (const { entry, acquisition } of moved)
    connection
      .sql(offerSql.move)
      .run(
        recipient.seat,
        recipient.instanceId,
        recipient.generation,
        acquisition,
        entry.assignedTo,
        entry.lane,
        entry.seq,
      );
  connection.sql(offerSql.accepted).run(id);
  return { kind: "accepted", entries: moved };
}

function cancelOffer(
  connection: Connection,
  { id, donor, nowMs }: Parameters<OfferStore["cancel"]>[0],
): Awaited<ReturnType<OfferStore["cancel"]>> {
  const row = connection.sql<OfferRow>(offerSql.byId).get(id);
  if (row === undefined) {
    connection.sql(offerSql.prune).run(nowMs - offerKeepMs);
    connection.sql(offerSql.putEnded).run(id, donor.seat, donor.instanceId, nowMs);
    return { kind: "cancelled" };
  }
  const isDonor = row.donor_seat === donor.seat && row.donor_instance === donor.instanceId;
  if (!isDonor || row.status !== "open") return { kind: "conflict" };
  end(connection, id);
  return { kind: "cancelled" };
}

function withdrawOffer(connection: Connection, seq: JournalSeq): Awaited<ReturnType<OfferStore["withdraw"]>> {
  const entry = connection.sql<{ offer: OfferId | null }>(offerSql.entry).get(seq);
  if (entry === undefined) return { kind: "missing" };
  const { changes } = connection.sql(offerSql.unwish).run(seq);
  if (entry.offer !== null) end(connection, entry.offer);
  return { kind: entry.offer !== null || changes > 0 ? "withdrawn" : "nothing" };
}

/** An entry of the recipient's own thread stays in its lane; any other one belongs to the recipient by assignment. */
function placeOf(entry: JournalEntry, seat: SeatKey, sitter: SitterRow): Pick<JournalEntry, "assignedTo" | "lane"> {
  const { chat_id: chatId, thread_id: threadId } = sitter;
  const isAtHome =
    chatId !== null && threadId !== null && ordinaryLaneOf(entry.lane) === laneOfThread({ chatId, threadId });
  return isAtHome ? { assignedTo: null, lane: entry.lane } : { assignedTo: seat, lane: movedLaneOf(seat) };
}

type WishRequest = Parameters<OfferStore["wish"]>[0];

function wishFor(
  connection: Connection,
  { seq, recipientSeat, nowMs }: WishRequest,
): Awaited<ReturnType<OfferStore["wish"]>> {
  connection.sql(offerSql.pruneWishes).run();
  const entry = connection.sql<{ claim_acquisition: AcquisitionId | null }>(offerSql.entry).get(seq);
  if (entry === undefined) return { kind: "missing" };
  if (connection.sql(offerSql.isKnownSeat).get(recipientSeat) === undefined) return { kind: "nobody" };
  if (entry.claim_acquisition !== null) {
    connection.sql(offerSql.wish).run(seq, recipientSeat, nowMs);
    return { kind: "asked" };
  }
  connection.sql(offerSql.assign).run(recipientSeat, movedLaneOf(recipientSeat), seq);
  return { kind: "moved" };
}

export function offerStore(connection: Connection): OfferStore {
  return {
    offer: (request) => connection.write(() => offerEntries(connection, request)),

    offersTo: ({ seat, instanceId }) =>
      connection.read(() =>
        connection
          .sql<OfferRow>(offerSql.openTo)
          .all(seat, instanceId)
          .map((row) => offerOf(connection, row)),
      ),

    accept: (request) => connection.write(() => acceptOffer(connection, request)),

    cancel: (request) => connection.write(() => cancelOffer(connection, request)),

    withdraw: ({ seq }) => connection.write(() => withdrawOffer(connection, seq)),

    standing: ({ id, entries }) =>
      connection.read(() => {
        if (entries.every((entry) => isHeld(connection, entry))) return { kind: "returned" } as const;
        const isOpen = entries.every(
          ({ seq, acquisition }) => connection.sql(offerSql.isOnOffer).get(seq, acquisition, id) !== undefined,
        );
        return { kind: isOpen ? "open" : "gone" } as const;
      }),

    giveBack: ({ entries }) =>
      connection.write(() => {
        if (!entries.every((entry) => isHeld(connection, entry))) return { kind: "notYours" } as const;
        for (const { seq } of entries) connection.sql(offerSql.giveBack).run(seq);
        return { kind: "returned" } as const;
      }),

    wish: (request) => connection.write(() => wishFor(connection, request)),

    takeWishes: async ({ seat, instanceId }) => {
      const look = () =>
        connection
          .sql<{ seq: JournalSeq; recipient_seat: SeatKey }>(offerSql.wishes)
          .all(seat, instanceId)
          .map((row) => ({ seq: row.seq, recipientSeat: row.recipient_seat }));
      // Asked often and answered "none": that must not take the lock that writers need.
      if ((await connection.read(look)).length === 0) return [];
      return connection.write(() => {
        const wishes = look();
        for (const { seq } of wishes) connection.sql(offerSql.unwish).run(seq);
        return wishes;
      });
    },

    sitterOn: ({ chatId, threadId }) =>
      connection.read(() => connection.sql<{ seat: SeatKey }>(offerSql.sitterOn).get(chatId, threadId)?.seat ?? null),

    list: (limit) =>
      connection.read(() =>
        connection
          .sql<EntryRow & { readonly claim_seat: SeatKey | null; readonly offer: OfferId | null }>(offerSql.list)
          .all(limit)
          .map((row) => ({ ...entryOf(row), heldBy: row.claim_seat, isOffered: row.offer !== null })),
      ),
  };
}
