/**
 * Effects of the lease chart, and the gate that says whether this process may act as leader right now.
 *
 * Owns: the lease's requests to the store, counting what is left of a grant by this host's own clock.
 * Does not own: any decision about the lease (`machines/lease.machine.ts`).
 */
import { fromPromise } from "xstate";
import type { Epoch, Liveness } from "../machines/ids.ts";
import { leaseMachine } from "../machines/lease.machine.ts";
import type { AcquireAnswer, AcquireInput, RenewAnswer, RenewInput } from "../machines/lease.machine.ts";
import type { LeaseHolder, LeaseRecord } from "../machines/lease.rules.ts";
import type { OwnerFact } from "../machines/owner.contract.ts";
import type { Clock, LeaseStore, Processes } from "./ports.ts";

export interface LeaseEffects {
  readonly store: LeaseStore;
  readonly processes: Processes;
  readonly clock: Clock;
  /** What this instance publishes when it is granted the lease. */
  readonly me: LeaseHolder;
}

/** The lease chart with its slots filled. */
export function provideLease({ store, processes, clock, me }: LeaseEffects) {
  /** Runs a request and counts its grant from the moment it was sent: the store may have stamped it that early. */
  const counted = async <Answer extends { readonly record: LeaseRecord }>(
    durationMs: number,
    ask: () => Promise<Answer>,
  ): Promise<Answer & { remainingMs: number }> => {
    const askedAtMs = clock.elapsedMs();
    const answer = await ask();
    return { ...answer, remainingMs: Math.max(0, durationMs - (clock.elapsedMs() - askedAtMs)) };
  };

  return leaseMachine.provide({
    actors: {
      readLease: fromPromise<LeaseRecord>(() => store.read()),
      proveHolder: fromPromise<Liveness, LeaseHolder>(({ input }) =>
        Promise.resolve(processes.liveness(input.incarnation)),
      ),
      acquireLease: fromPromise<AcquireAnswer, AcquireInput>(({ input }) =>
        counted(input.durationMs, () =>
          store.acquire({
            me,
            expected: { epoch: input.expected.epoch, renewals: input.expected.renewals },
            evidence: input.evidence,
            durationMs: input.durationMs,
          }),
        ),
      ),
      renewLease: fromPromise<RenewAnswer, RenewInput>(({ input }) =>
        counted(input.durationMs, () => store.renew(input)),
      ),
      releaseLease: fromPromise<undefined, { readonly epoch: Epoch }>(async ({ input }) => {
        await store.release(input);
        return undefined;
      }),
    },
  });
}

/** The right to lead at this moment. */
export interface Permit {
  readonly epoch: Epoch;
  /** At most; by this host's clock. */
  readonly remainingMs: number;
  /** Aborts when the grant ends before its time: lost, or given up. */
  readonly signal: AbortSignal;
}

export interface LeaseGate {
  /** Null = not the leader, or the lease has run out unnoticed. */
  permit(): Permit | null;
}

/** A gate fed by the facts of the lease chart. It closes by itself when time runs out, whether or not timers have run. */
export function createLeaseGate(clock: Clock): LeaseGate & { readonly onFact: (fact: OwnerFact) => void } {
  let grant: { readonly epoch: Epoch; readonly endsAtMs: number; readonly ended: AbortController } | null = null;
  /** In a v1 fleet: when others may call our owner record stale. */
  let recordEndsAtMs = Number.POSITIVE_INFINITY;
  return {
    permit() {
      if (grant === null) return null;
      const remainingMs = Math.min(grant.endsAtMs, recordEndsAtMs) - clock.elapsedMs();
      return remainingMs > 0 ? { epoch: grant.epoch, remainingMs, signal: grant.ended.signal } : null;
    },
    onFact(fact) {
      if (fact.type === "owner.refreshed") recordEndsAtMs = clock.elapsedMs() + fact.remainingMs;
      else if (fact.type === "lease.granted")
        grant = {
          epoch: fact.epoch,
          endsAtMs: clock.elapsedMs() + fact.remainingMs,
          ended: new AbortController(),
        };
      else if (fact.type === "lease.renewed" && grant !== null)
        grant = { ...grant, endsAtMs: clock.elapsedMs() + fact.remainingMs };
      else if (fact.type === "lease.lost" || fact.type === "lease.releasing" || fact.type === "lease.released") {
        grant?.ended.abort();
        grant = null;
      }
    },
  };
}
