/**
 * Opening a profile's database: look first, touch later.
 *
 * Owns: the order of the checks and the sentence for each that fails. Does not own: the checks' parts (`file-system`,
 * `marker`, `schema`), recovery of a damaged store (an operator's).
 *
 * Invariants:
 * 1. A store that is damaged, or newer than this code, is refused before anything is written to it.
 * 2. The marker is read before the database: whoever sees a marker must see a schema.
 * 3. A look changes nothing: not the file, and not the log beside it, which whoever closes a store as the last carries into the file.
 * 4. Every connection that writes runs with WAL, FULL synchronisation, foreign keys and a busy timeout.
 */
import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import type { Clock } from "../../../services/ports.ts";
import { refused, type Refused } from "../errors.ts";
import { compatibility } from "../limits.ts";
import { codeOf, prepareFile, prepareFolder } from "./file-system.ts";
import { backupGenerationOf, readMarker, writeMarker, type MarkerState } from "./marker.ts";
import { identity, migrate, migrations, schemaState, schemaVersion, tableCount } from "./schema.ts";
import { busyTimeoutMs, damageRemedy, isDamage, toStoreError } from "./sql-errors.ts";

/** Size the write-ahead log is cut back to after a checkpoint. */
const journalBytesMax = 16 * 1024 * 1024;

/** Several first starts at once: the switch to WAL needs the file alone, and SQLite does not wait for it by itself. */
const switchTriesMax = 100;
const switchRetryMs = 20;

export interface Opened {
  readonly kind: "opened";
  readonly db: Database.Database;
  readonly profileId: string;
}

export const databaseFile = (folder: string): string => path.join(folder, "store.db");

/** A store that nothing is wrong with, as far as a look tells. Whoever holds it closes `db`. */
interface Looked {
  readonly kind: "looked";
  readonly db: Database.Database;
  readonly marker: MarkerState;
}

/** Whether changes of the store stand in its write-ahead log alone. */
const hasLog = (file: string): boolean => sizeOf(`${file}-wal`) > 0;

/** Whether there is, or was, a store: an empty or missing file beside either of them is damage. */
const hadStore = (file: string, marker: MarkerState): boolean => marker !== "none" || hasLog(file);

export const isStoreless = (folder: string): boolean =>
  !existsSync(databaseFile(folder)) && !hadStore(databaseFile(folder), readMarker(folder));

/** Why a store cannot be used, null when it can. Looks only: the files of one that is there stay byte for byte as they are. */
export function refusalOf(folder: string): Refused | null {
  const looked = look(folder);
  if (looked.kind === "refused") return looked;
  looked.db.close();
  return null;
}

export async function openDatabase(folder: string, clock: Clock): Promise<Opened | Refused> {
  const looked = look(folder);
  if (looked.kind === "refused") return looked;
  const file = databaseFile(folder);
  let db: Database.Database | null = null;
  try {
    db = new Database(file, { timeout: busyTimeoutMs });
    const refusal = await prepare(db, clock);
    if (refusal !== null) {
      db.close();
      return refusal;
    }
    const { profileId, createdAtMs } = identity(db);
    keepMarker(folder, looked.marker, createdAtMs);
    return { kind: "opened", db, profileId };
  } catch (error) {
    db?.close();
    return refusalFor(error, file);
  } finally {
    // Last: while it is open, closing the other carries no log into the file.
    looked.db.close();
  }
}

function look(folder: string): Looked | Refused {
  const unfit = prepareFolder(folder);
  if (unfit !== null) return unfit;
  const marker = readMarker(folder);
  const file = databaseFile(folder);
  if (hadStore(file, marker) && sizeOf(file) === 0) return damaged(file, "it is empty although a store was here");
  const unusable = prepareFile(file);
  if (unusable !== null) return unusable;

  let db: Database.Database | null = null;
  try {
    // The last who closes a log carries it into the file, damaged or not; one who cannot write does not. Where there is no log
    // it leaves an empty one behind instead.
    db = new Database(file, { timeout: busyTimeoutMs, readonly: hasLog(file) });
    const refusal = inspect(db, file, marker);
    if (refusal === null) return { kind: "looked", db, marker };
    db.close();
    return refusal;
  } catch (error) {
    db?.close();
    return refusalFor(error, file);
  }
}

/** Throws what nobody expects. */
function refusalFor(error: unknown, file: string): Refused {
  if (isDamage(error)) return damaged(file, `SQLite says ${codeOf(error)}`);
  const shown = toStoreError(error);
  if (shown === error) throw error;
  return refused(shown instanceof Error ? shown.message : String(shown));
}

/** Reads only. */
function inspect(db: Database.Database, file: string, marker: MarkerState): Refused | null {
  const state = schemaState(db);
  if (state === null) {
    if (marker !== "none") return damaged(file, "its tables are gone although a store was here");
    if (tableCount(db) > 0)
      return refused(`${file} is a database of something else: move it away or choose another folder.`);
    return null;
  }
  if (state.compatibility > compatibility)
    return refused(
      `The store ${file} was written by a newer Partyline (compatibility ${state.compatibility}, this one has ` +
        `${compatibility}): update this one.`,
    );
  const verdict: unknown = db.pragma("quick_check(1)", { simple: true });
  return verdict === "ok" ? null : damaged(file, "its quick check fails");
}

async function prepare(db: Database.Database, clock: Clock): Promise<Refused | null> {
  await switchToWal(db);
  db.pragma("synchronous = FULL");
  db.pragma("foreign_keys = ON");
  // What a member of a group would take back is kept in memory: of a large group it went to a file of its own.
  db.pragma("temp_store = MEMORY");
  db.pragma(`journal_size_limit = ${journalBytesMax}`);
  migrate(db, migrations, { profileId: randomBytes(8).toString("hex"), nowMs: clock.nowMs() });
  // Another process may have migrated further since the look at the top.
  const state = schemaState(db);
  if (state !== null && state.compatibility > compatibility)
    return refused(`The store was just migrated by a newer Partyline: update this one.`);
  return null;
}

async function switchToWal(db: Database.Database): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      const mode: unknown = db.pragma("journal_mode = WAL", { simple: true });
      if (mode === "wal") return;
      throw new Error(`SQLite cannot keep a write-ahead log here (it answered ${String(mode)})`);
    } catch (error) {
      if (tries >= switchTriesMax || !codeOf(error).startsWith("SQLITE_BUSY")) throw error;
      await wait(switchRetryMs);
    }
  }
}

function keepMarker(folder: string, marker: MarkerState, createdAtMs: number): void {
  if (typeof marker === "object" && marker.schema >= schemaVersion) return;
  const backupGeneration = backupGenerationOf(marker);
  writeMarker(folder, { schema: schemaVersion, createdAtMs, backupGeneration });
}

function damaged(file: string, what: string): Refused {
  return refused(`The store ${file} is damaged (${what}): stop all instances, ${damageRemedy}`, true);
}

/** Bytes of a file; a missing one has none. */
function sizeOf(file: string): number {
  const state = statSync(file, { throwIfNoEntry: false });
  return state?.size ?? 0;
}
