/**
 * Leadership in a fleet with v1 peers: the v1 owner record and, inside it, the store's lease.
 *
 * Owns: when to look at the owner record, when to stand for it, keeping it fresh; that we lead only while we hold *both*:
 * first the owner record, then the lease. Losing either gives both up.
 * Does not own: the record's rules (`owner.rules.ts`), the transaction (the adapter), the lease (`lease.machine.ts`).
 *
 * It stands in the place of the lease chart and tells the same facts, so nothing else need know of v1: the lease chart
 * runs inside `owning` only, and what it is granted is told only from there.
 *
 * Not guaranteed: that v1 peers ask our store. What fences us out there is their take of the record, seen at the next
 * look (at most a second), and the end of our own lease.
 *
 * Invariants: owner/leadsOnlyWithBoth, owner/oneOwner, lease/heldImpliesGranted.
 */
import { and, assign, emit, setup, stateIn } from "xstate";
import { epoch } from "./ids.ts";
import { leaseFactsIgnored } from "./lease.machine.ts";
import type { LeaseEvent } from "./lease.machine.ts";
import type { OwnerContext, OwnerEvent, OwnerFact, OwnerInput, RefreshAnswer, TakeAnswer } from "./owner.contract.ts";
import { isSameOwner, isTakeable, isUntouched, leaderIn } from "./owner.rules.ts";
import type { OwnerRecord, OwnerSight } from "./owner.rules.ts";
import { companion, slot } from "./slots.ts";

const nothingSeen: OwnerSight = { kind: "damaged", reason: "not looked at yet" };

function seen({ sight }: OwnerContext): Extract<OwnerSight, { readonly kind: "seen" }> {
  if (sight.kind === "damaged") throw new Error("the owner chart acts on a record it could not read");
  return sight;
}
function owned({ mine }: OwnerContext): OwnerRecord {
  if (mine === null) throw new Error("the owner chart keeps a record it does not have");
  return mine;
}

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as OwnerInput,
    context: {} as OwnerContext,
    events: {} as OwnerEvent,
    emitted: {} as OwnerFact,
  },
  actors: {
    readOwner: slot<OwnerSight>("readOwner"),
    takeOwner: slot<TakeAnswer, { readonly expected: OwnerRecord | null }>("takeOwner"),
    refreshOwner: slot<RefreshAnswer, { readonly mine: OwnerRecord }>("refreshOwner"),
    /** Removes the record if it is still ours. */
    releaseOwner: slot<undefined, { readonly mine: OwnerRecord }>("releaseOwner"),
    /** Moves a store that cannot be read out of the way, unless it can be read after all. */
    setAsideOwners: slot<undefined>("setAsideOwners"),
    lease: companion<LeaseEvent>("lease"),
  },
  guards: {
    isDamaged: ({ context }) => context.sight.kind === "damaged",
    isHeld: ({ context }) => !isTakeable(seen(context).state) && seen(context).state !== "own",
    isFree: ({ context }) => {
      const { state, isPreceded } = seen(context);
      return state === "own" || (!isPreceded && (state === "inactive" || state === "gone"));
    },
    isWithdrawing: stateIn("#owner.standing.withdrawing"),
  },
  delays: {
    observeInterval: ({ context }) => context.timings.checkMs,
    checkInterval: ({ context }) => context.timings.checkMs,
    refreshInterval: ({ context }) => Math.max(0, context.timings.refreshMs - context.timings.checkMs),
    /** One refresh of a live owner fits in; a candidate who goes first gets the grace. */
    agreementInterval: ({ context }) =>
      seen(context).isPreceded ? context.timings.graceMs : context.timings.refreshMs + context.timings.retryMs,
    proofInterval: ({ context }) => context.timings.proofMs,
    retryInterval: ({ context }) => context.timings.retryMs,
    ownerRemaining: ({ context }) => context.remainingMs,
    leaseLimit: ({ context }) => context.timings.leaseLimitMs,
    damageInterval: ({ context }) => context.timings.damageMs,
    /** For the lease chart to let go on request; then we go without. */
    farewellLimit: 800,
  },
});

