/**
 * What the owner chart is given, is asked and tells.
 *
 * Owns: types and default timings. Does not own: any decision (`owner.machine.ts`, `owner.rules.ts`).
 */
import type { Epoch } from "./ids.ts";
import type { LeaseEvent, LeaseFact } from "./lease.machine.ts";
import type { OwnerRecord, OwnerSelf, OwnerSight, TakeVerdict } from "./owner.rules.ts";
import type { CompanionFailed } from "./slots.ts";

export interface OwnerTimings {
  /** Between read-only looks at our own record, and at somebody else's. Default 1000. */
  readonly checkMs: number;
  /** Between refreshes of our own record. Default 2000. */
  readonly refreshMs: number;
  /** What a candidate with a lower slot is waited for. Default 2500. */
  readonly graceMs: number;
  /** Between looks at an owner who is said to be gone. Default 25. */
  readonly proofMs: number;
  /** Looks at an owner who is said to be gone before it counts as there. Default 20. */
  readonly proofLooksMax: number;
  /** After a store that did not answer. Default 250. */
  readonly retryMs: number;
  /** With the record but without the lease: then the record goes back. Default 10000. */
  readonly leaseLimitMs: number;
  /** A store file that cannot be read is looked at again after this, then set aside. Default 9000: over v1's 8000. */
  readonly damageMs: number;
}
export const defaultOwnerTimings: OwnerTimings = {
  checkMs: 1_000,
  refreshMs: 2_000,
  graceMs: 2_500,
  proofMs: 25,
  proofLooksMax: 20,
  retryMs: 250,
  leaseLimitMs: 10_000,
  damageMs: 9_000,
};

export interface OwnerInput {
  readonly self: OwnerSelf;
  /** Where a v1 leader serves, unless its record says otherwise. */
  readonly leaderAddress: string;
  readonly timings: OwnerTimings;
}

export interface TakeAnswer {
  readonly kind: TakeVerdict;
  readonly record: OwnerRecord | null;
  /** Until others may call the record stale, by this host's own clock, counted from the request. */
  readonly remainingMs: number;
}
export type RefreshAnswer = { readonly kind: "refreshed"; readonly remainingMs: number } | { readonly kind: "lost" };

export interface OwnerContext extends OwnerInput {
  readonly sight: OwnerSight;
  /** The record we took; null while we own nothing. */
  readonly mine: OwnerRecord | null;
  readonly remainingMs: number;
  readonly looks: number;
  /** The grant of the lease told last; 0 before the first. */
  readonly epoch: Epoch;
}

export type OwnerEvent = LeaseEvent | LeaseFact | CompanionFailed;

/** The facts of the lease chart, and how long our record still counts for others. */
export type OwnerFact = LeaseFact | { readonly type: "owner.refreshed"; readonly remainingMs: number };
