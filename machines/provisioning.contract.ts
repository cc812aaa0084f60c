/**
 * What provisioning is asked, what its effects answer, what it comes to: the shapes around `provisioning.machine.ts`.
 *
 * Owns: the words between the chart and its surroundings. Does not own: any decision.
 */
import type { BoundThread, Epoch, ThreadId, ThreadTarget } from "./ids.ts";
import type { BegunProvision, Binding, Candidate, ThreadWish } from "./threads.rules.ts";

export interface ProvisioningInput {
  readonly epoch: Epoch;
  readonly wish: ThreadWish;
  /** A thread that something speaks against; null = nothing does. */
  readonly doubt: ThreadDoubt | null;
}

export interface ThreadDoubt {
  readonly target: ThreadTarget;
  /** `gone`: an error of Telegram's proves it. `suspect`: it has to be looked at. */
  readonly kind: "gone" | "suspect";
  readonly reason: string;
}

/** `reused` and `handedOver` are told to nobody; of the others the user gets one notice. */
export type ThreadOrigin = "reused" | "handedOver" | "proven" | "created";

export const isNews = (origin: ThreadOrigin): boolean => origin === "proven" || origin === "created";

export type ProvisioningOutput =
  | { readonly kind: "bound"; readonly thread: BoundThread; readonly origin: ThreadOrigin }
  | { readonly kind: "rejected"; readonly reason: string }
  /** The epoch is over: nothing was decided. */
  | { readonly kind: "fenced" };

/** What came of a look at a thread. Unknown is never read as either of the others. */
export type ProbeAnswer =
  | { readonly kind: "exists" | "closed" }
  | { readonly kind: "gone"; readonly reason: string }
  /** Put off by Telegram; worth asking again after the delay. */
  | { readonly kind: "later"; readonly afterMs: number; readonly reason: string }
  | { readonly kind: "unclear"; readonly reason: string };

/** What came of the create call. */
export type CreateAnswer =
  | { readonly kind: "created"; readonly threadId: ThreadId }
  | { readonly kind: "rejected"; readonly reason: string }
  /** Not carried out for now; worth asking again after the delay. */
  | { readonly kind: "later"; readonly afterMs: number; readonly reason: string }
  | { readonly kind: "ambiguous"; readonly reason: string };

export interface IntendAnswer {
  readonly kind: "intended" | "conflict" | "fenced";
}
export interface BindAnswer {
  /** `unwanted`: its instance has left for good meanwhile. */
  readonly kind: "bound" | "unwanted" | "fenced";
}
export interface KeepAnswer {
  /** `missing`: the binding has changed meanwhile. */
  readonly kind: "kept" | "missing" | "fenced";
}
export interface LoseAnswer {
  readonly kind: "lost" | "missing" | "fenced";
}
export interface GiveUpAnswer {
  readonly kind: "noted" | "fenced";
}

export interface ProbeRequest {
  readonly epoch: Epoch;
  readonly target: ThreadTarget;
}
export interface KeepRequest {
  readonly epoch: Epoch;
  readonly binding: Binding;
  readonly from: Candidate["from"];
}
export interface LoseRequest extends ProbeRequest {
  readonly reason: string;
}
export interface BindRequest {
  readonly epoch: Epoch;
  readonly provision: BegunProvision;
  readonly threadId: ThreadId;
  /** How the seat got it, in words for the operator. */
  readonly reason: string;
}
export interface IntendRequest {
  readonly epoch: Epoch;
  readonly provision: BegunProvision;
  readonly abandons: string | null;
}
export interface GiveUpRequest {
  readonly epoch: Epoch;
  readonly provisionId: string;
  readonly as: "abandoned" | "ambiguous";
}
