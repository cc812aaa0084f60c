/**
 * Whether the lease row bears out the reason somebody gives for taking it; the same in both stores.
 *
 * Owns: the check of evidence inside the transaction. Does not own: the proof of `holderGone`, which is about exactly
 * the record the caller saw (epoch and renewals are compared besides).
 */
import type { InstanceId } from "../../machines/ids.ts";
import type { LeaseRecord, TakeoverEvidence } from "../../machines/lease.rules.ts";

export function bearsOut(record: LeaseRecord, evidence: TakeoverEvidence, me: InstanceId): boolean {
  switch (evidence) {
    case "vacant":
      return record.holder === null;
    case "expired":
      return record.holder !== null && record.remainingMs <= 0;
    case "own":
      return record.holder?.instanceId === me;
    case "holderGone":
      return true;
  }
}
