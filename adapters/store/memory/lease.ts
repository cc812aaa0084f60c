/**
 * The lease in memory.
 *
 * Owns: the compare-and-set. Does not own: when to acquire or renew. The epoch never decreases; it is current while it has
 * a holder (`MemoryDatabase.isCurrent`).
 */
import { epoch as epochOf } from "../../../machines/ids.ts";
import type { LeaseRecord } from "../../../machines/lease.rules.ts";
import type { Clock, LeaseStore } from "../../../services/ports.ts";
import { bearsOut } from "../takeover.ts";
import type { MemoryDatabase, MemoryHandle } from "./database.ts";

export function readLease({ lease }: MemoryDatabase, nowMs: number): LeaseRecord {
  const { epoch, renewals, holder } = lease;
  return { epoch, renewals, holder, remainingMs: holder === null ? 0 : lease.expiresAtMs - nowMs };
}

export function leaseStore(handle: MemoryHandle, clock: Clock): LeaseStore {
  const { db } = handle;
  const current = (): LeaseRecord => readLease(db, clock.nowMs());
  return {
    read: () => handle.run(current),

    acquire: ({ me, expected, evidence, durationMs }) =>
      handle.run(() => {
        const record = current();
        const unchanged = record.epoch === expected.epoch && record.renewals === expected.renewals;
        if (!unchanged || !bearsOut(record, evidence, me.instanceId)) return { kind: "refused", record } as const;
        const grantedAtMs = clock.nowMs();
        const expiresAtMs = grantedAtMs + durationMs;
        db.lease = { epoch: epochOf(record.epoch + 1), renewals: 0, holder: me, expiresAtMs, grantedAtMs };
        return { kind: "granted", record: current() } as const;
      }),

    renew: ({ epoch, durationMs }) =>
      handle.run(() => {
        const record = current();
        if (!db.isCurrent(epoch)) return { kind: "fenced", record } as const;
        if (record.remainingMs <= 0) return { kind: "lapsed", record } as const;
        db.lease = { ...db.lease, renewals: record.renewals + 1, expiresAtMs: clock.nowMs() + durationMs };
        return { kind: "renewed", record: current() } as const;
      }),

    release: ({ epoch }) =>
      handle.run(() => {
        if (db.lease.epoch !== epoch || epoch === 0) return { kind: "fenced", current: db.lease.epoch } as const;
        db.lease = { ...db.lease, holder: null, expiresAtMs: 0, grantedAtMs: null };
        return { kind: "released" } as const;
      }),

    commitIfHeld: (epoch, commit) =>
      handle.runAsLeader(epoch, () => {
        commit();
        return { kind: "committed" } as const;
      }),
  };
}
