/**
 * The instructions to delete threads in memory, for every table that has to heed them.
 *
 * Owns: their rules (see the SQLite twin). Does not own: beginning and confirming a deletion (`cleanup-store.ts`).
 */
import type { ThreadTarget } from "../../../machines/ids.ts";
import type { Cleanup } from "../../../machines/reconciliation.types.ts";
import { keyOfThread, type MemoryDatabase } from "./database.ts";

export interface Dated {
  readonly target: ThreadTarget;
  readonly atMs: number;
}
export const byAge = (a: Dated, b: Dated): number =>
  a.atMs - b.atMs || a.target.chatId - b.target.chatId || a.target.threadId - b.target.threadId;

export const allCleanups = (db: MemoryDatabase): readonly Cleanup[] => [...db.cleanups.values()].sort(byAge);

const isDeleted = (db: MemoryDatabase, target: ThreadTarget): boolean =>
  db.observations.get(keyOfThread(target))?.status === "deleted";

export const isThreadGone = (db: MemoryDatabase, target: ThreadTarget): boolean =>
  isDeleted(db, target) || db.cleanups.get(keyOfThread(target))?.phase === "deleting";

export function intendCleanup(
  db: MemoryDatabase,
  wanted: Pick<Cleanup, "seat" | "target" | "reason" | "atMs" | "dueAtMs">,
): void {
  const key = keyOfThread(wanted.target);
  if (isDeleted(db, wanted.target)) return;
  const known = db.cleanups.get(key);
  db.cleanups.set(
    key,
    known === undefined
      ? { ...wanted, phase: "waiting", attempts: 0, lastReason: null }
      : {
          ...known,
          dueAtMs: Math.min(known.dueAtMs, wanted.dueAtMs),
          reason: wanted.reason === "ended" ? known.reason : wanted.reason,
        },
  );
}

export function cancelCleanup(db: MemoryDatabase, target: ThreadTarget): void {
  const key = keyOfThread(target);
  if (db.cleanups.get(key)?.phase === "waiting") db.cleanups.delete(key);
}
