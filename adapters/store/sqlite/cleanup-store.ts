/**
 * Deleting threads for good, what was seen of threads, what the operator asks.
 *
 * Owns: `observations`, `operator_requests`, the steps of a deletion. Does not own: the instructions' table (`cleanups.ts`),
 * which thread is to be deleted and when (`machines/reconciliation.rules.ts`).
 */
import type { Incarnation, SeatKey, ThreadTarget } from "../../../machines/ids.ts";
import type {
  Observation,
  OperatorAnswer,
  OperatorWish,
  ReconciliationView,
  ThreadEvidence,
} from "../../../machines/reconciliation.types.ts";
import type { CleanupStore } from "../../../services/ports.ts";
import { operatorAnswerKeepMs, observationsMax } from "../limits.ts";
import { allCleanups, cancelCleanup, intendCleanup, isThreadGone, keyOf } from "./cleanups.ts";
import type { CleanupRow } from "./cleanups.ts";
import type { Connection } from "./connection.ts";
import { isWaitedIn } from "./journal.ts";
import { writeAsLeader } from "./lease.ts";
import { allSeatRecords, endOfThread } from "./registrations.ts";
import { incarnationOf, targetOf, type TargetRow } from "./rows.ts";
import { allBindings, allLeftovers, allProvisions } from "./threads.ts";

interface ObservationRow extends TargetRow {
  readonly status: Observation["status"];
  readonly name: string | null;
  readonly named_by_person: 0 | 1;
  readonly created_by_bot: 0 | 1;
  readonly at_ms: number;
}

const sql = {
  get: "SELECT seat, reason, phase, attempts FROM cleanups WHERE chat_id = ? AND thread_id = ?",
  begin: "UPDATE cleanups SET phase = 'deleting', attempts = attempts + 1 WHERE chat_id = ? AND thread_id = ?",
  postpone: "UPDATE cleanups SET phase = ?, due_at_ms = ?, last_reason = ? WHERE chat_id = ? AND thread_id = ?",
  remove: "DELETE FROM cleanups WHERE chat_id = ? AND thread_id = ?",
  cancel: "DELETE FROM cleanups WHERE chat_id = ? AND thread_id = ? AND phase = 'waiting'",
  isHeld: "SELECT 1 FROM registrations WHERE chat_id = ? AND thread_id = ? AND ended IS NULL",
  holder: "SELECT instance_id FROM seat_claims WHERE seat = ?",
  boundTo: "SELECT seat FROM bindings WHERE chat_id = ? AND thread_id = ?",
  unbind: "DELETE FROM bindings WHERE chat_id = ? AND thread_id = ?",
  dropLeftover: "DELETE FROM leftovers WHERE chat_id = ? AND thread_id = ?",
  observations: `SELECT chat_id, thread_id, status, name, named_by_person, created_by_bot, at_ms FROM observations
    ORDER BY at_ms, chat_id, thread_id`,
  observe: `INSERT INTO observations (chat_id, thread_id, status, name, named_by_person, created_by_bot, at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (chat_id, thread_id) DO UPDATE SET
      status = CASE status WHEN 'deleted' THEN status ELSE excluded.status END,
      name = coalesce(excluded.name, name), named_by_person = max(named_by_person, excluded.named_by_person),
      created_by_bot = max(created_by_bot, excluded.created_by_bot), at_ms = excluded.at_ms`,
  statusOf: "SELECT status FROM observations WHERE chat_id = ? AND thread_id = ?",
  pruneObservations: `DELETE FROM observations WHERE (chat_id, thread_id) IN (SELECT chat_id, thread_id FROM observations
    ORDER BY at_ms DESC, chat_id, thread_id LIMIT -1 OFFSET ?)`,
  renameBound: "UPDATE bindings SET thread_name = ? WHERE chat_id = ? AND thread_id = ?",
  renameRegistered: "UPDATE registrations SET thread_name = ? WHERE chat_id = ? AND thread_id = ?",
  doubt: `UPDATE registrations SET unprovable_since_ms = ?, unprovable_reason = ?
    WHERE seat = ? AND generation = ? AND ended IS NULL`,
  claims: "SELECT seat, instance_id, incarnation FROM seat_claims ORDER BY seat",
  ask: "INSERT INTO operator_requests (id, wish, at_ms) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
  requests: "SELECT id, wish, at_ms FROM operator_requests WHERE answer IS NULL ORDER BY at_ms, id",
  answer: "UPDATE operator_requests SET answer = ?, answer_text = ? WHERE id = ? AND answer IS NULL",
  answerTo: "SELECT answer, answer_text FROM operator_requests WHERE id = ? AND answer IS NOT NULL",
  pruneAnswers: "DELETE FROM operator_requests WHERE answer IS NOT NULL AND at_ms < ?",
} as const;

