/**
 * The lease row, and the fence that every leader write passes.
 *
 * Owns: the compare-and-set of the lease, the meaning of "current epoch". Does not own: when to acquire or renew.
 *
 * Invariants:
 * 1. The epoch never decreases; each grant adds one, in the transaction that writes the holder.
 * 2. An epoch is current while the row has it *and a holder*: whoever released writes no more. A lease past its end that
 *    nobody else took is still current.
 */
import type { Epoch, InstanceId } from "../../../machines/ids.ts";
import type { LeaseRecord } from "../../../machines/lease.rules.ts";
import type { Clock, Fenced, LeaseStore } from "../../../services/ports.ts";
import { bearsOut } from "../takeover.ts";
import type { Connection } from "./connection.ts";
import { incarnationOf } from "./rows.ts";

interface LeaseRow {
  readonly epoch: Epoch;
  readonly renewals: number;
  readonly expires_at_ms: number;
  readonly instance_id: InstanceId | null;
  readonly incarnation: string | null;
  readonly endpoint: string | null;
  readonly secret: string | null;
}

const sql = {
  read: "SELECT epoch, renewals, expires_at_ms, instance_id, incarnation, endpoint, secret FROM lease",
  grant: `UPDATE lease SET epoch = epoch + 1, renewals = 0, granted_at_ms = ?, expires_at_ms = ?,
    instance_id = ?, incarnation = ?, endpoint = ?, secret = ?`,
  renew: "UPDATE lease SET renewals = renewals + 1, expires_at_ms = ?",
  vacate: "UPDATE lease SET expires_at_ms = 0, instance_id = NULL, incarnation = NULL, endpoint = NULL, secret = NULL",
  grantedAt: "SELECT granted_at_ms FROM lease WHERE instance_id IS NOT NULL",
  fence: "SELECT epoch, instance_id FROM lease",
} as const;

/** Reads the lease inside the transaction of the caller. */
export function readLease(connection: Connection, nowMs: number): LeaseRecord {
  const row = connection.sql<LeaseRow>(sql.read).get();
  if (row === undefined) throw new Error("the lease row is missing");
  const { instance_id: instanceId, incarnation, endpoint, secret } = row;
  if (instanceId === null || incarnation === null || endpoint === null || secret === null)
    return { epoch: row.epoch, renewals: row.renewals, holder: null, remainingMs: 0 };
  const holder = { instanceId, incarnation: incarnationOf(incarnation), endpoint, secret };
  return { epoch: row.epoch, renewals: row.renewals, holder, remainingMs: row.expires_at_ms - nowMs };
}

/** When the present grant was given; null while nobody holds the lease. */
export function readGrantedAt(connection: Connection): number | null {
  return connection.sql<{ granted_at_ms: number | null }>(sql.grantedAt).get()?.granted_at_ms ?? null;
}

/** Runs a leader's change in a transaction in which its epoch is current. */
export function writeAsLeader<T>(connection: Connection, epoch: Epoch, change: () => T): Promise<T | Fenced> {
  return connection.write(() => {
    const row = connection.sql<Pick<LeaseRow, "epoch" | "instance_id">>(sql.fence).get();
    if (row === undefined) throw new Error("the lease row is missing");
    if (row.epoch !== epoch || row.instance_id === null) return { kind: "fenced", current: row.epoch } as const;
    return change();
  });
}

export function leaseStore(connection: Connection, clock: Clock): LeaseStore {
  const current = (): LeaseRecord => readLease(connection, clock.nowMs());
  return {
    read: () => connection.read(current),

    acquire: ({ me, expected, evidence, durationMs }) =>
      connection.write(() => {
        const record = current();
        const unchanged = record.epoch === expected.epoch && record.renewals === expected.renewals;
        if (!unchanged || !bearsOut(record, evidence, me.instanceId)) return { kind: "refused", record } as const;
        const expiresAtMs = clock.nowMs() + durationMs;
        const incarnation = JSON.stringify(me.incarnation);
        connection.sql(sql.grant).run(clock.nowMs(), expiresAtMs, me.instanceId, incarnation, me.endpoint, me.secret);
        return { kind: "granted", record: current() } as const;
      }),

    renew: ({ epoch, durationMs }) =>
      connection.write(() => {
        const record = current();
        if (record.epoch !== epoch || record.holder === null) return { kind: "fenced", record } as const;
        if (record.remainingMs <= 0) return { kind: "lapsed", record } as const;
        connection.sql(sql.renew).run(clock.nowMs() + durationMs);
        return { kind: "renewed", record: current() } as const;
      }),

    // Not behind the fence: releasing twice (the first answer was lost) is still a release.
    release: ({ epoch }) =>
      connection.write(() => {
        const record = current();
        if (record.epoch !== epoch || epoch === 0) return { kind: "fenced", current: record.epoch } as const;
        connection.sql(sql.vacate).run();
        return { kind: "released" } as const;
      }),

    commitIfHeld: (epoch, commit) =>
      writeAsLeader(connection, epoch, () => {
        commit();
        return { kind: "committed" } as const;
      }),
  };
}
