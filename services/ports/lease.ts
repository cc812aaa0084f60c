/** The store's lease: who may lead, by compare-and-set on one row. */
import type { Epoch } from "../../machines/ids.ts";
import type { LeaseHolder, LeaseRecord, TakeoverEvidence } from "../../machines/lease.rules.ts";
import type { Fenced } from "./fence.ts";

export interface LeaseStore {
  /** The lease as it stands now; `remainingMs` is by the store's clock. */
  read(): Promise<LeaseRecord>;
  /**
   * Compare-and-set: granted only if the row still has `expected`'s epoch and renewals, and, for evidence `expired` and
   * `vacant`, is that by the store's clock inside the transaction. A grant counts the epoch up by one.
   */
  acquire(request: {
    readonly me: LeaseHolder;
    readonly expected: { readonly epoch: Epoch; readonly renewals: number };
    readonly evidence: TakeoverEvidence;
    readonly durationMs: number;
  }): Promise<{ readonly kind: "granted" | "refused"; readonly record: LeaseRecord }>;
  /** Extends a lease that is still ours and not past its end; `lapsed` when ours but past it, `fenced` when not ours. */
  renew(request: { readonly epoch: Epoch; readonly durationMs: number }): Promise<{
    readonly kind: "renewed" | "lapsed" | "fenced";
    readonly record: LeaseRecord;
  }>;
  /** Empties the row if the epoch is ours; the epoch itself stays, so the next grant is higher. */
  release(request: { readonly epoch: Epoch }): Promise<{ readonly kind: "released" } | Fenced>;
  /** Runs `commit` synchronously inside a transaction in which the epoch is current; `fenced` = it did not run. */
  commitIfHeld(epoch: Epoch, commit: () => void): Promise<{ readonly kind: "committed" } | Fenced>;
}
