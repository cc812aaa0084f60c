/**
 * Claims on journal entries.
 *
 * Owns: the claim columns of `updates`. Does not own: when a dead holder's claims end (`registrations.commit`).
 *
 * Invariants:
 * 1. Only the seat's current registration claims; the check and the claim are one transaction.
 * 2. An entry is claimed only as the head of its lane: what came back to the journal, or is tried again after its handler
 *    failed, is not overtaken.
 * 3. Only the exact acquisition settles or returns an entry.
 */
import { attemptInMs } from "../../../machines/attempts.rules.ts";
import type { AcquisitionId, InstanceId, SeatKey } from "../../../machines/ids.ts";
import type { AdoptOutcome, Claimant, ClaimOutcome, ClaimRequest, Clock, WorkStore } from "../../../services/ports.ts";
import type { Connection } from "./connection.ts";
import { heldSql, isHeld, wasSettledBy } from "./held.ts";
import { addUnknown, bury } from "./journal.ts";
import { recordOwners } from "./ownership.ts";
import { isCurrent, putBackEarlier } from "./registrations.ts";
import { entryColumns, entryOf, type EntryRow } from "./rows.ts";

interface ClaimableRow extends EntryRow {
  readonly claim_seat: SeatKey | null;
  readonly claim_instance: InstanceId | null;
  readonly claim_acquisition: AcquisitionId | null;
}

/** Exported for the tests that read the query plans. */
export const workSql = {
  ...heldSql,
  // Ids restart, so several entries may carry one id: they are claimed in order of admission.
  earliest: `SELECT ${entryColumns}, u.claim_seat, u.claim_instance, u.claim_acquisition
    FROM updates AS u INDEXED BY updates_by_id WHERE u.update_id = ? ORDER BY u.seq LIMIT 1`,
  exact: `SELECT ${entryColumns}, u.claim_seat, u.claim_instance, u.claim_acquisition
    FROM updates AS u WHERE u.seq = ? AND u.update_id = ?`,
  // The partial indices hold exactly what must go first: what is in nobody's hand, and what is being tried again.
  isOvertaking: `SELECT 1 FROM updates INDEXED BY updates_unclaimed
      WHERE claim_acquisition IS NULL AND lane = :lane AND seq < :seq
    UNION ALL
    SELECT 1 FROM updates INDEXED BY updates_retried WHERE attempts > 0 AND lane = :lane AND seq < :seq
    LIMIT 1`,
  claim: `UPDATE updates SET claim_seat = ?, claim_instance = ?, claim_generation = ?, claim_acquisition = ?
    WHERE seq = ?`,
  headOf: `SELECT ${entryColumns}, u.claim_seat, u.claim_instance, u.claim_acquisition
    FROM updates AS u INDEXED BY updates_unclaimed
    WHERE u.claim_acquisition IS NULL AND u.lane = ? ORDER BY u.seq LIMIT 1`,
  heldBy: `SELECT ${entryColumns} FROM updates AS u INDEXED BY updates_claimed
    WHERE u.claim_acquisition IS NOT NULL AND u.claim_seat = ? AND u.claim_instance = ? AND u.claim_acquisition = ?`,
  seatHolder: "SELECT instance_id FROM seat_claims WHERE seat = ?",
  putBack: `UPDATE updates SET attempts = attempts + 1, next_attempt_at_ms = ?, last_failure = ?,
      claim_seat = NULL, claim_instance = NULL, claim_generation = NULL, claim_acquisition = NULL
    WHERE seq = ? AND claim_acquisition = ? AND offer IS NULL`,
} as const;

const isHeldBy = (row: ClaimableRow, { seat, instanceId }: Claimant): boolean =>
  row.claim_seat === seat && row.claim_instance === instanceId;

