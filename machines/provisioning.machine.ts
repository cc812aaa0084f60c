/**
 * Which thread a seat gets, carried out: re-use the bound one or create one, with the intent on disk before the call.
 *
 * Owns: the order intent → call → binding, and that an unknown outcome never leads to a second thread.
 * Does not own: the choice itself (`threads.rules.ts`), deleting threads, probing re-used ones.
 *
 * Runs once per registration of a follower and once for the leader's own seat; the same chart for both.
 */
import { assign, setup } from "xstate";
import type { BoundThread, Epoch, ThreadId } from "./ids.ts";
import { threadId } from "./ids.ts";
import { slot } from "./slots.ts";
import { decideThread } from "./threads.rules.ts";
import type { BegunProvision, ThreadDecision, ThreadView, ThreadWish } from "./threads.rules.ts";

export interface ProvisioningInput {
  readonly epoch: Epoch;
  readonly wish: ThreadWish;
}

export type ProvisioningOutput =
  | { readonly kind: "bound"; readonly thread: BoundThread }
  | { readonly kind: "rejected"; readonly reason: string }
  /** The epoch is over: nothing was decided. */
  | { readonly kind: "fenced" };

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
  readonly kind: "bound" | "unwanted" | "fenced";
}
export interface GiveUpAnswer {
  readonly kind: "noted" | "fenced";
}

