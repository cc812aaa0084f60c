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
import { and, assign, emit, enqueueActions, setup } from "xstate";
import type { Liveness } from "./ids.ts";
import { cleanupMachine, givingUp } from "./cleanup.machine.ts";
import { isNews, provisioningMachine } from "./provisioning.machine.ts";
import type {
  CommitAnswer,
  CommitRequest,
  EndRegistrationAnswer,
  ProofRequest,
  RegistrationEvent,
  RegistrationFact,
  RegistrationInput,
  SeatWrite,
  Sitter,
} from "./registration.contract.ts";
import { answer, gone, must, newSitter, newThread, seatWrite } from "./registration.context.ts";
import type { RegistrationContext } from "./registration.context.ts";
import { candidateFrom, farewellReply } from "./registration.contract.ts";
import { companion, slot } from "./slots.ts";

export * from "./registration.contract.ts";
export type { RegistrationContext } from "./registration.context.ts";

/** Requests of one seat held back at once; a peer that sends more gets an answer instead of a place. */
const deferredMax = 64;
const seatTaken = "another process holds this seat by now";
const threadBeingDeleted = "the seat's former thread is being deleted, and Telegram has not confirmed it yet";

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as RegistrationInput,
    context: {} as RegistrationContext,
    events: {} as RegistrationEvent,
    emitted: {} as RegistrationFact,
  },
  actors: {
    provisioning: provisioningMachine,
    /** Keeps a connection to the follower's endpoint; reports `link.closed`. */
    watchFollower: companion<{ readonly type: "never" }, ProofRequest>("watchFollower"),
    commitRegistration: slot<CommitAnswer, CommitRequest>("commitRegistration"),
    proveDeath: slot<Liveness, ProofRequest>("proveDeath"),
    endRegistration: slot<EndRegistrationAnswer, SeatWrite>("endRegistration"),
    /** Deletes the thread of one who leaves. */
    cleanup: cleanupMachine,
  },
  guards: {
    isCurrent: ({ context, event }) => "generation" in event && context.sitter?.generation === event.generation,
    hasSitter: ({ context }) => context.sitter !== null,
    hasPlace: ({ context }) => context.deferred.length < deferredMax,
  },
  delays: {
    silence: ({ context }) => context.timings.silenceMs,
    proofInterval: ({ context }) => context.timings.proofMs,
    suspectInterval: ({ context }) => context.timings.suspectMs,
    retryInterval: 250,
  },
});

const chart = base.extend({
  actions: {
    beginRegistration: base.assign({
      candidate: ({ context, event }) => candidateFrom(event, context.sitter === null ? "nobody" : "unheard"),
      candidateThread: null,
      lostThreads: 0,
    }),
    beginReregistration: base.assign({
      candidate: ({ event }) => candidateFrom(event, "live"),
      candidateThread: null,
      lostThreads: 0,
    }),
    defer: base.assign({
      deferred: ({ context, event }) =>
        event.type === "follower.register" || event.type === "follower.disconnect"
          ? [...context.deferred, event]
          : context.deferred,
    }),
    /** Gives deferred requests back to the mailbox, in order; those that do not fit yet are deferred again. */
    replay: base.enqueueActions(({ context, enqueue }) => {
      const { deferred } = context;
      enqueue.assign({ deferred: [] });
      for (const request of deferred) enqueue.raise(request);
    }),
    reportClosed: base.emit(({ context }) => gone(context, "closed")),
    reportSilent: base.emit(({ context }) => gone(context, "silent")),
    reportDied: base.emit(({ context }) => gone(context, "died")),
    reportLeft: base.emit(({ context }) => gone(context, "left")),
    answerUnknown: base.emit(({ event }) => answer("requestId" in event ? event.requestId : "", { kind: "unknown" })),
    answerStale: base.emit(({ event }) => answer("requestId" in event ? event.requestId : "", { kind: "stale" })),
    answerAlive: base.emit(({ event }) => answer("requestId" in event ? event.requestId : "", { kind: "alive" })),
    answerBusy: base.emit(({ event }) =>
      answer("requestId" in event ? event.requestId : "", { kind: "failed", reason: "too many requests for one seat" }),
    ),
    reportLive: base.emit(({ context }) => ({ type: "seat.live", sitter: must(context.sitter) })),
  },
});

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
        input: ({ context }) => {
          const { follower } = must(context.candidate);
          return {
            epoch: context.epoch,
            wish: {
              seat: context.seat,
              instanceId: follower.instanceId,
              chatId: context.chatId,
              threadName: follower.threadName,
              role: "follower" as const,
              carried: follower.carried,
              previous: follower.previous,
            },
            doubt: null,
          };
        },
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
        input: ({ context }) => ({ epoch: context.epoch, seat: context.seat, sitter: newSitter(context) }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "committed",
            target: "live",
            actions: [
              assign({ sitter: ({ context }) => newSitter(context) }),
              emit(({ context }) =>
                answer(must(context.candidate).requestId, {
                  kind: "registered",
                  thread: newThread(context),
                }),
              ),
              enqueueActions(({ context, enqueue }) => {
                if (isNews(must(context.candidateThread).origin))
                  enqueue.emit({ type: "seat.connected", thread: newThread(context) });
              }),
            ],
          },
          {
            guard: ({ context, event }) =>
              event.output.kind === "threadGone" && context.lostThreads < context.timings.lostThreadsMax,
            target: "rethreading",
            actions: assign({ lostThreads: ({ context }) => context.lostThreads + 1 }),
          },
          {
            guard: ({ event }) => event.output.kind === "superseded" || event.output.kind === "threadGone",
            target: "settling",
            actions: emit(({ context, event }) =>
              answer(must(context.candidate).requestId, {
                kind: "refused",
                reason: event.output.kind === "superseded" ? seatTaken : threadBeingDeleted,
              }),
            ),
          },
          {
            target: "settling",
            actions: emit(({ context }) => answer(must(context.candidate).requestId, { kind: "lostOwnership" })),
          },
        ],
        // It may stand: only the store can tell, and writing it again changes nothing.
        onError: "refencing",
      },
    },
    /** Its thread is being deleted, or has been: it waits for the end of that, and gets another. */
    rethreading: { on: whileMutating, after: { retryInterval: "provisioning" } },
    /** Whether the registration was written is not known. */
    refencing: { on: whileMutating, after: { retryInterval: "fencing" } },

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
          },
          after: {
            silence: {
              target: "#registration.suspect",
              actions: "reportSilent",
            },
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
