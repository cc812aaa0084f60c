/**
 * One update in the leader's hand, from its admission to its settlement.
 *
 * Owns: authorisation first, then who owns the update, then getting it to that seat, or ending it with a reason.
 * Does not own: the journal row (the recipient takes it over with a claim of its own), what a handler does with it.
 *
 * Several updates of one lane may be in hand: they are sent in their order, and the store lets none of them be claimed
 * before the earlier ones. While one waits, later updates of the same thread wait behind it, others do not. What was
 * certainly not taken goes back to the journal, whose head may be another update by then.
 * What is written in a thread that no seat has waits like that, too, for the user's choice.
 * A handler's failure is an attempt. No live recipient, a broken connection or a stale generation is none; but whatever an
 * update waits for, it waits no longer than its patience.
 *
 * Invariants: delivery/handedOutOnce, delivery/settledOnce, delivery/threadOrder.
 */
import { and, assign, emit, setup, stateIn } from "xstate";
import { attemptsMax } from "./attempts.rules.ts";
import type { Epoch, Generation, InstanceId, JournalSeq, SeatKey } from "./ids.ts";
import { slot } from "./slots.ts";
import { dropReason } from "./updates.rules.ts";
import type { Audience, UpdateFacts } from "./updates.rules.ts";

export interface DeliveryInput {
  readonly epoch: Epoch;
  readonly seq: JournalSeq;
  readonly facts: UpdateFacts;
  /** Null = nobody is paired: it is a counted drop. */
  readonly audience: Audience | null;
  /** Handler failures so far. */
  readonly attempts: number;
  /** Until the next attempt may begin; 0 = now. */
  readonly notBeforeMs: number;
  /** Until an update that nobody takes is set aside, whatever the reason. */
  readonly patienceMs: number;
  /** Times in a row that this lane's head was not taken. */
  readonly refusals: number;
}

/** Who is on a seat right now. */
export type Recipient =
  | { readonly kind: "self" }
  | { readonly kind: "follower"; readonly instanceId: InstanceId; readonly generation: Generation }
  | { readonly kind: "absent" };

export type Route =
  | { readonly kind: "seat"; readonly seat: SeatKey; readonly recipient: Recipient }
  /** It belongs to a thread that no seat has, and somebody can say whose it shall be; `isAsked` = now. */
  | { readonly kind: "unowned"; readonly isAsked: boolean; readonly reason: string }
  /** It belongs to a thread that no seat has: kept for the operator. */
  | { readonly kind: "nobody"; readonly reason: string }
  /** It belongs to no thread at all: a counted drop. */
  | { readonly kind: "nowhere"; readonly reason: string };

export type ForwardAnswer =
  /** The recipient holds it durably, or had settled it before. */
  | { readonly kind: "accepted" }
  /** Certainly not taken. */
  | { readonly kind: "refused"; readonly reason: string }
  /** Certainly not taken, for an earlier update of its thread is not: that one comes first. */
  | { readonly kind: "early" }
  /** Perhaps taken: the answer was lost. Asking again is harmless, the claim tells. */
  | { readonly kind: "unknown"; readonly reason: string };

/** `gone`: there was nothing to end; its seat has it, or it is settled. */
export interface EndAnswer {
  readonly kind: "ended" | "gone" | "fenced";
}

export type DeliveryEvent =
  /** A seat that may concern it got a live holder, or lost it. */
  { readonly type: "seats.changed" };

export type DeliveryFact =
  | { readonly type: "delivery.accepted"; readonly seat: SeatKey }
  | { readonly type: "delivery.waiting"; readonly seat: SeatKey }
  /** Nobody has its thread: it waits for the user's choice. */
  | { readonly type: "delivery.unowned"; readonly isAsked: boolean }
  | { readonly type: "delivery.dropped"; readonly reason: string }
  | { readonly type: "delivery.deadLettered"; readonly reason: string }
  /** Not taken, and given back: whatever is the lane's head now comes next. */
  | { readonly type: "delivery.returned"; readonly refusals: number }
  | { readonly type: "delivery.fenced" };

export interface DeliveryContext extends DeliveryInput {
  readonly route: Route;
  /** Why it ends without a handler. */
  readonly reason: string;
}

export interface ForwardInput {
  readonly seq: JournalSeq;
  readonly seat: SeatKey;
  readonly recipient: Recipient;
}