export interface BindRequest {
  readonly epoch: Epoch;
  readonly provision: BegunProvision;
  readonly threadId: ThreadId;
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

export interface ProvisioningContext extends ProvisioningInput {
  readonly decision: ThreadDecision;
  readonly created: ThreadId;
  readonly delayMs: number;
  readonly tries: number;
  readonly output: ProvisioningOutput;
}

/** Attempts at a call that did not reach Telegram or was put off, before the registration is refused. */
const createTriesMax = 5;

function plan(context: ProvisioningContext): Extract<ThreadDecision, { kind: "create" }> {
  if (context.decision.kind !== "create") throw new Error("the provisioning chart creates without a decision to");
  return context.decision;
}

const boundThread = (context: ProvisioningContext): BoundThread => {
  const { provision } = plan(context);
  return {
    target: { chatId: provision.chatId, threadId: context.created },
    slot: provision.slot,
    threadName: provision.threadName,
  };
};

const rejected = (reason: string): ProvisioningOutput => ({ kind: "rejected", reason });

const { createMachine } = setup({
  // Types only: these values are never read.
  types: {
    input: {} as ProvisioningInput,
    context: {} as ProvisioningContext,
    events: {} as { type: "provisioning.never" },
    output: {} as ProvisioningOutput,
  },
  actors: {
    viewThreads: slot<{ readonly view: ThreadView; readonly nowMs: number }>("viewThreads"),
    intendThread: slot<IntendAnswer, IntendRequest>("intendThread"),
    createThread: slot<CreateAnswer, { readonly epoch: Epoch; readonly provision: BegunProvision }>("createThread"),
    bindThread: slot<BindAnswer, BindRequest>("bindThread"),
    giveUpThread: slot<GiveUpAnswer, GiveUpRequest>("giveUpThread"),
  },
  delays: { callDelay: ({ context }) => context.delayMs, retryInterval: 250, conflictPause: 50 },
});

export const provisioningMachine = createMachine({
  id: "provisioning",
  context: ({ input }) => ({
    ...input,
    decision: { kind: "reject", reason: "undecided" },
    created: threadId(0),
    delayMs: 0,
    tries: 0,
    output: rejected("undecided"),
  }),
  initial: "deciding",
  output: ({ context }) => context.output,
  states: {
    deciding: {
      invoke: {
        src: "viewThreads",
        onDone: {
          target: "decided",
          actions: assign({
            decision: ({ context, event }) => decideThread(event.output.view, context.wish, event.output.nowMs),
          }),
        },
        onError: { target: "rejected", actions: assign({ output: rejected("the store could not be read") }) },
      },
    },

    /** Passed through at once. */
    decided: {
      always: [
        { guard: ({ context }) => context.decision.kind === "create", target: "intending" },
        {
          guard: ({ context }) => context.decision.kind === "reuse",
          target: "bound",
          actions: assign({
            output: ({ context: { decision }, context }) =>
              decision.kind === "reuse" ? { kind: "bound", thread: decision.thread } : context.output,
          }),
        },
        {
          target: "rejected",
          actions: assign({
            output: ({ context: { decision }, context }) =>
              decision.kind === "reject" ? rejected(decision.reason) : context.output,
          }),
        },
      ],
    },

    intending: {
      invoke: {
        src: "intendThread",
        input: ({ context }) => ({
          epoch: context.epoch,
          provision: plan(context).provision,
          abandons: plan(context).abandons,
        }),
        onDone: [
          { guard: ({ event }) => event.output.kind === "intended", target: "creating" },
          { guard: ({ event }) => event.output.kind === "conflict", target: "conflicted" },
          { target: "fenced" },
        ],
        onError: { target: "rejected", actions: assign({ output: rejected("the store could not be written") }) },
      },
    },

    /** Somebody else took the slot, or began for this seat: look again in a moment. */
    conflicted: { after: { conflictPause: "deciding" } },

    /** The intent is on disk: from here a thread may come to exist. */
    creating: {
      entry: assign({ tries: ({ context }) => context.tries + 1 }),
      invoke: {
        src: "createThread",
        input: ({ context }) => ({ epoch: context.epoch, provision: plan(context).provision }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "created",
            target: "binding",
            actions: assign({
              created: ({ event: { output }, context }) =>
                output.kind === "created" ? output.threadId : context.created,
            }),
          },
          {
            guard: ({ context, event }) => event.output.kind === "later" && context.tries < createTriesMax,
            target: "pausing",
            actions: assign({
              delayMs: ({ event: { output } }) => (output.kind === "later" ? output.afterMs : 0),
            }),
          },
          {
            guard: ({ event }) => event.output.kind === "ambiguous",
            target: "markingAmbiguous",
            actions: assign({
              output: ({ event: { output } }) =>
                rejected(
                  `creating the thread had an unknown outcome: ${output.kind === "ambiguous" ? output.reason : ""}`,
                ),
            }),
          },
          {
            target: "abandoning",
            actions: assign({
              output: ({ event: { output } }) =>
                rejected(`the thread could not be created: ${"reason" in output ? output.reason : ""}`),
            }),
          },
        ],
        // The effect broke after the call may have left: as unknown as it gets.
        onError: {
          target: "markingAmbiguous",
          actions: assign({ output: rejected("creating the thread had an unknown outcome") }),
        },
      },
    },
    pausing: { after: { callDelay: "creating" } },

    binding: {
      invoke: {
        src: "bindThread",
        input: ({ context }) => ({
          epoch: context.epoch,
          provision: plan(context).provision,
          threadId: context.created,
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "bound",
            target: "bound",
            actions: assign({ output: ({ context }) => ({ kind: "bound", thread: boundThread(context) }) }),
          },
          { target: "fenced" },
        ],
        // The thread exists: its binding must not be given up.
        onError: "rebinding",
      },
    },
    rebinding: { after: { retryInterval: "binding" } },

    abandoning: {
      invoke: {
        src: "giveUpThread",
        input: ({ context }) => ({
          epoch: context.epoch,
          provisionId: plan(context).provision.id,
          as: "abandoned" as const,
        }),
        onDone: "rejected",
        // The intent stays, and with it the caution: it reads as ambiguous until it expires.
        onError: "rejected",
      },
    },
    markingAmbiguous: {
      invoke: {
        src: "giveUpThread",
        input: ({ context }) => ({
          epoch: context.epoch,
          provisionId: plan(context).provision.id,
          as: "ambiguous" as const,
        }),
        onDone: "rejected",
        onError: "rejected",
      },
    },

    bound: { type: "final" },
    rejected: { type: "final" },
    fenced: { type: "final", entry: assign({ output: { kind: "fenced" } }) },
  },
});
