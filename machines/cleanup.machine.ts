/**
 * Giving a thread up for good: the instruction on disk, the deletion, its confirmation.
 *
 * Owns: that order. Does not own: who may ask for it, what becomes of the seat.
 *
 * Runs for a follower that leaves and for the leader's own thread; the same chart for both. Whatever fails after the
 * instruction leaves it on disk: it is carried out later, or cancelled by a newer registration of the seat.
 */
import { assign, setup } from "xstate";
import type { Epoch, SeatKey, ThreadTarget } from "./ids.ts";
import { slot } from "./slots.ts";

export interface CleanupInput {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly target: ThreadTarget;
}

export type CleanupOutput =
  | { readonly kind: "removed" }
  /** The epoch is over: nothing more may be done. */
  | { readonly kind: "lostOwnership" }
  | { readonly kind: "failed"; readonly reason: string };

export interface IntendCleanupAnswer {
  readonly kind: "intended" | "fenced";
}
/** `superseded`: a newer registration has cancelled the instruction. */
export interface DeleteAnswer {
  readonly kind: "removed" | "superseded" | "fenced";
}

export interface CleanupContext extends CleanupInput {
  readonly output: CleanupOutput;
}

const failed = (reason: string): CleanupOutput => ({ kind: "failed", reason });
const input = ({ context }: { readonly context: CleanupContext }): CleanupInput => ({
  epoch: context.epoch,
  seat: context.seat,
  target: context.target,
});

const { createMachine } = setup({
  // Types only: these values are never read.
  types: {
    input: {} as CleanupInput,
    context: {} as CleanupContext,
    events: {} as { type: "cleanup.never" },
    output: {} as CleanupOutput,
  },
  actors: {
    intendCleanup: slot<IntendCleanupAnswer, CleanupInput>("intendCleanup"),
    /** Deletes the thread and records it; fails unless Telegram confirmed the deletion. */
    deleteThread: slot<DeleteAnswer, CleanupInput>("deleteThread"),
  },
});

export const cleanupMachine = createMachine({
  id: "cleanup",
  context: ({ input: given }) => ({ ...given, output: failed("undecided") }),
  initial: "intending",
  output: ({ context }) => context.output,
  states: {
    intending: {
      invoke: {
        src: "intendCleanup",
        input,
        onDone: [
          { guard: ({ event }) => event.output.kind === "intended", target: "deleting" },
          { target: "ended", actions: assign({ output: { kind: "lostOwnership" } }) },
        ],
        onError: { target: "ended", actions: assign({ output: ({ event }) => failed(String(event.error)) }) },
      },
    },
    /** The instruction is on disk. */
    deleting: {
      invoke: {
        src: "deleteThread",
        input,
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "removed",
            target: "ended",
            actions: assign({ output: { kind: "removed" } }),
          },
          {
            guard: ({ event }) => event.output.kind === "fenced",
            target: "ended",
            actions: assign({ output: { kind: "lostOwnership" } }),
          },
          { target: "ended", actions: assign({ output: failed("a newer registration has cancelled the clean-up") }) },
        ],
        onError: { target: "ended", actions: assign({ output: ({ event }) => failed(String(event.error)) }) },
      },
    },
    ended: { type: "final" },
  },
});
