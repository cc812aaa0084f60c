/**
 * The rolling backup of a profile's store: one file, replaced as a whole.
 *
 * Owns: its age, what is told of it. Does not own: making the copy (`copying.ts`), when one is taken (`services/backups.ts`), its use
 * (`recover.ts`).
 *
 * Invariants:
 * 1. The copy is one moment of the store: a snapshot is held while its pages are copied.
 * 2. Only a copy that passes its quick check replaces the last one, and it is on disk before it does.
 * 3. The backup is a file of its own, without a write-ahead log beside it, readable by its owner alone.
 * 4. Its process is not held up: the copy is made and checked on a thread of its own.
 */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import type { Backups, BackupOutcome, Clock } from "../../../services/ports.ts";
import { copyStore } from "./copying.ts";
import { countBackup } from "./marker.ts";
import { databaseFile } from "./open.ts";
import { busyTimeoutMs } from "./sql-errors.ts";

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
    const order = { from: databaseFile(folder), work, to: backupFile(folder), atMs: nowMs, busyTimeoutMs };
    const fault = await copyStore(order);
    if (fault !== null) return { kind: "failed", reason: `the copy of the store fails its quick check: ${fault}` };
    return { kind: "taken", generation: countBackup(folder) };
  } catch (error) {
    // Whatever it is (a full drive, a busy or damaged store): the line works on without this backup, and is told.
    return { kind: "failed", reason: String(error) };
  } finally {
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(work + end, { force: true });
  }
}
