/**
 * The journal: every admitted update until it is settled, dropped or set aside.
 *
 * Owns: `updates` (admission and the leader's ends), `cursor`, `tombstones`, `dead_letters`. Does not own: claims
 * (`work.ts`), order between lanes (the delivery chart).
 *
 * Invariants:
 * 1. Admission is one transaction, cursor included; its cost depends on the batch, never on the depth.
 * 2. An update is known by id and digest: as an open entry, a dead letter, or a tombstone that still counts.
 * 3. A lane's head is its earliest unclaimed entry. Entries in somebody's hand hold nothing up.
 * 4. What goes to another thread is known by the digest that it came with.
 * 5. The leader ends no entry that a current registration has in hand.
 */
import type { AcquisitionId, JournalSeq, ThreadTarget, UpdateId } from "../../../machines/ids.ts";
import { inThread } from "../../../machines/reroute.rules.ts";
import { laneInThread, laneOfThread, urgentLaneOf } from "../../../machines/updates.rules.ts";
import type { AdmittedUpdate, JournalStore } from "../../../services/ports.ts";
import { digestOf } from "../digest.ts";
import { journalEntriesMax, tombstoneKeepMs, tombstonePrunedMax } from "../limits.ts";
import type { Connection } from "./connection.ts";
import { addToCounter } from "./counters.ts";
import { writeAsLeader } from "./lease.ts";
import { entryColumns, entryOf, type EntryRow } from "./rows.ts";

// What follows an entry that is tried again waits for its outcome. CROSS JOIN: lane by lane, each in its own short run of
// the index.
const headsOfWanted = `
    SELECT ${entryColumns} FROM wanted CROSS JOIN updates AS u ON u.seq IN (
      SELECT h.seq FROM updates AS h INDEXED BY updates_unclaimed
      WHERE h.claim_acquisition IS NULL AND h.lane = wanted.lane ORDER BY h.seq LIMIT :perLane
    ) WHERE NOT EXISTS (
      SELECT 1 FROM updates AS r INDEXED BY updates_retried
      WHERE r.attempts > 0 AND r.lane = u.lane AND r.seq < u.seq
    ) ORDER BY u.seq LIMIT :limit`;

