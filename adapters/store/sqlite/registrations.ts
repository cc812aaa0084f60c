/**
 * Registrations: the leader's durable record of who sits on a seat.
 *
 * Owns: `registrations`, and what a new registration means to clean-ups and to entries in hand. Does not own: proof.
 * Invariant: a seat has at most one current registration, the last one committed unless it ended.
 */
import type { Generation, Incarnation, InstanceId, SeatKey, ThreadTarget } from "../../../machines/ids.ts";
import type { SeatRecord } from "../../../machines/reconciliation.types.ts";
import { keptReason } from "../../../machines/threads.rules.ts";
import type { RegistrationStore, SeatEnd, SeatRegistration, SeatStanding } from "../../../services/ports.ts";
import { cancelCleanup, intendCleanup, isThreadGone } from "./cleanups.ts";
import type { Connection } from "./connection.ts";
import { writeAsLeader } from "./lease.ts";
import { voidOffers } from "./offers.ts";
import { incarnationOf, targetOf, threadOf, type TargetRow, type ThreadRow } from "./rows.ts";

/** The thread's columns are all NULL for a seat that has the whole chat. */
type MaybeThreadRow = ThreadRow | { readonly [Column in keyof ThreadRow]: null };

type RegistrationRow = MaybeThreadRow & {
  readonly seat: SeatKey;
  readonly instance_id: InstanceId;
  readonly generation: Generation;
  readonly incarnation: string | null;
  readonly at_ms: number;
  readonly grace_ms: number | null;
  readonly ended: SeatEnd | null;
  readonly ended_at_ms: number | null;
  readonly unprovable_since_ms: number | null;
  readonly unprovable_reason: string | null;
};

const sql = {
  put: `INSERT INTO registrations
      (seat, instance_id, generation, incarnation, chat_id, thread_id, slot, thread_name, at_ms, grace_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (seat) DO UPDATE SET
      instance_id = excluded.instance_id, generation = excluded.generation, incarnation = excluded.incarnation,
      chat_id = excluded.chat_id, thread_id = excluded.thread_id, slot = excluded.slot,
      thread_name = excluded.thread_name, at_ms = excluded.at_ms, grace_ms = excluded.grace_ms,
      ended = NULL, ended_at_ms = NULL, unprovable_since_ms = NULL, unprovable_reason = NULL`,
  reclaim: `UPDATE updates SET redelivered = 1, offer = NULL,
      claim_seat = NULL, claim_instance = NULL, claim_generation = NULL, claim_acquisition = NULL
    WHERE claim_acquisition IS NOT NULL AND claim_seat = ? AND claim_instance IS NOT ?`,
  get: "SELECT instance_id, generation, ended, grace_ms FROM registrations WHERE seat = ?",
  end: `UPDATE registrations SET ended = ?, ended_at_ms = ?, unprovable_since_ms = NULL, unprovable_reason = NULL
    WHERE seat = ? AND ended IS NULL`,
  bound: "SELECT chat_id, thread_id FROM bindings WHERE seat = ?",
  ofThread: "SELECT seat FROM registrations WHERE chat_id = ? AND thread_id = ? AND ended IS NULL",
  forget: "DELETE FROM seat_claims WHERE seat = ? AND instance_id = ?",
  reclaimOf: `UPDATE updates SET redelivered = 1, offer = NULL,
      claim_seat = NULL, claim_instance = NULL, claim_generation = NULL, claim_acquisition = NULL
    WHERE claim_acquisition IS NOT NULL AND claim_seat = ? AND claim_instance = ?`,
  keep: `UPDATE bindings SET reason = ? WHERE seat = ? AND chat_id = ? AND thread_id = ? AND standing = 'open'
    AND EXISTS (SELECT 1 FROM registrations r WHERE r.seat = bindings.seat AND r.chat_id = bindings.chat_id
      AND r.thread_id = bindings.thread_id AND r.instance_id <> ?)`,
  holder: "SELECT instance_id, grace_ms FROM seat_claims WHERE seat = ?",
  isCurrent: "SELECT 1 FROM registrations WHERE seat = ? AND instance_id = ? AND generation = ? AND ended IS NULL",
  all: `SELECT seat, instance_id, generation, incarnation, chat_id, thread_id, slot, thread_name, at_ms, grace_ms,
      ended, ended_at_ms, unprovable_since_ms, unprovable_reason
    FROM registrations ORDER BY seat`,
} as const;

export function isCurrent(
  connection: Connection,
  who: Pick<SeatRegistration, "seat" | "instanceId" | "generation">,
): boolean {
  return connection.sql(sql.isCurrent).get(who.seat, who.instanceId, who.generation) !== undefined;
}

