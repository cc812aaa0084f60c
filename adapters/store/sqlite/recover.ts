/**
 * Recovery of a damaged store: it is set aside whole, and what can still be read becomes a new one; what cannot comes from the
 * backup.
 *
 * Owns: reading around damage, the new file, the exchange of the two. Does not own: finding damage (`open.ts`), asking whether
 * it is wanted, what of the backup may come back (`restore.ts`).
 *
 * Invariants:
 * 1. The damaged files are copied, then moved, never opened in place nor changed.
 * 2. A store that opens is left alone, and so is one that a process which runs has a seat in, or leads from.
 * 3. The cursor is not taken along: polling begins at the oldest that Telegram holds; what the journal knows is not run again.
 *
 * Not guaranteed: a process whose claim cannot be read is not noticed, so all must have been stopped. Whoever is stopped between
 * the two moves finds the old files in the folder that was named, and starts the recovery again after moving them back.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import type { Incarnation } from "../../../machines/ids.ts";
import type { Clock, Processes } from "../../../services/ports.ts";
import { compatibility, backupKeepMs } from "../limits.ts";
import { backupAtMs, backupFile } from "./backup.ts";
import { backupGenerationOf, markerFile, readMarker, writeMarker } from "./marker.ts";
import { databaseFile, isStoreless, refusalOf } from "./open.ts";
import { restore, type SavedTable } from "./restore.ts";
import { incarnationOf } from "./rows.ts";
import { identity, migrate, migrations, schemaState, schemaVersion } from "./schema.ts";
import { readable } from "./sql-errors.ts";

export type { SavedTable } from "./restore.ts";

/** `none`: there is no store. `refused`: it cannot be used, and that is no damage. */
export type StoreHealth =
  { readonly kind: "none" | "healthy" } | { readonly kind: "damaged" | "refused"; readonly reason: string };

export type Recovery =
  | StoreHealth
  /** A process that runs, by the store's own word. */
  | { readonly kind: "inUse"; readonly pid: number }
  | {
      readonly kind: "recovered";
      readonly setAside: string;
      readonly tables: readonly SavedTable[];
      /** The backup that was used; null where there is none, or it cannot be read either. */
      readonly backup: { readonly ageMs: number; readonly isOld: boolean } | null;
    };

/** Looks only; a folder without a store stays without one. */
export function storeHealth(folder: string): StoreHealth {
  if (isStoreless(folder)) return { kind: "none" };
  const refusal = refusalOf(folder);
  if (refusal !== null) return { kind: refusal.isDamage ? "damaged" : "refused", reason: refusal.reason };
  return { kind: "healthy" };
}