/** Exported for the tests that read the query plans. */
export const journalSql = {
  cursor: "SELECT next_update_id FROM cursor",
  moveCursor: `INSERT INTO cursor (id, next_update_id) VALUES (1, ?)
    ON CONFLICT (id) DO UPDATE SET next_update_id = excluded.next_update_id`,
  size: "SELECT entries FROM journal_size",
  // INDEXED BY names the index that makes the cost constant; SQLite refuses the statement should it ever vanish.
  isOpen: "SELECT 1 FROM updates INDEXED BY updates_by_id WHERE update_id = ? AND digest = ?",
  isDead: "SELECT 1 FROM dead_letters INDEXED BY dead_letters_by_id WHERE update_id = ? AND digest = ?",
  isSettled: "SELECT 1 FROM tombstones WHERE update_id = ? AND digest = ? AND settled_at_ms > ?",
  add: `INSERT INTO updates (update_id, digest, lane, body, admitted_at_ms, next_attempt_at_ms)
    VALUES (?, ?, ?, ?, ?, ?)`,
  prune: `DELETE FROM tombstones WHERE (update_id, digest) IN (
      SELECT update_id, digest FROM tombstones INDEXED BY tombstones_by_age
      WHERE settled_at_ms <= ? ORDER BY settled_at_ms LIMIT ?)`,
  bury: `INSERT INTO tombstones (update_id, digest, settled_at_ms, acquisition)
      SELECT update_id, digest, ?, coalesce(?, claim_acquisition) FROM updates WHERE seq = ?
    ON CONFLICT (update_id, digest) DO UPDATE
      SET settled_at_ms = excluded.settled_at_ms, acquisition = excluded.acquisition`,
  remove: "DELETE FROM updates WHERE seq = ?",
  setAside: `INSERT INTO dead_letters
      (seq, update_id, digest, lane, body, admitted_at_ms, attempts, last_failure, reason, dead_at_ms)
    SELECT seq, update_id, digest, lane, body, admitted_at_ms, attempts, last_failure, ?, ? FROM updates WHERE seq = ?`,
  waitingIn: `SELECT ${entryColumns} FROM updates AS u INDEXED BY updates_unclaimed
    WHERE u.claim_acquisition IS NULL AND u.lane IN (?, ?) ORDER BY u.seq`,
  isSitting: "SELECT 1 FROM registrations WHERE chat_id = ? AND thread_id = ? AND ended IS NULL",
  isBound: "SELECT 1 FROM bindings WHERE chat_id = ? AND thread_id = ?",
  redirect: "UPDATE updates SET lane = ?, body = ?, assigned_seat = NULL WHERE seq = ?",
  isEndable: `SELECT 1 FROM updates AS u WHERE u.seq = ? AND (u.claim_acquisition IS NULL OR NOT EXISTS (
      SELECT 1 FROM registrations AS r
      WHERE r.seat = u.claim_seat AND r.instance_id = u.claim_instance AND r.ended IS NULL))`,
  // Steps from lane to lane in the partial index (one look-up each) instead of reading every row of a long lane.
  headsOfAll: `
    WITH RECURSIVE lanes (lane) AS (
      SELECT min(lane) FROM updates INDEXED BY updates_unclaimed WHERE claim_acquisition IS NULL
      UNION ALL
      SELECT (SELECT min(u.lane) FROM updates AS u INDEXED BY updates_unclaimed
              WHERE u.claim_acquisition IS NULL AND u.lane > lanes.lane)
      FROM lanes WHERE lanes.lane IS NOT NULL
    ), wanted (lane) AS (
      SELECT lane FROM lanes WHERE lane IS NOT NULL AND lane NOT IN (SELECT value FROM json_each(:except))
    ) ${headsOfWanted}`,
  headsOf: `
    WITH wanted (lane) AS (
      SELECT DISTINCT value FROM json_each(:only) WHERE value NOT IN (SELECT value FROM json_each(:except))
    ) ${headsOfWanted}`,
} as const;

/**
 * Moves an entry to the tombstones, inside the transaction of the caller. `by` = who settles it without a claim of its own
 * having been written; null = whoever claimed it, if anybody.
 */
export function bury(connection: Connection, seq: JournalSeq, nowMs: number, by: AcquisitionId | null = null): void {
  connection.sql(journalSql.bury).run(nowMs, by, seq);
  connection.sql(journalSql.remove).run(seq);
}

export function readCursor(connection: Connection): UpdateId | null {
  return connection.sql<{ next_update_id: UpdateId }>(journalSql.cursor).get()?.next_update_id ?? null;
}

export function journalSize(connection: Connection): number {
  return connection.sql<{ entries: number }>(journalSql.size).get()?.entries ?? 0;
}

function isKnown(connection: Connection, updateId: UpdateId, digest: string, nowMs: number): boolean {
  return (
    connection.sql(journalSql.isOpen).get(updateId, digest) !== undefined ||
    connection.sql(journalSql.isSettled).get(updateId, digest, nowMs - tombstoneKeepMs) !== undefined ||
    connection.sql(journalSql.isDead).get(updateId, digest) !== undefined
  );
}

/** Which of `updates` the journal has not seen; the same update twice in one batch is seen the second time. */
function unknownOf(connection: Connection, updates: readonly AdmittedUpdate[], nowMs: number) {
  const fresh = new Map<string, { readonly update: AdmittedUpdate; readonly digest: string }>();
  for (const update of updates) {
    const digest = digestOf(update.body);
    const key = `${update.updateId}:${digest}`;
    if (!fresh.has(key) && !isKnown(connection, update.updateId, digest, nowMs)) fresh.set(key, { update, digest });
  }
  return [...fresh.values()];
}

