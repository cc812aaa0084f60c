/** What is known of a line without authority over anything. */
import type { KeptMove } from "../../machines/chats.rules.ts";
import type { Epoch, UpdateId } from "../../machines/ids.ts";
import type { LeaseRecord } from "../../machines/lease.rules.ts";
import type { Cleanup } from "../../machines/reconciliation.types.ts";
import type { HeldBinding, PendingProvision, ThreadView } from "../../machines/threads.rules.ts";
import type { SeatStanding } from "./seats.ts";

/** What `status` shows and any process may write: counters and facts that are not authority over anything. */
export interface StatusStore {
  count(reason: string, by: number, nowMs: number): Promise<void>;
  /** The leader's last successful poll, and what it met since (`conflict: another poller`, `token rejected`, …). */
  notePolling(request: {
    readonly epoch: Epoch;
    readonly okAtMs: number | null;
    readonly health: string;
  }): Promise<void>;
  /** The health that the present leader has noted; null = nobody leads, or it has noted nothing yet. Cheap. */
  presentHealth(): Promise<string | null>;
  read(): Promise<StoreStatus>;
}

export interface StoreStatus {
  readonly lease: LeaseRecord;
  /** Wall clock of the present grant; null while nobody holds the lease. */
  readonly leaseGrantedAtMs: number | null;
  readonly cursor: UpdateId | null;
  readonly registrations: readonly SeatStanding[];
  readonly bindings: readonly HeldBinding[];
  readonly provisions: readonly PendingProvision[];
  readonly lostThreads: ThreadView["lost"];
  readonly leftovers: ThreadView["leftovers"];
  readonly cleanups: readonly Cleanup[];
  /** In the order in which they were told. */
  readonly chatMoves: readonly KeptMove[];
  readonly journal: { readonly waiting: number; readonly claimed: number; readonly deadLetters: number };
  readonly drops: Readonly<Record<string, number>>;
  readonly polling: { readonly okAtMs: number | null; readonly health: string };
}
