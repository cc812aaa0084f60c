/**
 * One instance: a process on the line, for one profile.
 *
 * Owns: the seat it takes, the role it plays, the order of coming and going.
 * Does not own: who leads (`lease.machine.ts` decides with the store), what leading and following mean inside
 * (`activation.machine.ts`, `membership.machine.ts`).
 *
 * The lease chart lives beside every role; its facts alone change the role. A follower that loses its leader from sight
 * only asks the lease chart to look.
 *
 * Invariants: instance/leadsOnlyWhatItHolds, instance/pollsOnlyAsLeader.
 */
import { assign, emit, sendTo } from "xstate";
import { givingUp, reasonNotRemoved } from "./cleanup.machine.ts";
import { epoch } from "./ids.ts";
import type { ThreadTarget } from "./ids.ts";
import { seatKey } from "./ids.ts";
import type { InstanceContext, InstanceFact } from "./instance.contract.ts";
import { chart } from "./instance.setup.ts";
import { leaseFactsIgnored } from "./lease.machine.ts";
import type { Leader } from "./lease.rules.ts";
import { chooseSeat } from "./seat.rules.ts";

export type {
  InstanceInput,
  SeatClaims,
  InstanceEvent,
  InstanceFact,
  InstanceOutput,
  ClaimInput,
  ClaimAnswer,
  ActivationStart,
  MembershipStart,
  InstanceContext,
} from "./instance.contract.ts";

/** Looks at a taken seat before it counts as taken. */
const refusalLooksMax = 10;

const ownThread = (context: InstanceContext): ThreadTarget => {
  if (context.thread === null) throw new Error("the instance chart gives up a thread it does not have");
  return context.thread.target;
};
const leaderOf = (context: InstanceContext): Leader => {
  if (context.leader === null) throw new Error("the instance chart follows nobody");
  return context.leader;
};

/** On the way out nothing leads back in: whatever happens to the lease, the next step is to let go of it. */
const farewell = {
  "lease.observed": {},
  "lease.standing": {},
  "lease.granted": "#instance.online.releasing",
  "lease.lost": "#instance.online.releasing",
  "instance.stop": {},
} as const;

/** The threads of the old chat are not ours: we begin to lead anew, under the grant that we have, in the new one. */
const leadElsewhere = {
  target: "#instance.online.leading",
  reenter: true,
  actions: "forgetThread",
} as const;

/** However far leading has come. */
const whileLeading = {
  "chat.moved": leadElsewhere,
  "instance.stop": [
    { guard: "isLeaving", target: "#instance.online.leading.leaving" },
    { target: "#instance.online.leading.stopping" },
  ],
} as const;

/** While we lead and leave for good: what is under way for us is disowned first. */
const partingNow = {
  ...farewell,
  "lease.granted": "#instance.online.disowning",
  "lease.lost": "#instance.online.disowning",
} as const;

