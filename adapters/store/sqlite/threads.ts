/**
 * Threads: bindings, begun creations, clean-up instructions.
 *
 * Owns: `bindings`, `provisions`, `cleanups`. Does not own: which thread a seat should get.
 *
 * Invariants:
 * 1. A thread is bound to at most one seat: binding it to another takes it from the first.
 * 2. A creation is begun only for a seat without a thread and without another begun creation, and only in a slot that no
 *    binding and no begun creation of that chat has. The creation it replaces (`abandons`) does not count.
 * 3. Only the exact instruction (seat and thread) is confirmed; a cancelled one removes nothing.
 */
import type { SeatKey } from "../../../machines/ids.ts";
import type { Binding, PendingProvision, ThreadStore } from "../../../services/ports.ts";
import type { Connection } from "./connection.ts";
import { writeAsLeader } from "./lease.ts";
import { targetOf, threadOf, type BindingRow, type ProvisionRow, type TargetRow } from "./rows.ts";

const sql = {
  bindings: "SELECT seat, chat_id, thread_id, slot, thread_name, created_at_ms FROM bindings ORDER BY seat",
  provisions: `SELECT id, seat, chat_id, slot, thread_name, started_at_ms, status FROM provisions
    ORDER BY started_at_ms, id`,
  cleanups: "SELECT seat, chat_id, thread_id, at_ms FROM cleanups ORDER BY at_ms, seat, chat_id, thread_id",
  conflictingProvision: `SELECT 1 FROM provisions
    WHERE (id = ? OR seat = ? OR (chat_id = ? AND slot = ?)) AND id IS NOT ?`,
  conflictingBinding: "SELECT 1 FROM bindings WHERE seat = ? OR (chat_id = ? AND slot = ?)",
  intend: `INSERT INTO provisions (id, seat, chat_id, slot, thread_name, started_at_ms, status)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  removeProvision: "DELETE FROM provisions WHERE id = ?",
  doubtProvision: "UPDATE provisions SET status = 'ambiguous' WHERE id = ?",
  takeFromOthers: "DELETE FROM bindings WHERE chat_id = ? AND thread_id = ? AND seat <> ?",
  bind: `INSERT INTO bindings (seat, chat_id, thread_id, slot, thread_name, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (seat) DO UPDATE SET chat_id = excluded.chat_id, thread_id = excluded.thread_id,
      slot = excluded.slot, thread_name = excluded.thread_name, created_at_ms = excluded.created_at_ms`,
  intendCleanup: `INSERT INTO cleanups (seat, chat_id, thread_id, at_ms) VALUES (?, ?, ?, ?)
    ON CONFLICT (seat, chat_id, thread_id) DO UPDATE SET at_ms = excluded.at_ms`,
  removeCleanup: "DELETE FROM cleanups WHERE seat = ? AND chat_id = ? AND thread_id = ?",
  unbind: "DELETE FROM bindings WHERE seat = ? AND chat_id = ? AND thread_id = ?",
} as const;

export function allBindings(connection: Connection): readonly Binding[] {
  return connection
    .sql<BindingRow>(sql.bindings)
    .all()
    .map((row) => ({ seat: row.seat, thread: threadOf(row), createdAtMs: row.created_at_ms }));
}

export function allProvisions(connection: Connection): readonly PendingProvision[] {
  return connection
    .sql<ProvisionRow>(sql.provisions)
    .all()
    .map((row) => ({
      id: row.id,
      seat: row.seat,
      chatId: row.chat_id,
      slot: row.slot,
      threadName: row.thread_name,
      startedAtMs: row.started_at_ms,
      status: row.status,
    }));
}

export function allCleanups(connection: Connection) {
  return connection
    .sql<TargetRow & { readonly seat: SeatKey; readonly at_ms: number }>(sql.cleanups)
    .all()
    .map((row) => ({ seat: row.seat, target: targetOf(row), atMs: row.at_ms }));
}

function isConflicting(connection: Connection, p: PendingProvision, abandons: string | null): boolean {
  return (
    connection.sql(sql.conflictingProvision).get(p.id, p.seat, p.chatId, p.slot, abandons) !== undefined ||
    connection.sql(sql.conflictingBinding).get(p.seat, p.chatId, p.slot) !== undefined
  );
}

export function threadStore(connection: Connection): ThreadStore {
  return {
    view: () => connection.read(() => ({ bindings: allBindings(connection), provisions: allProvisions(connection) })),

    intend: ({ epoch, provision: p, abandons }) =>
      writeAsLeader(connection, epoch, () => {
        if (isConflicting(connection, p, abandons)) return { kind: "conflict" } as const;
        if (abandons !== null) connection.sql(sql.removeProvision).run(abandons);
        connection.sql(sql.intend).run(p.id, p.seat, p.chatId, p.slot, p.threadName, p.startedAtMs, p.status);
        return { kind: "intended" } as const;
      }),

    bind: ({ epoch, provisionId, binding: { seat, thread, createdAtMs } }) =>
      writeAsLeader(connection, epoch, () => {
        const { chatId, threadId } = thread.target;
        if (provisionId !== null) connection.sql(sql.removeProvision).run(provisionId);
        connection.sql(sql.takeFromOthers).run(chatId, threadId, seat);
        connection.sql(sql.bind).run(seat, chatId, threadId, thread.slot, thread.threadName, createdAtMs);
        return { kind: "bound" } as const;
      }),

    giveUp: ({ epoch, provisionId, as }) =>
      writeAsLeader(connection, epoch, () => {
        connection.sql(as === "abandoned" ? sql.removeProvision : sql.doubtProvision).run(provisionId);
        return { kind: "noted" } as const;
      }),

    intendCleanup: ({ epoch, seat, target, atMs }) =>
      writeAsLeader(connection, epoch, () => {
        connection.sql(sql.intendCleanup).run(seat, target.chatId, target.threadId, atMs);
        return { kind: "intended" } as const;
      }),

    confirmCleanup: ({ epoch, seat, target }) =>
      writeAsLeader(connection, epoch, () => {
        const removed = connection.sql(sql.removeCleanup).run(seat, target.chatId, target.threadId);
        if (removed.changes === 0) return { kind: "superseded" } as const;
        connection.sql(sql.unbind).run(seat, target.chatId, target.threadId);
        return { kind: "removed" } as const;
      }),
  };
}
