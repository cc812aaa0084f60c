/**
 * Threads against reality, while we lead: looks, plans, carries the plan out one action at a time, rests until something
 * changes or a deadline comes.
 *
 * Owns: that order; that every action goes through the epoch (the store compares it in the transaction of the action, a
 * deletion is begun by such a transaction), that a deletion waits for its turn behind everything a user waits for, and
 * that what was not confirmed is tried again later, also by the next leader.
 * Does not own: what is to be done (`reconciliation.rules.ts`), how a thread is deleted (`cleanup.machine.ts`).
 *
 * The region `phase` says what the last plan held; carrying it out does not change it.
 *
 * Invariants: cleanup/instructionBeforeCall, cleanup/neverWhatIsHeld, cleanup/confirmedOnce.
 */
import { assign, emit, raise, setup } from "xstate";
import { cleanupMachine } from "./cleanup.machine.ts";
import type { Epoch } from "./ids.ts";
import { planReconciliation } from "./reconciliation.rules.ts";
import type {
  ReconciliationAction,
  ReconciliationInput as PlanInput,
  ReconciliationPhase,
  ReconciliationPlan,
} from "./reconciliation.rules.ts";
import { companion, slot } from "./slots.ts";
import type { CompanionFailed } from "./slots.ts";

export interface ReconciliationStart {
  readonly epoch: Epoch;
}

export type ReconciliationEvent =
  /** Something changed that a plan may depend on. */
  | { readonly type: "reconciliation.wake" }
  /** The chart's own word to its region `phase`. */
  | { readonly type: "plan.made"; readonly phase: ReconciliationPhase }
  | CompanionFailed;

export type ReconciliationFact =
  | { readonly type: "reconciliation.planned"; readonly phase: ReconciliationPhase; readonly actions: number }
  | { readonly type: "reconciliation.acted"; readonly action: ReconciliationAction; readonly outcome: string }
  | { readonly type: "reconciliation.fenced" };

export interface RecordAnswer {
  /** `refused`: the store found it overtaken. */
  readonly kind: "done" | "refused" | "fenced";
}

export interface ReconciliationContext extends ReconciliationStart {
  readonly plan: ReconciliationPlan;
  /** What of the plan is still to be carried out. */
  readonly queue: readonly ReconciliationAction[];
  /** The shortest wait that a failed action asks for; 0 = nothing failed. */
  readonly retryMs: number;
}

/** Without a reason to look, one look in so long: an operator's request, and what nobody told, is found then. */
const restMaxMs = 1_000;
const restMinMs = 50;

type Deletion = Extract<ReconciliationAction, { kind: "deleteThread" }>;

const first = ({ queue }: ReconciliationContext): ReconciliationAction => {
  const [action] = queue;
  if (action === undefined) throw new Error("the reconciliation chart acts without an action");
  return action;
};
const deletion = (context: ReconciliationContext): Deletion => {
  const action = first(context);
  if (action.kind !== "deleteThread") throw new Error("the reconciliation chart deletes for another action");
  return action;
};
const acted = (context: ReconciliationContext, outcome: string): ReconciliationFact => ({
  type: "reconciliation.acted",
  action: first(context),
  outcome,
});
const nothing: ReconciliationPlan = {
  phase: "stable",
  actions: [],
  counts: { provisions: 0, sync: 0, cleanup: 0 },
  nextInMs: null,
};

/** How long a deletion keeps its place in the line before what an operator asks is looked at, in milliseconds: two turns and more. */
const turnMaxMs = 2_500;

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as ReconciliationStart,
    context: {} as ReconciliationContext,
    events: {} as ReconciliationEvent,
    emitted: {} as ReconciliationFact,
  },
  actors: {
    /** Reports `reconciliation.wake`. */
    watchThreads: companion<{ readonly type: "never" }>("watchThreads"),
    viewThreads: slot<PlanInput>("viewThreads"),
    /** One action that needs no call, in one transaction under the epoch. */
    recordAction: slot<RecordAnswer, { readonly epoch: Epoch; readonly action: ReconciliationAction }>("recordAction"),
    /** Resolves when a call of administration may be made: nobody's message is on its way, and the pace allows it. */
    awaitTurn: slot<undefined>("awaitTurn"),
    cleanup: cleanupMachine,
  },
  delays: {
    rest: ({ context }) =>
      Math.max(restMinMs, Math.min(restMaxMs, context.plan.nextInMs ?? restMaxMs, context.retryMs || restMaxMs)),
    lookInterval: turnMaxMs,
  },
});

const { createMachine } = base.extend({
  actions: {
    drop: base.assign({ queue: ({ context }) => context.queue.slice(1) }),
    reportFenced: base.emit({ type: "reconciliation.fenced" }),
  },
  guards: {
    isStable: ({ event }) => event.type === "plan.made" && event.phase === "stable",
    isProvisioning: ({ event }) => event.type === "plan.made" && event.phase === "provisioning",
    isSyncRequired: ({ event }) => event.type === "plan.made" && event.phase === "syncRequired",
  },
});

