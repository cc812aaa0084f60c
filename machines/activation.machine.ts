/**
 * Leading: everything between being granted the lease and answering for the line, in order, and back.
 *
 * Owns: the order own thread → own seat → endpoint → deliveries → poller, the switch from classic polling (a bot without
 * topics: no endpoint, one poller, everything is ours) to bus leadership, and the rollback when a step fails.
 * Does not own: the lease, what any companion does inside.
 *
 * One actor per grant. Leaving `serving` closes the endpoint; leaving `polled` cuts the poll: stopping is leaving. At no
 * point do two pollers of this instance run, and the endpoint accepts nothing before our own thread is settled.
 *
 * Invariants: instance/leadsOnlyWhatItHolds, instance/pollsOnlyAsLeader, polling/neverTwo.
 */
import { assign, emit, sendTo, setup } from "xstate";
import type {
  ActivationContext,
  ActivationEvent,
  ActivationFact,
  ActivationInput,
  DispatcherCommand,
  IdentifyAnswer,
  OwnThreadSettled,
  SeatOwnAnswer,
  SeatOwnInput,
} from "./activation.contract.ts";
import { sameTarget } from "./ids.ts";
import type { Epoch, ThreadTarget } from "./ids.ts";
import type { PollingCommand } from "./polling.machine.ts";
import { provisioningMachine } from "./provisioning.machine.ts";
import type { ProvisioningInput, ThreadDoubt } from "./provisioning.machine.ts";
import { companion, slot } from "./slots.ts";

export * from "./activation.contract.ts";

const troubled = (
  trouble: Extract<ActivationFact, { type: "activation.troubled" }>["trouble"],
  reason: string,
): ActivationFact => ({ type: "activation.troubled", trouble, reason });

const ownTarget = ({ doubt }: ActivationContext): ThreadTarget => {
  if (doubt === null) throw new Error("the activation chart replaces a thread that nothing speaks against");
  return doubt.target;
};

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as ActivationInput,
    context: {} as ActivationContext,
    events: {} as ActivationEvent,
    emitted: {} as ActivationFact,
  },
  actors: {
    identify: slot<IdentifyAnswer>("identify"),
    provisioning: provisioningMachine,
    /** Writes our own seat's registration under this epoch, so that we may claim what is routed to us. */
    seatOwn: slot<SeatOwnAnswer, SeatOwnInput>("seatOwn"),
    endpoint: companion<{ readonly type: "never" }, { readonly epoch: Epoch }>("endpoint"),
    dispatcher: companion<DispatcherCommand, { readonly epoch: Epoch }>("dispatcher"),
    poller: companion<PollingCommand, { readonly epoch: Epoch }>("poller"),
    /** Takes what speaks against our own thread, from whoever sends into it; reports `thread.doubted`. */
    ownThread: companion<OwnThreadSettled>("ownThread"),
    /** Threads against reality, for as long as followers can reach us. */
    reconciliation: companion<{ readonly type: "never" }, { readonly epoch: Epoch }>("reconciliation"),
    /** Whether the chat still has threads; what it finds is for whoever makes calls. */
    capability: companion<{ readonly type: "never" }>("capability"),
  },
  delays: {
    retryPause: ({ context }) =>
      Math.max(context.askedDelayMs, Math.min(30_000, 250 * 2 ** Math.min(7, Math.max(0, context.failures - 1)))),
    /** Until a thread that could not be had is asked for again; meanwhile the endpoint closes for a moment. */
    threadRetry: 5 * 60_000,
    retryInterval: 250,
    capabilityInterval: ({ context }) => context.capabilityMs,
    /** For the poller to say that it has stopped; then it is cut off. */
    quiesceLimit: 1_000,
  },
});

const { createMachine } = base.extend({
  actions: {
    nudgeDispatcher: base.sendTo("dispatcher", { type: "journal.changed" }),
    doubt: base.emit({ type: "activation.doubted" }),
    settleThread: base.sendTo("ownThread", { type: "thread.settled" }),
  },
  guards: { isConflict: ({ event }) => event.type === "polling.troubled" && event.trouble === "conflict" },
});

/** Another poller may be another leader: look at the lease at once. */
const doubtOnConflict = [{ guard: "isConflict", actions: "doubt" }, {}] as const;
const epochOnly = ({ context }: { readonly context: ActivationContext }) => ({ epoch: context.epoch });

const provisioningOf = (
  { epoch, seat, me, chatId, threadName, carried }: ActivationContext,
  doubt: ThreadDoubt | null,
): ProvisioningInput => ({
  epoch,
  wish: {
    seat,
    instanceId: me,
    chatId,
    threadName,
    role: "leader",
    carried: doubt === null ? carried : null,
    previous: null,
  },
  doubt,
});
const seatOf = ({ epoch, seat, thread, origin }: ActivationContext): SeatOwnInput => ({
  epoch,
  seat,
  thread,
  origin,
  isClassic: false,
});

