/**
 * What the chart of a leadership is made of: its slots, guards, delays and actions.
 *
 * Owns: these. Does not own: the states in which they take effect (`activation.machine.ts`).
 */
import { setup, stateIn } from "xstate";
import type {
  ActivationContext,
  ActivationEvent,
  ActivationFact,
  ActivationInput,
  DispatcherCommand,
  IdentifyAnswer,
  OwnThreadSettled,
  SeatOwnAnswer,
  SeatOwnInput,
} from "./activation.contract.ts";
import { sameTarget } from "./ids.ts";
import type { BoundThread, Epoch } from "./ids.ts";
import { rejectedPauseMs } from "./polling.machine.ts";
import type { PollingCommand } from "./polling.machine.ts";
import { provisioningMachine } from "./provisioning.machine.ts";
import type { ProvisioningInput, ThreadDoubt } from "./provisioning.machine.ts";
import { companion, slot } from "./slots.ts";

export const troubled = (
  trouble: Extract<ActivationFact, { type: "activation.troubled" }>["trouble"],
  reason: string,
): ActivationFact => ({ type: "activation.troubled", trouble, reason });

export const isAnother = ({ thread }: ActivationContext, { target }: BoundThread): boolean =>
  thread === null || !sameTarget(thread.target, target);

export const provisioningOf = (
  { epoch, seat, me, chatId, threadName, carried }: ActivationContext,
  doubt: ThreadDoubt | null,
): ProvisioningInput => {
  if (chatId === null) throw new Error("the activation chart asks for a thread while nobody is paired");
  return {
    epoch,
    wish: {
      seat,
      instanceId: me,
      chatId,
      threadName,
      role: "leader",
      carried: doubt === null ? carried : null,
      previous: null,
    },
    doubt,
  };
};
export const seatOf = ({ epoch, seat, thread, origin }: ActivationContext): SeatOwnInput => ({
  epoch,
  seat,
  thread,
  origin,
  isClassic: false,
});

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as ActivationInput,
    context: {} as ActivationContext,
    events: {} as ActivationEvent,
    emitted: {} as ActivationFact,
  },
  actors: {
    identify: slot<IdentifyAnswer>("identify"),
    provisioning: provisioningMachine,
    /** Writes our own seat's registration under this epoch, so that we may claim what is routed to us. */
    seatOwn: slot<SeatOwnAnswer, SeatOwnInput>("seatOwn"),
    /** Reads the token again; whether it helped shows at the next look at the bot. */
    renewToken: slot<undefined>("renewToken"),
    /** Reports `token.renewed`. */
    watchToken: companion<{ readonly type: "never" }>("watchToken"),
    endpoint: companion<{ readonly type: "never" }, { readonly epoch: Epoch }>("endpoint"),
    dispatcher: companion<DispatcherCommand, { readonly epoch: Epoch }>("dispatcher"),
    poller: companion<PollingCommand, { readonly epoch: Epoch }>("poller"),
    /** Takes what speaks against our own thread, from whoever sends into it; reports `thread.doubted`. */
    ownThread: companion<OwnThreadSettled>("ownThread"),
    /** Threads against reality, for as long as followers can reach us. */
    reconciliation: companion<{ readonly type: "never" }, { readonly epoch: Epoch }>("reconciliation"),
    /** Who is paired, where no user is configured; tells at first and on each change. */
    audience: companion<{ readonly type: "never" }>("audience"),
    /** Whether the chat still has threads; what it finds is for whoever makes calls. */
    capability: companion<{ readonly type: "never" }>("capability"),
  },
  delays: {
    retryPause: ({ context }) =>
      Math.max(context.askedDelayMs, Math.min(30_000, 250 * 2 ** Math.min(7, Math.max(0, context.failures - 1)))),
    /** Until a thread that could not be had is asked for again. While a creation is in doubt that asks Telegram nothing. */
    threadRetry: ({ context }) => Math.min(60_000, 5_000 * 2 ** Math.min(4, context.refusals)),
    retryInterval: 250,
    rejectedPause: ({ context }) => rejectedPauseMs(context.rejections),
    capabilityInterval: ({ context }) => context.capabilityMs,
    /** For the poller to say that it has stopped; then it is cut off. */
    quiesceLimit: 1_000,
  },
});

export const chart = base.extend({
  actions: {
    nudgeDispatcher: base.sendTo("dispatcher", { type: "journal.changed" }),
    doubt: base.emit({ type: "activation.doubted" }),
    settleThread: base.sendTo("ownThread", { type: "thread.settled" }),
    /** The chat that we were in, if any, is not ours to speak in any more, nor is what we had there. */
    moveToChat: base.assign(({ event }) => ({
      chatId: event.type === "pairing.known" ? event.chatId : null,
      thread: null,
      carried: null,
    })),
  },
  guards: {
    isConflict: ({ event }) => event.type === "polling.troubled" && event.trouble === "conflict",
    isOtherChat: ({ context, event }) => event.type === "pairing.known" && event.chatId !== context.chatId,
    isThreadless: ({ context }) => context.thread === null,
    isEnding: stateIn("#activation.provisioning.ending"),
    isEndingWithout: stateIn("#activation.serving.polled.active.replacing.ending"),
    /** A creation that was in doubt, or the operator's word on it: what stood between us and a thread may be gone. */
    isOurThreadInSight: ({ context, event }) =>
      event.type === "reconciliation.acted" &&
      event.outcome === "done" &&
      (event.action.kind === "carryOut" ||
        (event.action.kind === "adoptCreated" && event.action.provision.seat === context.seat)),
    hasTopics: ({ event }) => event.type === "capability.judged" && event.verdict === "on",
  },
});

/** Whoever was paired is not, or somebody else is: everything that we have is of the wrong chat. */
export const onPairing = {
  "pairing.missing": { target: "#activation.pairing", actions: "moveToChat" },
  "pairing.known": [{ guard: "isOtherChat", target: "#activation.identifying", actions: "moveToChat" }, {}],
} as const;

/** Another poller may be another leader: look at the lease at once. */
export const doubtOnConflict = [{ guard: "isConflict", actions: "doubt" }, {}] as const;
export const epochOnly = ({ context }: { readonly context: ActivationContext }) => ({ epoch: context.epoch });