function allObservations(connection: Connection): readonly Observation[] {
  return connection
    .sql<ObservationRow>(sql.observations)
    .all()
    .map((row) => ({
      target: targetOf(row),
      status: row.status,
      name: row.name,
      isNamedByPerson: row.named_by_person === 1,
      createdByBot: row.created_by_bot === 1,
      atMs: row.at_ms,
    }));
}

function viewOf(connection: Connection): ReconciliationView {
  return {
    bindings: allBindings(connection),
    provisions: allProvisions(connection),
    cleanups: allCleanups(connection),
    leftovers: allLeftovers(connection),
    observations: allObservations(connection),
    seats: allSeatRecords(connection),
    claims: connection
      .sql<{ seat: SeatKey; instance_id: ReconciliationView["claims"][number]["instanceId"]; incarnation: string }>(
        sql.claims,
      )
      .all()
      .map((row) => ({
        seat: row.seat,
        instanceId: row.instance_id,
        incarnation: incarnationOf(row.incarnation) satisfies Incarnation,
      })),
    requests: connection
      .sql<{ id: string; wish: string; at_ms: number }>(sql.requests)
      .all()
      // Written by `ask` from the same type.
      .map((row) => ({ id: row.id, wish: JSON.parse(row.wish) as OperatorWish, atMs: row.at_ms })),
  };
}

function note(connection: Connection, { target, what, name, by, atMs }: ThreadEvidence): void {
  const status = what === "closed" ? "closed" : "open";
  const known = connection.sql<{ status: string }>(sql.statusOf).get(...keyOf(target))?.status;
  // Only closing and reopening say whether it is open.
  const kept = what === "renamed" && known !== undefined ? known : status;
  const isByPerson = by === "person" && what === "renamed";
  const isCreatedByBot = by === "bot" && what === "created";
  connection.sql(sql.observe).run(...keyOf(target), kept, name, isByPerson ? 1 : 0, isCreatedByBot ? 1 : 0, atMs);
  if (known === undefined) connection.sql(sql.pruneObservations).run(observationsMax);
  if (what !== "renamed" || name === null) return;
  connection.sql(sql.renameBound).run(name, ...keyOf(target));
  connection.sql(sql.renameRegistered).run(name, ...keyOf(target));
}

