/** Threads that are to be deleted, and everything else that reconciliation judges. */
import type { Epoch, Generation, InstanceId, SeatKey, ThreadTarget } from "../../machines/ids.ts";
import type {
  CleanupReason,
  OperatorAnswer,
  OperatorRequest,
  ReconciliationView,
  ThreadEvidence,
} from "../../machines/reconciliation.types.ts";
import type { Fenced } from "./fence.ts";

/** The words of a clean-up's attempt that did not delete the thread. */
export interface CleanupPostponement {
  readonly epoch: Epoch;
  readonly target: ThreadTarget;
  readonly reason: string;
  readonly dueAtMs: number;
  /** It is certain that the thread still exists: a registration may have it. Otherwise it stays held. */
  readonly isCertain: boolean;
}

/** Threads that are to be deleted, from the first reason to the confirmation, and what else reconciliation lives on. */
export interface CleanupStore {
  /** Everything that reconciliation judges, as one consistent view. */
  view(): Promise<ReconciliationView>;
  /**
   * Writes the instruction to delete exactly this thread; it survives everything but its confirmation or a newer
   * registration. An instruction that exists keeps its phase, and becomes due when either is. Nothing for a thread that
   * is gone already.
   */
  intend(request: {
    readonly epoch: Epoch;
    readonly seat: SeatKey;
    readonly target: ThreadTarget;
    readonly reason: CleanupReason;
    readonly atMs: number;
    readonly dueAtMs: number;
  }): Promise<{ readonly kind: "intended" } | Fenced>;
  /**
   * The last proof, just before the call, in one transaction: from `begun` on no registration gets this thread.
   * `superseded`: the instruction was cancelled, another seat is bound to the thread, or (`rerouted`) something was written
   * there since that waits for an owner. `held`: its seat has a current
   * registration, or a holder other than `seenDead` (null = nobody); only asked where the reason needs proof (`ended`), and
   * not of one that was begun before: since then nobody has had the thread.
   */
  begin(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly seenDead: InstanceId | null;
  }): Promise<
    { readonly kind: "begun"; readonly attempts: number } | { readonly kind: "superseded" | "held" } | Fenced
  >;
  /** The attempt did not delete it, or not certainly: the instruction stays, due again at `dueAtMs`. */
  postpone(request: CleanupPostponement): Promise<{ readonly kind: "noted" } | Fenced>;
  /**
   * The thread is gone: removes instruction, binding and leftover, ends the registration that has it (`left`), and
   * remembers the thread as deleted. `superseded` when the instruction was cancelled meanwhile.
   */
  confirm(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly atMs: number;
  }): Promise<{ readonly kind: "removed" | "superseded" } | Fenced>;
  /** Takes the instruction back. `gone`: the thread was deleted, or a call may be deleting it; that stays. */
  cancel(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
  }): Promise<{ readonly kind: "noted" | "gone" } | Fenced>;
  /** Takes a thread off the books, binding, leftover and instruction; Telegram keeps it as it is. */
  unbind(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /**
   * Writes down what a service message says of a thread. A person's name for it is kept for good; any name becomes the
   * bound thread's.
   */
  observe(request: {
    readonly epoch: Epoch;
    readonly evidence: ThreadEvidence;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /** A seat whose holder can be proven neither alive nor dead, since when and why; null = that is over. */
  doubt(request: {
    readonly epoch: Epoch;
    readonly seat: SeatKey;
    readonly generation: Generation;
    readonly doubt: { readonly sinceMs: number; readonly reason: string } | null;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /** The operator asks; any process may write it. The leader carries it out. */
  ask(request: OperatorRequest): Promise<void>;
  answer(request: {
    readonly epoch: Epoch;
    readonly answer: OperatorAnswer;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /** What became of a request; null while nothing has. */
  answerTo(id: string): Promise<OperatorAnswer | null>;
}
