/**
 * Leading: everything between being granted the lease and answering for the line, in order, and back.
 *
 * Owns: the order own thread → own seat → endpoint → deliveries → poller, and the rollback when a step fails.
 * Does not own: the lease, what any companion does inside, how somebody is paired or a better token found
 * (`activation.waiting.ts`), a bot without topics (`activation.classic.ts`).
 *
 * One actor per grant. Leaving `serving` closes the endpoint; leaving `polled` cuts the poll: stopping is leaving, but for a
 * moment in which a thread under way is waited for. At no point do two pollers of this instance run, and the endpoint accepts
 * nothing before our own thread is settled.
 *
 * Invariants: instance/leadsOnlyWhatItHolds, instance/pollsOnlyAsLeader, polling/neverTwo.
 */
import { assign, emit } from "xstate";
import { dormantState } from "./activation.classic.ts";
import {
  chart,
  doubtOnConflict,
  epochOnly,
  isAnother,
  onPairing,
  provisioningOf,
  seatOf,
  troubled,
} from "./activation.setup.ts";
import { pairingState, rejectedState } from "./activation.waiting.ts";
import { mayMeanNoThreads } from "./capability.rules.ts";
import { sameTarget } from "./ids.ts";

export * from "./activation.contract.ts";

/**
 * While our thread is provisioned. On the way out a call may be under way that makes a thread: its answer is waited for, so
 * that the thread is our seat's and not nobody's. Nothing else leads out of there: who is to stop is not rolled back to
 * begin anew, and neither a newer epoch nor another person who is paired makes a stop forgotten.
 */
const untilAnswered = {
  initial: "wanted",
  states: {
    wanted: { on: { "activation.stop": "ending" } },
    ending: {
      on: {
        "activation.stop": {},
        "companion.failed": {},
        "endpoint.failed": {},
        "polling.fenced": {},
        "dispatcher.fenced": {},
        "reconciliation.fenced": {},
        "pairing.known": {},
        "pairing.missing": {},
      },
      after: { quiesceLimit: "#activation.stopped" },
    },
  },
} as const;