export const reconciliationMachine = createMachine({
  id: "reconciliation",
  context: ({ input }) => ({ ...input, plan: nothing, queue: [], retryMs: 0 }),
  type: "parallel",
  invoke: { src: "watchThreads", id: "watchThreads" },
  // Without it the rests are all there is: slower, and as safe.
  on: { "companion.failed": {} },
  states: {
    phase: {
      initial: "stable",
      on: {
        // The other region's.
        "reconciliation.wake": {},
        "plan.made": [
          { guard: "isStable", target: ".stable" },
          { guard: "isProvisioning", target: ".provisioning" },
          { guard: "isSyncRequired", target: ".syncRequired" },
          { target: ".cleanupRequired" },
        ],
      },
      states: { stable: {}, provisioning: {}, syncRequired: {}, cleanupRequired: {} },
    },

    work: {
      initial: "planning",
      on: { "plan.made": {} },
      states: {
        planning: {
          // What it reads may be older than that.
          on: { "reconciliation.wake": { target: "planning", reenter: true } },
          invoke: {
            src: "viewThreads",
            onDone: {
              target: "applying",
              actions: [
                assign(({ event }) => {
                  const plan = planReconciliation(event.output);
                  return { plan: { ...plan, actions: [] }, queue: plan.actions, retryMs: 0 };
                }),
                raise(({ context }) => ({ type: "plan.made", phase: context.plan.phase })),
                emit(({ context }) => ({
                  type: "reconciliation.planned",
                  phase: context.plan.phase,
                  actions: context.queue.length,
                })),
              ],
            },
            // A look that failed is no observation.
            onError: { target: "incomplete", actions: assign({ retryMs: 1_000 }) },
          },
        },

        applying: {
          initial: "choosing",
          on: { "reconciliation.wake": { actions: assign({ retryMs: restMinMs }) } },
          states: {
            /** Passed through at once. */
            choosing: {
              always: [
                { guard: ({ context }) => context.queue.length === 0, target: "done" },
                { guard: ({ context }) => first(context).kind === "deleteThread", target: "awaitingTurn" },
                { target: "recording" },
              ],
            },
            recording: {
              invoke: {
                src: "recordAction",
                input: ({ context }) => ({ epoch: context.epoch, action: first(context) }),
                onDone: [
                  { guard: ({ event }) => event.output.kind === "fenced", target: "#reconciliation.work.fenced" },
                  {
                    target: "choosing",
                    actions: [emit(({ context, event }) => acted(context, event.output.kind)), "drop"],
                  },
                ],
                onError: {
                  target: "choosing",
                  actions: [
                    emit(({ context, event }) => acted(context, String(event.error))),
                    "drop",
                    assign({ retryMs: 1_000 }),
                  ],
                },
              },
            },
            /**
             * Nothing has begun. What changes meanwhile is planned for after this one: whoever gave up the place in the line for it
             * would never come first when something changes as often as turns are given, and a deletion compares in its own
             * transaction what it needs. A long pause is another matter.
             */
            awaitingTurn: {
              on: {
                "reconciliation.wake": {
                  actions: assign(({ context }) => ({ queue: [first(context)], retryMs: restMinMs })),
                },
              },
              after: { lookInterval: "#reconciliation.work.planning" },
              invoke: { src: "awaitTurn", onDone: "deleting", onError: "#reconciliation.work.incomplete" },
            },
            deleting: {
              invoke: {
                src: "cleanup",
                input: ({ context }) => {
                  const { seat, target, seenDead } = deletion(context);
                  return { epoch: context.epoch, seat, target, asks: null, seenDead };
                },
                onDone: [
                  {
                    guard: ({ event }) => event.output.kind === "lostOwnership",
                    target: "#reconciliation.work.fenced",
                  },
                  {
                    target: "choosing",
                    actions: [
                      emit(({ context, event: { output } }) =>
                        acted(context, output.kind === "failed" ? output.reason : output.kind),
                      ),
                      "drop",
                      assign({
                        retryMs: ({ context, event: { output } }) =>
                          output.kind === "failed" || output.kind === "held"
                            ? Math.min(
                                context.retryMs || restMaxMs,
                                output.kind === "failed" ? output.retryAfterMs : 1_000,
                              )
                            : context.retryMs,
                      }),
                    ],
                  },
                ],
                onError: {
                  target: "choosing",
                  actions: [
                    emit(({ context, event }) => acted(context, String(event.error))),
                    "drop",
                    assign({ retryMs: 1_000 }),
                  ],
                },
              },
            },
            done: {
              always: [
                { guard: ({ context }) => context.retryMs > 0, target: "#reconciliation.work.incomplete" },
                { target: "#reconciliation.work.resting" },
              ],
            },
          },
        },

        /** Something was not done: it is on disk, and tried again, by the next leader too. */
        incomplete: { on: { "reconciliation.wake": "planning" }, after: { rest: "planning" } },
        resting: { on: { "reconciliation.wake": "planning" }, after: { rest: "planning" } },

        /** The store holds a newer epoch: nothing more may be done. */
        fenced: { entry: "reportFenced", on: { "reconciliation.wake": {} } },
      },
    },
  },
});
