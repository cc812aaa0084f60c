/**
 * Counters by reason: drops by rule and whatever else `status` should show a number for.
 *
 * Owns: `counters`. Does not own: the reasons. A counter only grows; the time of its last step stays with it.
 */
import type { Connection } from "./connection.ts";

const sql = {
  add: `INSERT INTO counters (reason, count, last_at_ms) VALUES (?, ?, ?)
    ON CONFLICT (reason) DO UPDATE SET count = count + excluded.count, last_at_ms = excluded.last_at_ms`,
  all: "SELECT reason, count FROM counters ORDER BY reason",
} as const;

/** Counts inside the transaction of the caller. */
export function addToCounter(connection: Connection, reason: string, by: number, nowMs: number): void {
  connection.sql(sql.add).run(reason, by, nowMs);
}

export function readCounters(connection: Connection): Readonly<Record<string, number>> {
  const rows = connection.sql<{ reason: string; count: number }>(sql.all).all();
  return Object.fromEntries(rows.map((row) => [row.reason, row.count]));
}
