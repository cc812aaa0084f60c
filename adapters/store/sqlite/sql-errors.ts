/**
 * SQLite's errors in words.
 *
 * Owns: the translation to `StoreError`. Does not own: retrying (the caller's chart decides).
 * SQLite's messages name tables and columns, never values, so they are safe to show.
 */
import Database from "better-sqlite3";
import { StoreError } from "../errors.ts";

/** What an operator does about a damaged store; the sentence goes on after "stop all instances". */
export const damageRemedy =
  "then run partyline doctor --recover: it sets the damaged files aside, saves what can be read of them, and what " +
  "Telegram still holds is read anew.";

/** How long a write waits for another process's lock, in milliseconds. */
export const busyTimeoutMs = 1_000;

/** The error as a `StoreError`; anything that is not SQLite's is passed on unchanged. */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  if (isBusy(error)) return busyError();
  // The index of the write-ahead log grows by writing to it: where there is room it does not fail.
  if (code.startsWith("SQLITE_FULL") || code === "SQLITE_IOERR_SHMSIZE")
    return new StoreError("full", "The store's drive is full; nothing was written: free some space.");
  if (isDamage(error))
    return new StoreError("damaged", `The store is damaged (${code}): stop all instances, ${damageRemedy}`);
  if (code.startsWith("SQLITE_IOERR"))
    return new StoreError("io", `The store's drive failed (${code}): check the drive, then start again.`);
  if (["SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH"].some((prefix) => code.startsWith(prefix)))
    return new StoreError(
      "unwritable",
      `The store cannot be written (${code}): check the owner and mode of its folder.`,
    );
  return new StoreError("failed", `The store refused a statement (${code}: ${message}): please report this.`);
}

/** Another process has the lock. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Database.SqliteError &&
  (error.code.startsWith("SQLITE_BUSY") || error.code.startsWith("SQLITE_LOCKED"));

export const busyError = (): StoreError =>
  new StoreError(
    "busy",
    `The store was locked by another process for ${busyTimeoutMs} ms; nothing was written: try again.`,
  );

export function isDamage(error: unknown): boolean {
  return (
    error instanceof Database.SqliteError &&
    (error.code.startsWith("SQLITE_CORRUPT") || error.code.startsWith("SQLITE_NOTADB"))
  );
}

/** What it comes to, or null where damage, or what is not there, is in the way. */
export function readable<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Database.SqliteError) return null;
    throw error;
  }
}
