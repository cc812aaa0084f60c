/**
 * Giving a thread up for good: the instruction on disk, the last proof, the calls, the confirmation.
 *
 * Owns: that order. Does not own: who may ask for it, when (`reconciliation.machine.ts`), what becomes of the seat.
 *
 * The same chart for a follower that leaves, for the leader's own thread, and for everything that reconciliation deletes:
 * nothing else in the system deletes or closes a thread by itself. Whatever fails leaves the instruction on disk, due again
 * later. From `proving` on the store gives the thread to nobody; a newer registration wins only before that.
 *
 * Invariants: cleanup/instructionBeforeCall, cleanup/neverWhatIsHeld, cleanup/confirmedOnce.
 */
import { and, assign, setup } from "xstate";
import { cleanupPauseFirstMs, cleanupPauseMs } from "./cleanup.rules.ts";
import type { Epoch, InstanceId, SeatKey, ThreadTarget } from "./ids.ts";
import type { CleanupReason } from "./reconciliation.types.ts";
import { slot } from "./slots.ts";

export interface CleanupInput {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly target: ThreadTarget;
  /** Why it is asked for now; null = the instruction is on disk already. */
  readonly asks: CleanupReason | null;
  /** The holder of the seat that was proven dead; null = nobody holds it, or no proof is needed. */
  readonly seenDead: InstanceId | null;
}

/** Who holds a seat gives its thread up: no further proof is needed. */
export const givingUp = ({ epoch, seat }: { epoch: Epoch; seat: SeatKey }, target: ThreadTarget): CleanupInput => ({
  epoch,
  seat,
  target,
  asks: "left",
  seenDead: null,
});

export type CleanupOutput =
  | { readonly kind: "removed" }
  /** A newer registration, or another seat, has the thread: the instruction is gone. */
  | { readonly kind: "superseded" }
  /** Somebody holds the seat after all. The instruction stays. */
  | { readonly kind: "held" }
  /** The epoch is over: nothing more may be done. */
  | { readonly kind: "lostOwnership" }
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs: number };

export interface IntendCleanupAnswer {
  readonly kind: "intended" | "fenced";
}
export type BeginCleanupAnswer =
  { readonly kind: "begun"; readonly attempts: number } | { readonly kind: "superseded" | "held" | "fenced" };
export type DeleteAnswer =
  | { readonly kind: "gone" }
  /** `isCertain`: it still exists. `retryAfterMs`: Telegram's own word, 0 = none. */
  | { readonly kind: "kept"; readonly reason: string; readonly isCertain: boolean; readonly retryAfterMs: number };
export interface ConfirmCleanupAnswer {
  readonly kind: "removed" | "superseded" | "fenced";
}
export interface PostponeAnswer {
  readonly kind: "noted" | "fenced";
}

export interface ThreadOrder {
  readonly epoch: Epoch;
  readonly target: ThreadTarget;
}
export interface IntendOrder extends ThreadOrder {
  readonly seat: SeatKey;
  readonly reason: CleanupReason;
}
export interface BeginOrder extends ThreadOrder {
  readonly seenDead: InstanceId | null;
}
export interface PostponeOrder extends ThreadOrder {
  readonly reason: string;
  readonly isCertain: boolean;
  readonly delayMs: number;
}

type Kept = Extract<DeleteAnswer, { kind: "kept" }>;

export interface CleanupContext extends CleanupInput {
  readonly attempts: number;
  readonly kept: Kept;
  readonly output: CleanupOutput;
}

const failed = (reason: string, retryAfterMs = cleanupPauseFirstMs): CleanupOutput => ({
  kind: "failed",
  reason,
  retryAfterMs,
});
const order = ({ context }: { readonly context: CleanupContext }): ThreadOrder => ({
  epoch: context.epoch,
  target: context.target,
});
const pauseOf = ({ attempts, kept }: CleanupContext): number => cleanupPauseMs(attempts, kept.retryAfterMs);

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as CleanupInput,
    context: {} as CleanupContext,
    events: {} as { type: "cleanup.never" },
    output: {} as CleanupOutput,
  },
  actors: {
    intendCleanup: slot<IntendCleanupAnswer, IntendOrder>("intendCleanup"),
    beginCleanup: slot<BeginCleanupAnswer, BeginOrder>("beginCleanup"),
    /** Only in supergroups; what comes of it decides nothing. */
    closeThread: slot<undefined, ThreadOrder>("closeThread"),
    deleteThread: slot<DeleteAnswer, ThreadOrder>("deleteThread"),
    confirmCleanup: slot<ConfirmCleanupAnswer, ThreadOrder>("confirmCleanup"),
    postponeCleanup: slot<PostponeAnswer, PostponeOrder>("postponeCleanup"),
  },
  guards: {
    /** Closing exists in supergroups only. */
    canClose: ({ context }) => context.target.chatId < 0,
  },
  delays: { retryInterval: 250 },
});