/** Takes the entry for the claimant, unless something is in the way. Whether it stays in hand, the caller decides. */
function judgeClaim(connection: Connection, { updateId, seq, claimant }: ClaimRequest): ClaimOutcome {
  const row =
    seq === null
      ? connection.sql<ClaimableRow>(workSql.earliest).get(updateId)
      : connection.sql<ClaimableRow>(workSql.exact).get(seq, updateId);
  if (row !== undefined && row.claim_acquisition !== null && isHeldBy(row, claimant))
    return { kind: "repeated", entry: entryOf(row), acquisition: row.claim_acquisition };
  if (row === undefined && wasSettledBy(connection, claimant.acquisition)) return { kind: "settledByUs" };
  if (!isCurrent(connection, claimant)) return { kind: "stale" };
  // A tombstone tells who ended it; without one it was set aside, or its tombstone has expired. Nothing that was not
  // once admitted is ever forwarded, so "not open" always means "ended before".
  if (row === undefined) return { kind: "settled" };
  if (row.claim_acquisition !== null) return { kind: "heldElsewhere" };
  if (connection.sql(workSql.isOvertaking).get({ lane: row.lane, seq: row.seq }) !== undefined)
    return { kind: "outOfOrder" };
  return { kind: "claimed", entry: entryOf(row) };
}

function adoptEntry(
  connection: Connection,
  { update, lane, claimant, nowMs }: Parameters<WorkStore["adopt"]>[0],
): AdoptOutcome {
  const { seat, instanceId, generation, acquisition } = claimant;
  const holder = connection.sql<{ instance_id: InstanceId }>(workSql.seatHolder).get(seat);
  if (holder?.instance_id !== instanceId) return { kind: "stale" };
  if (update !== null && !addUnknown(connection, update, nowMs)) return { kind: "full" };
  putBackEarlier(connection, seat, instanceId);
  const held = connection.sql<EntryRow>(workSql.heldBy).get(seat, instanceId, acquisition);
  if (held !== undefined) return { kind: "adopted", claimed: entryOf(held) };
  const head = connection.sql<ClaimableRow>(workSql.headOf).get(lane);
  const isReady =
    head !== undefined &&
    attemptInMs(entryOf(head), nowMs) === 0 &&
    connection.sql(workSql.isOvertaking).get({ lane, seq: head.seq }) === undefined;
  if (!isReady) return { kind: "adopted", claimed: null };
  connection.sql(workSql.claim).run(seat, instanceId, generation, acquisition, head.seq);
  return { kind: "adopted", claimed: entryOf(head) };
}

function claimEntry(connection: Connection, request: ClaimRequest, nowMs: number): ClaimOutcome {
  const outcome = judgeClaim(connection, request);
  if (outcome.kind !== "claimed" && outcome.kind !== "repeated") return outcome;
  recordOwners(connection, request.owners, nowMs);
  const { seat, instanceId, generation, acquisition } = request.claimant;
  const { seq } = outcome.entry;
  if (request.settleAtMs !== null)
    // Claimed and settled are one change: no row in hand is ever written.
    bury(connection, seq, request.settleAtMs, outcome.kind === "claimed" ? acquisition : null);
  else if (outcome.kind === "claimed")
    connection.sql(workSql.claim).run(seat, instanceId, generation, acquisition, seq);
  return outcome;
}

export function workStore(connection: Connection, clock: Clock): WorkStore {
  return {
    claim: (request) => connection.write(() => claimEntry(connection, request, clock.nowMs())),

    adopt: (request) => connection.write(() => adoptEntry(connection, request)),

    settle: ({ seq, acquisition, nowMs }) =>
      connection.write(() => {
        if (!isHeld(connection, { seq, acquisition }))
          return { kind: wasSettledBy(connection, acquisition) ? "settled" : "notYours" } as const;
        bury(connection, seq, nowMs);
        return { kind: "settled" } as const;
      }),

    fail: ({ seq, acquisition, reason, nextAttemptAtMs }) =>
      connection.write(() => {
        const put = connection.sql(workSql.putBack).run(nextAttemptAtMs, reason, seq, acquisition);
        return { kind: put.changes === 1 ? "returned" : "notYours" } as const;
      }),
  };
}
