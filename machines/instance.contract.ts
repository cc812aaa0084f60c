/**
 * What the instance chart is given, is asked and tells.
 *
 * Owns: types. Does not own: any decision (`instance.machine.ts`).
 */
import type { ActivationFact } from "./activation.machine.ts";
import type { BoundThread, Epoch, InstanceId, SeatKey } from "./ids.ts";
import type { Leader } from "./lease.rules.ts";
import type { MembershipFact } from "./membership.machine.ts";
import type { OwnerFact } from "./owner.contract.ts";
import type { SeatChoice, SeatRequest, SeenClaim } from "./seat.rules.ts";
import type { CompanionFailed } from "./slots.ts";

export interface InstanceInput {
  readonly me: InstanceId;
  /** Wished name; null = unnamed. */
  readonly name: string | null;
}

export interface SeatClaims {
  readonly request: SeatRequest;
  readonly claims: readonly SeenClaim[];
}

export type InstanceEvent =
  /** `leave` also gives the thread up: it is deleted at once. */
  | { readonly type: "instance.stop"; readonly leave: boolean }
  /** Our chat has become another. */
  | { readonly type: "chat.moved" }
  | OwnerFact
  | MembershipFact
  | ActivationFact
  | CompanionFailed;

export type InstanceFact =
  /** We are reachable: our updates come, our calls go. `thread` is null in classic. */
  | { readonly type: "instance.ready"; readonly thread: BoundThread | null }
  | { readonly type: "instance.troubled"; readonly trouble: string; readonly reason: string };

export type InstanceOutput =
  | { readonly kind: "stopped" }
  /** It never got a seat. */
  | { readonly kind: "refused"; readonly reason: string }
  /** A chart of it broke: a defect. It let go of everything it held. */
  | { readonly kind: "broken"; readonly reason: string };

export interface ClaimInput {
  readonly seat: SeatKey;
  readonly expected: InstanceId | null;
}
export interface ClaimAnswer {
  readonly kind: "claimed" | "taken";
}

export interface ActivationStart {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly hadThread: boolean;
}
export type MembershipStart = { readonly leader: Leader; readonly seat: SeatKey };

export interface InstanceContext extends InstanceInput {
  readonly seat: SeatKey;
  readonly choice: SeatChoice;
  /** Epoch of the leader followed, or of our own grant; 0 before any. */
  readonly epoch: Epoch;
  readonly leader: Leader | null;
  /** Our thread as last told: by our leader, or by our own activation. */
  readonly thread: BoundThread | null;
  /** Looks at the seats that ended in a refusal. */
  readonly refusals: number;
  readonly output: InstanceOutput;
}
