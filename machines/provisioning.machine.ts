/**
 * Which thread a seat gets, carried out: re-use the bound one, prove one that is in doubt, or create one, with the intent on
 * disk before the call.
 *
 * Owns: the orders doubt → probe → binding and intent → call → binding; that neither an unknown outcome nor an unproven
 * absence leads to a second thread.
 * Does not own: the choice itself (`threads.rules.ts`), deleting threads, telling the user.
 *
 * Runs once per registration of a follower, once for the leader's own seat, and once for each thread of either that is
 * reported gone; the same chart for all.
 */
import { assign, setup } from "xstate";
import type { Epoch, ThreadId, ThreadTarget } from "./ids.ts";
import { threadId } from "./ids.ts";
import type {
  BindAnswer,
  BindRequest,
  CreateAnswer,
  GiveUpAnswer,
  GiveUpRequest,
  IntendAnswer,
  IntendRequest,
  KeepAnswer,
  KeepRequest,
  LoseAnswer,
  LoseRequest,
  ProbeAnswer,
  ProbeRequest,
  ProvisioningInput,
  ProvisioningOutput,
} from "./provisioning.contract.ts";
import { slot } from "./slots.ts";
import { decideThread } from "./threads.rules.ts";
import type { BegunProvision, Binding, Candidate, ThreadDecision, ThreadView } from "./threads.rules.ts";

export * from "./provisioning.contract.ts";

export interface ProvisioningContext extends ProvisioningInput {
  readonly decision: ThreadDecision;
  readonly created: ThreadId;
  readonly delayMs: number;
  readonly tries: number;
  /** Spent waiting for a probe that Telegram put off. */
  readonly probeWaitMs: number;
  readonly conflicts: number;
  readonly output: ProvisioningOutput;
}

/** Attempts at a call that did not reach Telegram or was put off, before the registration is refused. */
const createTriesMax = 5;
/** A probe that Telegram puts off is waited for so long, well within a registration's own time. */
export const probeWaitMaxMs = 20_000;
/** Looks again after something else was faster, before the registration is refused. */
export const conflictsMax = 20;

const begunOf = ({ decision }: ProvisioningContext): BegunProvision => {
  if (decision.kind === "create" || decision.kind === "adopt") return decision.provision;
  throw new Error("the provisioning chart creates without a decision to");
};
const whyBound = ({ decision }: ProvisioningContext): string =>
  decision.kind === "create" ? decision.reason : "made by a creation that had been begun before";
const candidateOf = ({ decision }: ProvisioningContext): Candidate => {
  if (decision.kind === "probe" || decision.kind === "take") return decision.candidate;
  throw new Error("the provisioning chart keeps a thread that nothing speaks for");
};
/** The thread that is looked at: the one reported, until it has been dealt with, then the one decided on. */
const lookedAt = (context: ProvisioningContext): ThreadTarget =>
  context.doubt?.target ?? candidateOf(context).binding.thread.target;

const created = (context: ProvisioningContext): ProvisioningOutput => {
  const { chatId, slot: letter, threadName } = begunOf(context);
  const thread = { target: { chatId, threadId: context.created }, slot: letter, threadName };
  return { kind: "bound", thread, origin: context.decision.kind === "adopt" ? "reused" : "created" };
};
const kept = (context: ProvisioningContext): ProvisioningOutput => {
  const { binding, isQuiet } = candidateOf(context);
  return { kind: "bound", thread: binding.thread, origin: isQuiet ? "handedOver" : "proven" };
};
const rejected = (reason: string): ProvisioningOutput => ({ kind: "rejected", reason });
const whyOf = (output: object): string => ("reason" in output ? String(output.reason) : "");

const proven = ({ binding, from }: Candidate): Omit<KeepRequest, "epoch"> => ({
  binding: binding.standing === "suspect" ? { ...binding, standing: "open" } : binding,
  from,
});
/** Looked at in vain: the seat has it, and it is proven before it is used. */
const suspected = ({ binding }: Candidate, reason: string): Binding => ({ ...binding, standing: "suspect", reason });

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as ProvisioningInput,
    context: {} as ProvisioningContext,
    events: {} as { type: "provisioning.never" },
    output: {} as ProvisioningOutput,
  },
  actors: {
    viewThreads: slot<{ readonly view: ThreadView; readonly nowMs: number }>("viewThreads"),
    /** A call that Telegram really checks and that changes nothing. */
    probeThread: slot<ProbeAnswer, ProbeRequest>("probeThread"),
    keepThread: slot<KeepAnswer, KeepRequest>("keepThread"),
    loseThread: slot<LoseAnswer, LoseRequest>("loseThread"),
    intendThread: slot<IntendAnswer, IntendRequest>("intendThread"),
    /** What it made is on disk, whoever leads by then, before it answers. */
    createThread: slot<CreateAnswer, { readonly epoch: Epoch; readonly provision: BegunProvision }>("createThread"),
    bindThread: slot<BindAnswer, BindRequest>("bindThread"),
    giveUpThread: slot<GiveUpAnswer, GiveUpRequest>("giveUpThread"),
  },
  delays: { callDelay: ({ context }) => context.delayMs, retryInterval: 250, conflictPause: 50 },
  guards: { mayLookAgain: ({ context }) => context.conflicts < conflictsMax },
});

