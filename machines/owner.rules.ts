/**
 * Pure rules of the v1 owner store: the record, what it means to an instance that looks at it, when it may be taken
 * (protocol §5.1–§5.4, P-1…P-9).
 *
 * Owns: reading and writing of one record, identity, derived state, the decision inside a transaction.
 * Does not own: when to look (`owner.machine.ts`), the file and its guard (the adapter), the store's lease.
 *
 * Of the three ways in which v1 takes a live record by force, none exists here: an instance of ours takes what is free,
 * or what it saw to be stale and finds unchanged.
 */
import type { Epoch, InstanceId } from "./ids.ts";
import { epoch, instanceId } from "./ids.ts";
import type { Leader, LeaseRecord } from "./lease.rules.ts";

/** A lease record of `owners.json`; null stands for an absent field. */
export interface OwnerRecord {
  readonly pid: number;
  readonly cwd: string | null;
  readonly instanceId: string | null;
  /** A random UUID for each take; numbers are of older writers. */
  readonly leaderEpoch: string | number | null;
  /** Ascending within one process: which of its runtimes is the newer one. */
  readonly runtimeGeneration: number | null;
  /** Wall clock of the last refresh. No part of the identity. */
  readonly heartbeatMs: number | null;
  readonly busSecret: string | null;
  /** Where older writers said their endpoint is; goes before the derived address. */
  readonly busSocketPath: string | null;
}

/** What an instance is in this store. */
export interface OwnerSelf {
  readonly pid: number;
  readonly cwd: string;
  readonly instanceId: InstanceId;
  readonly runtimeGeneration: number;
  readonly secret: string;
}

/** Longest time without a refresh: a record older than this is stale although its process lives. */
export const ownerStaleMs = 8_000;

const asText = (value: unknown): string | null => (typeof value === "string" ? value : null);
const asNumber = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** A value of the store as a record; null when it is none (§5.1: without a numeric `pid` there is no record). */
export function readOwnerRecord(value: unknown): OwnerRecord | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const pid = asNumber(fields["pid"]);
  if (pid === null) return null;
  return {
    pid,
    cwd: asText(fields["cwd"]),
    instanceId: asText(fields["instanceId"]),
    leaderEpoch: asText(fields["leaderEpoch"]) ?? asNumber(fields["leaderEpoch"]),
    runtimeGeneration: asNumber(fields["runtimeGeneration"]),
    heartbeatMs: asNumber(fields["heartbeatMs"]),
    busSecret: asText(fields["busSecret"]),
    busSocketPath: asText(fields["busSocketPath"]),
  };
}

/** A record as it stands in the file: known fields only, absent ones left out. */
export function writeOwnerRecord(record: OwnerRecord): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

/** "Same owner" (§5.1): both present, and equal in all five fields of identity. */
export function isSameOwner(a: OwnerRecord | null, b: OwnerRecord | null): boolean {
  return (
    a !== null &&
    b !== null &&
    a.pid === b.pid &&
    a.cwd === b.cwd &&
    a.instanceId === b.instanceId &&
    a.leaderEpoch === b.leaderEpoch &&
    a.runtimeGeneration === b.runtimeGeneration
  );
}

/** Whether a record is ours, remembered or not: the answer to the take that wrote it may have been lost. */
export const isOwnRecord = (record: OwnerRecord | null, self: OwnerSelf): boolean =>
  record !== null &&
  record.pid === self.pid &&
  record.instanceId === self.instanceId &&
  record.runtimeGeneration === self.runtimeGeneration;

/**
 * §5.3, with two states told apart that v1 calls `stale`: `gone` is proven by the process table, `stale` by a clock only.
 * `sibling`: another runtime of our own process.
 */
export type OwnerState = "inactive" | "own" | "sibling" | "held" | "gone" | "stale";

export interface OwnerLook {
  readonly record: OwnerRecord | null;
  readonly nowMs: number;
  /** Whether the record's process is there; true when that cannot be told. */
  readonly isRunning: boolean;
}