function begin(connection: Connection, target: ThreadTarget, seenDead: string | null) {
  const row = connection.sql<Pick<CleanupRow, "seat" | "reason" | "phase" | "attempts">>(sql.get).get(...keyOf(target));
  if (row === undefined) return { kind: "superseded" } as const;
  const bound = connection.sql<{ seat: SeatKey }>(sql.boundTo).get(...keyOf(target))?.seat;
  if (bound !== undefined && bound !== row.seat) {
    connection.sql(sql.cancel).run(...keyOf(target));
    return { kind: "superseded" } as const;
  }
  // A call may be deleting it already: then what is written there comes too late.
  if (row.reason === "rerouted" && row.phase === "waiting" && isWaitedIn(connection, target)) {
    connection.sql(sql.cancel).run(...keyOf(target));
    return { kind: "superseded" } as const;
  }
  const isRegistered = row.reason !== "left" && connection.sql(sql.isHeld).get(...keyOf(target)) !== undefined;
  const holder = connection.sql<{ instance_id: string }>(sql.holder).get(row.seat)?.instance_id;
  const isToBeProven = row.reason === "ended" && row.phase === "waiting" && bound !== undefined;
  const isHeldUnproven = isToBeProven && holder !== undefined && holder !== seenDead;
  if (isRegistered || isHeldUnproven) return { kind: "held" } as const;
  connection.sql(sql.begin).run(...keyOf(target));
  return { kind: "begun", attempts: row.attempts + 1 } as const;
}

export function cleanupStore(connection: Connection): CleanupStore {
  const noted = { kind: "noted" } as const;
  return {
    view: () => connection.read(() => viewOf(connection)),

    intend: ({ epoch, ...cleanup }) =>
      writeAsLeader(connection, epoch, () => {
        intendCleanup(connection, cleanup);
        return { kind: "intended" } as const;
      }),

    begin: ({ epoch, target, seenDead }) => writeAsLeader(connection, epoch, () => begin(connection, target, seenDead)),

    postpone: ({ epoch, target, reason, dueAtMs, isCertain }) =>
      writeAsLeader(connection, epoch, () => {
        connection.sql(sql.postpone).run(isCertain ? "waiting" : "deleting", dueAtMs, reason, ...keyOf(target));
        return noted;
      }),

    confirm: ({ epoch, target, atMs }) =>
      writeAsLeader(connection, epoch, () => {
        if (connection.sql(sql.remove).run(...keyOf(target)).changes === 0) return { kind: "superseded" } as const;
        connection.sql(sql.unbind).run(...keyOf(target));
        connection.sql(sql.dropLeftover).run(...keyOf(target));
        endOfThread(connection, target, atMs);
        connection.sql(sql.observe).run(...keyOf(target), "deleted", null, 0, 0, atMs);
        connection.sql(sql.pruneObservations).run(observationsMax);
        return { kind: "removed" } as const;
      }),

    cancel: ({ epoch, target }) =>
      writeAsLeader(connection, epoch, () => {
        cancelCleanup(connection, target);
        return isThreadGone(connection, target) ? ({ kind: "gone" } as const) : noted;
      }),

    unbind: ({ epoch, target }) =>
      writeAsLeader(connection, epoch, () => {
        connection.sql(sql.unbind).run(...keyOf(target));
        connection.sql(sql.dropLeftover).run(...keyOf(target));
        cancelCleanup(connection, target);
        return noted;
      }),

    observe: ({ epoch, evidence }) =>
      writeAsLeader(connection, epoch, () => {
        note(connection, evidence);
        return noted;
      }),

    doubt: ({ epoch, seat, generation, doubt }) =>
      writeAsLeader(connection, epoch, () => {
        connection.sql(sql.doubt).run(doubt?.sinceMs ?? null, doubt?.reason ?? null, seat, generation);
        return noted;
      }),

    ask: ({ id, wish, atMs }) =>
      connection.write(() => {
        connection.sql(sql.pruneAnswers).run(atMs - operatorAnswerKeepMs);
        connection.sql(sql.ask).run(id, JSON.stringify(wish), atMs);
      }),

    answer: ({ epoch, answer: { id, kind, text } }) =>
      writeAsLeader(connection, epoch, () => {
        connection.sql(sql.answer).run(kind, text, id);
        return noted;
      }),

    answerTo: (id) =>
      connection.read(() => {
        const row = connection.sql<{ answer: OperatorAnswer["kind"]; answer_text: string }>(sql.answerTo).get(id);
        return row === undefined ? null : { id, kind: row.answer, text: row.answer_text };
      }),
  };
}
