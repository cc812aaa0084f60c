/**
 * Claims in memory.
 *
 * Owns: taking, settling and returning entries. Does not own: when a dead holder's claims end (`registrations.commit`).
 */
import { attemptInMs } from "../../../machines/attempts.rules.ts";
import type { AdoptOutcome, ClaimOutcome, ClaimRequest, WorkStore } from "../../../services/ports.ts";
import type { MemoryDatabase, MemoryHandle } from "./database.ts";
import { addUnknown } from "./journal.ts";
import { returnWork } from "./registrations.ts";

function judgeClaim(db: MemoryDatabase, { updateId, seq: wanted, claimant }: ClaimRequest): ClaimOutcome {
  const { seat, instanceId, generation, acquisition } = claimant;
  const seq = wanted ?? db.openById.get(updateId)?.[0];
  const found = seq === undefined ? undefined : db.updates.get(seq);
  const open = found?.entry.updateId === updateId ? found : undefined;
  if (open?.claim?.seat === seat && open.claim.instanceId === instanceId)
    return { kind: "repeated", entry: open.entry, acquisition: open.claim.acquisition };
  if (open === undefined && db.wasSettledBy(acquisition)) return { kind: "settledByUs" };
  if (!db.isRegistered(claimant) || db.registrations.get(seat)?.generation !== generation) return { kind: "stale" };
  // Whatever is forwarded was admitted once, so "not open" means "ended before", with or without a tombstone.
  if (open === undefined) return { kind: "settled" };
  if (open.claim !== null) return { kind: "heldElsewhere" };
  return db.isOvertaking(open) ? { kind: "outOfOrder" } : { kind: "claimed", entry: open.entry };
}

function claimEntry(db: MemoryDatabase, request: ClaimRequest): ClaimOutcome {
  const outcome = judgeClaim(db, request);
  if (outcome.kind !== "claimed" && outcome.kind !== "repeated") return outcome;
  db.recordOwners(request.owners);
  const open = db.updates.get(outcome.entry.seq);
  if (open === undefined) throw new Error("an entry vanished while it was claimed");
  const { seat, instanceId, generation, acquisition } = request.claimant;
  const taken = open.claim === null ? { ...open, claim: { seat, instanceId, generation, acquisition } } : open;
  if (request.settleAtMs === null) db.replaceEntry(taken);
  else db.bury(taken, request.settleAtMs);
  return outcome;
}

function adoptEntry(
  handle: MemoryHandle,
  { update, lane, claimant, nowMs }: Parameters<WorkStore["adopt"]>[0],
): AdoptOutcome {
  const { db } = handle;
  const { seat, instanceId, generation, acquisition } = claimant;
  if (db.seatClaims.get(seat)?.instanceId !== instanceId) return { kind: "stale" };
  if (update !== null && !addUnknown(db, update, nowMs)) return { kind: "full" };
  returnWork(handle, seat, instanceId);
  const entries = [...db.updates.values()];
  const held = entries.find(
    ({ claim }) => claim?.acquisition === acquisition && claim.seat === seat && claim.instanceId === instanceId,
  );
  if (held !== undefined) return { kind: "adopted", claimed: held.entry };
  const head = entries.find(({ claim, entry }) => claim === null && entry.lane === lane);
  if (head === undefined || attemptInMs(head.entry, nowMs) > 0 || db.isOvertaking(head))
    return { kind: "adopted", claimed: null };
  db.replaceEntry({ ...head, claim: { seat, instanceId, generation, acquisition } });
  return { kind: "adopted", claimed: head.entry };
}

export function workStore(handle: MemoryHandle): WorkStore {
  const { db } = handle;
  return {
    claim: (request) => handle.run(() => claimEntry(db, request)),

    adopt: (request) => handle.run(() => adoptEntry(handle, request)),

    settle: ({ seq, acquisition, nowMs }) =>
      handle.run(() => {
        const open = db.heldBy({ seq, acquisition });
        if (open === null) return { kind: db.wasSettledBy(acquisition) ? "settled" : "notYours" } as const;
        db.bury(open, nowMs);
        return { kind: "settled" } as const;
      }),

    fail: ({ seq, acquisition, reason, nextAttemptAtMs }) =>
      handle.run(() => {
        const open = db.heldBy({ seq, acquisition });
        if (open === null) return { kind: "notYours" } as const;
        const entry = { ...open.entry, attempts: open.entry.attempts + 1, nextAttemptAtMs };
        db.replaceEntry({ ...open, claim: null, entry, lastFailure: reason });
        return { kind: "returned" } as const;
      }),
  };
}
