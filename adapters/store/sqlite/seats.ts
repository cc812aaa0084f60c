/**
 * Seat claims: which live process says it holds which seat.
 *
 * Owns: `seat_claims`. Does not own: proof of life (the caller looks, then names whom it expects to replace).
 * Invariant: a claim replaces exactly the holder that the caller saw. Nobody holding a seat satisfies every
 * expectation: the holder one wanted to replace has left by itself.
 */
import { sameIncarnation, type InstanceId, type SeatKey } from "../../../machines/ids.ts";
import type { Clock, SeatClaim, SeatStore } from "../../../services/ports.ts";
import type { Connection } from "./connection.ts";
import { endByHolder } from "./registrations.ts";
import { incarnationOf } from "./rows.ts";
import { disownProvisions } from "./threads.ts";

interface SeatClaimRow {
  readonly seat: SeatKey;
  readonly instance_id: InstanceId;
  readonly incarnation: string;
}

const sql = {
  get: "SELECT seat, instance_id, incarnation FROM seat_claims WHERE seat = ?",
  // A prefix as a range of the primary key: ';' is the character after ':'.
  ofOwner: "SELECT seat, instance_id, incarnation FROM seat_claims WHERE seat >= ? AND seat < ? ORDER BY seat",
  put: `INSERT INTO seat_claims (seat, instance_id, incarnation, grace_ms) VALUES (?, ?, ?, ?)
    ON CONFLICT (seat) DO UPDATE SET instance_id = excluded.instance_id, incarnation = excluded.incarnation,
      grace_ms = excluded.grace_ms`,
  remove: "DELETE FROM seat_claims WHERE seat = ? AND instance_id = ?",
} as const;

const claimOf = (row: SeatClaimRow): SeatClaim => ({
  seat: row.seat,
  instanceId: row.instance_id,
  incarnation: incarnationOf(row.incarnation),
});

export function seatStore(connection: Connection, profileId: string, clock: Clock): SeatStore {
  return {
    profileId: () => connection.read(() => profileId),

    claimsOf: (owner) =>
      connection.read(() =>
        connection.sql<SeatClaimRow>(sql.ofOwner).all(`manual:${owner}:`, `manual:${owner};`).map(claimOf),
      ),

    holderOf: (seat) =>
      connection.read(() => {
        const row = connection.sql<SeatClaimRow>(sql.get).get(seat);
        return row === undefined ? null : claimOf(row);
      }),

    claim: ({ seat, instanceId, incarnation, expected, threadGraceMs }) =>
      connection.write(() => {
        const row = connection.sql<SeatClaimRow>(sql.get).get(seat);
        if (row !== undefined && row.instance_id !== expected) {
          const by = claimOf(row);
          const isMine = by.instanceId === instanceId && sameIncarnation(by.incarnation, incarnation);
          return isMine ? ({ kind: "claimed" } as const) : ({ kind: "taken", by } as const);
        }
        connection.sql(sql.put).run(seat, instanceId, JSON.stringify(incarnation), threadGraceMs);
        return { kind: "claimed" } as const;
      }),

    release: ({ seat, instanceId }) =>
      connection.write(() => {
        if (connection.sql(sql.remove).run(seat, instanceId).changes > 0)
          endByHolder(connection, seat, instanceId, clock.nowMs());
      }),

    disown: ({ seat, instanceId }) =>
      connection.write(() => {
        const holder = connection.sql<SeatClaimRow>(sql.get).get(seat);
        if (holder?.instance_id === instanceId) disownProvisions(connection, seat);
      }),
  };
}