export interface EndInput {
  readonly epoch: Epoch;
  readonly seq: JournalSeq;
  readonly reason: string;
}

/** How long an update waits to be taken before it is set aside: 24 hours. */
export const patienceMaxMs = 24 * 60 * 60_000;
/** Whatever its age, an update that a new leader finds waits at least so long: the others must be able to register first. */
export const patienceMinMs = 60_000;

const seatRoute = (context: DeliveryContext): Extract<Route, { kind: "seat" }> => {
  if (context.route.kind !== "seat") throw new Error("the delivery chart forwards without a seat");
  return context.route;
};
const isAbsent = (route: Route): boolean => route.kind === "seat" && route.recipient.kind === "absent";
const isUnowned = (route: Route): route is Extract<Route, { kind: "unowned" }> => route.kind === "unowned";
/** Why nobody has taken it when its patience is over. */
const reasonOfPatience = ({ route }: DeliveryContext): string =>
  isUnowned(route) ? route.reason : "nobody took it for 24 hours";
const causeOf = (context: DeliveryContext): string | null => dropReason(context.facts, context.audience);

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as DeliveryInput,
    context: {} as DeliveryContext,
    events: {} as DeliveryEvent,
    emitted: {} as DeliveryFact,
  },
  actors: {
    findOwner: slot<Route, { readonly seq: JournalSeq; readonly facts: UpdateFacts }>("findOwner"),
    forwardUpdate: slot<ForwardAnswer, ForwardInput>("forwardUpdate"),
    dropUpdate: slot<EndAnswer, EndInput>("dropUpdate"),
    deadLetterUpdate: slot<EndAnswer, EndInput>("deadLetterUpdate"),
  },
  guards: { isOutdated: stateIn("#delivery.trying.routing.outdated") },
  delays: {
    untilNextAttempt: ({ context }) => context.notBeforeMs,
    patience: ({ context }) => context.patienceMs,
    refusalPause: ({ context }) => Math.min(1_000, 20 * 2 ** Math.min(context.refusals, 6)),
    retryInterval: 250,
    choiceInterval: 60_000,
  },
});

const { createMachine } = base.extend({
  actions: { countRefusal: base.assign({ refusals: ({ context }) => context.refusals + 1 }) },
});

