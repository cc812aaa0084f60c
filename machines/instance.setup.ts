/**
 * What the chart of an instance is made of: its slots, guards, delays and actions.
 *
 * Owns: these. Does not own: the states in which they take effect (`instance.machine.ts`).
 */
import { setup } from "xstate";
import type { ActivationCommand } from "./activation.machine.ts";
import { cleanupMachine } from "./cleanup.machine.ts";
import type { SeatKey } from "./ids.ts";
import type {
  ActivationStart,
  ClaimAnswer,
  ClaimInput,
  InstanceContext,
  InstanceEvent,
  InstanceFact,
  InstanceInput,
  InstanceOutput,
  MembershipStart,
  SeatClaims,
} from "./instance.contract.ts";
import type { LeaseEvent } from "./lease.machine.ts";
import { companion, slot } from "./slots.ts";

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as InstanceInput,
    context: {} as InstanceContext,
    events: {} as InstanceEvent,
    emitted: {} as InstanceFact,
    output: {} as InstanceOutput,
  },
  actors: {
    /** All claims under the owner of the wished seat, each with a look at its process. */
    readSeatClaims: slot<SeatClaims, { readonly name: string | null }>("readSeatClaims"),
    claimSeat: slot<ClaimAnswer, ClaimInput>("claimSeat"),
    /** Resolves when no handler of the host runs any more. */
    drainHost: slot<undefined>("drainHost"),
    disownSeat: slot<undefined, { readonly seat: SeatKey }>("disownSeat"),
    releaseSeat: slot<undefined, { readonly seat: SeatKey }>("releaseSeat"),
    /** Deletes our own thread while we lead. */
    cleanup: cleanupMachine,
    lease: companion<LeaseEvent>("lease"),
    membership: companion<{ readonly type: "membership.leave" }, MembershipStart>("membership"),
    activation: companion<ActivationCommand, ActivationStart>("activation"),
  },
  guards: {
    hasThread: ({ event }) =>
      (event.type === "activation.active" || event.type === "membership.registered") && event.thread !== null,
    isLeaving: ({ event }) => event.type === "instance.stop" && event.leave,
    /** Another grant; or, of v1 leaders, whose epochs are no numbers, another instance or secret. */
    isNewLeader: ({ context, event }) =>
      event.type === "lease.observed" &&
      (event.epoch !== context.epoch ||
        event.holder.instanceId !== context.leader?.instanceId ||
        event.holder.secret !== context.leader.secret),
    isReplacedLeader: ({ context, event }) => event.type === "lease.observed" && event.epoch > context.epoch,
  },
  delays: {
    retryInterval: 250,
    doubtInterval: 100,
    /** For a companion to finish on request; then we go without. */
    farewellLimit: 1_000,
    /** For handlers that still run. */
    drainLimit: 500,
  },
});

export const chart = base.extend({
  actions: {
    rememberLeader: base.assign({
      epoch: ({ context, event }) => (event.type === "lease.observed" ? event.epoch : context.epoch),
      leader: ({ context, event }) => (event.type === "lease.observed" ? event.holder : context.leader),
    }),
    rememberGrant: base.assign({
      epoch: ({ context, event }) => (event.type === "lease.granted" ? event.epoch : context.epoch),
      leader: null,
    }),
    rememberThread: base.assign({
      thread: ({ context, event }) =>
        event.type === "activation.active" ||
        event.type === "membership.registered" ||
        event.type === "membership.moved"
          ? event.thread
          : context.thread,
    }),
    rememberLastThread: base.assign({
      thread: ({ context, event }) =>
        event.type === "activation.stopped" ? (event.thread ?? context.thread) : context.thread,
    }),
    forgetThread: base.assign({ thread: null }),
    reportThreadless: base.emit({
      type: "instance.troubled",
      trouble: "thread",
      reason:
        "the leader registered this instance and knows of no thread for it: nothing reaches it until it gives one",
    }),
    reportReady: base.emit(({ context }) => ({ type: "instance.ready", thread: context.thread })),
    rememberDefect: base.assign({
      output: ({ context, event }) =>
        event.type === "companion.failed"
          ? { kind: "broken", reason: `${event.companion}: ${event.reason}` }
          : context.output,
    }),
    checkLease: base.sendTo("lease", { type: "lease.check" }),
    reportTrouble: base.emit(({ event }) => ({
      type: "instance.troubled",
      trouble: "trouble" in event ? event.trouble : event.type,
      reason: "reason" in event ? event.reason : "",
    })),
  },
});
