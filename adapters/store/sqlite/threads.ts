/**
 * Threads: bindings, begun creations and what they made, what was lost, what is left over.
 *
 * Owns: `bindings`, `provisions`, `created_threads`, `lost_threads`, `leftovers`.
 * Does not own: which thread a seat should get.
 *
 * Invariants:
 * 1. A thread is bound to at most one seat: binding it to another takes it from the first. A bound thread is no leftover.
 * 2. A creation is begun only for a seat without a thread in that chat and without another begun creation that is wanted,
 *    and only in a slot that no binding and no begun creation of that chat has. The creation it replaces (`abandons`) does
 *    not count.
 * 3. A thread that was ever told to us is in one of these tables until it is deleted or proven gone.
 */
import type { ChatId, SeatKey, ThreadId, ThreadTarget } from "../../../machines/ids.ts";
import { lostThreadsMax } from "../../../machines/threads.rules.ts";
import type { HeldBinding, LeftoverThread, LostThread } from "../../../machines/threads.rules.ts";
import type { BegunProvision, Binding, PendingProvision, ThreadStore } from "../../../services/ports.ts";
import { intendCleanup } from "./cleanups.ts";
import type { Connection } from "./connection.ts";
import { writeAsLeader } from "./lease.ts";
import { bindingOf, leftoverOf, lostOf, provisionOf } from "./rows.ts";
import type { BindingRow, LeftoverRow, LostRow, ProvisionRow } from "./rows.ts";

const bindingColumns = `SELECT b.seat, b.chat_id, b.thread_id, b.slot, b.thread_name, b.created_at_ms, b.standing, b.reason,
    b.proven_at_ms, r.instance_id AS holder
  FROM bindings b LEFT JOIN registrations r
    ON r.seat = b.seat AND r.chat_id = b.chat_id AND r.thread_id = b.thread_id`;

