/**
 * Telegram as it is: its threads, and the calls that arrive, with what was true when they did.
 *
 * Owns: the shapes. Does not own: how they come about, any judgement.
 */
import type { InstanceId, SeatKey, ThreadId } from "../ids.ts";
import type { CleanupReason } from "../reconciliation.types.ts";

export interface ThreadsView {
  readonly threads: readonly { readonly id: ThreadId; readonly isGone: boolean }[];
}

/** A `createForumTopic` that arrived. */
export interface CreationView {
  /** Creations begun in the store under this name and not ended. */
  readonly begun: number;
  /** Seats of such creations that had another creation undecided at that moment. */
  readonly doubled: number;
}

/** A `deleteForumTopic` that arrived at a thread which was there. */
export interface DeletionView {
  /** The instruction to delete it, as the store had it. */
  readonly instruction: {
    readonly reason: CleanupReason;
    readonly phase: "waiting" | "deleting";
    readonly seat: SeatKey;
  } | null;
  /** A current registration has this thread, and its process runs. */
  readonly isHeldByLiving: boolean;
  /** Whoever held the seat last was dead, or had given it up, when the deletion was begun; null = that was not asked. */
  readonly wasHolderGone: boolean | null;
  /** Another seat's creation, begun and undecided, made it. */
  readonly isOfPendingCreation: boolean;
}

export interface ApiCallView {
  readonly by: InstanceId;
  readonly method: string;
  /** Names of the fields of its payload. */
  readonly fields: readonly string[];
  readonly threadId: ThreadId | null;
  readonly creation: CreationView | null;
  readonly deletion: DeletionView | null;
}