export const instanceMachine = chart.createMachine({
  id: "instance",
  context: ({ input }) => ({
    ...input,
    seat: seatKey(""),
    choice: { kind: "refuse", reason: "undecided" },
    epoch: epoch(0),
    leader: null,
    thread: null,
    refusals: 0,
    output: { kind: "stopped" },
  }),
  initial: "starting",
  output: ({ context }) => context.output,
  on: {
    // Late words of companions that have been let go, and facts that the state at hand has no use for.
    ...leaseFactsIgnored,
    "owner.refreshed": {},
    "membership.registered": {},
    "membership.moved": {},
    "membership.lost": {},
    "membership.refused": {},
    "membership.left": {},
    "activation.active": {},
    "activation.classic": {},
    "activation.troubled": {},
    "activation.doubted": {},
    "activation.stopped": {},
    "companion.failed": {},
    "instance.stop": {},
    // A follower follows its leader, which brings it there.
    "chat.moved": {},
  },
  states: {
    starting: {
      initial: "looking",
      on: { "instance.stop": "closing" },
      states: {
        looking: {
          invoke: {
            src: "readSeatClaims",
            input: ({ context }) => ({ name: context.name }),
            onDone: {
              target: "choosing",
              actions: assign({
                choice: ({ event }) => chooseSeat(event.output.request, event.output.claims),
              }),
            },
            onError: { target: "waiting", actions: emit(({ event }) => storeTrouble(event.error)) },
          },
        },
        /** Passed through at once. */
        choosing: {
          always: [
            {
              guard: ({ context }) => context.choice.kind === "take",
              target: "claiming",
              actions: assign({
                seat: ({ context: { choice, seat } }) => (choice.kind === "take" ? choice.seat : seat),
              }),
            },
            // A killed predecessor takes a moment to leave the process table: one look is not enough.
            {
              guard: ({ context }) => context.refusals < refusalLooksMax,
              target: "doubting",
              actions: assign({ refusals: ({ context }) => context.refusals + 1 }),
            },
            {
              target: "#instance.refused",
              actions: assign({
                output: ({ context: { choice } }) => ({
                  kind: "refused",
                  reason: choice.kind === "refuse" ? choice.reason : "",
                }),
              }),
            },
          ],
        },
        claiming: {
          invoke: {
            src: "claimSeat",
            input: ({ context: { choice, seat } }) => ({
              seat,
              expected: choice.kind === "take" ? choice.expected : null,
            }),
            onDone: [
              { guard: ({ event }) => event.output.kind === "claimed", target: "#instance.online" },
              // Somebody was faster: look again.
              { target: "looking" },
            ],
            onError: { target: "waiting", actions: emit(({ event }) => storeTrouble(event.error)) },
          },
        },
        doubting: { after: { doubtInterval: "looking" } },
        waiting: { after: { retryInterval: "looking" } },
      },
    },

    online: {
      invoke: { src: "lease", id: "lease" },
      initial: "seeking",
      on: {
        "lease.observed": { guard: "isReplacedLeader", target: ".following", actions: "rememberLeader" },
        "lease.standing": ".electing",
        "lease.granted": { target: ".leading", actions: "rememberGrant" },
        "instance.stop": ".releasing",
        // Without any one of its charts an instance is not what it says it is: better it ends, loudly.
        "companion.failed": { target: ".releasing", actions: ["reportTrouble", "rememberDefect"] },
      },
      states: {
        /** Waiting for the lease chart's first word. */
        seeking: {
          on: { "lease.observed": { target: "following", actions: "rememberLeader" } },
        },

        following: {
          invoke: {
            src: "membership",
            id: "membership",
            input: ({ context }) => ({ leader: leaderOf(context), seat: context.seat }),
          },
          on: {
            "lease.observed": { guard: "isNewLeader", target: "following", reenter: true, actions: "rememberLeader" },
          },
          initial: "joining",
          states: {
            /** Knocking at the leader, for the first time or again. */
            joining: {
              on: {
                "membership.registered": [
                  { guard: "hasThread", target: "joined", actions: ["rememberThread", "reportReady"] },
                  { target: "joined", actions: ["rememberThread", "reportThreadless"] },
                ],
                "membership.lost": { actions: "checkLease" },
                "membership.refused": { actions: "reportTrouble" },
                "instance.stop": [{ guard: "isLeaving", target: "leaving" }, { target: "#instance.online.releasing" }],
              },
            },
            /** Our thread may still be missing; it is told when it is there. */
            joined: {
              on: {
                "membership.moved": { actions: ["rememberThread", "reportReady"] },
                "membership.lost": { target: "joining", actions: "checkLease" },
                "instance.stop": [{ guard: "isLeaving", target: "leaving" }, { target: "#instance.online.releasing" }],
              },
            },
            /** Whatever is still being created for us is not wanted any more: that is on disk, whoever ends it. */
            leaving: {
              entry: sendTo("membership", { type: "membership.leave" }),
              invoke: { src: "disownSeat", input: ({ context }) => ({ seat: context.seat }), onDone: {}, onError: {} },
              on: {
                "membership.left": [
                  { guard: ({ event }) => event.confirmed, target: "#instance.online.releasing" },
                  { target: "#instance.online.releasing", actions: "reportTrouble" },
                ],
                ...farewell,
              },
              after: { farewellLimit: { target: "#instance.online.releasing", actions: emit(leaderSilent) } },
            },
          },
        },

        /** The lease is free or its holder is gone, and we are one of those who stand. */
        electing: {
          on: { "lease.observed": { target: "following", actions: "rememberLeader" } },
        },

        leading: {
          invoke: {
            src: "activation",
            id: "activation",
            input: ({ context }) => ({
              epoch: context.epoch,
              seat: context.seat,
              hadThread: context.thread !== null,
            }),
          },
          on: {
            "lease.lost": "seeking",
            "lease.standing": {},
            "activation.doubted": { actions: "checkLease" },
            "activation.troubled": { actions: "reportTrouble" },
          },
          initial: "activating",
          states: {
            activating: {
              on: {
                ...whileLeading,
                "activation.active": [
                  { guard: "hasThread", target: "bus", actions: ["rememberThread", "reportReady"] },
                  { target: "bus" },
                ],
                "activation.classic": "classic",
              },
            },
            /** Followers are served. Our own thread may still be missing; it is told when it is there. */
            bus: {
              on: {
                ...whileLeading,
                "activation.active": { guard: "hasThread", actions: ["rememberThread", "reportReady"] },
                "activation.classic": "classic",
              },
            },
            classic: {
              entry: [assign({ thread: null }), "reportReady"],
              on: {
                ...whileLeading,
                "activation.active": [
                  { guard: "hasThread", target: "bus", actions: ["rememberThread", "reportReady"] },
                  { target: "bus" },
                ],
              },
            },
            /** For good: once nothing of ours is under way, the thread that our seat has then goes, under our epoch. */
            leaving: {
              entry: sendTo("activation", { type: "activation.stop" }),
              on: { ...partingNow, "activation.stopped": { target: "parting", actions: "rememberLastThread" } },
              after: { farewellLimit: "parting" },
            },
            /** Passed through at once. */
            parting: {
              always: [
                { guard: ({ context }) => context.thread !== null, target: "givingUp" },
                { target: "#instance.online.disowning" },
              ],
            },
            givingUp: {
              on: partingNow,
              invoke: {
                src: "cleanup",
                input: ({ context }) => givingUp(context, ownThread(context)),
                onDone: [
                  { guard: ({ event }) => event.output.kind === "removed", target: "#instance.online.disowning" },
                  {
                    target: "#instance.online.disowning",
                    actions: emit(({ event: { output } }) =>
                      threadTrouble(output.kind === "removed" ? "" : reasonNotRemoved(output)),
                    ),
                  },
                ],
                onError: {
                  target: "#instance.online.disowning",
                  actions: emit(({ event }) => threadTrouble(String(event.error))),
                },
              },
              after: {
                farewellLimit: {
                  target: "#instance.online.disowning",
                  actions: emit(threadTrouble("there was no answer in time")),
                },
              },
            },
            /** The poll is cut and the endpoint closed before the lease goes. */
            stopping: {
              entry: sendTo("activation", { type: "activation.stop" }),
              on: { "activation.stopped": "#instance.online.releasing", ...farewell },
              after: { farewellLimit: "#instance.online.releasing" },
            },
          },
        },

        /** Out of every role: a thread that is being made for us even now is not wanted. That is on disk, whoever ends it. */
        disowning: {
          on: farewell,
          invoke: {
            src: "disownSeat",
            input: ({ context }) => ({ seat: context.seat }),
            onDone: "releasing",
            onError: "releasing",
          },
          after: { farewellLimit: "releasing" },
        },

        /** Out of every role; the lease chart lets go of whatever it holds. */
        releasing: {
          entry: sendTo("lease", { type: "lease.release" }),
          on: {
            "lease.released": "#instance.draining",
            "lease.observed": {},
            "lease.standing": {},
            "lease.granted": {},
            "instance.stop": {},
            "companion.failed": { actions: "reportTrouble" },
          },
          after: { farewellLimit: "#instance.draining" },
        },
      },
    },

    /** Handlers that still run end and settle what they were given: until then it stays ours. */
    draining: {
      invoke: { src: "drainHost", onDone: "closing", onError: "closing" },
      after: { drainLimit: "closing" },
    },

    /** The seat goes back, so that whoever proves us gone need not wait for the process table. */
    closing: {
      invoke: {
        src: "releaseSeat",
        input: ({ context }) => ({ seat: context.seat }),
        onDone: "stopped",
        onError: "stopped",
      },
    },

    refused: { type: "final" },
    stopped: { type: "final" },
  },
});

function threadTrouble(reason: string): InstanceFact {
  return { type: "instance.troubled", trouble: "thread", reason: `the own thread could not be deleted: ${reason}` };
}

/** Perhaps it heard; otherwise the thread has its deadline like that of anybody who ends. */
function leaderSilent(): InstanceFact {
  return { type: "instance.troubled", trouble: "membership.left", reason: "the leader did not answer in time" };
}

const storeTrouble = (error: unknown): InstanceFact => ({
  type: "instance.troubled",
  trouble: "store",
  reason: String(error),
});
