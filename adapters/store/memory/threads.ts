/**
 * Threads in memory: bindings, begun creations and what they made, what was lost, what is left over.
 *
 * Owns: their rules of uniqueness (see the SQLite twin). Does not own: which thread a seat should get.
 */
import { sameTarget, type ChatId, type SeatKey, type ThreadTarget } from "../../../machines/ids.ts";
import { lostThreadsMax } from "../../../machines/threads.rules.ts";
import type { HeldBinding, LeftoverThread } from "../../../machines/threads.rules.ts";
import type { BegunProvision, Binding, PendingProvision, ThreadStore } from "../../../services/ports.ts";
import { byBytes } from "../order.ts";
import { intendCleanup } from "./cleanups.ts";
import type { MemoryDatabase, MemoryHandle } from "./database.ts";

const bindingKey = (seat: SeatKey, chatId: ChatId): string => `${chatId}:${seat}`;
const threadKey = (target: ThreadTarget): string => `${target.chatId}:${target.threadId}`;

function held(db: MemoryDatabase, binding: Binding): HeldBinding {
  const registration = db.registrations.get(binding.seat);
  const thread = registration?.thread ?? null;
  const isHolders = thread !== null && sameTarget(thread.target, binding.thread.target);
  return { ...binding, holder: isHolders ? (registration?.instanceId ?? null) : null };
}

export const allBindings = (db: MemoryDatabase): readonly HeldBinding[] =>
  [...db.bindings.values()]
    .sort((a, b) => byBytes(a.seat, b.seat) || a.thread.target.chatId - b.thread.target.chatId)
    .map((binding) => held(db, binding));

export const allProvisions = (db: MemoryDatabase): readonly PendingProvision[] =>
  [...db.provisions.values()]
    .sort((a, b) => a.startedAtMs - b.startedAtMs || byBytes(a.id, b.id))
    .map((begun) => ({ ...begun, threadId: db.createdThreads.get(begun.id)?.threadId ?? null }));

export const allLeftovers = (db: MemoryDatabase): readonly LeftoverThread[] =>
  [...db.leftovers.values()].sort((a, b) => a.target.chatId - b.target.chatId || a.target.threadId - b.target.threadId);

/** The seat's holder has left for good: creations begun for it are unwanted. */
export function disownProvisions(db: MemoryDatabase, seat: SeatKey): void {
  for (const begun of db.provisions.values())
    if (begun.seat === seat) db.provisions.set(begun.id, { ...begun, status: "unwanted" });
}

const boundTo = (db: MemoryDatabase, target: ThreadTarget): Binding | null =>
  [...db.bindings.values()].find((each) => sameTarget(each.thread.target, target)) ?? null;

function isConflicting(db: MemoryDatabase, wanted: BegunProvision, abandons: string | null): boolean {
  if (db.bindings.has(bindingKey(wanted.seat, wanted.chatId))) return true;
  for (const { thread } of db.bindings.values()) if (isSameSlot(thread.target.chatId, thread.slot, wanted)) return true;
  for (const other of db.provisions.values()) {
    if (other.id === abandons) continue;
    if (other.id === wanted.id || isSameSlot(other.chatId, other.slot, wanted)) return true;
    if (other.seat === wanted.seat && other.chatId === wanted.chatId && other.status !== "unwanted") return true;
  }
  return false;
}

const isSameSlot = (chatId: number, slot: string, wanted: BegunProvision): boolean =>
  chatId === wanted.chatId && slot === wanted.slot;

/** The creation that made the thread is over; true when its instance has left for good meanwhile. */
function endProvision(db: MemoryDatabase, provisionId: string): boolean {
  const begun = db.provisions.get(provisionId);
  db.provisions.delete(provisionId);
  db.createdThreads.delete(provisionId);
  return begun?.status === "unwanted";
}

/** What the seat had in that chat and has no longer, although nobody has proven it gone. */
function leavePrevious(db: MemoryDatabase, { seat, thread, provenAtMs }: Binding): void {
  const before = db.bindings.get(bindingKey(seat, thread.target.chatId));
  if (before === undefined || sameTarget(before.thread.target, thread.target)) return;
  const reason = `replaced by thread ${String(thread.target.threadId)}`;
  const { target, threadName } = before.thread;
  db.leftovers.set(threadKey(target), { target, threadName, seat, reason, atMs: provenAtMs });
}

