/**
 * What reconciliation judges: threads that are to be deleted, what was seen of threads, what the
 * operator asks, as one consistent view of the store.
 *
 * Owns: the shapes. Does not own: any decision (`reconciliation.rules.ts`).
 */
import type { Generation, Incarnation, InstanceId, SeatKey, ThreadTarget } from "./ids.ts";
import type { HeldBinding, LeftoverThread, PendingProvision } from "./threads.rules.ts";

/** How long a thread outlives the process that held its seat. */
export const defaultThreadGraceMs = 10 * 60_000;

/**
 * Why a thread is to be deleted. `ended`: nobody holds its seat, and the grace time runs. Everything else needs no further
 * proof: `left` its holder gave it up, `operator` the operator did, `rerouted` what was written there has gone to another
 * thread, and nothing of it waits any more. A thread that its seat has another for is not deleted: it is left over.
 */
export type CleanupReason = "ended" | "left" | "operator" | "rerouted";

/** A durable instruction to delete exactly this thread. One per thread. */
export interface Cleanup {
  readonly seat: SeatKey;
  readonly target: ThreadTarget;
  readonly reason: CleanupReason;
  readonly atMs: number;
  /** Not before this moment; moved on by every attempt that was not confirmed. */
  readonly dueAtMs: number;
  /** `deleting`: a call may be under way. Nobody gets this thread until that is known. */
  readonly phase: "waiting" | "deleting";
  readonly attempts: number;
  /** Why the last attempt did not delete it. */
  readonly lastReason: string | null;
}

/** What Telegram's service messages say of a thread. `deleted` is never told: it is what a confirmed deletion leaves. */
export interface ThreadEvidence {
  readonly target: ThreadTarget;
  readonly what: "created" | "renamed" | "closed" | "reopened";
  /** Its name, where the message tells it. */
  readonly name: string | null;
  readonly by: "bot" | "person";
  readonly atMs: number;
}

/** What is known of a thread by evidence. One per thread. */
export interface Observation {
  readonly target: ThreadTarget;
  readonly status: "open" | "closed" | "deleted";
  readonly name: string | null;
  /** A person named it: it is never renamed by us. */
  readonly isNamedByPerson: boolean;
  readonly createdByBot: boolean;
  readonly atMs: number;
}

export type OperatorWish =
  /** Bind this thread to the seat; ends a creation of the seat with an unknown outcome. */
  | { readonly kind: "adopt"; readonly seat: SeatKey; readonly target: ThreadTarget }
  /** Delete a thread that nobody holds. */
  | { readonly kind: "release"; readonly target: ThreadTarget }
  /** Take a thread off the books, and leave it at Telegram as it is. */
  | { readonly kind: "forgetThread"; readonly target: ThreadTarget }
  /** No thread came of the creation in doubt: the seat may create anew. */
  | { readonly kind: "forgetCreation"; readonly seat: SeatKey }
  /** The holder of this seat is gone, whatever can be proven. */
  | { readonly kind: "forgetSeat"; readonly seat: SeatKey }
  /** Give the seat's thread up, now. */
  | { readonly kind: "leave"; readonly seat: SeatKey };

export interface OperatorRequest {
  readonly id: string;
  readonly wish: OperatorWish;
  readonly atMs: number;
}

/** An answered request, kept for whoever asked. */
export interface OperatorAnswer {
  readonly id: string;
  readonly kind: "done" | "refused";
  readonly text: string;
}

/** Who sits, or sat, on a seat. */
export interface SeatRecord {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  readonly target: ThreadTarget | null;
  readonly ended: string | null;
  readonly endedAtMs: number | null;
  /** How long its thread outlives it; null = for ever. */
  readonly threadGraceMs: number | null;
  readonly unprovable: { readonly sinceMs: number; readonly reason: string } | null;
}

/** A process that says it holds a seat. */
export interface ClaimRecord {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly incarnation: Incarnation;
}

export interface ReconciliationView {
  readonly bindings: readonly HeldBinding[];
  readonly provisions: readonly PendingProvision[];
  readonly cleanups: readonly Cleanup[];
  readonly leftovers: readonly LeftoverThread[];
  readonly observations: readonly Observation[];
  readonly seats: readonly SeatRecord[];
  readonly claims: readonly ClaimRecord[];
  readonly requests: readonly OperatorRequest[];
}
