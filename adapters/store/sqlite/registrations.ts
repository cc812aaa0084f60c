/**
 * Registrations: the leader's durable record of who sits on a seat.
 *
 * Owns: `registrations`, and what a new registration means to clean-ups and to entries in hand. Does not own: proof.
 * Invariant: a seat has at most one current registration, the last one committed unless it ended.
 */
import type { Generation, Incarnation, InstanceId, SeatKey } from "../../../machines/ids.ts";
import type { RegistrationStore, SeatEnd, SeatRegistration } from "../../../services/ports.ts";
import type { Connection } from "./connection.ts";
import { writeAsLeader } from "./lease.ts";
import { incarnationOf, threadOf, type ThreadRow } from "./rows.ts";

/** The thread's columns are all NULL for a seat that has the whole chat. */
type MaybeThreadRow = ThreadRow | { readonly [Column in keyof ThreadRow]: null };

type RegistrationRow = MaybeThreadRow & {
  readonly seat: SeatKey;
  readonly instance_id: InstanceId;
  readonly generation: Generation;
  readonly incarnation: string | null;
  readonly at_ms: number;
  readonly ended: SeatEnd | null;
};

const sql = {
  put: `INSERT INTO registrations
      (seat, instance_id, generation, incarnation, chat_id, thread_id, slot, thread_name, at_ms, ended, ended_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)
    ON CONFLICT (seat) DO UPDATE SET
      instance_id = excluded.instance_id, generation = excluded.generation, incarnation = excluded.incarnation,
      chat_id = excluded.chat_id, thread_id = excluded.thread_id, slot = excluded.slot,
      thread_name = excluded.thread_name, at_ms = excluded.at_ms, ended = NULL, ended_at_ms = NULL`,
  cancelCleanups: "DELETE FROM cleanups WHERE chat_id = ? AND thread_id = ?",
  reclaim: `UPDATE updates SET redelivered = 1,
      claim_seat = NULL, claim_instance = NULL, claim_generation = NULL, claim_acquisition = NULL
    WHERE claim_acquisition IS NOT NULL AND claim_seat = ? AND claim_instance IS NOT ?`,
  get: "SELECT generation, ended FROM registrations WHERE seat = ?",
  end: "UPDATE registrations SET ended = ?, ended_at_ms = ? WHERE seat = ?",
  endOf: "UPDATE registrations SET ended = ?, ended_at_ms = ? WHERE seat = ? AND instance_id = ? AND ended IS NULL",
  reclaimOf: `UPDATE updates SET redelivered = 1,
      claim_seat = NULL, claim_instance = NULL, claim_generation = NULL, claim_acquisition = NULL
    WHERE claim_acquisition IS NOT NULL AND claim_seat = ? AND claim_instance = ?`,
  holder: "SELECT instance_id FROM seat_claims WHERE seat = ?",
  isCurrent: "SELECT 1 FROM registrations WHERE seat = ? AND instance_id = ? AND generation = ? AND ended IS NULL",
  all: `SELECT seat, instance_id, generation, incarnation, chat_id, thread_id, slot, thread_name, at_ms, ended
    FROM registrations ORDER BY seat`,
} as const;

export function isCurrent(
  connection: Connection,
  who: Pick<SeatRegistration, "seat" | "instanceId" | "generation">,
): boolean {
  return connection.sql(sql.isCurrent).get(who.seat, who.instanceId, who.generation) !== undefined;
}

export function allRegistrations(
  connection: Connection,
): readonly (SeatRegistration & { readonly ended: SeatEnd | null })[] {
  return connection
    .sql<RegistrationRow>(sql.all)
    .all()
    .map((row) => ({
      seat: row.seat,
      instanceId: row.instance_id,
      generation: row.generation,
      incarnation: maybeIncarnation(row.incarnation),
      thread: row.chat_id === null ? null : threadOf(row),
      atMs: row.at_ms,
      ended: row.ended,
    }));
}

const maybeIncarnation = (json: string | null): Incarnation | null => (json === null ? null : incarnationOf(json));

/** The holder itself gives the seat up: its registration is over, and what it had in hand goes back. */
export function endByHolder(connection: Connection, seat: SeatKey, instanceId: InstanceId, atMs: number): void {
  connection.sql(sql.endOf).run("stopped" satisfies SeatEnd, atMs, seat, instanceId);
  connection.sql(sql.reclaimOf).run(seat, instanceId);
}

export function registrationStore(connection: Connection): RegistrationStore {
  return {
    commit: ({ epoch, registration }) =>
      writeAsLeader(connection, epoch, () => {
        const { seat, instanceId, generation, incarnation, thread, atMs } = registration;
        const holder = connection.sql<{ instance_id: InstanceId }>(sql.holder).get(seat);
        if (holder !== undefined && holder.instance_id !== instanceId) return { kind: "superseded" } as const;
        const { chatId, threadId } = thread?.target ?? { chatId: null, threadId: null };
        const proof = incarnation === null ? null : JSON.stringify(incarnation);
        const [slot, name] = [thread?.slot ?? null, thread?.threadName ?? null];
        connection.sql(sql.put).run(seat, instanceId, generation, proof, chatId, threadId, slot, name, atMs);
        // No thread, no match: NULL equals nothing.
        connection.sql(sql.cancelCleanups).run(chatId, threadId);
        connection.sql(sql.reclaim).run(seat, instanceId);
        return { kind: "committed" } as const;
      }),

    end: ({ epoch, seat, generation, reason, atMs }) =>
      writeAsLeader(connection, epoch, () => {
        const row = connection.sql<Pick<RegistrationRow, "generation" | "ended">>(sql.get).get(seat);
        if (row?.generation !== generation) return { kind: "superseded" } as const;
        // Ending twice keeps the first reason: the first answer may have been lost.
        if (row.ended === null) connection.sql(sql.end).run(reason, atMs, seat);
        connection.sql(sql.reclaim).run(seat, null);
        return { kind: "ended" } as const;
      }),
  };
}