const { createMachine } = base.extend({
  actions: {
    rejectUnread: base.assign({ output: rejected("the store could not be read") }),
    rejectUnwritten: base.assign({ output: rejected("the store could not be written") }),
  },
});

export const provisioningMachine = createMachine({
  id: "provisioning",
  context: ({ input }) => ({
    ...input,
    decision: { kind: "reject", reason: "undecided" },
    created: threadId(0),
    delayMs: 0,
    tries: 0,
    probeWaitMs: 0,
    conflicts: 0,
    output: rejected("undecided"),
  }),
  initial: "beginning",
  output: ({ context }) => context.output,
  states: {
    /** Passed through at once. */
    beginning: {
      always: [
        { guard: ({ context }) => context.doubt?.kind === "gone", target: "losing" },
        { guard: ({ context }) => context.doubt?.kind === "suspect", target: "probing" },
        { target: "deciding" },
      ],
    },

    deciding: {
      invoke: {
        src: "viewThreads",
        onDone: {
          target: "decided",
          actions: assign({
            decision: ({ context, event }) => decideThread(event.output.view, context.wish, event.output.nowMs),
          }),
        },
        onError: { target: "rejected", actions: "rejectUnread" },
      },
    },

    /** Passed through at once. */
    decided: {
      always: [
        { guard: ({ context }) => context.decision.kind === "create", target: "intending" },
        { guard: ({ context }) => context.decision.kind === "probe", target: "probing" },
        { guard: ({ context }) => context.decision.kind === "take", target: "keeping" },
        {
          guard: ({ context }) => context.decision.kind === "adopt",
          target: "binding",
          actions: assign({
            created: ({ context: { decision, created: before } }) =>
              decision.kind === "adopt" ? decision.threadId : before,
          }),
        },
        {
          guard: ({ context }) => context.decision.kind === "reuse",
          target: "bound",
          actions: assign({
            output: ({ context: { decision, output } }) =>
              decision.kind === "reuse" ? { kind: "bound", thread: decision.thread, origin: "reused" } : output,
          }),
        },
        {
          target: "rejected",
          actions: assign({
            output: ({ context: { decision, output } }) =>
              decision.kind === "reject" ? rejected(decision.reason) : output,
          }),
        },
      ],
    },

    /** Whether the thread exists is asked of Telegram: nobody gets it, and nothing is created, before it answers. */
    probing: {
      invoke: {
        src: "probeThread",
        input: ({ context }) => ({ epoch: context.epoch, target: lookedAt(context) }),
        onDone: [
          {
            // What spoke against it was wrong: everything is as it was.
            guard: ({ context, event }) =>
              context.doubt !== null && (event.output.kind === "exists" || event.output.kind === "closed"),
            target: "deciding",
            actions: assign({ doubt: null }),
          },
          { guard: ({ event }) => event.output.kind === "exists", target: "keeping" },
          {
            guard: ({ event }) => event.output.kind === "closed",
            target: "keeping",
            actions: assign({
              decision: ({ context }) => {
                const candidate = candidateOf(context);
                const binding = { ...candidate.binding, standing: "closed", reason: "the user closed it" } as const;
                return { kind: "probe", candidate: { ...candidate, binding } };
              },
            }),
          },
          {
            guard: ({ event }) => event.output.kind === "gone",
            target: "losing",
            actions: assign({
              doubt: ({ context, event }) => ({
                target: lookedAt(context),
                kind: "gone",
                reason: whyOf(event.output),
              }),
            }),
          },
          {
            guard: ({ context, event: { output } }) =>
              output.kind === "later" && context.probeWaitMs + output.afterMs <= probeWaitMaxMs,
            target: "waiting",
            actions: assign(({ context, event: { output } }) => {
              const delayMs = output.kind === "later" ? output.afterMs : 0;
              return { delayMs, probeWaitMs: context.probeWaitMs + delayMs };
            }),
          },
          {
            target: "doubting",
            actions: assign({
              output: ({ event }) => rejected(`whether the thread still exists is not known: ${whyOf(event.output)}`),
            }),
          },
        ],
        onError: {
          target: "doubting",
          actions: assign({ output: rejected("whether the thread still exists is not known") }),
        },
      },
    },
    waiting: { after: { callDelay: "probing" } },

    /** Passed through at once: an unknown thread that a seat without any brings along is remembered as a suspect. */
    doubting: {
      always: [
        {
          guard: ({ context }) => context.doubt === null && candidateOf(context).from === "unknown",
          target: "suspecting",
        },
        { target: "rejected" },
      ],
    },
    suspecting: {
      invoke: {
        src: "keepThread",
        input: ({ context }) => ({
          epoch: context.epoch,
          binding: suspected(candidateOf(context), whyOf(context.output)),
          from: candidateOf(context).from,
        }),
        onDone: [{ guard: ({ event }) => event.output.kind === "fenced", target: "fenced" }, { target: "rejected" }],
        // It is brought along again.
        onError: "rejected",
      },
    },

    /** It exists: the binding is written as the instance's own. */
    keeping: {
      invoke: {
        src: "keepThread",
        input: ({ context }) => ({ epoch: context.epoch, ...proven(candidateOf(context)) }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "kept",
            target: "bound",
            actions: assign({ output: ({ context }) => kept(context) }),
          },
          { guard: ({ event }) => event.output.kind === "fenced", target: "fenced" },
          { target: "conflicted" },
        ],
        // What was stored before stands, and is proven anew.
        onError: { target: "rejected", actions: "rejectUnwritten" },
      },
    },

    /** It is gone: that is on disk before anything takes its place. The instance has nothing to bring along any more. */
    losing: {
      invoke: {
        src: "loseThread",
        input: ({ context }) => ({
          epoch: context.epoch,
          target: lookedAt(context),
          reason: context.doubt?.reason ?? "",
        }),
        onDone: [
          { guard: ({ event }) => event.output.kind === "fenced", target: "fenced" },
          {
            target: "deciding",
            actions: assign({ doubt: null, wish: ({ context }) => ({ ...context.wish, carried: null }) }),
          },
        ],
        onError: { target: "rejected", actions: "rejectUnwritten" },
      },
    },

    intending: {
      invoke: {
        src: "intendThread",
        input: ({ context }) => ({
          epoch: context.epoch,
          provision: begunOf(context),
          abandons: context.decision.kind === "create" ? context.decision.abandons : null,
        }),
        onDone: [
          { guard: ({ event }) => event.output.kind === "intended", target: "creating" },
          { guard: ({ event }) => event.output.kind === "conflict", target: "conflicted" },
          { target: "fenced" },
        ],
        onError: { target: "rejected", actions: "rejectUnwritten" },
      },
    },

    /** Something else was faster: the slot, the seat's creation or the binding has changed. Look again in a moment. */
    conflicted: {
      entry: assign({ conflicts: ({ context }) => context.conflicts + 1 }),
      after: {
        conflictPause: [
          { guard: "mayLookAgain", target: "deciding" },
          {
            target: "rejected",
            actions: assign({ output: rejected("something else was faster each time: the seat is asked for again") }),
          },
        ],
      },
    },

    /** The intent is on disk: from here a thread may come to exist. */
    creating: {
      entry: assign({ tries: ({ context }) => context.tries + 1 }),
      invoke: {
        src: "createThread",
        input: ({ context }) => ({ epoch: context.epoch, provision: begunOf(context) }),
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
              output: ({ event }) => rejected(`creating the thread had an unknown outcome: ${whyOf(event.output)}`),
            }),
          },
          {
            target: "abandoning",
            actions: assign({
              output: ({ event }) => rejected(`the thread could not be created: ${whyOf(event.output)}`),
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
          provision: begunOf(context),
          threadId: context.created,
          reason: whyBound(context),
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "bound",
            target: "bound",
            actions: assign({ output: ({ context }) => created(context) }),
          },
          {
            guard: ({ event }) => event.output.kind === "unwanted",
            target: "rejected",
            actions: assign({ output: rejected("the instance that asked for the thread has left for good") }),
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
          provisionId: begunOf(context).id,
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
          provisionId: begunOf(context).id,
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
