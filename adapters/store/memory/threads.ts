/**
 * Threads in memory: bindings, begun creations, clean-up instructions.
 *
 * Owns: their rules of uniqueness (see the SQLite twin). Does not own: which thread a seat should get.
 */
import { sameTarget, type SeatKey, type ThreadTarget } from "../../../machines/ids.ts";
import type { Binding, PendingProvision, StoreStatus, ThreadStore } from "../../../services/ports.ts";
import { byBytes } from "../order.ts";
import type { MemoryDatabase, MemoryHandle } from "./database.ts";

const cleanupKey = (seat: SeatKey, target: ThreadTarget): string => `${target.chatId}:${target.threadId}:${seat}`;

export const allBindings = (db: MemoryDatabase): readonly Binding[] =>
  [...db.bindings.values()].sort((a, b) => byBytes(a.seat, b.seat));

export const allProvisions = (db: MemoryDatabase): readonly PendingProvision[] =>
  [...db.provisions.values()].sort((a, b) => a.startedAtMs - b.startedAtMs || byBytes(a.id, b.id));

export const allCleanups = (db: MemoryDatabase): StoreStatus["cleanups"] =>
  [...db.cleanups.values()].sort(
    (a, b) =>
      a.atMs - b.atMs ||
      byBytes(a.seat, b.seat) ||
      a.target.chatId - b.target.chatId ||
      a.target.threadId - b.target.threadId,
  );

function isConflicting(db: MemoryDatabase, wanted: PendingProvision, abandons: string | null): boolean {
  if (db.bindings.has(wanted.seat)) return true;
  for (const { thread } of db.bindings.values()) if (isSameSlot(thread.target.chatId, thread.slot, wanted)) return true;
  for (const other of db.provisions.values()) {
    if (other.id === abandons) continue;
    if (other.id === wanted.id || other.seat === wanted.seat || isSameSlot(other.chatId, other.slot, wanted))
      return true;
  }
  return false;
}

const isSameSlot = (chatId: number, slot: string, wanted: PendingProvision): boolean =>
  chatId === wanted.chatId && slot === wanted.slot;

export function threadStore(handle: MemoryHandle): ThreadStore {
  const { db } = handle;
  return {
    view: () => handle.run(() => ({ bindings: allBindings(db), provisions: allProvisions(db) })),

    intend: ({ epoch, provision, abandons }) =>
      handle.runAsLeader(epoch, () => {
        if (isConflicting(db, provision, abandons)) return { kind: "conflict" } as const;
        if (abandons !== null) db.provisions.delete(abandons);
        db.provisions.set(provision.id, provision);
        return { kind: "intended" } as const;
      }),

    bind: ({ epoch, provisionId, binding }) =>
      handle.runAsLeader(epoch, () => {
        if (provisionId !== null) db.provisions.delete(provisionId);
        for (const other of db.bindings.values())
          if (sameTarget(other.thread.target, binding.thread.target)) db.bindings.delete(other.seat);
        db.bindings.set(binding.seat, binding);
        return { kind: "bound" } as const;
      }),

    giveUp: ({ epoch, provisionId, as }) =>
      handle.runAsLeader(epoch, () => {
        const provision = db.provisions.get(provisionId);
        if (as === "abandoned") db.provisions.delete(provisionId);
        else if (provision !== undefined) db.provisions.set(provisionId, { ...provision, status: "ambiguous" });
        return { kind: "noted" } as const;
      }),

    intendCleanup: ({ epoch, seat, target, atMs }) =>
      handle.runAsLeader(epoch, () => {
        db.cleanups.set(cleanupKey(seat, target), { seat, target, atMs });
        return { kind: "intended" } as const;
      }),

    confirmCleanup: ({ epoch, seat, target }) =>
      handle.runAsLeader(epoch, () => {
        if (!db.cleanups.delete(cleanupKey(seat, target))) return { kind: "superseded" } as const;
        const binding = db.bindings.get(seat);
        if (binding !== undefined && sameTarget(binding.thread.target, target)) db.bindings.delete(seat);
        return { kind: "removed" } as const;
      }),
  };
}
