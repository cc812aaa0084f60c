/**
 * The lease: one instance's view of the expiring right to lead.
 *
 * Owns: when to look at the lease, when to stand for it, when to renew it, when to let go.
 * Does not own: the compare-and-set that decides (the store), what leading means (`instance.machine.ts`).
 *
 * One actor per instance, as long as the instance is online. A request under way when this actor leaves a state, or
 * stops, may still be carried out: the store's compare-and-set and the epoch make that harmless.
 *
 * Not guaranteed: that nobody else holds the lease while this chart is in `holding`. A paused process believes in its
 * lease until its timers run; what it writes is refused by epoch, what it calls is refused by the lease gate.
 *
 * Invariants: lease/oneHolderPerEpoch, lease/epochIncreases, lease/takenOnlyWithEvidence, lease/heldImpliesGranted.
 */
import { and, assign, emit, not, setup, stateIn } from "xstate";
import { epoch } from "./ids.ts";
import type { Epoch, InstanceId, Liveness } from "./ids.ts";
import { isUnchanged, judgeLease } from "./lease.rules.ts";
import type { Leader, LeaseHolder, LeaseRecord, LeaseTimings, TakeoverEvidence } from "./lease.rules.ts";
import { slot } from "./slots.ts";

export interface LeaseInput {
  readonly me: InstanceId;
  readonly timings: LeaseTimings;
}

export interface LeaseContext extends LeaseInput {
  /** The record as last seen; null until the first look. */
  readonly record: LeaseRecord | null;
  /** What the next attempt to take the lease is justified by. */
  readonly evidence: TakeoverEvidence;
  readonly proofLooks: number;
  /** The grant this instance lives on; 0 before the first. */
  readonly epoch: Epoch;
  /** Left of that grant when it was given or renewed, by this host's own clock. */
  readonly remainingMs: number;
}

export type LeaseEvent =
  /** Somebody saw the leader's connection close, or miss its heartbeats: look now. */
  { readonly type: "lease.check" } | { readonly type: "lease.release" };

/** Facts for whoever hosts the chart. `observed` repeats at every look; `epoch` tells whether it is news. */
export type LeaseFact =
  | { readonly type: "lease.observed"; readonly epoch: Epoch; readonly holder: Leader }
  | { readonly type: "lease.standing" }
  | { readonly type: "lease.granted"; readonly epoch: Epoch; readonly remainingMs: number }
  | { readonly type: "lease.renewed"; readonly epoch: Epoch; readonly remainingMs: number }
  | { readonly type: "lease.lost"; readonly epoch: Epoch }
  /** From here on nothing may be done under the grant. */
  | { readonly type: "lease.releasing" }
  | { readonly type: "lease.released" }
  /** The store did not answer: nothing was observed. Asked again by itself. */
  | { readonly type: "lease.troubled"; readonly reason: string };

/**
 * Each of them, heeded by nobody: for the root of a chart that hosts a lease, where no state says otherwise. A fact that is
 * new here reaches every host.
 */
export const leaseFactsIgnored = {
  "lease.observed": {},
  "lease.standing": {},
  "lease.granted": {},
  "lease.renewed": {},
  "lease.lost": {},
  "lease.releasing": {},
  "lease.troubled": {},
  "lease.released": {},
} as const satisfies Readonly<Record<LeaseFact["type"], object>>;

/** Answer of the store to an attempt; `remainingMs` is what is left by this host's own clock, counted from the request. */
export interface LeaseAnswer<Kind extends string> {
  readonly kind: Kind;
  readonly record: LeaseRecord;
  readonly remainingMs: number;
}
export type AcquireAnswer = LeaseAnswer<"granted" | "refused">;
export type RenewAnswer = LeaseAnswer<"renewed" | "lapsed" | "fenced">;

export interface AcquireInput {
  readonly expected: LeaseRecord;
  readonly evidence: TakeoverEvidence;
  readonly durationMs: number;
}
export interface RenewInput {
  readonly epoch: Epoch;
  readonly durationMs: number;
}

function known(context: LeaseContext): LeaseRecord {
  if (context.record === null) throw new Error("the lease chart acts before its first look");
  return context.record;
}

function holderOf(context: LeaseContext): LeaseHolder {
  const { holder } = known(context);
  if (holder === null) throw new Error("the lease chart looks for the holder of a vacant lease");
  return holder;
}

