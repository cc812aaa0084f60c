/**
 * Being a follower of one leader.
 *
 * Owns: the registration and its generation, heartbeats, coming back after the leader was lost from sight.
 * Does not own: whether that leader still leads and who takes over (`lease.machine.ts`), receiving updates.
 *
 * One actor per leader that is followed; a new leader is followed by a new actor. Every outcome that arrives after the
 * generation it belongs to has ended is dropped, because the state that waited for it has been left.
 *
 * Invariants: registration/staleGenerationNeverActs.
 */
import { assign, emit, setup } from "xstate";
import type { RegisterAnswer } from "./acks.rules.ts";
import { generation } from "./ids.ts";
import type { BoundThread, Generation, SeatKey } from "./ids.ts";
import type { Leader } from "./lease.rules.ts";
import { companion, slot } from "./slots.ts";
import type { CompanionFailed } from "./slots.ts";

export interface MembershipInput {
  readonly leader: Leader;
  readonly seat: SeatKey;
  readonly timings: MembershipTimings;
}

export interface MembershipTimings {
  /** Between heartbeats. Default 1000. */
  readonly heartbeatMs: number;
  /** Longest pause before a registration is tried again; pauses start at a hundredth of it. Default 2500. */
  readonly recoverMaxMs: number;
}
export const defaultMembershipTimings: MembershipTimings = { heartbeatMs: 1_000, recoverMaxMs: 2_500 };

export interface RegisterInput {
  readonly leader: Leader;
  readonly seat: SeatKey;
}

export type BeatAnswer =
  { readonly kind: "alive" } | { readonly kind: "refused" | "unreachable"; readonly reason: string };

export type LeaveAnswer = { readonly kind: "left" } | { readonly kind: "notLeft"; readonly reason: string };

export type MembershipEvent =
  /** Give the seat and its thread up for good. */
  | { readonly type: "membership.leave" }
  | { readonly type: "link.closed"; readonly generation: Generation }
  | ThreadMoved
  | CompanionFailed;

/** The leader gave this registration another thread (protocol §6.15); the generation stays. */
export interface ThreadMoved {
  readonly type: "thread.moved";
  readonly generation: Generation;
  readonly thread: BoundThread;
}

export type MembershipFact =
  /** `thread` is null when the leader knows of none for us. */
  | { readonly type: "membership.registered"; readonly generation: Generation; readonly thread: BoundThread | null }
  | { readonly type: "membership.moved"; readonly thread: BoundThread }
  /** The leader does not answer, or no longer knows us: worth a look at the lease. */
  | { readonly type: "membership.lost"; readonly reason: string }
  | { readonly type: "membership.refused"; readonly reason: string }
  | { readonly type: "membership.left"; readonly confirmed: boolean; readonly reason: string };

export interface MembershipContext extends MembershipInput {
  readonly generation: Generation;
  readonly failures: number;
  readonly reason: string;
}

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as MembershipInput,
    context: {} as MembershipContext,
    events: {} as MembershipEvent,
    emitted: {} as MembershipFact,
  },
  actors: {
    register: slot<RegisterAnswer, RegisterInput>("register"),
    heartbeat: slot<BeatAnswer, { readonly generation: Generation }>("heartbeat"),
    disconnect: slot<LeaveAnswer, { readonly generation: Generation }>("disconnect"),
    /** Reports `link.closed` when the connection of this registration ends, `thread.moved` when it gets another thread. */
    watchLeader: companion<{ readonly type: "never" }, { readonly generation: Generation }>("watchLeader"),
  },
  guards: {
    isCurrent: ({ context, event }) =>
      (event.type === "link.closed" || event.type === "thread.moved") && event.generation === context.generation,
  },
  delays: {
    heartbeatInterval: ({ context }) => context.timings.heartbeatMs,
    recoverPause: ({ context }) =>
      Math.min(
        context.timings.recoverMaxMs,
        (context.timings.recoverMaxMs / 100) * 2 ** Math.max(0, context.failures - 1),
      ),
  },
});

const { createMachine } = base.extend({
  actions: {
    reportMoved: base.emit(({ event }): MembershipFact => {
      if (event.type !== "thread.moved") throw new Error(`the membership chart moves on ${event.type}`);
      return { type: "membership.moved", thread: event.thread };
    }),
    reportLost: base.emit(({ context }) => ({ type: "membership.lost", reason: context.reason })),
  },
});