/** Who has the seat, and what has become of it. */
const standOf = (row: RegistrationRow) => ({
  seat: row.seat,
  instanceId: row.instance_id,
  generation: row.generation,
  threadGraceMs: row.grace_ms,
  ended: row.ended,
  endedAtMs: row.ended_at_ms,
  unprovable:
    row.unprovable_since_ms === null ? null : { sinceMs: row.unprovable_since_ms, reason: row.unprovable_reason ?? "" },
});

export function allRegistrations(connection: Connection): readonly SeatStanding[] {
  return connection
    .sql<RegistrationRow>(sql.all)
    .all()
    .map((row) => ({
      ...standOf(row),
      incarnation: maybeIncarnation(row.incarnation),
      thread: row.chat_id === null ? null : threadOf(row),
      atMs: row.at_ms,
    }));
}

export function allSeatRecords(connection: Connection): readonly SeatRecord[] {
  return connection
    .sql<RegistrationRow>(sql.all)
    .all()
    .map((row) => ({ ...standOf(row), target: row.chat_id === null ? null : targetOf(row) }));
}

/** Ends the seat's registration if it stands; its bound thread outlives it by the grace time. */
function endNow(connection: Connection, seat: SeatKey, reason: SeatEnd, atMs: number): void {
  const row = connection.sql<RegistrationRow>(sql.get).get(seat);
  if (row === undefined || row.ended !== null) return;
  connection.sql(sql.end).run(reason, atMs, seat);
  if (row.grace_ms === null || reason === "left") return;
  const dueAtMs = atMs + row.grace_ms;
  for (const bound of connection.sql<TargetRow>(sql.bound).all(seat))
    intendCleanup(connection, { seat, target: targetOf(bound), reason: "ended", atMs, dueAtMs });
}

/** The thread is gone: whoever had it has left. */
export function endOfThread(connection: Connection, { chatId, threadId }: ThreadTarget, atMs: number): void {
  for (const { seat } of connection.sql<{ seat: SeatKey }>(sql.ofThread).all(chatId, threadId)) {
    endNow(connection, seat, "left", atMs);
    connection.sql(sql.reclaim).run(seat, null);
  }
}

const maybeIncarnation = (json: string | null): Incarnation | null => (json === null ? null : incarnationOf(json));

/** The holder itself gives the seat up: its registration is over, and what it had in hand goes back. */
export function endByHolder(connection: Connection, seat: SeatKey, instanceId: InstanceId, atMs: number): void {
  const row = connection.sql<RegistrationRow>(sql.get).get(seat);
  if (row?.instance_id === instanceId) endNow(connection, seat, "stopped", atMs);
  connection.sql(sql.reclaimOf).run(seat, instanceId);
  voidOffers(connection, seat, null);
}

/** What earlier instances of the seat had in hand goes back. */
export function putBackEarlier(connection: Connection, seat: SeatKey, instanceId: InstanceId): void {
  connection.sql(sql.reclaim).run(seat, instanceId);
  voidOffers(connection, seat, instanceId);
}

export function registrationStore(connection: Connection): RegistrationStore {
  return {
    commit: ({ epoch, registration }) =>
      writeAsLeader(connection, epoch, () => {
        const { seat, instanceId, generation, incarnation, thread, atMs } = registration;
        const holder = connection.sql<{ instance_id: InstanceId; grace_ms: number | null }>(sql.holder).get(seat);
        if (holder !== undefined && holder.instance_id !== instanceId) return { kind: "superseded" } as const;
        if (thread !== null && isThreadGone(connection, thread.target)) return { kind: "threadGone" } as const;
        const graceMs = holder === undefined ? registration.threadGraceMs : holder.grace_ms;
        const { chatId, threadId } = thread?.target ?? { chatId: null, threadId: null };
        const proof = incarnation === null ? null : JSON.stringify(incarnation);
        const [slot, name] = [thread?.slot ?? null, thread?.threadName ?? null];
        if (chatId !== null) connection.sql(sql.keep).run(keptReason, seat, chatId, threadId, instanceId);
        connection.sql(sql.put).run(seat, instanceId, generation, proof, chatId, threadId, slot, name, atMs, graceMs);
        if (thread !== null) cancelCleanup(connection, thread.target);
        connection.sql(sql.reclaim).run(seat, instanceId);
        voidOffers(connection, seat, instanceId);
        return { kind: "committed" } as const;
      }),

    end: ({ epoch, seat, generation, reason, atMs }) =>
      writeAsLeader(connection, epoch, () => {
        const row = connection.sql<RegistrationRow>(sql.get).get(seat);
        if (row?.generation !== generation) return { kind: "superseded" } as const;
        // Ending twice keeps the first reason: the first answer may have been lost.
        endNow(connection, seat, reason, atMs);
        if (reason === "forgotten") connection.sql(sql.forget).run(seat, row.instance_id);
        connection.sql(sql.reclaim).run(seat, null);
        voidOffers(connection, seat, null);
        return { kind: "ended" } as const;
      }),
  };
}
