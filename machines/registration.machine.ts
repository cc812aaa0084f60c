/**
 * One follower seat, at the leader.
 *
 * Owns: who sits on the seat, by which generation; its mailbox is the mutation lock: registration and disconnect of one
 * seat never interleave, those that come meanwhile are deferred in order.
 * Does not own: which thread the seat gets (`provisioning.machine.ts`), routing, the wire texts of answers.
 *
 * A follower is pruned by silence and *dead* only by proof: its incarnation gone, or its claim on the seat given up.
 * Nothing is deleted for death here; the binding stays and the seat is `preserved`.
 *
 * Invariants: registration/oneSeatOneHolder, registration/staleGenerationNeverActs.
 */
import { and, assign, emit } from "xstate";
import { givingUp } from "./cleanup.machine.ts";
import { sameTarget } from "./ids.ts";
import { answer, isOfSitter, movedSitter, must, newSitter, provisioningOf, seatWrite } from "./registration.context.ts";
import type { RegistrationContext } from "./registration.context.ts";
import { farewellReply } from "./registration.contract.ts";
import type { CommitAnswer, SeatWrite, Sitter } from "./registration.contract.ts";
import { chart } from "./registration.setup.ts";

export * from "./registration.contract.ts";
export type { RegistrationContext } from "./registration.context.ts";

type Committed = { readonly event: { readonly output: CommitAnswer } };
const isCommitted = ({ event }: Committed): boolean => event.output.kind === "committed";
const isRefused = ({ event }: Committed): boolean =>
  event.output.kind === "superseded" || event.output.kind === "threadGone";
const commitOf = ({ context }: { readonly context: RegistrationContext }): SeatWrite => ({
  epoch: context.epoch,
  seat: context.seat,
  sitter: newSitter(context),
});
const seated = ["sitDown", "answerRegistered", "announceThread"] as const;
/** Not routable: its requests are told so, and it registers anew. */
const unrouted = {
  "follower.heartbeat": { actions: "answerUnknown" },
  "follower.disconnect": { actions: "answerUnknown" },
} as const;

/** Registration and disconnect wait for the mutation under way; heartbeats do not. */
const whileMutating = {
  "follower.register": [{ guard: "hasPlace", actions: "defer" }, { actions: "answerBusy" }],
  "follower.disconnect": [{ guard: "hasPlace", actions: "defer" }, { actions: "answerBusy" }],
} as const;