const verdict = (context: LeaseContext) => judgeLease(known(context), context.me);

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as LeaseInput,
    context: {} as LeaseContext,
    events: {} as LeaseEvent,
    emitted: {} as LeaseFact,
  },
  actors: {
    readLease: slot<LeaseRecord>("readLease"),
    proveHolder: slot<Liveness, LeaseHolder>("proveHolder"),
    acquireLease: slot<AcquireAnswer, AcquireInput>("acquireLease"),
    renewLease: slot<RenewAnswer, RenewInput>("renewLease"),
    releaseLease: slot<undefined, { readonly epoch: Epoch }>("releaseLease"),
  },
  guards: {
    isVacant: ({ context }) => verdict(context) === "vacant",
    isOwn: ({ context }) => verdict(context) === "own",
    isExpired: ({ context }) => verdict(context) === "expired",
    canLookAgain: ({ context }) => context.proofLooks < context.timings.proofLooksMax,
  },
  delays: {
    renewInterval: ({ context }) => context.timings.renewMs,
    observeInterval: ({ context }) =>
      Math.max(context.timings.proofMs, Math.min(context.timings.observeMs, known(context).remainingMs)),
    agreementInterval: ({ context }) => context.timings.renewMs,
    proofInterval: ({ context }) => context.timings.proofMs,
    retryInterval: ({ context }) => context.timings.retryMs,
    leaseRemaining: ({ context }) => context.remainingMs,
  },
});

const { createMachine } = base.extend({
  actions: {
    reportTrouble: base.emit(({ event }) => ({
      type: "lease.troubled",
      reason: "error" in event ? String(event.error) : event.type,
    })),
  },
});