export async function recoverStore(
  folder: string,
  { clock, processes }: { readonly clock: Clock; readonly processes: Pick<Processes, "liveness"> },
): Promise<Recovery> {
  const health = storeHealth(folder);
  if (health.kind !== "damaged") return health;
  const work = mkdtempSync(path.join(folder, "recovering-"));
  try {
    const copy = path.join(work, "damaged.db");
    const fresh = path.join(work, "store.db");
    for (const end of ["", "-wal"])
      if (existsSync(databaseFile(folder) + end)) copyFileSync(databaseFile(folder) + end, copy + end);
    const nowMs = clock.nowMs();
    const takenAtMs = backupAtMs(folder);
    const last = path.join(work, "backup.db");
    if (takenAtMs !== null) copyFileSync(backupFile(folder), last);
    const { tables, pid, hasBackup } = save({ copy, fresh, backup: last, nowMs }, processes);
    if (pid !== null) return { kind: "inUse", pid };
    const ageMs = nowMs - (takenAtMs ?? nowMs);
    const backup = hasBackup ? { ageMs, isOld: ageMs > backupKeepMs } : null;
    return { kind: "recovered", setAside: exchange(folder, fresh, nowMs), tables, backup };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

interface Files {
  readonly copy: string;
  readonly fresh: string;
  readonly backup: string;
  readonly nowMs: number;
}

function save({ copy, fresh, backup, nowMs }: Files, processes: Pick<Processes, "liveness">) {
  const damaged = openCopy(copy);
  const db = new Database(fresh);
  try {
    db.pragma("synchronous = FULL");
    const version = (damaged === null ? null : readable(() => schemaState(damaged)))?.version ?? schemaVersion;
    // As it was, so that the rows fit; then forward like any older store.
    const profileId = randomBytes(8).toString("hex");
    migrate(db, migrations.slice(0, version), { profileId, nowMs });
    const saved = db.transaction(() => tablesOf(db).map((name) => saveTable(damaged, db, name)))();
    migrate(db, migrations, { profileId, nowMs });
    // Before the backup's rows: nobody who ran when it was taken has this store.
    const pid = runningIn(db, processes);
    const hasBackup = isBackup(backup, nowMs);
    let tables: readonly SavedTable[] = saved;
    if (hasBackup) {
      db.prepare("ATTACH ? AS backup").run(backup);
      tables = db.transaction(() => restore(db, saved))();
      keepIdentity(db, "backup", db);
      db.exec("DETACH backup");
    }
    // The damaged store's own word last.
    if (damaged !== null) keepIdentity(damaged, "main", db);
    keepSequence(damaged, db);
    return { tables, pid, hasBackup };
  } finally {
    damaged?.close();
    db.close();
  }
}

/** Whether it can be used; brought into the shape that this code gives a store. */
function isBackup(file: string, nowMs: number): boolean {
  if (!existsSync(file)) return false;
  const kept = new Database(file);
  try {
    const isOurs = readable(() => {
      const state = schemaState(kept);
      if (state === null || state.compatibility > compatibility) return false;
      migrate(kept, migrations, { profileId: "", nowMs });
      return true;
    });
    return isOurs === true;
  } finally {
    kept.close();
  }
}

/** Null when nothing of it can be read. */
function openCopy(file: string): Database.Database | null {
  if (!existsSync(file)) return null;
  const db = new Database(file);
  // So that a file which is shorter than it says is read as far as it goes. It is a copy.
  db.unsafeMode();
  db.pragma("writable_schema = ON");
  if (readable(() => db.prepare("SELECT count(*) FROM sqlite_schema").get()) !== null) return db;
  db.close();
  return null;
}

/** The cursor begins anew; a trigger keeps the journal's size; of `meta` only what makes the profile itself comes over. */
const notSaved = new Set(["cursor", "journal_size", "meta"]);
const keptOfMeta = ["profile_id", "created_at_ms"];

const tablesOf = (db: Database.Database): readonly string[] =>
  db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all()
    .flatMap(({ name }) => (notSaved.has(name) ? [] : [name]));

interface Column {
  readonly name: string;
  readonly pk: number;
}

/** From the front up to the damage, then from the back down to it. */
function saveTable(damaged: Database.Database | null, db: Database.Database, name: string): SavedTable {
  const columns = db.prepare<[string], Column>("SELECT name, pk FROM pragma_table_info(?)").all(name);
  const names = columns.map((each) => each.name).join(", ");
  const insert = db.prepare(`INSERT OR REPLACE INTO ${name} (${names}) VALUES (${columns.map(() => "?").join(", ")})`);
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  let taken = 0;
  const take = (order: "ASC" | "DESC"): boolean => {
    if (damaged === null) return false;
    const by = key.map((each) => `${each.name} ${order}`).join(", ");
    const rows = readable(() => damaged.prepare(`SELECT ${names} FROM ${name} ORDER BY ${by}`).raw().iterate());
    for (;;) {
      const next = rows === null ? null : readable(() => rows.next());
      if (next === null) return false;
      if (next.done === true) return true;
      const row = next.value;
      if (readable(() => insert.run(row)) !== null) taken += 1;
    }
  };
  const isWhole = take("ASC");
  if (!isWhole) take("DESC");
  const counted = db.prepare<[], { n: number }>(`SELECT count(*) AS n FROM ${name}`).get();
  // What a new store begins with was not saved.
  return { name, rows: taken > 0 ? (counted?.n ?? 0) : 0, isWhole, restored: 0 };
}

function keepIdentity(source: Database.Database, schema: "main" | "backup", db: Database.Database): void {
  const put = db.prepare("UPDATE meta SET value = ? WHERE key = ?");
  for (const key of keptOfMeta) {
    const row = readable(() =>
      source.prepare<[string], { value: unknown }>(`SELECT value FROM ${schema}.meta WHERE key = ?`).get(key),
    );
    if (row !== null && row !== undefined) put.run(row.value, key);
  }
}

/** Beyond every number that may have been given, where the counter itself cannot be read. */
const numbersGap = 1_000_000;

/** Entries of the journal are numbered for ever: receipts of settled ones name them. */
function keepSequence(damaged: Database.Database | null, db: Database.Database): void {
  const last = "SELECT seq FROM sqlite_sequence WHERE name = 'updates'";
  const said = damaged === null ? null : readable(() => damaged.prepare<[], { seq: number }>(last).get());
  const most = "SELECT max(seq) AS seq FROM (SELECT seq FROM updates UNION ALL SELECT seq FROM dead_letters)";
  const known = db.prepare<[], { seq: number | null }>(most).get()?.seq ?? 0;
  const seq = Math.max(known, said === null ? known + numbersGap : (said?.seq ?? 0));
  db.prepare("DELETE FROM sqlite_sequence WHERE name = 'updates'").run();
  db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('updates', ?)").run(seq);
}

/** The process of a claim, or of the lease, that is alive; null when none is. */
function runningIn(db: Database.Database, processes: Pick<Processes, "liveness">): number | null {
  const rows = db
    .prepare<[], { incarnation: string }>(
      "SELECT incarnation FROM seat_claims UNION SELECT incarnation FROM lease WHERE incarnation IS NOT NULL",
    )
    .all();
  const alive = rows
    .flatMap((row) => incarnationIn(row.incarnation))
    .find((who) => processes.liveness(who) === "alive");
  return alive?.pid ?? null;
}

/** None where the text itself is damaged: nobody is named by it. */
function incarnationIn(json: string): readonly Incarnation[] {
  try {
    return [incarnationOf(json)];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/** The damaged files into a folder of their own, the new one into their place. Returns the folder. */
function exchange(folder: string, fresh: string, nowMs: number): string {
  const setAside = path.join(folder, `damaged-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-")}`);
  mkdirSync(setAside, { mode: 0o700 });
  const marker = readMarker(folder);
  for (const file of [markerFile(folder), ...["-wal", "-shm", ""].map((end) => databaseFile(folder) + end)])
    if (existsSync(file)) renameSync(file, path.join(setAside, path.basename(file)));
  // The next one replaces it.
  if (existsSync(backupFile(folder)))
    copyFileSync(backupFile(folder), path.join(setAside, path.basename(backupFile(folder))));
  chmodSync(fresh, 0o600);
  renameSync(fresh, databaseFile(folder));
  const db = new Database(databaseFile(folder));
  const { createdAtMs } = identity(db);
  db.close();
  const backupGeneration = backupGenerationOf(marker);
  writeMarker(folder, { schema: schemaVersion, createdAtMs, backupGeneration });
  return setAside;
}