export const membershipMachine = createMachine({
  id: "membership",
  context: ({ input }) => ({ ...input, generation: generation(""), failures: 0, reason: "" }),
  initial: "registering",
  on: {
    // A connection that is not the current registration's may close unnoticed.
    "link.closed": {},
    "thread.moved": {},
    "companion.failed": {},
    "membership.leave": {
      target: ".left",
      actions: assign({ reason: "not registered, so the leader could not be told" }),
    },
  },
  states: {
    registering: {
      invoke: {
        src: "register",
        input: ({ context }) => ({ leader: context.leader, seat: context.seat }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "accepted",
            target: "registered",
            actions: [
              assign({
                generation: ({ context, event: { output } }) =>
                  output.kind === "accepted" ? output.generation : context.generation,
                failures: 0,
              }),
              emit(({ event: { output } }): MembershipFact => {
                if (output.kind !== "accepted") throw new Error("the membership chart is registered without an ack");
                return { type: "membership.registered", generation: output.generation, thread: output.thread };
              }),
            ],
          },
          {
            guard: ({ event }) => event.output.kind === "refused",
            target: "recovering",
            actions: emit(({ event: { output } }): MembershipFact => ({
              type: "membership.refused",
              reason: "reason" in output ? output.reason : "",
            })),
          },
          {
            target: "recovering",
            actions: [
              assign({ reason: ({ event: { output } }) => ("reason" in output ? output.reason : "") }),
              "reportLost",
            ],
          },
        ],
        onError: {
          target: "recovering",
          actions: [assign({ reason: ({ event }) => String(event.error) }), "reportLost"],
        },
      },
    },

    /** The leader has acknowledged this generation, and nothing has said otherwise since. */
    registered: {
      invoke: { src: "watchLeader", input: ({ context }) => ({ generation: context.generation }) },
      on: {
        "membership.leave": ".leaving",
        "thread.moved": { guard: "isCurrent", actions: "reportMoved" },
        "link.closed": {
          guard: "isCurrent",
          target: "recovering",
          actions: [assign({ reason: "the connection to the leader closed" }), "reportLost"],
        },
        "companion.failed": {
          target: "recovering",
          actions: [assign({ reason: ({ event }) => event.reason }), "reportLost"],
        },
      },
      // The first one at once: it brings the roster, and shows whether the leader still knows this generation.
      initial: "beating",
      states: {
        resting: { after: { heartbeatInterval: "beating" } },
        beating: {
          invoke: {
            src: "heartbeat",
            input: ({ context }) => ({ generation: context.generation }),
            onDone: [
              { guard: ({ event }) => event.output.kind === "alive", target: "resting" },
              {
                target: "#membership.recovering",
                actions: [
                  assign({ reason: ({ event: { output } }) => ("reason" in output ? output.reason : "") }),
                  "reportLost",
                ],
              },
            ],
            onError: {
              target: "#membership.recovering",
              actions: [assign({ reason: ({ event }) => String(event.error) }), "reportLost"],
            },
          },
        },
        /** The connection stays until the leader has answered. Heartbeat outcomes mean nothing from here on. */
        leaving: {
          on: {
            "membership.leave": {},
            "companion.failed": {
              target: "#membership.left",
              actions: assign({ reason: ({ event }) => event.reason }),
            },
            "link.closed": {
              guard: "isCurrent",
              target: "#membership.left",
              actions: assign({ reason: "the connection to the leader closed before it answered" }),
            },
          },
          invoke: {
            src: "disconnect",
            input: ({ context }) => ({ generation: context.generation }),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "left",
                target: "#membership.left",
                actions: assign({ reason: "" }),
              },
              {
                target: "#membership.left",
                actions: assign({ reason: ({ event: { output } }) => ("reason" in output ? output.reason : "") }),
              },
            ],
            onError: {
              target: "#membership.left",
              actions: assign({ reason: ({ event }) => String(event.error) }),
            },
          },
        },
      },
    },

    /** Not registered. The lease chart looks at the leader meanwhile; while it leads, we knock again. */
    recovering: {
      entry: assign({ failures: ({ context }) => context.failures + 1 }),
      after: { recoverPause: "registering" },
    },

    left: {
      type: "final",
      entry: emit(({ context }) => ({
        type: "membership.left",
        confirmed: context.reason === "",
        reason: context.reason,
      })),
    },
  },
});