export const activationMachine = chart.createMachine({
  id: "activation",
  context: ({ input }) => ({
    ...input,
    thread: null,
    origin: "reused",
    failures: 0,
    rejections: 0,
    askedDelayMs: 0,
    doubt: null,
    refusals: 0,
  }),
  initial: "beginning",
  on: {
    "activation.stop": ".stopped",
    // Late words of companions that have been let go.
    "endpoint.open": {},
    "endpoint.failed": {},
    "dispatcher.fenced": {},
    "thread.doubted": {},
    "pairing.known": {},
    "pairing.missing": {},
    "token.renewed": {},
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
      always: [
        { guard: ({ context }) => context.chatId === null, target: "pairing" },
        { guard: ({ context }) => context.hadThread, target: "provisioning" },
        { target: "identifying" },
      ],
    },

    pairing: pairingState,

    identifying: {
      invoke: {
        src: "identify",
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "topics",
            target: "provisioning",
            actions: assign({ askedDelayMs: 0, rejections: 0 }),
          },
          {
            guard: ({ event }) => event.output.kind === "noTopics",
            target: "dormant",
            actions: assign({ askedDelayMs: 0, rejections: 0 }),
          },
          // Said once, not with each look.
          {
            guard: ({ context, event }) => event.output.kind === "unauthorized" && context.rejections === 0,
            target: "rejected",
            actions: emit(({ event: { output } }) => troubled("unauthorized", "reason" in output ? output.reason : "")),
          },
          { guard: ({ event }) => event.output.kind === "unauthorized", target: "rejected" },
          {
            target: "rollingBack",
            actions: [
              assign({ askedDelayMs: ({ event: { output } }) => ("afterMs" in output ? output.afterMs : 0) }),
              emit(({ event: { output } }) => troubled("unavailable", "reason" in output ? output.reason : "")),
            ],
          },
        ],
        onError: {
          target: "rollingBack",
          actions: [assign({ askedDelayMs: 0 }), emit(({ event }) => troubled("unavailable", String(event.error)))],
        },
      },
    },

    rejected: rejectedState,
    renewing: { invoke: { src: "renewToken", onDone: "identifying", onError: "identifying" } },

    dormant: dormantState,

    /** Our own thread, before anybody can reach us. */
    provisioning: {
      ...untilAnswered,
      invoke: {
        src: "provisioning",
        input: ({ context }) => provisioningOf(context, null),
        onDone: [
          {
            guard: "isEnding",
            target: "stopped",
            actions: assign({
              thread: ({ event: { output } }) => (output.kind === "bound" ? output.thread : null),
            }),
          },
          {
            guard: ({ event }) => event.output.kind === "bound",
            target: "seating",
            actions: assign({
              thread: ({ event: { output } }) => (output.kind === "bound" ? output.thread : null),
              origin: ({ event: { output } }) => (output.kind === "bound" ? output.origin : "reused"),
            }),
          },
          { guard: ({ event }) => event.output.kind === "fenced", target: "fencedOff" },
          // Threads may have been turned off since we asked, or before we were elected: then we lead without any.
          {
            guard: ({ context, event: { output } }) =>
              context.failures === 0 && output.kind === "rejected" && mayMeanNoThreads(output.reason),
            target: "rollingBack",
            actions: emit(({ event: { output } }) => troubled("thread", "reason" in output ? output.reason : "")),
          },
          // Our own thread must not keep the others from being served; we ask for it again later.
          {
            target: "seating",
            actions: [
              assign({ thread: null }),
              emit(({ event: { output } }) => troubled("thread", "reason" in output ? output.reason : "")),
            ],
          },
        ],
        onError: [
          { guard: "isEnding", target: "stopped" },
          { target: "rollingBack", actions: emit(({ event }) => troubled("thread", String(event.error))) },
        ],
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
            { src: "audience", id: "audience" },
          ],
          on: {
            ...onPairing,
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
              initial: "choosing",
              states: {
                /** Passed through at once. */
                choosing: { always: [{ guard: "isThreadless", target: "lacking" }, { target: "settled" }] },
                /** The others are served, and we ask for a thread of our own now and then, at once when one may be had. */
                lacking: {
                  entry: assign({ doubt: null }),
                  on: {
                    "capability.judged": { guard: "hasTopics", target: "replacing" },
                    "reconciliation.acted": { guard: "isOurThreadInSight", target: "replacing" },
                    "thread.doubted": { actions: "settleThread" },
                  },
                  after: { threadRetry: "replacing" },
                },
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
                /** Our own thread is reported gone, or we never had one: we ask for another, once, and lead on meanwhile. */
                replacing: {
                  ...untilAnswered,
                  invoke: {
                    src: "provisioning",
                    input: ({ context }) => provisioningOf(context, context.doubt),
                    onDone: [
                      {
                        guard: "isEndingWithout",
                        target: "#activation.stopped",
                        actions: assign({
                          thread: ({ context, event: { output } }) =>
                            output.kind === "bound" ? output.thread : context.thread,
                        }),
                      },
                      {
                        guard: ({ context, event: { output } }) =>
                          output.kind === "bound" && isAnother(context, output.thread),
                        target: "moving",
                        actions: assign(({ context, event: { output } }) =>
                          output.kind === "bound"
                            ? { thread: output.thread, origin: output.origin, refusals: 0 }
                            : context,
                        ),
                      },
                      { guard: ({ event }) => event.output.kind === "fenced", target: "#activation.fencedOff" },
                      {
                        guard: ({ event }) => event.output.kind === "bound",
                        target: "settled",
                        actions: "settleThread",
                      },
                      {
                        target: "choosing",
                        actions: [
                          "settleThread",
                          assign({ refusals: ({ context }) => context.refusals + 1 }),
                          emit(({ event: { output } }) =>
                            troubled(
                              "thread",
                              "reason" in output ? output.reason : "our thread was doubted, and exists",
                            ),
                          ),
                        ],
                      },
                    ],
                    onError: [
                      { guard: "isEndingWithout", target: "#activation.stopped" },
                      {
                        target: "choosing",
                        actions: [
                          "settleThread",
                          assign({ refusals: ({ context }) => context.refusals + 1 }),
                          emit(({ event }) => troubled("thread", String(event.error))),
                        ],
                      },
                    ],
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
                      // Reconciliation, which runs beside us, ends that deletion: we go on without a thread until then.
                      {
                        guard: ({ event }) => event.output.kind === "threadGone",
                        target: "choosing",
                        actions: [
                          assign({ thread: null, refusals: ({ context }) => context.refusals + 1 }),
                          "settleThread",
                          emit(troubled("thread", "our thread is being deleted: we ask for another")),
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

    stopped: {
      type: "final",
      entry: emit(({ context }) => ({ type: "activation.stopped", thread: context.thread })),
    },
  },
});
