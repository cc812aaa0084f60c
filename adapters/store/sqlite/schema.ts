/**
 * The schema's history: which version a database has, and the way forward.
 *
 * Owns: `meta`, the list of migrations, their application. Does not own: what the tables mean (the operation files).
 * Invariants: forward only; each migration and the version that records it are one transaction; a version above ours
 * under our compatibility number is left as it is (additive by definition of that number).
 */
import type { Database } from "better-sqlite3";
import { compatibility } from "../limits.ts";
import { migration001 } from "./migrations/001.ts";
import { migration002 } from "./migrations/002.ts";
import { migration003 } from "./migrations/003.ts";
import { migration004 } from "./migrations/004.ts";

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** Ascending by version, without gaps. */
export const migrations: readonly Migration[] = [migration001, migration002, migration003, migration004];

export const schemaVersion = migrations.length;

/** What `meta` says; null when there is none, so the database was never ours or never finished. */
export interface SchemaState {
  readonly version: number;
  readonly compatibility: number;
}

const createMeta = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT";

export function tableCount(db: Database): number {
  const row = db.prepare<[], { n: number }>("SELECT count(*) AS n FROM sqlite_schema").get();
  return row?.n ?? 0;
}

export function schemaState(db: Database): SchemaState | null {
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get();
  if (known === undefined) return null;
  const version = metaNumber(db, "schema_version");
  const number = metaNumber(db, "compatibility");
  return version === null || number === null ? null : { version, compatibility: number };
}

function metaNumber(db: Database, key: string): number | null {
  const row = db.prepare<[string], { value: unknown }>("SELECT value FROM meta WHERE key = ?").get(key);
  return typeof row?.value === "number" ? row.value : null;
}

/**
 * Brings the database to the newest of `list`. Safe when several processes do it at once: each step looks at the
 * version again inside its own transaction.
 */
export function migrate(
  db: Database,
  list: readonly Migration[],
  fresh: { readonly profileId: string; readonly nowMs: number },
): void {
  for (const migration of list) {
    db.transaction(() => {
      db.exec(createMeta);
      const present = schemaState(db)?.version ?? 0;
      if (present >= migration.version) return;
      db.exec(migration.sql);
      const put = db.prepare(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      );
      const once = db.prepare("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING");
      put.run("schema_version", migration.version);
      put.run("compatibility", compatibility);
      once.run("profile_id", fresh.profileId);
      once.run("created_at_ms", fresh.nowMs);
    }).immediate();
  }
}

/** The profile's id and when the store was made; throws when a migrated database lacks them. */
export function identity(db: Database): { readonly profileId: string; readonly createdAtMs: number } {
  const row = db.prepare<[], { value: unknown }>("SELECT value FROM meta WHERE key = 'profile_id'").get();
  if (typeof row?.value !== "string") throw new Error("the store's meta table has no profile id");
  return { profileId: row.value, createdAtMs: metaNumber(db, "created_at_ms") ?? 0 };
}
