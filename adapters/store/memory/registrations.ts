/**
 * Registrations in memory.
 *
 * Owns: who is current on a seat, and what a new registration means to clean-ups and entries in hand. Does not own: proof.
 */
import { sameTarget } from "../../../machines/ids.ts";
import type { InstanceId, SeatKey, ThreadTarget } from "../../../machines/ids.ts";
import { keptReason } from "../../../machines/threads.rules.ts";
import type { RegistrationStore, SeatEnd, SeatRegistration, SeatStanding } from "../../../services/ports.ts";
import { byBytes } from "../order.ts";
import { cancelCleanup, intendCleanup, isThreadGone } from "./cleanups.ts";
import type { MemoryDatabase, MemoryHandle } from "./database.ts";

/** Ends the seat's registration if it stands; its bound thread outlives it by the grace time. */
function endNow(db: MemoryDatabase, seat: SeatKey, reason: SeatEnd, atMs: number): void {
  const present = db.registrations.get(seat);
  if (present === undefined || present.ended !== null) return;
  db.registrations.set(seat, { ...present, ended: reason });
  db.endedAt.set(seat, atMs);
  db.doubts.delete(seat);
  if (present.threadGraceMs === null || reason === "left") return;
  const dueAtMs = atMs + present.threadGraceMs;
  for (const binding of db.bindings.values())
    if (binding.seat === seat)
      intendCleanup(db, { seat, target: binding.thread.target, reason: "ended", atMs, dueAtMs });
}

/** The thread is gone: whoever had it has left. */
export function endOfThread(handle: MemoryHandle, target: ThreadTarget, atMs: number): void {
  for (const { seat, thread, ended } of [...handle.db.registrations.values()]) {
    if (ended !== null || thread === null || !sameTarget(thread.target, target)) continue;
    endNow(handle.db, seat, "left", atMs);
    returnWork(handle, seat, null);
  }
}

export const allRegistrations = (db: MemoryDatabase): readonly SeatStanding[] =>
  [...db.registrations.values()]
    .sort((a, b) => byBytes(a.seat, b.seat))
    .map((each) => ({
      ...each,
      endedAtMs: db.endedAt.get(each.seat) ?? null,
      unprovable: db.doubts.get(each.seat) ?? null,
    }));

/** Called before the registration takes the place of the seat's last one. */
function keepThread(db: MemoryDatabase, { seat, instanceId, thread }: SeatRegistration): void {
  const before = db.registrations.get(seat);
  if (thread === null || before === undefined || before.thread === null || before.instanceId === instanceId) return;
  const [key, binding] = [...db.bindings].find(([, each]) => sameTarget(each.thread.target, thread.target)) ?? [];
  if (key === undefined || binding?.seat !== seat || binding.standing !== "open") return;
  if (sameTarget(before.thread.target, thread.target)) db.bindings.set(key, { ...binding, reason: keptReason });
}

function giveBack(db: MemoryDatabase, seat: SeatKey, isGivenBack: (holder: InstanceId) => boolean): void {
  for (const open of db.updates.values())
    if (open.claim?.seat === seat && isGivenBack(open.claim.instanceId))
      db.replaceEntry({ ...open, claim: null, offer: null, entry: { ...open.entry, redelivered: true } });
}

/** The holder itself gives the seat up: its registration is over, and what it had in hand goes back. */
export function endByHolder({ db }: MemoryHandle, seat: SeatKey, instanceId: InstanceId, atMs: number): void {
  if (db.registrations.get(seat)?.instanceId === instanceId) endNow(db, seat, "stopped", atMs);
  giveBack(db, seat, (holder) => holder === instanceId);
  db.voidOffers(seat, null);
}

/** Entries in hand of the seat's instances, but for `keeping`, go back to pending. */
export function returnWork({ db }: MemoryHandle, seat: SeatKey, keeping: InstanceId | null): void {
  giveBack(db, seat, (holder) => holder !== keeping);
  db.voidOffers(seat, keeping);
}

export function registrationStore(handle: MemoryHandle): RegistrationStore {
  const { db } = handle;
  return {
    commit: ({ epoch, registration }) =>
      handle.runAsLeader(epoch, () => {
        const { seat, instanceId, thread } = registration;
        const holder = db.seatClaims.get(seat);
        if (holder !== undefined && holder.instanceId !== instanceId) return { kind: "superseded" } as const;
        if (thread !== null && isThreadGone(db, thread.target)) return { kind: "threadGone" } as const;
        const wish = holder === undefined ? undefined : db.graceOfClaim.get(seat);
        const threadGraceMs = wish === undefined ? registration.threadGraceMs : wish;
        keepThread(db, registration);
        db.registrations.set(seat, { ...registration, threadGraceMs, ended: null });
        db.endedAt.delete(seat);
        db.doubts.delete(seat);
        if (thread !== null) cancelCleanup(db, thread.target);
        returnWork(handle, seat, instanceId);
        return { kind: "committed" } as const;
      }),

    end: ({ epoch, seat, generation, reason, atMs }) =>
      handle.runAsLeader(epoch, () => {
        const present = db.registrations.get(seat);
        if (present?.generation !== generation) return { kind: "superseded" } as const;
        // Ending twice keeps the first reason: the first answer may have been lost.
        endNow(db, seat, reason, atMs);
        if (reason === "forgotten" && db.seatClaims.get(seat)?.instanceId === present.instanceId)
          db.seatClaims.delete(seat);
        returnWork(handle, seat, null);
        return { kind: "ended" } as const;
      }),
  };
}