const chart = base.extend({
  actions: {
    reportTrouble: base.emit(({ event }) => ({
      type: "lease.troubled",
      reason: "error" in event ? String(event.error) : "reason" in event ? event.reason : event.type,
    })),
    reportLeader: base.emit(({ context }) => ({
      type: "lease.observed",
      ...leaderIn(seen(context), context.leaderAddress),
    })),
    reportLost: base.emit(({ context }) => ({ type: "lease.lost", epoch: context.epoch })),
    reportFresh: base.emit(({ context }) => ({ type: "owner.refreshed", remainingMs: context.remainingMs })),
    reportGrant: base.emit(({ event }): OwnerFact => {
      if (event.type !== "lease.granted" && event.type !== "lease.renewed")
        throw new Error(`the owner chart tells of a grant on ${event.type}`);
      return event;
    }),
    rememberGrant: base.assign({
      epoch: ({ context, event }) => (event.type === "lease.granted" ? event.epoch : context.epoch),
    }),
    forgetRecord: base.assign({ mine: null }),
    checkLease: base.sendTo("lease", { type: "lease.check" }),
    releaseLease: base.sendTo("lease", { type: "lease.release" }),
  },
});

export const ownerMachine = chart.createMachine({
  id: "owner",
  context: ({ input }) => ({
    ...input,
    sight: nothingSeen,
    mine: null,
    remainingMs: 0,
    looks: 0,
    epoch: epoch(0),
  }),
  initial: "unknown",
  on: {
    // Ignored wherever no state says otherwise: hints while we look anyway, words of a lease chart that is let go.
    ...leaseFactsIgnored,
    "lease.check": {},
    "companion.failed": {},
    "lease.release": ".released",
  },
  states: {
    unknown: {
      initial: "looking",
      states: {
        looking: {
          invoke: {
            src: "readOwner",
            onDone: { target: "#owner.judging", actions: assign({ sight: ({ event }) => event.output }) },
            onError: { target: "waiting", actions: "reportTrouble" },
          },
        },
        waiting: { after: { retryInterval: "looking" }, on: { "lease.check": "looking" } },
      },
    },

    /** Passed through at once: what does the record just read ask for? */
    judging: {
      always: [
        { guard: "isDamaged", target: "damaged" },
        { guard: "isHeld", target: "observing" },
        { guard: "isFree", target: "standing" },
        { target: "confirming" },
      ],
    },

    /** Somebody else owns the record: a v1 peer, or one of ours. */
    observing: {
      entry: "reportLeader",
      initial: "resting",
      on: { "lease.check": { target: "proving", actions: assign({ looks: 0 }) } },
      states: {
        resting: { after: { observeInterval: "looking" } },
        looking: {
          invoke: {
            src: "readOwner",
            onDone: { target: "#owner.judging", actions: assign({ sight: ({ event }) => event.output }) },
            onError: { target: "resting", actions: "reportTrouble" },
          },
        },
      },
    },

    /** The owner is said to be gone: a killed process takes a few looks to leave the process table. */
    proving: {
      initial: "looking",
      states: {
        looking: {
          entry: assign({ looks: ({ context }) => context.looks + 1 }),
          invoke: {
            src: "readOwner",
            onDone: { target: "judging", actions: assign({ sight: ({ event }) => event.output }) },
            onError: { target: "#owner.unknown.waiting", actions: "reportTrouble" },
          },
        },
        judging: {
          always: [
            {
              guard: ({ context }) =>
                context.sight.kind === "seen" &&
                !isTakeable(context.sight.state) &&
                context.sight.state !== "own" &&
                context.looks < context.timings.proofLooksMax,
              target: "pausing",
            },
            { target: "#owner.judging" },
          ],
        },
        pausing: { after: { proofInterval: "looking" } },
      },
    },

    /**
     * Free by a clock's word, or with a candidate before us: a second look must find the record untouched. Hints are
     * ignored here: each would begin the wait anew.
     */
    confirming: {
      initial: "waiting",
      states: {
        waiting: { after: { agreementInterval: "looking" } },
        looking: {
          invoke: {
            src: "readOwner",
            onDone: [
              {
                guard: ({ context, event: { output } }) =>
                  output.kind === "seen" &&
                  isTakeable(output.state) &&
                  isUntouched(output.record, seen(context).record),
                target: "#owner.standing",
                actions: assign({ sight: ({ event }) => event.output }),
              },
              { target: "#owner.judging", actions: assign({ sight: ({ event }) => event.output }) },
            ],
            onError: { target: "waiting", actions: "reportTrouble" },
          },
        },
      },
    },

    /** The file is there and cannot be read. It is nobody's to mend while somebody may own it. */
    damaged: {
      entry: emit(({ context: { sight } }) => ({
        type: "lease.troubled",
        reason: sight.kind === "damaged" ? sight.reason : "",
      })),
      initial: "waiting",
      states: {
        waiting: { after: { damageInterval: "looking" } },
        looking: {
          invoke: {
            src: "readOwner",
            onDone: [
              { guard: ({ event }) => event.output.kind === "damaged", target: "settingAside" },
              { target: "#owner.judging", actions: assign({ sight: ({ event }) => event.output }) },
            ],
            onError: "waiting",
          },
        },
        settingAside: {
          invoke: {
            src: "setAsideOwners",
            onDone: "#owner.unknown.looking",
            onError: { target: "waiting", actions: "reportTrouble" },
          },
        },
      },
    },

    /** The transaction decides between us and everybody else who saw the same record. */
    standing: {
      entry: emit({ type: "lease.standing" }),
      initial: "standing",
      invoke: {
        src: "takeOwner",
        input: ({ context }) => ({ expected: seen(context).record }),
        onDone: [
          {
            guard: and(["isWithdrawing", ({ event }) => event.output.kind !== "refused"]),
            target: "releasing",
            actions: assign({ mine: ({ event }) => event.output.record }),
          },
          { guard: "isWithdrawing", target: "released" },
          {
            guard: ({ event }) => event.output.kind !== "refused",
            target: "owning",
            actions: [
              assign({
                mine: ({ event }) => event.output.record,
                remainingMs: ({ event }) => event.output.remainingMs,
              }),
              "reportFresh",
            ],
          },
          // Somebody was faster: look who.
          { target: "unknown" },
        ],
        onError: [
          { guard: "isWithdrawing", target: "released" },
          { target: "unknown.waiting", actions: "reportTrouble" },
        ],
      },
      states: {
        standing: { on: { "lease.release": "withdrawing" } },
        /** Asked to let go while the transaction decides: a record that is still taken is given back. */
        withdrawing: { on: { "lease.release": {} } },
      },
    },

    /** The owner record is ours. The lease chart lives here and nowhere else. */
    owning: {
      invoke: { src: "lease", id: "lease" },
      initial: "both",
      states: {
        both: {
          type: "parallel",
          on: {
            "lease.check": { actions: "checkLease" },
            "lease.release": "letting",
            "companion.failed": { target: "revoking", actions: "reportTrouble" },
          },
          states: {
            record: {
              initial: "kept",
              states: {
                /** Ours as of the last look. Entered anew with each refresh, so that the watchdog counts from it. */
                kept: {
                  after: { ownerRemaining: "#owner.owning.revoking" },
                  initial: "resting",
                  states: {
                    resting: { after: { checkInterval: "checking" } },
                    checking: {
                      invoke: {
                        src: "readOwner",
                        onDone: [
                          {
                            guard: ({ context, event: { output } }) =>
                              output.kind === "seen" && !isSameOwner(output.record, owned(context)),
                            target: "#owner.owning.revoking",
                          },
                          // Not readable: the transaction tells whether it is ours.
                          { target: "checked" },
                        ],
                        onError: { target: "checked", actions: "reportTrouble" },
                      },
                    },
                    checked: { after: { refreshInterval: "refreshing" } },
                    refreshing: {
                      invoke: {
                        src: "refreshOwner",
                        input: ({ context }) => ({ mine: owned(context) }),
                        onDone: [
                          {
                            guard: ({ event }) => event.output.kind === "refreshed",
                            target: "#owner.owning.both.record.kept",
                            reenter: true,
                            actions: [
                              assign({
                                remainingMs: ({ context, event: { output } }) =>
                                  output.kind === "refreshed" ? output.remainingMs : context.remainingMs,
                              }),
                              "reportFresh",
                            ],
                          },
                          { target: "#owner.owning.revoking" },
                        ],
                        // Not observed: ask again; the watchdog ends it if the store stays silent.
                        onError: { target: "retrying", actions: "reportTrouble" },
                      },
                    },
                    retrying: { after: { retryInterval: "refreshing" } },
                  },
                },
              },
            },
            lease: {
              initial: "wanted",
              states: {
                /** The store has not granted the lease yet: we lead nothing. */
                wanted: {
                  after: {
                    leaseLimit: {
                      target: "#owner.owning.revoking",
                      actions: emit({
                        type: "lease.troubled",
                        reason: "the v1 owner record is ours, but another instance keeps the lease of the store",
                      }),
                    },
                  },
                  initial: "asked",
                  on: {
                    "lease.granted": { target: "granted", actions: ["rememberGrant", "reportGrant"] },
                    "lease.troubled": { actions: "reportTrouble" },
                  },
                  states: {
                    asked: { on: { "lease.observed": { target: "doubted", actions: "checkLease" } } },
                    /** A holder of the lease without the owner record is on its way out, or dead: it was looked at. */
                    doubted: {},
                  },
                },
                /** Both are ours: we lead. */
                granted: {
                  on: {
                    "lease.renewed": { actions: "reportGrant" },
                    "lease.troubled": { actions: "reportTrouble" },
                    "lease.lost": "#owner.owning.revoking",
                  },
                },
              },
            },
          },
        },

        /** One of the two is lost: told at once, then the other one goes back. */
        revoking: {
          entry: ["reportLost", "releaseLease"],
          on: {
            "lease.released": "#owner.returning",
            "companion.failed": "#owner.returning",
            "lease.release": "letting",
          },
          after: { farewellLimit: "#owner.returning" },
        },

        /** Asked to let go. */
        letting: {
          entry: [emit({ type: "lease.releasing" }), "releaseLease"],
          on: {
            "lease.released": "#owner.releasing",
            "companion.failed": "#owner.releasing",
            "lease.release": {},
          },
          after: { farewellLimit: "#owner.releasing" },
        },
      },
    },

    /** The record goes back, and others get their chance before we look again. */
    returning: {
      initial: "going",
      invoke: {
        src: "releaseOwner",
        input: ({ context }) => ({ mine: owned(context) }),
        onDone: [
          { guard: stateIn("#owner.returning.leaving"), target: "released" },
          { target: "unknown.waiting", actions: "forgetRecord" },
        ],
        // It goes stale by itself.
        onError: [
          { guard: stateIn("#owner.returning.leaving"), target: "released" },
          { target: "unknown.waiting", actions: ["forgetRecord", "reportTrouble"] },
        ],
      },
      states: {
        going: { on: { "lease.release": "leaving" } },
        leaving: { on: { "lease.release": {} } },
      },
    },

    releasing: {
      on: { "lease.release": {} },
      invoke: {
        src: "releaseOwner",
        input: ({ context }) => ({ mine: owned(context) }),
        onDone: "released",
        onError: "released",
      },
    },

    released: { type: "final", entry: emit({ type: "lease.released" }) },
  },
});
