/**
 * Message owners, counters and the status view in memory.
 *
 * Owns: what is no authority over anything. Does not own: the tables it looks at.
 */
import type { Clock, OwnershipStore, StatusStore } from "../../../services/ports.ts";
import type { MemoryDatabase, MemoryHandle } from "./database.ts";
import { readLease } from "./lease.ts";
import { allCleanups } from "./cleanups.ts";
import { allRegistrations } from "./registrations.ts";
import { allBindings, allLeftovers, allProvisions } from "./threads.ts";

export function ownershipStore(handle: MemoryHandle): OwnershipStore {
  const { owners } = handle.db;
  return {
    record: (entries) =>
      handle.run(() => {
        handle.db.recordOwners(entries);
      }),
    ownerOf: (chatId, messageId) => handle.run(() => owners.get(chatId)?.get(messageId) ?? null),
  };
}

function journalCounts(db: MemoryDatabase) {
  let claimed = 0;
  for (const { claim } of db.updates.values()) if (claim !== null) claimed += 1;
  return { waiting: db.updates.size - claimed, claimed, deadLetters: db.deadLetters.size };
}

export function statusStore(handle: MemoryHandle, clock: Clock): StatusStore {
  const { db } = handle;
  return {
    count: (reason, by) =>
      handle.run(() => {
        db.addToCounter(reason, by);
      }),

    notePolling: async ({ epoch, okAtMs, health }) => {
      await handle.runAsLeader(epoch, () => {
        db.polling = { okAtMs, health };
        db.pollingEpoch = epoch;
      });
    },

    presentHealth: () =>
      handle.run(() => (db.pollingEpoch !== null && db.isCurrent(db.pollingEpoch) ? db.polling.health : null)),

    read: () =>
      // As rows of a database would be: what its reader does with a status changes nothing here.
      handle.run(() =>
        structuredClone({
          lease: readLease(db, clock.nowMs()),
          leaseGrantedAtMs: db.lease.grantedAtMs,
          cursor: db.cursor,
          registrations: allRegistrations(db),
          bindings: allBindings(db),
          provisions: allProvisions(db),
          lostThreads: db.lostThreads,
          leftovers: allLeftovers(db),
          cleanups: allCleanups(db),
          chatMoves: db.chatMoves,
          journal: journalCounts(db),
          drops: Object.fromEntries(db.counters),
          polling: db.polling,
        }),
      ),
  };
}
