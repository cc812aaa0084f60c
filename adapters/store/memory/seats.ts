/**
 * Seat claims in memory.
 *
 * Owns: the compare-and-set on a seat's holder. Does not own: proof of life.
 */
import { sameIncarnation } from "../../../machines/ids.ts";
import type { Clock, SeatStore } from "../../../services/ports.ts";
import { byBytes } from "../order.ts";
import type { MemoryHandle } from "./database.ts";
import { endByHolder } from "./registrations.ts";
import { disownProvisions } from "./threads.ts";

export function seatStore(handle: MemoryHandle, clock: Clock): SeatStore {
  const { db } = handle;
  return {
    profileId: () => handle.run(() => db.profileId),

    claimsOf: (owner) =>
      handle.run(() =>
        [...db.seatClaims.values()]
          .filter((claim) => claim.seat.startsWith(`manual:${owner}:`))
          .sort((a, b) => byBytes(a.seat, b.seat)),
      ),

    holderOf: (seat) => handle.run(() => db.seatClaims.get(seat) ?? null),

    claim: ({ seat, instanceId, incarnation, expected, threadGraceMs }) =>
      handle.run(() => {
        const by = db.seatClaims.get(seat);
        if (by !== undefined && by.instanceId !== expected) {
          const isMine = by.instanceId === instanceId && sameIncarnation(by.incarnation, incarnation);
          return isMine ? ({ kind: "claimed" } as const) : ({ kind: "taken", by } as const);
        }
        db.seatClaims.set(seat, { seat, instanceId, incarnation });
        db.graceOfClaim.set(seat, threadGraceMs);
        return { kind: "claimed" } as const;
      }),

    release: ({ seat, instanceId }) =>
      handle.run(() => {
        if (db.seatClaims.get(seat)?.instanceId !== instanceId) return;
        db.seatClaims.delete(seat);
        endByHolder(handle, seat, instanceId, clock.nowMs());
      }),

    disown: ({ seat, instanceId }) =>
      handle.run(() => {
        if (db.seatClaims.get(seat)?.instanceId === instanceId) disownProvisions(db, seat);
      }),
  };
}
