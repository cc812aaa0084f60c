/**
 * What was set aside, and the operator's say about it.
 *
 * Owns: the way out of `dead_letters`. Does not own: the way in (`journal.ts`).
 * Invariants: a letter leaves by one transaction, to the journal or to a tombstone; its number stays its own.
 */
import type { JournalSeq, Lane, UpdateId } from "../../../machines/ids.ts";
import type { DeadLetter, DeadLetterStore } from "../../../services/ports.ts";
import { journalEntriesMax } from "../limits.ts";
import type { Connection } from "./connection.ts";
import { addToCounter } from "./counters.ts";
import { journalSize } from "./journal.ts";

interface LetterRow {
  readonly seq: JournalSeq;
  readonly update_id: UpdateId;
  readonly lane: Lane;
  readonly body: string;
  readonly admitted_at_ms: number;
  readonly attempts: number;
  readonly last_failure: string | null;
  readonly reason: string;
  readonly dead_at_ms: number;
}

const sql = {
  list: `SELECT seq, update_id, lane, body, admitted_at_ms, attempts, last_failure, reason, dead_at_ms
    FROM dead_letters ORDER BY seq LIMIT ?`,
  isThere: "SELECT 1 FROM dead_letters WHERE seq = ?",
  putBack: `INSERT INTO updates (seq, update_id, digest, lane, body, admitted_at_ms, next_attempt_at_ms)
    SELECT seq, update_id, digest, lane, body, :nowMs, :nowMs FROM dead_letters WHERE seq = :seq`,
  bury: `INSERT INTO tombstones (update_id, digest, settled_at_ms)
    SELECT update_id, digest, :nowMs FROM dead_letters WHERE seq = :seq
    ON CONFLICT (update_id, digest) DO UPDATE SET settled_at_ms = excluded.settled_at_ms, acquisition = NULL`,
  remove: "DELETE FROM dead_letters WHERE seq = ?",
} as const;

const letterOf = (row: LetterRow): DeadLetter => ({
  seq: row.seq,
  updateId: row.update_id,
  lane: row.lane,
  body: row.body,
  admittedAtMs: row.admitted_at_ms,
  attempts: row.attempts,
  lastFailure: row.last_failure,
  reason: row.reason,
  deadAtMs: row.dead_at_ms,
});

export function deadLetterStore(connection: Connection): DeadLetterStore {
  const isThere = (seq: JournalSeq): boolean => connection.sql(sql.isThere).get(seq) !== undefined;
  return {
    list: (limit) => connection.read(() => connection.sql<LetterRow>(sql.list).all(Math.max(0, limit)).map(letterOf)),

    retry: ({ seq, nowMs }) =>
      connection.write(() => {
        if (!isThere(seq)) return { kind: "missing" } as const;
        if (journalSize(connection) + 1 > journalEntriesMax) return { kind: "full" } as const;
        connection.sql(sql.putBack).run({ seq, nowMs });
        connection.sql(sql.remove).run(seq);
        return { kind: "retried" } as const;
      }),

    discard: ({ seq, nowMs }) =>
      connection.write(() => {
        if (!isThere(seq)) return { kind: "missing" } as const;
        connection.sql(sql.bury).run({ seq, nowMs });
        connection.sql(sql.remove).run(seq);
        addToCounter(connection, "discarded", 1, nowMs);
        return { kind: "discarded" } as const;
      }),
  };
}
