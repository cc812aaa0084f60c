/**
 * What a recovery takes from the backup: rows of the tables that could not be read whole, as far as an old word does no harm.
 *
 * Owns: which tables and rows come back, and how. Does not own: reading the damaged store (`recover.ts`), taking the backup.
 *
 * Invariants:
 * 1. What was saved of the damaged store is newer, and is never overwritten.
 * 2. Nothing that was settled, by any word that is left, waits again.
 * 3. A thread comes back in doubt: it is proven to exist before it is used. Nothing that deletes one comes back.
 * 4. Who was paired does not come back: it may have been revoked since.
 *
 * Not guaranteed: what was settled after the backup, and cannot be read to have been, runs again.
 */
import type Database from "better-sqlite3";
import { readable } from "./sql-errors.ts";

/** A table of the new store: how many rows it has, whether all could be read, and how many of them are the backup's. */
export interface SavedTable {
  readonly name: string;
  readonly rows: number;
  readonly isWhole: boolean;
  readonly restored: number;
}

interface Restored {
  readonly name: string;
  /** Of a row of the backup, `old`, beside what was saved. */
  readonly only: string;
  /** Columns that come back as something else. */
  readonly instead: Readonly<Record<string, string>>;
}

const whole = (name: string): Restored => ({ name, only: "TRUE", instead: {} });
const notIn = (table: string, key: string): string =>
  `NOT EXISTS (SELECT 1 FROM main.${table} kept WHERE ${key
    .split(" ")
    .map((column) => `kept.${column} = old.${column}`)
    .join(" AND ")})`;

/** In this order: what later ones are judged by comes first. Other tables tell of a moment, and begin anew. */
const restorable: readonly Restored[] = [
  whole("tombstones"),
  whole("chat_moves"),
  whole("observations"),
  whole("message_owners"),
  whole("counters"),
  {
    name: "bindings",
    only: [
      "NOT EXISTS (SELECT 1 FROM main.observations kept WHERE kept.status = 'deleted' AND kept.chat_id = old.chat_id AND kept.thread_id = old.thread_id)",
      notIn("bindings", "chat_id slot"),
      notIn("provisions", "chat_id slot"),
      notIn("leftovers", "chat_id thread_id"),
      notIn("lost_threads", "chat_id thread_id"),
      notIn("cleanups", "chat_id thread_id"),
    ].join(" AND "),
    instead: { standing: "'suspect'", reason: "'restored from the backup'" },
  },
  { name: "leftovers", only: notIn("bindings", "chat_id thread_id"), instead: {} },
  {
    name: "dead_letters",
    only: `${notIn("tombstones", "update_id digest")} AND ${notIn("updates", "update_id digest")}`,
    instead: {},
  },
  {
    name: "updates",
    only: [
      notIn("tombstones", "update_id digest"),
      notIn("updates", "update_id digest"),
      notIn("dead_letters", "update_id digest"),
    ].join(" AND "),
    instead: {
      redelivered: "old.redelivered OR old.claim_acquisition IS NOT NULL",
      claim_seat: "NULL",
      claim_instance: "NULL",
      claim_generation: "NULL",
      claim_acquisition: "NULL",
      offer: "NULL",
    },
  },
];

const rowsOf = (db: Database.Database, name: string): number =>
  db.prepare<[], { n: number }>(`SELECT count(*) AS n FROM main.${name}`).get()?.n ?? 0;

/** Fills `db` up from the backup, which is attached to it as `backup`; the tables as they are then. */
export function restore(db: Database.Database, saved: readonly SavedTable[]): readonly SavedTable[] {
  const isLossy = new Set(saved.flatMap(({ name, isWhole }) => (isWhole ? [] : [name])));
  for (const { name, only, instead } of restorable) {
    if (!isLossy.has(name)) continue;
    const columns = db
      .prepare<[string], { name: string }>("SELECT name FROM pragma_table_info(?)")
      .all(name)
      .map((column) => column.name);
    const values = columns.map((column) => instead[column] ?? `old.${column}`);
    const put = `INSERT OR IGNORE INTO main.${name} (${columns.join(", ")})
      SELECT ${values.join(", ")} FROM backup.${name} old WHERE ${only}`;
    // A damaged backup gives nothing of that table.
    readable(() => db.prepare(put).run());
  }
  // An epoch is never given twice.
  if (isLossy.has("lease"))
    readable(() => db.prepare("UPDATE main.lease SET epoch = max(epoch, (SELECT epoch FROM backup.lease))").run());
  return saved.map((table) => {
    const rows = rowsOf(db, table.name);
    return { ...table, rows, restored: rows - table.rows };
  });
}
