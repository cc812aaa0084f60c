/**
 * Pure rules of the lease: what a record means to an instance that looks at it.
 *
 * Owns: the verdict on a record, the inequalities between the timings. Does not own: when to look (`lease.machine.ts`),
 * the compare-and-set (the store).
 */
import type { Epoch, Incarnation, InstanceId } from "./ids.ts";

/** Who leads, as published in the lease row. `secret` opens its endpoint and never leaves the store and the wire. */
export interface LeaseHolder {
  readonly instanceId: InstanceId;
  readonly incarnation: Incarnation;
  readonly endpoint: string;
  readonly secret: string;
}

/** Which dialect a leader speaks: `own` shares our store and our journal, `v1` has a journal of its own. */
export type Dialect = "own" | "v1";

/** A leader as followers see it. */
export interface Leader extends LeaseHolder {
  readonly dialect: Dialect;
}

export interface LeaseRecord {
  /** Epoch of the last grant; 0 before the first. */
  readonly epoch: Epoch;
  /** Renewals since that grant. Epoch and renewals together say "the same record, unchanged". */
  readonly renewals: number;
  readonly holder: LeaseHolder | null;
  /** Left until the lease ends, by the store's clock at the read; 0 or less = past its end. */
  readonly remainingMs: number;
}

/**
 * Why a lease may be taken. `vacant` and `expired` the store checks by itself; `holderGone` is proof by incarnation;
 * `own` means that the row names us while we act under no epoch (a grant that lapsed, or whose answer was lost).
 */
export type TakeoverEvidence = "vacant" | "expired" | "holderGone" | "own";

export type LeaseVerdict = "vacant" | "own" | "expired" | "heldElsewhere";

/** What a record means to `me`, who holds no grant at the moment. */
export function judgeLease(record: LeaseRecord, me: InstanceId): LeaseVerdict {
  if (record.holder === null) return "vacant";
  if (record.holder.instanceId === me) return "own";
  return record.remainingMs <= 0 ? "expired" : "heldElsewhere";
}

/** The same grant, not renewed in between: an observation that agrees with the earlier one. */
export const isUnchanged = (a: LeaseRecord, b: LeaseRecord): boolean =>
  a.epoch === b.epoch && a.renewals === b.renewals;

export interface LeaseTimings {
  /** How long a grant or renewal lasts. Default 6000. */
  readonly durationMs: number;
  /** Between renewals. Default 1500. */
  readonly renewMs: number;
  /** Between looks at somebody else's lease. Default 1000. */
  readonly observeMs: number;
  /** Between two looks at a holder that is said to be dying. Default 15. */
  readonly proofMs: number;
  /** After a store that did not answer. Default 250. */
  readonly retryMs: number;
  /** Looks at a holder whose connection closed before giving up on early proof: a killed process needs some. Default 40. */
  readonly proofLooksMax: number;
}

export const defaultLeaseTimings: LeaseTimings = {
  durationMs: 6_000,
  renewMs: 1_500,
  observeMs: 1_000,
  proofMs: 15,
  retryMs: 250,
  proofLooksMax: 40,
};

/** What is wrong with the timings, in words; null when they can keep a lease. */
export function faultOfTimings(t: LeaseTimings): string | null {
  const named: readonly (readonly [string, number])[] = Object.entries(t);
  for (const [name, value] of named)
    if (!Number.isFinite(value) || value <= 0) return `lease timing ${name} must be a positive number`;
  if (t.renewMs * 3 > t.durationMs) return "a lease must last at least three renewal intervals";
  if (t.retryMs * 4 > t.durationMs) return "a lease must last at least four store retries";
  return null;
}