function bind(db: MemoryDatabase, binding: Binding): void {
  const { seat, thread } = binding;
  const other = boundTo(db, thread.target);
  if (other !== null && other.seat !== seat) db.bindings.delete(bindingKey(other.seat, thread.target.chatId));
  leavePrevious(db, binding);
  db.leftovers.delete(threadKey(thread.target));
  db.lostThreads = db.lostThreads.filter((lost) => !sameTarget(lost.thread.target, thread.target));
  db.bindings.set(bindingKey(seat, thread.target.chatId), binding);
}

type Creations = Pick<ThreadStore, "intend" | "noteCreated" | "bind" | "giveUp">;

function creations(handle: MemoryHandle): Creations {
  const { db } = handle;
  return {
    intend: ({ epoch, provision, abandons }) =>
      handle.runAsLeader(epoch, () => {
        if (isConflicting(db, provision, abandons)) return { kind: "conflict" } as const;
        // It made a thread after all: that one is to be had.
        if (abandons !== null && db.createdThreads.has(abandons)) return { kind: "conflict" } as const;
        if (abandons !== null) endProvision(db, abandons);
        db.provisions.set(provision.id, provision);
        return { kind: "intended" } as const;
      }),

    noteCreated: ({ provisionId, target, threadName, atMs }) =>
      handle.run(() => {
        if (db.provisions.has(provisionId)) {
          if (!db.createdThreads.has(provisionId)) db.createdThreads.set(provisionId, target);
        } else if (boundTo(db, target) === null) {
          const reason = "created after it was given up";
          db.leftovers.set(threadKey(target), { target, threadName, seat: null, reason, atMs });
        }
      }),

    bind: ({ epoch, provisionId, binding }) =>
      handle.runAsLeader(epoch, () => {
        if (provisionId !== null && endProvision(db, provisionId)) {
          const { seat, provenAtMs: atMs } = binding;
          const { target } = binding.thread;
          intendCleanup(db, { seat, target, reason: "left", atMs, dueAtMs: atMs });
          return { kind: "unwanted" } as const;
        }
        bind(db, binding);
        return { kind: "bound" } as const;
      }),

    giveUp: ({ epoch, provisionId, as }) =>
      handle.runAsLeader(epoch, () => {
        const begun = db.provisions.get(provisionId);
        const threadId = db.createdThreads.get(provisionId)?.threadId ?? null;
        if (as === "abandoned" && threadId === null) db.provisions.delete(provisionId);
        else if (begun?.status === "inFlight") db.provisions.set(provisionId, { ...begun, status: "ambiguous" });
        return { kind: "noted", threadId } as const;
      }),
  };
}

type Standings = Pick<ThreadStore, "mark" | "lose" | "addLeftover">;

function standings(handle: MemoryHandle): Standings {
  const { db } = handle;
  return {
    mark: ({ epoch, target, standing, reason, atMs }) =>
      handle.runAsLeader(epoch, () => {
        const binding = boundTo(db, target);
        if (binding === null) return { kind: "missing" } as const;
        const provenAtMs = standing === "open" ? atMs : binding.provenAtMs;
        db.bindings.set(bindingKey(binding.seat, target.chatId), { ...binding, standing, reason, provenAtMs });
        return { kind: "marked" } as const;
      }),

    lose: ({ epoch, target, reason, atMs }) =>
      handle.runAsLeader(epoch, () => {
        const binding = boundTo(db, target);
        if (binding === null) return { kind: "missing" } as const;
        const { seat, thread } = binding;
        db.bindings.delete(bindingKey(seat, target.chatId));
        db.lostThreads = [...db.lostThreads, { seat, thread, reason, atMs }].slice(-lostThreadsMax);
        return { kind: "lost" } as const;
      }),

    addLeftover: ({ epoch, leftover }) =>
      handle.runAsLeader(epoch, () => {
        if (boundTo(db, leftover.target) !== null) return { kind: "bound" } as const;
        db.leftovers.set(threadKey(leftover.target), leftover);
        return { kind: "added" } as const;
      }),
  };
}

export function threadStore(handle: MemoryHandle): ThreadStore {
  const { db } = handle;
  return {
    view: () =>
      handle.run(() => ({
        bindings: allBindings(db),
        provisions: allProvisions(db),
        lost: db.lostThreads,
        leftovers: allLeftovers(db),
      })),

    bindingOf: ({ seat, chatId }) =>
      handle.run(() => {
        const binding = db.bindings.get(bindingKey(seat, chatId));
        return binding === undefined ? null : held(db, binding);
      }),

    seatOf: (target) =>
      handle.run(() => {
        const loss = db.lostThreads.findLast((lost) => sameTarget(lost.thread.target, target));
        return boundTo(db, target)?.seat ?? loss?.seat ?? null;
      }),

    ...creations(handle),
    ...standings(handle),
  };
}