export function ownerStateOf({ record, nowMs, isRunning }: OwnerLook, self: OwnerSelf): OwnerState {
  if (record === null) return "inactive";
  if (isOwnRecord(record, self)) return "own";
  const isLate = record.heartbeatMs !== null && nowMs - record.heartbeatMs > ownerStaleMs;
  if (record.pid === self.pid) {
    // v1 never calls its own process stale. A runtime of this process that stopped refreshing has ended without a word;
    // only a newer one may follow it (P-9).
    const isOlder = record.runtimeGeneration === null || record.runtimeGeneration < self.runtimeGeneration;
    return isLate && isOlder ? "stale" : "sibling";
  }
  if (!isRunning) return "gone";
  return isLate ? "stale" : "held";
}

export const isTakeable = (state: OwnerState): boolean => state === "inactive" || state === "gone" || state === "stale";

/** What one look at the v1 store and at the store's lease showed. */
export type OwnerSight =
  | { readonly kind: "damaged"; readonly reason: string }
  | {
      readonly kind: "seen";
      readonly record: OwnerRecord | null;
      readonly state: OwnerState;
      readonly lease: LeaseRecord;
      /** Our last leader named a candidate with a lower slot: it gets the first try (§5.10). */
      readonly isPreceded: boolean;
    };

/** The record was not touched between two looks: a clock that jumped makes a live one look old (O-42). */
export const isUntouched = (a: OwnerRecord | null, b: OwnerRecord | null): boolean =>
  (a === null && b === null) || (isSameOwner(a, b) && a?.heartbeatMs === b?.heartbeatMs);

export type TakeVerdict = "kept" | "taken" | "refused";

/** The decision inside the transaction (§5.4 in election mode, P-3): free, or stale and the very record that was seen. */
export function judgeTake(look: OwnerLook, self: OwnerSelf, expected: OwnerRecord | null): TakeVerdict {
  const state = ownerStateOf(look, self);
  if (state === "own") return "kept";
  if (state === "inactive") return "taken";
  return isTakeable(state) && isSameOwner(look.record, expected) ? "taken" : "refused";
}

/** The record of a new take. `leaderEpoch` is minted for it (P-2). */
export const takenRecord = (self: OwnerSelf, leaderEpoch: string, nowMs: number): OwnerRecord => ({
  pid: self.pid,
  cwd: self.cwd,
  instanceId: self.instanceId,
  heartbeatMs: nowMs,
  leaderEpoch,
  runtimeGeneration: self.runtimeGeneration,
  busSecret: self.secret,
  busSocketPath: null,
});

export interface SeenLeader {
  readonly epoch: Epoch;
  readonly holder: Leader;
}

/** Epoch told of a v1 leader, whose epochs are no numbers: below every grant of ours. */
const epochOfV1 = epoch(0);

/** Who leads, from a look at a record that is held; an own leader is one that the store's lease names as well. */
export function leaderIn(
  { record, lease }: Extract<OwnerSight, { readonly kind: "seen" }>,
  leaderAddress: string,
): SeenLeader {
  if (record === null) throw new Error("a vacant owner record names no leader");
  if (lease.holder !== null && lease.holder.instanceId === record.instanceId)
    return { epoch: lease.epoch, holder: { ...lease.holder, dialect: "own" } };
  return {
    epoch: epochOfV1,
    holder: {
      dialect: "v1",
      instanceId: instanceId(record.instanceId ?? String(record.pid)),
      incarnation: { bootId: "", pidNamespace: "", pid: record.pid, startTicks: "", counter: 0 },
      endpoint: record.busSocketPath ?? leaderAddress,
      secret: record.busSecret ?? "",
    },
  };
}

/** Whether a lower slot than ours stands in the roster that a leader told last (§5.10 EL-2). */
export function isPrecededIn(roster: readonly string[], slot: string | null): boolean {
  if (slot === null || slot === "") return false;
  const isBefore = (other: string): boolean =>
    other.length < slot.length || (other.length === slot.length && other < slot);
  return roster.some((other) => /^[A-Z]{1,2}$/.test(other) && isBefore(other));
}
