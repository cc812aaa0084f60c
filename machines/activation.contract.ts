/**
 * What activation is asked and what it tells: the shapes around `activation.machine.ts`.
 *
 * Owns: the words between the chart and its surroundings. Does not own: any decision.
 */
import type { CapabilityFact } from "./capability.machine.ts";
import type { BoundThread, ChatId, Epoch, InstanceId, SeatKey } from "./ids.ts";
import type { PollingFact } from "./polling.machine.ts";
import type { ThreadDoubt, ThreadOrigin } from "./provisioning.contract.ts";
import type { ReconciliationFact } from "./reconciliation.machine.ts";
import type { CompanionFailed } from "./slots.ts";

export interface ActivationInput {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly me: InstanceId;
  /** Chat whose threads are used; null = nobody is paired as far as we know, so there is none. */
  readonly chatId: ChatId | null;
  /** Name this instance asks its thread to have. */
  readonly threadName: string | null;
  /** The thread that we had as a follower a moment ago; null = none. */
  readonly carried: BoundThread | null;
  /** Between looks at whether a bot without topics has got them. Default 2500. */
  readonly capabilityMs: number;
  /** We had a thread as a follower a moment ago: the bot has topics, nobody need ask. */
  readonly hadThread: boolean;
}

/** What Telegram says of the bot. */
export type IdentifyAnswer =
  | { readonly kind: "topics" | "noTopics" }
  | { readonly kind: "unauthorized"; readonly reason: string }
  | { readonly kind: "unavailable"; readonly reason: string; readonly afterMs: number };

export type ActivationCommand = { readonly type: "activation.stop" };

/** Facts of the endpoint companion. */
export type EndpointFact =
  { readonly type: "endpoint.open" } | { readonly type: "endpoint.failed"; readonly reason: string };

/** The dispatcher met a newer epoch. */
export interface DispatcherFact {
  readonly type: "dispatcher.fenced";
}

/** Something that we sent speaks against our own thread. */
export interface OwnThreadFact {
  readonly type: "thread.doubted";
  readonly doubt: ThreadDoubt;
}
/** It has been dealt with: our thread is what it is. */
export interface OwnThreadSettled {
  readonly type: "thread.settled";
}

/** Who may write to the bot, by the pairing in the store; never told where a user is configured. */
export type PairingFact =
  { readonly type: "pairing.known"; readonly chatId: ChatId } | { readonly type: "pairing.missing" };

export type DispatcherCommand = { readonly type: "journal.changed" };

export type ActivationEvent =
  | CapabilityFact
  | ReconciliationFact
  | PairingFact
  /** Calls are made with another token from here on. */
  | { readonly type: "token.renewed" }
  | OwnThreadFact
  | ActivationCommand
  | EndpointFact
  | DispatcherFact
  | PollingFact
  | CompanionFailed;

export type ActivationFact =
  /** `thread` is null while ours could not be had: the others are served all the same. */
  | { readonly type: "activation.active"; readonly thread: BoundThread | null }
  /** Leading without threads: the bot has none. */
  | { readonly type: "activation.classic" }
  | {
      readonly type: "activation.troubled";
      readonly trouble: "unauthorized" | "unavailable" | "unpaired" | "thread" | "endpoint" | "fenced";
      readonly reason: string;
    }
  /** Something doubts that we still lead: worth a look at the lease. */
  | { readonly type: "activation.doubted" }
  /** `thread`: what our seat has at the end, even if it was bound on the way out; null = nothing that we know of. */
  | { readonly type: "activation.stopped"; readonly thread: BoundThread | null };

export interface ActivationContext extends ActivationInput {
  readonly thread: BoundThread | null;
  /** Whether the thread is new to the user. */
  readonly origin: ThreadOrigin;
  readonly failures: number;
  /** Looks at the bot in a row that Telegram refused for the token. */
  readonly rejections: number;
  readonly askedDelayMs: number;
  /** What was last said against our own thread. */
  readonly doubt: ThreadDoubt | null;
  /** Times in a row that we asked for a thread while leading, in vain. */
  readonly refusals: number;
}

export interface SeatOwnAnswer {
  /** `threadGone`: our thread is being deleted, or has been. */
  readonly kind: "committed" | "threadGone" | "fenced";
}
export interface SeatOwnInput {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly thread: BoundThread | null;
  readonly origin: ThreadOrigin;
  /** The bot has no topics: the whole chat is ours. */
  readonly isClassic: boolean;
}