export const deliveryMachine = createMachine({
  id: "delivery",
  context: ({ input }) => ({
    ...input,
    route: { kind: "nowhere", reason: "not routed yet" },
    reason: "",
  }),
  initial: "admitted",
  // Only a delivery that waits cares; every other state looks for itself.
  on: { "seats.changed": {} },
  states: {
    /** Passed through at once: authorisation comes before any effect. */
    admitted: {
      always: [
        {
          guard: ({ context }) => causeOf(context) !== null,
          target: "dropping",
          actions: assign({ reason: ({ context }) => causeOf(context) ?? "" }),
        },
        {
          guard: ({ context }) => context.attempts >= attemptsMax,
          target: "deadLettering",
          actions: assign({ reason: ({ context }) => `its handler failed ${String(context.attempts)} times` }),
        },
        { guard: ({ context }) => context.notBeforeMs > 0, target: "trying.retryWait" },
        { target: "trying" },
      ],
    },

    /** On its way. An end that comes while a forward is under way is decided by the store: one of the two, never both. */
    trying: {
      initial: "routing",
      after: {
        patience: { target: "deadLettering", actions: assign({ reason: ({ context }) => reasonOfPatience(context) }) },
      },
      states: {
        /** A handler failed; later updates of the thread wait with this one. */
        retryWait: { after: { untilNextAttempt: "routing" } },

        routing: {
          initial: "current",
          states: {
            current: { on: { "seats.changed": "outdated" } },
            /** A seat changed hands while we looked: an answer that finds nobody may be older than that. */
            outdated: {},
          },
          invoke: {
            src: "findOwner",
            input: ({ context }) => ({ seq: context.seq, facts: context.facts }),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "nobody",
                target: "#delivery.deadLettering",
                actions: assign({ reason: ({ event: { output } }) => ("reason" in output ? output.reason : "") }),
              },
              {
                guard: ({ event }) => event.output.kind === "nowhere",
                target: "#delivery.dropping",
                actions: assign({ reason: ({ event: { output } }) => ("reason" in output ? output.reason : "") }),
              },
              {
                guard: and([({ event: { output } }) => isAbsent(output) || isUnowned(output), "isOutdated"]),
                target: "routing",
                reenter: true,
              },
              {
                guard: ({ event }) => isAbsent(event.output),
                target: "awaitingSeat",
                actions: assign({ route: ({ event }) => event.output }),
              },
              {
                guard: ({ event }) => isUnowned(event.output),
                target: "awaitingChoice",
                actions: assign({ route: ({ event }) => event.output }),
              },
              { target: "forwarding", actions: assign({ route: ({ event }) => event.output }) },
            ],
            // Asked again here, not given back: an update that is perhaps held already must not be passed.
            onError: { target: "asking", actions: "countRefusal" },
          },
        },

        /** Its seat has no live holder. Durable: waiting costs nothing and survives a change of leader. */
        awaitingSeat: {
          entry: emit(({ context }) => ({ type: "delivery.waiting", seat: seatRoute(context).seat })),
          on: { "seats.changed": "#delivery.returned" },
        },

        /** Nobody has its thread. As durable as the wait above; whoever is chosen has it in their own thread's lane then. */
        awaitingChoice: {
          entry: emit(({ context: { route } }) => ({
            type: "delivery.unowned",
            isAsked: isUnowned(route) && route.isAsked,
          })),
          after: { choiceInterval: "#delivery.returned" },
          on: { "seats.changed": "#delivery.returned" },
        },

        forwarding: {
          invoke: {
            src: "forwardUpdate",
            input: ({ context }) => {
              const { seat, recipient } = seatRoute(context);
              return { seq: context.seq, seat, recipient };
            },
            onDone: [
              { guard: ({ event }) => event.output.kind === "accepted", target: "#delivery.accepted" },
              { guard: ({ event }) => event.output.kind === "early", target: "#delivery.returned" },
              { guard: ({ event }) => event.output.kind === "unknown", target: "asking", actions: "countRefusal" },
              { target: "pausing", actions: "countRefusal" },
            ],
            onError: { target: "asking", actions: "countRefusal" },
          },
        },

        /** Perhaps its seat has it. The lane stays with this update until that is known: the next one must not pass it. */
        asking: { after: { refusalPause: "routing" } },

        /** Not taken. Then it is given back: an earlier update of the thread may have come back to the journal meanwhile. */
        pausing: { after: { refusalPause: "#delivery.returned" }, on: { "seats.changed": "#delivery.returned" } },
      },
    },

    dropping: {
      initial: "ending",
      states: {
        ending: {
          invoke: {
            src: "dropUpdate",
            input: ({ context }) => ({ epoch: context.epoch, seq: context.seq, reason: context.reason }),
            onDone: [
              { guard: ({ event }) => event.output.kind === "ended", target: "#delivery.dropped" },
              { guard: ({ event }) => event.output.kind === "gone", target: "#delivery.returned" },
              { target: "#delivery.fenced" },
            ],
            onError: "waiting",
          },
        },
        waiting: { after: { retryInterval: "ending" } },
      },
    },
    deadLettering: {
      initial: "ending",
      states: {
        ending: {
          invoke: {
            src: "deadLetterUpdate",
            input: ({ context }) => ({ epoch: context.epoch, seq: context.seq, reason: context.reason }),
            onDone: [
              { guard: ({ event }) => event.output.kind === "ended", target: "#delivery.deadLettered" },
              { guard: ({ event }) => event.output.kind === "gone", target: "#delivery.returned" },
              { target: "#delivery.fenced" },
            ],
            onError: "waiting",
          },
        },
        waiting: { after: { retryInterval: "ending" } },
      },
    },

    accepted: {
      type: "final",
      entry: emit(({ context }) => ({ type: "delivery.accepted", seat: seatRoute(context).seat })),
    },
    dropped: { type: "final", entry: emit(({ context }) => ({ type: "delivery.dropped", reason: context.reason })) },
    deadLettered: {
      type: "final",
      entry: emit(({ context }) => ({ type: "delivery.deadLettered", reason: context.reason })),
    },
    returned: {
      type: "final",
      entry: emit(({ context }) => ({ type: "delivery.returned", refusals: context.refusals })),
    },
    fenced: { type: "final", entry: emit({ type: "delivery.fenced" }) },
  },
});