const sql = {
  bindings: `${bindingColumns} ORDER BY b.seat, b.chat_id`,
  binding: `${bindingColumns} WHERE b.seat = ? AND b.chat_id = ?`,
  boundThread: `${bindingColumns} WHERE b.chat_id = ? AND b.thread_id = ?`,
  provisions: `SELECT p.id, p.seat, p.chat_id, p.slot, p.thread_name, p.started_at_ms, p.status, p.doubts, c.thread_id
    FROM provisions p LEFT JOIN created_threads c ON c.provision_id = p.id ORDER BY p.started_at_ms, p.id`,
  lost: "SELECT seat, chat_id, thread_id, slot, thread_name, reason, at_ms FROM lost_threads ORDER BY n",
  leftovers: "SELECT chat_id, thread_id, thread_name, seat, reason, at_ms FROM leftovers ORDER BY chat_id, thread_id",
  loserOf: "SELECT seat FROM lost_threads WHERE chat_id = ? AND thread_id = ? ORDER BY n DESC LIMIT 1",
  conflictingProvision: `SELECT 1 FROM provisions
    WHERE (id = ? OR (seat = ? AND chat_id = ? AND status <> 'unwanted') OR (chat_id = ? AND slot = ?)) AND id IS NOT ?`,
  conflictingBinding: "SELECT 1 FROM bindings WHERE chat_id = ? AND (seat = ? OR slot = ?)",
  intend: `INSERT INTO provisions (id, seat, chat_id, slot, thread_name, started_at_ms, status, doubts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  statusOf: "SELECT status FROM provisions WHERE id = ?",
  removeProvision: "DELETE FROM provisions WHERE id = ?",
  doubtProvision: "UPDATE provisions SET status = 'ambiguous' WHERE id = ? AND status = 'inFlight'",
  disown: "UPDATE provisions SET status = 'unwanted' WHERE seat = ?",
  noteCreated: `INSERT INTO created_threads (provision_id, chat_id, thread_id, at_ms) VALUES (?, ?, ?, ?)
    ON CONFLICT (provision_id) DO NOTHING`,
  createdBy: "SELECT thread_id FROM created_threads WHERE provision_id = ?",
  forgetCreated: "DELETE FROM created_threads WHERE provision_id = ?",
  takeFromOthers: "DELETE FROM bindings WHERE chat_id = ? AND thread_id = ? AND seat <> ?",
  bind: `INSERT INTO bindings
      (seat, chat_id, thread_id, slot, thread_name, created_at_ms, standing, reason, proven_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (seat, chat_id) DO UPDATE SET thread_id = excluded.thread_id, slot = excluded.slot,
      thread_name = excluded.thread_name, created_at_ms = excluded.created_at_ms, standing = excluded.standing,
      reason = excluded.reason, proven_at_ms = excluded.proven_at_ms`,
  mark: `UPDATE bindings SET standing = ?, reason = ?, proven_at_ms = CASE ? WHEN 'open' THEN ? ELSE proven_at_ms END
    WHERE chat_id = ? AND thread_id = ?`,
  lose: `INSERT INTO lost_threads (seat, chat_id, thread_id, slot, thread_name, reason, at_ms)
    SELECT seat, chat_id, thread_id, slot, thread_name, ?, ? FROM bindings WHERE chat_id = ? AND thread_id = ?`,
  regain: "DELETE FROM lost_threads WHERE chat_id = ? AND thread_id = ?",
  pruneLost: `DELETE FROM lost_threads WHERE n <= (SELECT max(n) FROM lost_threads) - ${String(lostThreadsMax)}`,
  unbindThread: "DELETE FROM bindings WHERE chat_id = ? AND thread_id = ?",
  putLeftover: `INSERT INTO leftovers (chat_id, thread_id, thread_name, seat, reason, at_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (chat_id, thread_id) DO UPDATE SET thread_name = excluded.thread_name, seat = excluded.seat,
      reason = excluded.reason, at_ms = excluded.at_ms`,
  removeLeftover: "DELETE FROM leftovers WHERE chat_id = ? AND thread_id = ?",
} as const;

export const allBindings = (connection: Connection): readonly HeldBinding[] =>
  connection.sql<BindingRow>(sql.bindings).all().map(bindingOf);

export const allProvisions = (connection: Connection): readonly PendingProvision[] =>
  connection.sql<ProvisionRow>(sql.provisions).all().map(provisionOf);

export const allLost = (connection: Connection): readonly LostThread[] =>
  connection.sql<LostRow>(sql.lost).all().map(lostOf);

export const allLeftovers = (connection: Connection): readonly LeftoverThread[] =>
  connection.sql<LeftoverRow>(sql.leftovers).all().map(leftoverOf);

/** The seat's holder has left for good: creations begun for it are unwanted. */
export function disownProvisions(connection: Connection, seat: SeatKey): void {
  connection.sql(sql.disown).run(seat);
}

const isBound = (connection: Connection, { chatId, threadId }: ThreadTarget): boolean =>
  connection.sql(sql.boundThread).get(chatId, threadId) !== undefined;

function putLeftover(connection: Connection, { target, threadName, seat, reason, atMs }: LeftoverThread): void {
  connection.sql(sql.putLeftover).run(target.chatId, target.threadId, threadName, seat, reason, atMs);
}

function isConflicting(connection: Connection, p: BegunProvision, abandons: string | null): boolean {
  const { id, seat, chatId, slot } = p;
  return (
    connection.sql(sql.conflictingProvision).get(id, seat, chatId, chatId, slot, abandons) !== undefined ||
    connection.sql(sql.conflictingBinding).get(chatId, seat, slot) !== undefined
  );
}

/** The creation that made the thread is over; true when its instance has left for good meanwhile. */
function endProvision(connection: Connection, provisionId: string): boolean {
  const row = connection.sql<Pick<ProvisionRow, "status">>(sql.statusOf).get(provisionId);
  connection.sql(sql.removeProvision).run(provisionId);
  connection.sql(sql.forgetCreated).run(provisionId);
  return row?.status === "unwanted";
}

/** What the seat had in that chat and has no longer, although nobody has proven it gone. */
function leavePrevious(connection: Connection, { seat, thread, provenAtMs }: Binding): void {
  const { chatId, threadId } = thread.target;
  const before = connection.sql<BindingRow>(sql.binding).get(seat, chatId);
  if (before === undefined || before.thread_id === threadId) return;
  const { thread: old } = bindingOf(before);
  const reason = `replaced by thread ${String(threadId)}`;
  putLeftover(connection, { target: old.target, threadName: old.threadName, seat, reason, atMs: provenAtMs });
}

function bind(connection: Connection, binding: Binding): void {
  const { seat, thread, createdAtMs, standing, reason, provenAtMs } = binding;
  const { chatId, threadId } = thread.target;
  connection.sql(sql.takeFromOthers).run(chatId, threadId, seat);
  leavePrevious(connection, binding);
  connection.sql(sql.removeLeftover).run(chatId, threadId);
  connection.sql(sql.regain).run(chatId, threadId);
  const { slot, threadName } = thread;
  connection.sql(sql.bind).run(seat, chatId, threadId, slot, threadName, createdAtMs, standing, reason, provenAtMs);
}

type Creations = Pick<ThreadStore, "intend" | "noteCreated" | "bind" | "giveUp">;

function creations(connection: Connection): Creations {
  const createdBy = (provisionId: string): ThreadId | null =>
    connection.sql<{ thread_id: ThreadId }>(sql.createdBy).get(provisionId)?.thread_id ?? null;
  return {
    intend: ({ epoch, provision: p, abandons }) =>
      writeAsLeader(connection, epoch, () => {
        if (isConflicting(connection, p, abandons)) return { kind: "conflict" } as const;
        // It made a thread after all: that one is to be had.
        if (abandons !== null && createdBy(abandons) !== null) return { kind: "conflict" } as const;
        if (abandons !== null) endProvision(connection, abandons);
        connection.sql(sql.intend).run(p.id, p.seat, p.chatId, p.slot, p.threadName, p.startedAtMs, p.status, p.doubts);
        return { kind: "intended" } as const;
      }),

    noteCreated: ({ provisionId, target, threadName, atMs }) =>
      connection.write(() => {
        const isBegun = connection.sql(sql.statusOf).get(provisionId) !== undefined;
        if (isBegun) connection.sql(sql.noteCreated).run(provisionId, target.chatId, target.threadId, atMs);
        else if (!isBound(connection, target))
          putLeftover(connection, { target, threadName, seat: null, reason: "created after it was given up", atMs });
      }),

    bind: ({ epoch, provisionId, binding }) =>
      writeAsLeader(connection, epoch, () => {
        const { seat, thread, provenAtMs } = binding;
        if (provisionId !== null && endProvision(connection, provisionId)) {
          const atMs = provenAtMs;
          intendCleanup(connection, { seat, target: thread.target, reason: "left", atMs, dueAtMs: atMs });
          return { kind: "unwanted" } as const;
        }
        bind(connection, binding);
        return { kind: "bound" } as const;
      }),

    giveUp: ({ epoch, provisionId, as }) =>
      writeAsLeader(connection, epoch, () => {
        const threadId = createdBy(provisionId);
        if (as === "ambiguous" || threadId !== null) connection.sql(sql.doubtProvision).run(provisionId);
        else connection.sql(sql.removeProvision).run(provisionId);
        return { kind: "noted", threadId } as const;
      }),
  };
}

type Standings = Pick<ThreadStore, "mark" | "lose" | "addLeftover">;

function standings(connection: Connection): Standings {
  return {
    mark: ({ epoch, target: { chatId, threadId }, standing, reason, atMs }) =>
      writeAsLeader(connection, epoch, () => {
        const marked = connection.sql(sql.mark).run(standing, reason, standing, atMs, chatId, threadId);
        return { kind: marked.changes === 0 ? "missing" : "marked" } as const;
      }),

    lose: ({ epoch, target: { chatId, threadId }, reason, atMs }) =>
      writeAsLeader(connection, epoch, () => {
        const lost = connection.sql(sql.lose).run(reason, atMs, chatId, threadId);
        if (lost.changes === 0) return { kind: "missing" } as const;
        connection.sql(sql.unbindThread).run(chatId, threadId);
        connection.sql(sql.pruneLost).run();
        return { kind: "lost" } as const;
      }),

    addLeftover: ({ epoch, leftover }) =>
      writeAsLeader(connection, epoch, () => {
        if (isBound(connection, leftover.target)) return { kind: "bound" } as const;
        putLeftover(connection, leftover);
        return { kind: "added" } as const;
      }),
  };
}

export function threadStore(connection: Connection): ThreadStore {
  return {
    view: () =>
      connection.read(() => ({
        bindings: allBindings(connection),
        provisions: allProvisions(connection),
        lost: allLost(connection),
        leftovers: allLeftovers(connection),
      })),

    bindingOf: ({ seat, chatId }: { readonly seat: SeatKey; readonly chatId: ChatId }) =>
      connection.read(() => {
        const row = connection.sql<BindingRow>(sql.binding).get(seat, chatId);
        return row === undefined ? null : bindingOf(row);
      }),

    seatOf: ({ chatId, threadId }) =>
      connection.read(() => {
        const bound = connection.sql<BindingRow>(sql.boundThread).get(chatId, threadId);
        if (bound !== undefined) return bound.seat;
        return connection.sql<{ seat: SeatKey }>(sql.loserOf).get(chatId, threadId)?.seat ?? null;
      }),

    ...creations(connection),
    ...standings(connection),
  };
}
