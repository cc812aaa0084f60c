/**
 * The rolling backup of a profile's store: one file, replaced as a whole.
 *
 * Owns: the copy, its check, its age. Does not own: when one is taken (`services/backups.ts`), its use (`recover.ts`).
 *
 * Invariants:
 * 1. The copy is one moment of the store: a snapshot is held while its pages are copied, a few in each turn of the event loop.
 * 2. Only a copy that passes its quick check replaces the last one, and it is on disk before it does.
 * 3. The backup is a file of its own, without a write-ahead log beside it, readable by its owner alone.
 *
 * Not guaranteed: the check runs in one piece, so a store of a hundred megabytes holds its process up for some tenths of a second.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import type { Backups, BackupOutcome, Clock } from "../../../services/ports.ts";
import { countBackup } from "./marker.ts";
import { databaseFile } from "./open.ts";
import { busyTimeoutMs } from "./sql-errors.ts";

/** Pages copied in one turn of the event loop: under a millisecond each time. */
const pagesPerTurn = 64;

export const backupFile = (folder: string): string => path.join(folder, "store.backup.db");

/** When the last backup was taken, null when there is none. */
export const backupAtMs = (folder: string): number | null =>
  statSync(backupFile(folder), { throwIfNoEntry: false })?.mtimeMs ?? null;

export function sqliteBackups(options: { readonly folder: string; readonly clock: Clock }): Backups {
  return { take: (notBeforeMs) => take(options, notBeforeMs) };
}

async function take(
  { folder, clock }: { readonly folder: string; readonly clock: Clock },
  notBeforeMs: number,
): Promise<BackupOutcome> {
  const work = `${backupFile(folder)}.${randomBytes(6).toString("hex")}`;
  try {
    const nowMs = clock.nowMs();
    const ageMs = nowMs - (backupAtMs(folder) ?? -Infinity);
    // One from the future was taken under another clock: its age is not known.
    if (ageMs >= 0 && ageMs < notBeforeMs) return { kind: "recent" };
    closeSync(openSync(work, "wx", 0o600));
    await copy(databaseFile(folder), work);
    const fault = settle(work);
    if (fault !== null) return { kind: "failed", reason: `the copy of the store fails its quick check: ${fault}` };
    utimesSync(work, nowMs / 1_000, nowMs / 1_000);
    renameSync(work, backupFile(folder));
    return { kind: "taken", generation: countBackup(folder) };
  } catch (error) {
    // Whatever it is (a full drive, a busy or damaged store): the line works on without this backup, and is told.
    return { kind: "failed", reason: String(error) };
  } finally {
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(work + end, { force: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  const source = new Database(from, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs });
  try {
    // The snapshot begins with the first look. Without it each write of another process would begin the copy anew.
    source.exec("BEGIN");
    source.prepare("SELECT count(*) FROM sqlite_schema").get();
    await source.backup(to, { progress: () => pagesPerTurn });
    source.exec("COMMIT");
  } finally {
    source.close();
  }
}

/** Makes it a file of its own and puts it on disk; what is wrong with it, or null. */
function settle(file: string): string | null {
  const db = new Database(file);
  let verdict: unknown;
  try {
    db.pragma("journal_mode = DELETE");
    verdict = db.pragma("quick_check(1)", { simple: true });
  } finally {
    db.close();
  }
  if (verdict !== "ok") return String(verdict);
  chmodSync(file, 0o600);
  const handle = openSync(file, "r+");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  return null;
}