export const activationMachine = createMachine({
  id: "activation",
  context: ({ input }) => ({ ...input, thread: null, origin: "reused", failures: 0, askedDelayMs: 0, doubt: null }),
  initial: "beginning",
  on: {
    "activation.stop": ".stopped",
    // Late words of companions that have been let go.
    "endpoint.open": {},
    "endpoint.failed": {},
    "dispatcher.fenced": {},
    "thread.doubted": {},
    "polling.started": {},
    "polling.answered": {},
    "polling.idsAccepted": {},
    "polling.troubled": {},
    "polling.fenced": {},
    "polling.stopped": {},
    "reconciliation.planned": {},
    "reconciliation.acted": {},
    "reconciliation.fenced": {},
    "capability.judged": {},
    "companion.failed": {
      target: ".rollingBack",
      actions: emit(({ event }) => troubled("unavailable", `${event.companion}: ${event.reason}`)),
    },
  },
  states: {
    /** Passed through at once. */
    beginning: {
      always: [{ guard: ({ context }) => context.hadThread, target: "provisioning" }, { target: "identifying" }],
    },

    identifying: {
      invoke: {
        src: "identify",
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "topics",
            target: "provisioning",
            actions: assign({ askedDelayMs: 0 }),
          },
          {
            guard: ({ event }) => event.output.kind === "noTopics",
            target: "dormant",
            actions: assign({ askedDelayMs: 0 }),
          },
          {
            target: "rollingBack",
            actions: [
              assign({ askedDelayMs: ({ event: { output } }) => ("afterMs" in output ? output.afterMs : 0) }),
              emit(({ event: { output } }) =>
                troubled(
                  output.kind === "unauthorized" ? "unauthorized" : "unavailable",
                  "reason" in output ? output.reason : "",
                ),
              ),
            ],
          },
        ],
        onError: {
          target: "rollingBack",
          actions: [assign({ askedDelayMs: 0 }), emit(({ event }) => troubled("unavailable", String(event.error)))],
        },
      },
    },

    /** Classic: the bot has no topics, so there is no bus. We poll for ourselves and look for topics now and then. */
    dormant: {
      initial: "seating",
      states: {
        seating: {
          invoke: {
            src: "seatOwn",
            input: ({ context }) => ({
              epoch: context.epoch,
              seat: context.seat,
              thread: null,
              origin: "reused" as const,
              isClassic: true,
            }),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "committed",
                target: "polled",
                actions: emit({ type: "activation.classic" }),
              },
              { target: "#activation.fencedOff" },
            ],
            onError: {
              target: "#activation.rollingBack",
              actions: emit(({ event }) => troubled("unavailable", String(event.error))),
            },
          },
        },
        polled: {
          invoke: [
            { src: "dispatcher", id: "dispatcher", input: epochOnly },
            { src: "poller", id: "poller", input: epochOnly },
          ],
          on: {
            "polling.started": { actions: assign({ failures: 0 }) },
            "polling.answered": { actions: "nudgeDispatcher" },
            "polling.troubled": doubtOnConflict,
            "polling.fenced": "#activation.fencedOff",
            "dispatcher.fenced": "#activation.fencedOff",
          },
          initial: "resting",
          states: {
            resting: { after: { capabilityInterval: "scheduled" } },
            /** Perhaps a switch is due: ask. */
            scheduled: {
              invoke: {
                src: "identify",
                onDone: [
                  { guard: ({ event }) => event.output.kind === "topics", target: "stoppingClassic" },
                  { target: "resting" },
                ],
                onError: "resting",
              },
            },
            /** The classic poller must be silent before leadership begins. */
            stoppingClassic: {
              entry: sendTo("poller", { type: "polling.stop" }),
              on: { "polling.stopped": "#activation.provisioning" },
              after: { quiesceLimit: "#activation.provisioning" },
            },
          },
        },
      },
    },

    /** Our own thread, before anybody can reach us. */
    provisioning: {
      invoke: {
        src: "provisioning",
        input: ({ context }) => provisioningOf(context, null),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "bound",
            target: "seating",
            actions: assign({
              thread: ({ event: { output } }) => (output.kind === "bound" ? output.thread : null),
              origin: ({ event: { output } }) => (output.kind === "bound" ? output.origin : "reused"),
            }),
          },
          { guard: ({ event }) => event.output.kind === "fenced", target: "fencedOff" },
          // Our own thread must not keep the others from being served; we ask for it again later.
          {
            target: "seating",
            actions: [
              assign({ thread: null }),
              emit(({ event: { output } }) => troubled("thread", "reason" in output ? output.reason : "")),
            ],
          },
        ],
        onError: { target: "rollingBack", actions: emit(({ event }) => troubled("thread", String(event.error))) },
      },
    },

    seating: {
      invoke: {
        src: "seatOwn",
        input: ({ context }) => seatOf(context),
        onDone: [
          { guard: ({ event }) => event.output.kind === "committed", target: "serving" },
          {
            guard: ({ context, event }) => event.output.kind === "threadGone" && context.failures === 0,
            target: "rollingBack",
            actions: emit(troubled("thread", "our former thread is being deleted: we ask for another")),
          },
          // Only a leader that serves ends a deletion which an earlier one began.
          {
            guard: ({ event }) => event.output.kind === "threadGone",
            target: "seating",
            reenter: true,
            actions: [
              assign({ thread: null }),
              emit(troubled("thread", "our former thread is still being deleted: we serve without one")),
            ],
          },
          { target: "fencedOff" },
        ],
        onError: { target: "rollingBack", actions: emit(({ event }) => troubled("unavailable", String(event.error))) },
      },
    },

    /** The endpoint is there, or coming. */
    serving: {
      invoke: { src: "endpoint", id: "endpoint", input: epochOnly },
      on: {
        "endpoint.failed": {
          target: "rollingBack",
          actions: emit(({ event }) => troubled("endpoint", event.reason)),
        },
      },
      initial: "listening",
      states: {
        listening: { on: { "endpoint.open": "polled" } },
        /** Followers can reach us; deliveries run; the poller is starting or running. */
        polled: {
          invoke: [
            { src: "dispatcher", id: "dispatcher", input: epochOnly },
            { src: "poller", id: "poller", input: epochOnly },
            { src: "reconciliation", id: "reconciliation", input: epochOnly },
            { src: "capability", id: "capability" },
          ],
          on: {
            "reconciliation.fenced": "#activation.fencedOff",
            "polling.fenced": "#activation.fencedOff",
            "dispatcher.fenced": "#activation.fencedOff",
          },
          initial: "polling",
          states: {
            polling: {
              on: {
                "polling.started": {
                  target: "active",
                  actions: [
                    assign({ failures: 0, askedDelayMs: 0 }),
                    emit(({ context }) => ({ type: "activation.active", thread: context.thread })),
                  ],
                },
              },
            },
            active: {
              invoke: { src: "ownThread", id: "ownThread" },
              after: {
                threadRetry: { guard: ({ context }) => context.thread === null, target: "#activation.provisioning" },
              },
              initial: "settled",
              states: {
                settled: {
                  on: {
                    "thread.doubted": [
                      {
                        guard: ({ context: { thread }, event }) =>
                          thread !== null && sameTarget(thread.target, event.doubt.target),
                        target: "replacing",
                        actions: assign({ doubt: ({ event }) => event.doubt }),
                      },
                      { actions: "settleThread" },
                    ],
                  },
                },
                /** Our own thread is reported gone: we get another one, once, and lead on meanwhile. */
                replacing: {
                  invoke: {
                    src: "provisioning",
                    input: ({ context }) => provisioningOf(context, context.doubt),
                    onDone: [
                      {
                        guard: ({ context, event: { output } }) =>
                          output.kind === "bound" && !sameTarget(output.thread.target, ownTarget(context)),
                        target: "moving",
                        actions: assign(({ context, event: { output } }) =>
                          output.kind === "bound" ? { thread: output.thread, origin: output.origin } : context,
                        ),
                      },
                      { guard: ({ event }) => event.output.kind === "fenced", target: "#activation.fencedOff" },
                      {
                        guard: ({ event }) => event.output.kind === "bound",
                        target: "settled",
                        actions: "settleThread",
                      },
                      {
                        target: "settled",
                        actions: [
                          "settleThread",
                          emit(({ event: { output } }) =>
                            troubled(
                              "thread",
                              "reason" in output ? output.reason : "our thread was doubted, and exists",
                            ),
                          ),
                        ],
                      },
                    ],
                    onError: {
                      target: "settled",
                      actions: ["settleThread", emit(({ event }) => troubled("thread", String(event.error)))],
                    },
                  },
                },
                moving: {
                  invoke: {
                    src: "seatOwn",
                    input: ({ context }) => seatOf(context),
                    onDone: [
                      {
                        guard: ({ event }) => event.output.kind === "committed",
                        target: "settled",
                        actions: [
                          "settleThread",
                          emit(({ context }) => ({ type: "activation.active", thread: context.thread })),
                        ],
                      },
                      { target: "#activation.fencedOff" },
                    ],
                    // It may stand: writing it again changes nothing.
                    onError: "pausing",
                  },
                },
                pausing: { after: { retryInterval: "moving" } },
              },
              on: {
                "polling.answered": { actions: "nudgeDispatcher" },
                "polling.troubled": doubtOnConflict,
              },
            },
          },
        },
      },
    },

    /** A step failed: everything begun is undone by leaving it. The lease is still ours, so we try again. */
    rollingBack: {
      entry: assign({ failures: ({ context }) => context.failures + 1 }),
      after: { retryPause: "identifying" },
    },

    /** The store says that our epoch is over. The lease chart finds out what is; we stay still until it does. */
    fencedOff: {
      on: { "companion.failed": {} },
      entry: [emit({ type: "activation.doubted" }), emit(troubled("fenced", "the store holds a newer epoch"))],
    },

    stopped: { type: "final", entry: emit({ type: "activation.stopped" }) },
  },
});
