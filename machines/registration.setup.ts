/**
 * What the chart of a seat is made of: its slots, guards, delays and actions.
 *
 * Owns: these. Does not own: the states in which they take effect (`registration.machine.ts`).
 */
import { setup } from "xstate";
import { cleanupMachine } from "./cleanup.machine.ts";
import { sameTarget } from "./ids.ts";
import type { Liveness } from "./ids.ts";
import { isNews, provisioningMachine } from "./provisioning.machine.ts";
import { answer, doubted, gone, must, newSitter, newThread, whyNotMoved, whyRefused } from "./registration.context.ts";
import type { RegistrationContext } from "./registration.context.ts";
import { candidateFrom } from "./registration.contract.ts";
import type {
  CommitAnswer,
  CommitRequest,
  EndRegistrationAnswer,
  ProofRequest,
  RegistrationEvent,
  RegistrationFact,
  RegistrationInput,
  SeatWrite,
} from "./registration.contract.ts";
import { companion, slot } from "./slots.ts";

/** Requests of one seat held back at once; a peer that sends more gets an answer instead of a place. */
const deferredMax = 64;
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
    /** Of this registration, and of the thread that it has now. */
    isItsThread: ({ context: { sitter }, event }) =>
      event.type === "thread.doubted" &&
      sitter !== null &&
      sitter.generation === event.generation &&
      sameTarget(sitter.thread.target, event.doubt.target),
    hasPlace: ({ context }) => context.deferred.length < deferredMax,
  },
  delays: {
    silence: ({ context }) => context.timings.silenceMs,
    proofInterval: ({ context }) => context.timings.proofMs,
    suspectInterval: ({ context }) => context.timings.suspectMs,
    retryInterval: 250,
  },
});

/** The slots, guards and actions of `registration.machine.ts`. */
export const chart = base.extend({
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
    sitDown: base.assign({ sitter: ({ context }) => newSitter(context) }),
    answerRegistered: base.emit(({ context }) =>
      answer(must(context.candidate).requestId, {
        kind: "registered",
        thread: newThread(context),
        origin: must(context.candidateThread).origin,
      }),
    ),
    announceThread: base.enqueueActions(({ context, enqueue }) => {
      if (isNews(must(context.candidateThread).origin))
        enqueue.emit({ type: "seat.connected", thread: newThread(context) });
    }),
    answerRefused: base.emit(({ context, event }) =>
      answer(must(context.candidate).requestId, {
        kind: "refused",
        reason: whyRefused("output" in event ? event.output : null),
      }),
    ),
    answerLostOwnership: base.emit(({ context }) =>
      answer(must(context.candidate).requestId, { kind: "lostOwnership" }),
    ),
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
    reportSuperseded: base.emit(({ context }) => gone(context, "superseded")),
    reportDied: base.emit(({ context }) => gone(context, "died")),
    reportLeft: base.emit(({ context }) => gone(context, "left")),
    answerUnknown: base.emit(({ event }) => answer("requestId" in event ? event.requestId : "", { kind: "unknown" })),
    answerStale: base.emit(({ event }) => answer("requestId" in event ? event.requestId : "", { kind: "stale" })),
    answerAlive: base.emit(({ event }) => answer("requestId" in event ? event.requestId : "", { kind: "alive" })),
    answerBusy: base.emit(({ event }) =>
      answer("requestId" in event ? event.requestId : "", { kind: "failed", reason: "too many requests for one seat" }),
    ),
    reportMoved: base.emit(({ context }) => ({
      type: "seat.moved",
      sitter: must(context.sitter),
      from: doubted(context),
    })),
    reportNotMoved: base.emit(({ context, event }) => ({
      type: "seat.notMoved",
      instanceId: must(context.sitter).instanceId,
      reason: "output" in event ? whyNotMoved(event.output) : "the thread was to be replaced, and that failed",
    })),
    doubtThread: base.assign({
      doubt: ({ context, event }) => (event.type === "thread.doubted" ? event.doubt : context.doubt),
    }),
    reportLive: base.emit(({ context }) => ({ type: "seat.live", sitter: must(context.sitter) })),
  },
});