export const leaseMachine = createMachine({
  id: "lease",
  context: ({ input }) => ({
    ...input,
    record: null,
    evidence: "vacant",
    proofLooks: 0,
    epoch: epoch(0),
    remainingMs: 0,
  }),
  initial: "unknown",
  on: {
    // Ignored wherever no state says otherwise: a hint is worth nothing while we look anyway, or lead ourselves.
    "lease.check": {},
    "lease.release": ".released",
  },
  states: {
    unknown: {
      initial: "looking",
      states: {
        looking: {
          invoke: {
            src: "readLease",
            onDone: { target: "#lease.judging", actions: assign({ record: ({ event }) => event.output }) },
            onError: { target: "waiting", actions: "reportTrouble" },
          },
        },
        waiting: { after: { retryInterval: "looking" }, on: { "lease.check": "looking" } },
      },
    },

    /** Passed through at once: what does the record just read ask for? */
    judging: {
      always: [
        { guard: "isVacant", target: "acquiring", actions: assign({ evidence: "vacant" }) },
        { guard: "isOwn", target: "acquiring", actions: assign({ evidence: "own" }) },
        { guard: "isExpired", target: "confirming" },
        { target: "observing" },
      ],
    },

    /** Somebody else holds the lease and it has not ended. */
    observing: {
      entry: emit(({ context }) => ({
        type: "lease.observed",
        epoch: known(context).epoch,
        holder: { ...holderOf(context), dialect: "own" },
      })),
      initial: "resting",
      on: { "lease.check": { target: "proving", actions: assign({ proofLooks: 0 }) } },
      states: {
        resting: { after: { observeInterval: "looking" } },
        looking: {
          invoke: {
            src: "readLease",
            onDone: { target: "#lease.judging", actions: assign({ record: ({ event }) => event.output }) },
            onError: { target: "resting", actions: "reportTrouble" },
          },
        },
      },
    },

    /** The holder is said to be gone. Only its incarnation proves it, and a killed process takes a few looks to vanish. */
    proving: {
      initial: "looking",
      states: {
        /** The hint may be about a holder who is in the row no longer. */
        looking: {
          entry: assign({ proofLooks: ({ context }) => context.proofLooks + 1 }),
          invoke: {
            src: "readLease",
            onDone: { target: "judging", actions: assign({ record: ({ event }) => event.output }) },
            onError: { target: "#lease.unknown.waiting", actions: "reportTrouble" },
          },
        },
        judging: {
          always: [
            { guard: not(({ context }) => verdict(context) === "heldElsewhere"), target: "#lease.judging" },
            { target: "proving" },
          ],
        },
        proving: {
          invoke: {
            src: "proveHolder",
            input: ({ context }) => holderOf(context),
            onDone: [
              {
                guard: ({ event }) => event.output === "dead",
                target: "#lease.acquiring",
                actions: assign({ evidence: "holderGone" }),
              },
              { guard: and(["canLookAgain", ({ event }) => event.output === "alive"]), target: "pausing" },
              { target: "#lease.observing" },
            ],
            // A look that failed is no observation.
            onError: "#lease.observing",
          },
        },
        pausing: { after: { proofInterval: "looking" } },
      },
    },

    /** Past its end by the store's clock. Clocks jump: a second look, a renewal later, must find the record unchanged. */
    confirming: {
      // Hints are ignored here: each would begin the wait anew, and hints can come for ever.
      initial: "waiting",
      states: {
        waiting: { after: { agreementInterval: "looking" } },
        looking: {
          invoke: {
            src: "readLease",
            onDone: [
              {
                guard: ({ context, event }) =>
                  judgeLease(event.output, context.me) === "expired" && isUnchanged(event.output, known(context)),
                target: "#lease.acquiring",
                actions: assign({ record: ({ event }) => event.output, evidence: "expired" }),
              },
              { target: "#lease.judging", actions: assign({ record: ({ event }) => event.output }) },
            ],
            onError: { target: "waiting", actions: "reportTrouble" },
          },
        },
      },
    },

    /** The store decides between us and everybody else who saw the same record. */
    acquiring: {
      entry: emit({ type: "lease.standing" }),
      initial: "standing",
      invoke: {
        src: "acquireLease",
        input: ({ context }) => ({
          expected: known(context),
          evidence: context.evidence,
          durationMs: context.timings.durationMs,
        }),
        onDone: [
          {
            guard: and([({ event }) => event.output.kind === "granted", stateIn("#lease.acquiring.withdrawing")]),
            target: "releasing",
            actions: assign({ epoch: ({ event }) => event.output.record.epoch }),
          },
          { guard: stateIn("#lease.acquiring.withdrawing"), target: "released" },
          {
            guard: ({ event }) => event.output.kind === "granted",
            target: "holding",
            actions: [
              assign({
                record: ({ event }) => event.output.record,
                epoch: ({ event }) => event.output.record.epoch,
                remainingMs: ({ event }) => event.output.remainingMs,
              }),
              emit(({ event }) => ({
                type: "lease.granted",
                epoch: event.output.record.epoch,
                remainingMs: event.output.remainingMs,
              })),
            ],
          },
          { target: "judging", actions: assign({ record: ({ event }) => event.output.record }) },
        ],
        onError: [
          { guard: stateIn("#lease.acquiring.withdrawing"), target: "released" },
          { target: "unknown.waiting", actions: "reportTrouble" },
        ],
      },
      states: {
        standing: { on: { "lease.release": "withdrawing" } },
        /** Asked to let go while the store decides: a grant that still arrives is given back. */
        withdrawing: { on: { "lease.release": {} } },
      },
    },

    /** We lead. Entered anew with each renewal, so that the watchdog counts from the latest. */
    holding: {
      initial: "held",
      after: { leaseRemaining: "lost" },
      on: { "lease.release": "releasing" },
      states: {
        /** Resting between renewals. A doubt is answered by the store: renewing tells whether the grant stands. */
        held: { after: { renewInterval: "renewing" }, on: { "lease.check": "renewing" } },
        renewing: {
          invoke: {
            src: "renewLease",
            input: ({ context }) => ({ epoch: context.epoch, durationMs: context.timings.durationMs }),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "renewed",
                target: "#lease.holding",
                reenter: true,
                actions: [
                  assign({
                    record: ({ event }) => event.output.record,
                    remainingMs: ({ event }) => event.output.remainingMs,
                  }),
                  emit(({ context, event }) => ({
                    type: "lease.renewed",
                    epoch: context.epoch,
                    remainingMs: event.output.remainingMs,
                  })),
                ],
              },
              { target: "#lease.lost" },
            ],
            // Not observed: ask again; the watchdog ends it if the store stays silent.
            onError: { target: "retrying", actions: "reportTrouble" },
          },
        },
        retrying: { after: { retryInterval: "renewing" } },
      },
    },

    /** The grant is over. Whether there is a rival, the next look shows; without one the lease is taken again. */
    lost: {
      entry: emit(({ context }) => ({ type: "lease.lost", epoch: context.epoch })),
      always: "unknown",
    },

    releasing: {
      entry: emit({ type: "lease.releasing" }),
      on: { "lease.release": {} },
      invoke: {
        src: "releaseLease",
        input: ({ context }) => ({ epoch: context.epoch }),
        onDone: "released",
        // It ends by itself: the others wait for the lease's end instead.
        onError: "released",
      },
    },

    released: { type: "final", entry: emit({ type: "lease.released" }) },
  },
});