const { createMachine } = base.extend({
  actions: { endFenced: base.assign({ output: { kind: "lostOwnership" } }) },
});

export const cleanupMachine = createMachine({
  id: "cleanup",
  context: ({ input: given }) => ({
    ...given,
    attempts: 0,
    kept: { kind: "kept", reason: "undecided", isCertain: true, retryAfterMs: 0 },
    output: failed("undecided"),
  }),
  initial: "beginning",
  output: ({ context }) => context.output,
  states: {
    /** Passed through at once. */
    beginning: {
      always: [{ guard: ({ context }) => context.asks === null, target: "proving" }, { target: "intending" }],
    },
    intending: {
      invoke: {
        src: "intendCleanup",
        input: ({ context }) => ({
          epoch: context.epoch,
          target: context.target,
          seat: context.seat,
          reason: context.asks ?? "ended",
        }),
        onDone: [
          { guard: ({ event }) => event.output.kind === "intended", target: "proving" },
          { target: "ended", actions: "endFenced" },
        ],
        onError: { target: "ended", actions: assign({ output: ({ event }) => failed(String(event.error)) }) },
      },
    },

    /** The instruction is on disk. Nobody may hold the thread, and from the answer on nobody gets it. */
    proving: {
      invoke: {
        src: "beginCleanup",
        input: ({ context }) => ({ epoch: context.epoch, target: context.target, seenDead: context.seenDead }),
        onDone: [
          {
            guard: and([({ event }) => event.output.kind === "begun", "canClose"]),
            target: "closing",
            actions: assign({ attempts: ({ event: { output } }) => ("attempts" in output ? output.attempts : 1) }),
          },
          {
            guard: ({ event }) => event.output.kind === "begun",
            target: "deleting",
            actions: assign({ attempts: ({ event: { output } }) => ("attempts" in output ? output.attempts : 1) }),
          },
          { guard: ({ event }) => event.output.kind === "fenced", target: "ended", actions: "endFenced" },
          {
            target: "ended",
            actions: assign({
              output: ({ event: { output } }) => ({ kind: output.kind === "held" ? "held" : "superseded" }),
            }),
          },
        ],
        onError: { target: "ended", actions: assign({ output: ({ event }) => failed(String(event.error)) }) },
      },
    },

    closing: { invoke: { src: "closeThread", input: order, onDone: "deleting", onError: "deleting" } },

    deleting: {
      invoke: {
        src: "deleteThread",
        input: order,
        onDone: [
          { guard: ({ event }) => event.output.kind === "gone", target: "confirming" },
          {
            target: "postponing",
            actions: assign({
              kept: ({ context, event: { output } }) => (output.kind === "kept" ? output : context.kept),
            }),
          },
        ],
        // The effect broke, perhaps after the call had left.
        onError: {
          target: "postponing",
          actions: assign({
            kept: ({ event }) => ({ kind: "kept", reason: String(event.error), isCertain: false, retryAfterMs: 0 }),
          }),
        },
      },
    },

    /** The thread is gone: that must be written down. */
    confirming: {
      invoke: {
        src: "confirmCleanup",
        input: order,
        onDone: [
          { guard: ({ event }) => event.output.kind === "fenced", target: "ended", actions: "endFenced" },
          {
            target: "ended",
            // Confirmed before, by an attempt whose answer was lost: gone all the same.
            actions: assign({ output: { kind: "removed" } }),
          },
        ],
        onError: "reconfirming",
      },
    },
    reconfirming: { after: { retryInterval: "confirming" } },

    /** Not confirmed: the instruction stays, due again later. */
    postponing: {
      invoke: {
        src: "postponeCleanup",
        input: ({ context }) => ({
          epoch: context.epoch,
          target: context.target,
          reason: context.kept.reason,
          isCertain: context.kept.isCertain,
          delayMs: pauseOf(context),
        }),
        onDone: [
          { guard: ({ event }) => event.output.kind === "fenced", target: "ended", actions: "endFenced" },
          {
            target: "ended",
            actions: assign({ output: ({ context }) => failed(context.kept.reason, pauseOf(context)) }),
          },
        ],
        onError: {
          target: "ended",
          actions: assign({ output: ({ context }) => failed(context.kept.reason, pauseOf(context)) }),
        },
      },
    },

    ended: { type: "final" },
  },
});

/** Why a thread was not removed, in words. */
export function reasonNotRemoved(output: Exclude<CleanupOutput, { kind: "removed" }>): string {
  switch (output.kind) {
    case "failed":
      return output.reason;
    case "lostOwnership":
      return "the lease was lost";
    case "superseded":
    case "held":
      return "a newer registration has it";
  }
}
