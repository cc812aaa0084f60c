/**
 * Registrations in memory.
 *
 * Owns: who is current on a seat, and what a new registration means to clean-ups and entries in hand. Does not own: proof.
 */
import { sameTarget } from "../../../machines/ids.ts";
import type { InstanceId, SeatKey } from "../../../machines/ids.ts";
import type { RegistrationStore } from "../../../services/ports.ts";
import type { MemoryHandle } from "./database.ts";

/** The holder itself gives the seat up: its registration is over, and what it had in hand goes back. */
export function endByHolder({ db }: MemoryHandle, seat: SeatKey, instanceId: InstanceId): void {
  const present = db.registrations.get(seat);
  if (present?.instanceId === instanceId && present.ended === null)
    db.registrations.set(seat, { ...present, ended: "stopped" });
  for (const open of db.updates.values())
    if (open.claim?.seat === seat && open.claim.instanceId === instanceId)
      db.replaceEntry({ ...open, claim: null, entry: { ...open.entry, redelivered: true } });
}

/** Entries in hand of the seat's instances, but for `keeping`, go back to pending. */
function returnWork({ db }: MemoryHandle, seat: SeatKey, keeping: InstanceId | null): void {
  for (const open of db.updates.values())
    if (open.claim?.seat === seat && open.claim.instanceId !== keeping)
      db.replaceEntry({ ...open, claim: null, entry: { ...open.entry, redelivered: true } });
}

export function registrationStore(handle: MemoryHandle): RegistrationStore {
  const { db } = handle;
  return {
    commit: ({ epoch, registration }) =>
      handle.runAsLeader(epoch, () => {
        const { seat, instanceId, thread } = registration;
        const holder = db.seatClaims.get(seat);
        if (holder !== undefined && holder.instanceId !== instanceId) return { kind: "superseded" } as const;
        db.registrations.set(seat, { ...registration, ended: null });
        for (const [key, cleanup] of db.cleanups)
          if (thread !== null && sameTarget(cleanup.target, thread.target)) db.cleanups.delete(key);
        returnWork(handle, seat, instanceId);
        return { kind: "committed" } as const;
      }),

    end: ({ epoch, seat, generation, reason }) =>
      handle.runAsLeader(epoch, () => {
        const present = db.registrations.get(seat);
        if (present?.generation !== generation) return { kind: "superseded" } as const;
        // Ending twice keeps the first reason: the first answer may have been lost.
        if (present.ended === null) db.registrations.set(seat, { ...present, ended: reason });
        returnWork(handle, seat, null);
        return { kind: "ended" } as const;
      }),
  };
}