export const registrationMachine = chart.createMachine({
  id: "registration",
  context: ({ input }) => ({
    ...input,
    candidate: null,
    candidateThread: null,
    leaving: "",
    deferred: [],
    looks: 0,
    lostThreads: 0,
    doubt: null,
  }),
  initial: "beginning",
  on: {
    "follower.register": { target: ".provisioning", actions: "beginRegistration" },
    "follower.heartbeat": [
      { guard: "isCurrent", actions: "answerAlive" },
      { guard: "hasSitter", actions: "answerStale" },
      { actions: "answerUnknown" },
    ],
    "follower.disconnect": { actions: "answerUnknown" },
    // A sign of life or of death that no state below waits for decides nothing.
    "follower.heard": {},
    // Whatever thread the seat had, it gets another look when somebody sits again.
    "thread.doubted": {},
    "link.closed": {},
    "companion.failed": {},
  },
  states: {
    /** Passed through at once: does the store know somebody who sits here under an earlier leader? */
    beginning: { always: [{ guard: "hasSitter", target: "suspect" }, { target: "vacant" }] },

    /** Nobody sits, and no thread is kept. */
    vacant: { entry: "replay" },

    provisioning: {
      on: whileMutating,
      invoke: {
        src: "provisioning",
        input: ({ context }) => provisioningOf(context, must(context.candidate).follower, null),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "bound",
            target: "fencing",
            actions: assign({
              candidateThread: ({ event: { output } }) =>
                output.kind === "bound" ? { ...output.thread, origin: output.origin } : null,
            }),
          },
          {
            target: "settling",
            actions: emit(({ context, event: { output } }) =>
              answer(
                must(context.candidate).requestId,
                output.kind === "rejected" ? { kind: "refused", reason: output.reason } : { kind: "lostOwnership" },
              ),
            ),
          },
        ],
        onError: {
          target: "settling",
          actions: emit(({ context, event }) =>
            answer(must(context.candidate).requestId, { kind: "failed", reason: String(event.error) }),
          ),
        },
      },
    },

    /** The thread is known; the seat changes hands only if the epoch still holds, in one transaction. */
    fencing: {
      on: whileMutating,
      invoke: {
        src: "commitRegistration",
        input: commitOf,
        onDone: [
          { guard: isCommitted, target: "live", actions: seated },
          {
            guard: ({ context, event }) =>
              event.output.kind === "threadGone" && context.lostThreads < context.timings.lostThreadsMax,
            target: "rethreading",
            actions: assign({ lostThreads: ({ context }) => context.lostThreads + 1 }),
          },
          // Whoever sits here is the one who asked: the seat went past both.
          {
            guard: ({ context, event }) => event.output.kind === "superseded" && isOfSitter(context),
            target: "suspect",
            actions: ["answerRefused", "reportSuperseded"],
          },
          { guard: isRefused, target: "settling", actions: "answerRefused" },
          { target: "settling", actions: "answerLostOwnership" },
        ],
        // It may stand: only the store can tell, and writing it again changes nothing.
        onError: "refencing",
      },
    },
    /** Its thread is being deleted, or has been: it waits for the end of that, and gets another. */
    rethreading: { on: whileMutating, after: { retryInterval: "provisioning" } },
    /**
     * Whether the registration was written is not known. A refusal now does not say who the store had before it: nobody is
     * routable then.
     */
    refencing: {
      on: whileMutating,
      initial: "pausing",
      states: {
        pausing: { after: { retryInterval: "writing" } },
        writing: {
          invoke: {
            src: "commitRegistration",
            input: commitOf,
            onDone: [
              { guard: isCommitted, target: "#registration.live", actions: seated },
              {
                guard: ({ context, event }) => isRefused({ event }) && context.sitter !== null,
                target: "#registration.suspect",
                actions: ["answerRefused", "reportSuperseded"],
              },
              { guard: isRefused, target: "#registration.vacant", actions: "answerRefused" },
              { target: "#registration.settling", actions: "answerLostOwnership" },
            ],
            onError: "pausing",
          },
        },
      },
    },

    /** A refused registration leaves the seat as it was. */
    settling: {
      always: [
        { guard: ({ context }) => context.candidate?.before === "live", target: "live" },
        { guard: "hasSitter", target: "suspect" },
        { target: "vacant" },
      ],
    },

    /** Somebody sits, is connected and was heard of lately: the seat is routable. */
    live: {
      entry: ["reportLive", "replay"],
      invoke: {
        src: "watchFollower",
        input: ({ context }) => ({ seat: context.seat, sitter: must(context.sitter) }),
      },
      on: {
        "follower.register": { target: "provisioning", actions: "beginReregistration" },
        "follower.disconnect": [
          {
            guard: "isCurrent",
            target: "disconnecting",
            actions: assign({ leaving: ({ event }) => event.requestId }),
          },
          { actions: "answerStale" },
        ],
        "link.closed": {
          guard: "isCurrent",
          target: "confirmingDeath",
          actions: [assign({ looks: 0 }), "reportClosed"],
        },
        // It cannot be watched: treat it like a connection that closed.
        "companion.failed": { target: "confirmingDeath", actions: [assign({ looks: 0 }), "reportClosed"] },
      },
      initial: "heard",
      states: {
        heard: {
          on: {
            "follower.heartbeat": [
              { guard: "isCurrent", target: "heard", reenter: true, actions: "answerAlive" },
              { actions: "answerStale" },
            ],
            "follower.heard": { guard: "isCurrent", target: "heard", reenter: true },
            "thread.doubted": { guard: "isItsThread", target: "replacing", actions: "doubtThread" },
          },
          after: {
            silence: {
              target: "#registration.suspect",
              actions: "reportSilent",
            },
          },
        },

        /**
         * Its thread is reported gone: it gets another one, once, under the same registration. Whoever has something to say
         * in the thread waits; what else changes the seat does, too.
         */
        replacing: {
          on: {
            ...whileMutating,
            "follower.heartbeat": [{ guard: "isCurrent", actions: "answerAlive" }, { actions: "answerStale" }],
            "follower.heard": {},
            "thread.doubted": {},
          },
          exit: "replay",
          initial: "provisioning",
          states: {
            provisioning: {
              invoke: {
                src: "provisioning",
                input: ({ context }) => provisioningOf(context, must(context.sitter), context.doubt),
                onDone: [
                  {
                    guard: ({ context, event: { output } }) =>
                      output.kind === "bound" && !sameTarget(output.thread.target, must(context.sitter).thread.target),
                    target: "moving",
                    actions: assign({
                      candidateThread: ({ event: { output } }) =>
                        output.kind === "bound" ? { ...output.thread, origin: output.origin } : null,
                    }),
                  },
                  { target: "#registration.live.heard", actions: "reportNotMoved" },
                ],
                onError: { target: "#registration.live.heard", actions: "reportNotMoved" },
              },
            },
            moving: {
              invoke: {
                src: "commitRegistration",
                input: ({ context }) => ({ epoch: context.epoch, seat: context.seat, sitter: movedSitter(context) }),
                onDone: [
                  {
                    guard: ({ event }) => event.output.kind === "committed",
                    target: "#registration.live.heard",
                    actions: [assign({ sitter: ({ context }) => movedSitter(context) }), "reportMoved"],
                  },
                  {
                    guard: ({ event }) => event.output.kind === "superseded",
                    target: "#registration.suspect",
                    actions: ["reportNotMoved", "reportSuperseded"],
                  },
                  { target: "#registration.live.heard", actions: "reportNotMoved" },
                ],
                // It may stand: writing it again changes nothing.
                onError: "pausing",
              },
            },
            pausing: { after: { retryInterval: "moving" } },
          },
        },
      },
    },

    /** Its connection closed. A killed process takes a few looks to vanish. */
    confirmingDeath: {
      initial: "looking",
      on: unrouted,
      states: {
        looking: {
          entry: assign({ looks: ({ context }) => context.looks + 1 }),
          invoke: {
            src: "proveDeath",
            input: ({ context }) => ({ seat: context.seat, sitter: must(context.sitter) }),
            onDone: [
              { guard: ({ event }) => event.output === "dead", target: "#registration.ending" },
              {
                guard: and([
                  ({ event }) => event.output === "alive",
                  ({ context }) => context.looks < context.timings.proofLooksMax,
                ]),
                target: "pausing",
              },
              { target: "#registration.suspect" },
            ],
            // A look that failed is no observation.
            onError: "#registration.suspect",
          },
        },
        pausing: { after: { proofInterval: "looking" } },
      },
    },

    /** Silent, or its connection closed, and not proven dead. Not routable; its own next request makes it register anew. */
    suspect: {
      entry: "replay",
      initial: "resting",
      on: unrouted,
      states: {
        resting: { after: { suspectInterval: "looking" } },
        looking: {
          invoke: {
            src: "proveDeath",
            input: ({ context }) => ({ seat: context.seat, sitter: must(context.sitter) }),
            onDone: [
              { guard: ({ event }) => event.output === "dead", target: "#registration.ending" },
              {
                guard: ({ event }) => event.output === "unverifiable",
                target: "resting",
                actions: emit(({ context }) => ({
                  type: "seat.unprovable",
                  instanceId: must(context.sitter).instanceId,
                })),
              },
              { target: "resting" },
            ],
            onError: "resting",
          },
        },
      },
    },

    /** Proven dead: written down, unless a newer registration got there first. */
    ending: {
      on: whileMutating,
      initial: "writing",
      states: {
        writing: {
          invoke: {
            src: "endRegistration",
            input: seatWrite,
            onDone: [
              // Our leadership is over: nothing more is known of the seat here.
              { guard: ({ event }) => event.output.kind === "fenced", target: "#registration.suspect" },
              {
                target: "#registration.preserved",
                actions: ["reportDied", assign({ sitter: null })],
              },
            ],
            onError: "waiting",
          },
        },
        waiting: { after: { retryInterval: "writing" } },
      },
    },

    /** Nobody sits; the thread is kept for whoever comes back, and its updates wait. */
    preserved: { entry: "replay" },

    /** Leaving for good: its thread is deleted, and only then is it told that it has left. */
    disconnecting: {
      on: whileMutating,
      invoke: {
        src: "cleanup",
        input: ({ context }) => givingUp(context, must(context.sitter).thread.target),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "removed",
            target: "vacant",
            actions: [
              "reportLeft",
              emit(({ context }) => answer(context.leaving, { kind: "left" })),
              assign({ sitter: null }),
            ],
          },
          // The seat stays taken, and the follower may ask again.
          {
            target: "live",
            actions: emit(({ context, event: { output } }) => answer(context.leaving, farewellReply(output))),
          },
        ],
        onError: {
          target: "live",
          actions: emit(({ context, event }) =>
            answer(context.leaving, { kind: "failed", reason: String(event.error) }),
          ),
        },
      },
    },
  },
});

/** The sitter if the seat is routable in this state. */
export function routableSitter(snapshot: {
  readonly matches: (state: "live") => boolean;
  readonly context: { readonly sitter: Sitter | null };
}): Sitter | null {
  return snapshot.matches("live") ? snapshot.context.sitter : null;
}