/** Writes one update unless it is known; false = the journal is full. Inside the transaction of the caller. */
export function addUnknown(connection: Connection, update: AdmittedUpdate, nowMs: number): boolean {
  const digest = digestOf(update.body);
  if (isKnown(connection, update.updateId, digest, nowMs)) return true;
  if (journalSize(connection) + 1 > journalEntriesMax) return false;
  connection.sql(journalSql.add).run(update.updateId, digest, update.lane, update.body, nowMs, nowMs);
  return true;
}

const waitingIn = (connection: Connection, thread: ThreadTarget): readonly EntryRow[] => {
  const lane = laneOfThread(thread);
  return connection.sql<EntryRow>(journalSql.waitingIn).all(lane, urgentLaneOf(lane));
};

/** Whether something written in this thread is in nobody's hand. Inside the transaction of the caller. */
export const isWaitedIn = (connection: Connection, thread: ThreadTarget): boolean =>
  waitingIn(connection, thread).length > 0;

export function journalStore(connection: Connection): JournalStore {
  const isEndable = (seq: JournalSeq): boolean => connection.sql(journalSql.isEndable).get(seq) !== undefined;
  return {
    cursor: () => connection.read(() => readCursor(connection)),

    admit: ({ epoch, updates, cursor, nowMs }) =>
      writeAsLeader(connection, epoch, () => {
        const fresh = unknownOf(connection, updates, nowMs);
        if (journalSize(connection) + fresh.length > journalEntriesMax) return { kind: "full" } as const;
        for (const { update, digest } of fresh)
          connection.sql(journalSql.add).run(update.updateId, digest, update.lane, update.body, nowMs, nowMs);
        if (cursor !== null) connection.sql(journalSql.moveCursor).run(cursor);
        connection.sql(journalSql.prune).run(nowMs - tombstoneKeepMs, updates.length + tombstonePrunedMax);
        return { kind: "admitted", added: fresh.length, duplicates: updates.length - fresh.length } as const;
      }),

    heads: ({ except, only, perLane, limit }) =>
      connection.read(() => {
        const bounds = { except: JSON.stringify(except), perLane: Math.max(0, perLane), limit: Math.max(0, limit) };
        const rows =
          only === null
            ? connection.sql<EntryRow>(journalSql.headsOfAll).all(bounds)
            : connection.sql<EntryRow>(journalSql.headsOf).all({ ...bounds, only: JSON.stringify(only) });
        return rows.map(entryOf);
      }),

    drop: ({ epoch, seq, reason, nowMs }) =>
      writeAsLeader(connection, epoch, () => {
        if (!isEndable(seq)) return { kind: "missing" } as const;
        bury(connection, seq, nowMs);
        addToCounter(connection, reason, 1, nowMs);
        return { kind: "dropped" } as const;
      }),

    redirect: ({ epoch, from, to }) =>
      writeAsLeader(connection, epoch, () => {
        if (connection.sql(journalSql.isSitting).get(to.chatId, to.threadId) === undefined)
          return { kind: "absent" } as const;
        const isBound = connection.sql(journalSql.isBound).get(from.chatId, from.threadId) !== undefined;
        const waiting = isBound ? [] : waitingIn(connection, from);
        if (waiting.length === 0) return { kind: "nothing" } as const;
        for (const { seq, lane, body } of waiting)
          connection
            .sql(journalSql.redirect)
            .run(laneInThread(lane, to), JSON.stringify(inThread(JSON.parse(body), to)), seq);
        return { kind: "redirected", seqs: waiting.map(({ seq }) => seq) } as const;
      }),

    deadLetter: ({ epoch, seq, reason, nowMs }) =>
      writeAsLeader(connection, epoch, () => {
        if (!isEndable(seq)) return { kind: "missing" } as const;
        connection.sql(journalSql.setAside).run(reason, nowMs, seq);
        connection.sql(journalSql.remove).run(seq);
        return { kind: "deadLettered" } as const;
      }),
  };
}
