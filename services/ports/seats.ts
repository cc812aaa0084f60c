/** Seats: which live process holds which, and the leader's durable record of who sits there. */
import type { BoundThread, Epoch, Generation, Incarnation, InstanceId, SeatKey } from "../../machines/ids.ts";
import type { SeatRecord } from "../../machines/reconciliation.types.ts";
import type { Fenced } from "./fence.ts";

export interface SeatClaim {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly incarnation: Incarnation;
}

/** Which live process holds which seat. Written by the processes themselves, not by the leader. */
export interface SeatStore {
  /** The profile's own stable id, made with the store. */
  profileId(): Promise<string>;
  /** Who holds this seat; null when nobody does. */
  holderOf(seat: SeatKey): Promise<SeatClaim | null>;
  /** Claims on seats `manual:<owner>:…`, in order of their key. */
  claimsOf(owner: string): Promise<readonly SeatClaim[]>;
  /** Compare-and-set on the present holder (`null` = nobody). `taken` names who holds it now. */
  claim(
    request: SeatClaim & {
      readonly expected: InstanceId | null;
      /** How long its thread outlives this holder, for whoever ends its registration; null = for ever. */
      readonly threadGraceMs: number | null;
    },
  ): Promise<{ readonly kind: "claimed" } | { readonly kind: "taken"; readonly by: SeatClaim }>;
  /**
   * Gives the seat up if `instanceId` holds it; otherwise does nothing. In the same transaction its registration ends
   * (`stopped`), what it had in hand goes back to pending, marked redelivered, and its thread's grace time begins.
   */
  release(request: { readonly seat: SeatKey; readonly instanceId: InstanceId }): Promise<void>;
  /**
   * The holder is about to leave for good: creations begun for the seat are unwanted from here on, by whichever leader
   * they end. Does nothing when `instanceId` does not hold the seat.
   */
  disown(request: { readonly seat: SeatKey; readonly instanceId: InstanceId }): Promise<void>;
}

/** The leader's durable record of who sits on a seat. */
export interface SeatRegistration {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  /** What death is proven by; null when the peer sent nothing provable. */
  readonly incarnation: Incarnation | null;
  /** Null while the bot has no topics (classic): the seat then has the whole chat. */
  readonly thread: BoundThread | null;
  readonly atMs: number;
  /** How long its thread outlives it; null = for ever. The wish of the seat's holder (`SeatStore.claim`) goes before. */
  readonly threadGraceMs: number | null;
}

/** A seat's last registration, and what has become of it. */
export interface SeatStanding extends SeatRegistration {
  /** Why it ended, and when; null while it stands. */
  readonly ended: SeatEnd | null;
  readonly endedAtMs: number | null;
  /** Its holder can be proven neither alive nor dead; null = there is no such doubt. */
  readonly unprovable: SeatRecord["unprovable"];
}

/** `forgotten`: the operator said so, or its deadline passed, though nothing was proven. */
export type SeatEnd = "died" | "left" | "stopped" | "forgotten";

export interface RegistrationStore {
  /**
   * Makes `registration` the seat's current one. In the same transaction: any clean-up of the seat's thread is
   * cancelled, entries claimed by earlier instances of this seat go back to pending, marked redelivered, and an open
   * thread that the seat's last registration had under another instance is noted as kept (`keptReason`).
   * `superseded` when another instance holds the seat (`SeatStore.claim`): a late word of one that is gone.
   * `threadGone` when its thread is being deleted or has been: another one must be found.
   */
  commit(request: {
    readonly epoch: Epoch;
    readonly registration: SeatRegistration;
  }): Promise<{ readonly kind: "committed" | "superseded" | "threadGone" } | Fenced>;
  /**
   * Ends a registration if its generation is still current; what its holder had in hand goes back to pending, marked
   * redelivered. The thread stays bound, and its grace time begins at `atMs`; `forgotten` also ends the holder's claim.
   */
  end(request: {
    readonly epoch: Epoch;
    readonly seat: SeatKey;
    readonly generation: Generation;
    readonly reason: SeatEnd;
    readonly atMs: number;
  }): Promise<{ readonly kind: "ended" | "superseded" } | Fenced>;
}
