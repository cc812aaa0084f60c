/**
 * The instructions to delete threads, for every table that has to heed them.
 *
 * Owns: `cleanups`. Does not own: which thread is to be deleted and when (`machines/reconciliation.rules.ts`), beginning and
 * confirming a deletion (`cleanup-store.ts`).
 *
 * Invariants:
 * 1. A thread has at most one instruction. While a call may be under way (`deleting`) nothing takes it back.
 * 2. What was confirmed as deleted is remembered: no instruction and no registration gets that thread again.
 */
import type { SeatKey, ThreadTarget } from "../../../machines/ids.ts";
import type { Cleanup, CleanupReason } from "../../../machines/reconciliation.types.ts";
import type { Connection } from "./connection.ts";
import { targetOf, type TargetRow } from "./rows.ts";

export interface CleanupRow extends TargetRow {
  readonly seat: SeatKey;
  readonly reason: CleanupReason;
  readonly at_ms: number;
  readonly due_at_ms: number;
  readonly phase: Cleanup["phase"];
  readonly attempts: number;
  readonly last_reason: string | null;
}
const sql = {
  all: `SELECT chat_id, thread_id, seat, reason, at_ms, due_at_ms, phase, attempts, last_reason FROM cleanups
    ORDER BY at_ms, chat_id, thread_id`,
  get: "SELECT seat, reason, phase, attempts FROM cleanups WHERE chat_id = ? AND thread_id = ?",
  intend: `INSERT INTO cleanups (chat_id, thread_id, seat, reason, at_ms, due_at_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (chat_id, thread_id) DO UPDATE SET due_at_ms = min(due_at_ms, excluded.due_at_ms),
      reason = CASE excluded.reason WHEN 'ended' THEN reason ELSE excluded.reason END`,
  cancel: "DELETE FROM cleanups WHERE chat_id = ? AND thread_id = ? AND phase = 'waiting'",
  statusOf: "SELECT status FROM observations WHERE chat_id = ? AND thread_id = ?",
} as const;

export function allCleanups(connection: Connection): readonly Cleanup[] {
  return connection
    .sql<CleanupRow>(sql.all)
    .all()
    .map((row) => ({
      seat: row.seat,
      target: targetOf(row),
      reason: row.reason,
      atMs: row.at_ms,
      dueAtMs: row.due_at_ms,
      phase: row.phase,
      attempts: row.attempts,
      lastReason: row.last_reason,
    }));
}

export const keyOf = ({ chatId, threadId }: ThreadTarget) => [chatId, threadId] as const;

const isDeleted = (connection: Connection, target: ThreadTarget): boolean =>
  connection.sql<{ status: string }>(sql.statusOf).get(...keyOf(target))?.status === "deleted";

/** Whether a registration may not have this thread: a call may be deleting it, or it is gone. */
export const isThreadGone = (connection: Connection, target: ThreadTarget): boolean =>
  isDeleted(connection, target) ||
  connection.sql<{ phase: string }>(sql.get).get(...keyOf(target))?.phase === "deleting";

/** Inside the transaction of the caller. Nothing for a thread that is gone already. */
export function intendCleanup(
  connection: Connection,
  { seat, target, reason, atMs, dueAtMs }: Pick<Cleanup, "seat" | "target" | "reason" | "atMs" | "dueAtMs">,
): void {
  if (!isDeleted(connection, target)) connection.sql(sql.intend).run(...keyOf(target), seat, reason, atMs, dueAtMs);
}

/** A registration has its thread: what was to delete it is over. */
export function cancelCleanup(connection: Connection, target: ThreadTarget): void {
  connection.sql(sql.cancel).run(...keyOf(target));
}
