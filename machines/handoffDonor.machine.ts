/**
 * One offer of waiting work to another live instance, at the donor.
 *
 * Owns: from the offer to the moment when it is certain whose the work is: ours again, or not ours any more.
 * Does not own: which work is offered and to whom (`services/handoff.ts`), authority over it (the store: offering, acceptance
 * and cancellation are compare-and-set on the journal's rows), the recipient (`handoffRecipient.machine.ts`).
 *
 * While this chart lives the item is *frozen*: it stands in the donor's queue and nothing there may touch it. It ends on the
 * store's own word and on nothing else: not because time has passed, and not on the word of the recipient. An offer whose
 * making was not observed is cancelled, for a cancelled one can never be made; a donor that dies leaves nothing to do, for
 * whoever proves its death ends its offers in the same transaction.
 *
 * Invariants: handoff/oneHolder, handoff/runsOnce.
 */
import { assign, emit, setup } from "xstate";
import type { OfferRef } from "./handoff.rules.ts";
import { slot } from "./slots.ts";

export interface DonorInput extends OfferRef {
  readonly budgetMs: number;
}

/** It is not wanted any more: a `/stop`, or the operator. */
export interface DonorEvent {
  readonly type: "offer.recall";
}

export type MakeOfferAnswer =
  { readonly kind: "offered" } | { readonly kind: "refused"; readonly reason: "self" | "nobody" | "notHeld" | "ended" };
export interface CancelAnswer {
  readonly kind: "cancelled" | "conflict";
}
export interface StandingAnswer {
  readonly kind: "open" | "returned" | "gone";
}

/** `transferred`: another instance has it, or it has ended. `returned`: ours as before. */
export type DonorOutput =
  { readonly kind: "transferred" } | { readonly kind: "returned"; readonly reason: ReturnReason };
export type ReturnReason = "self" | "nobody" | "notHeld" | "ended" | "notAccepted" | "recalled";

export interface DonorFact {
  readonly type: "handoff.returned" | "handoff.transferred";
}

export interface DonorContext extends DonorInput {
  /** Why it comes back, if it does. */
  readonly reason: ReturnReason;
  readonly output: DonorOutput;
}

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as DonorInput,
    context: {} as DonorContext,
    events: {} as DonorEvent,
    emitted: {} as DonorFact,
    output: {} as DonorOutput,
  },
  actors: {
    makeOffer: slot<MakeOfferAnswer, OfferRef>("makeOffer"),
    cancelOffer: slot<CancelAnswer, OfferRef>("cancelOffer"),
    /** Whose the entries are by the journal. */
    findStanding: slot<StandingAnswer, OfferRef>("findStanding"),
  },
  delays: { lookInterval: 250, retryInterval: 250, budget: ({ context }) => context.budgetMs },
});

const { createMachine } = base.extend({
  actions: {
    noteRecall: base.assign({ reason: "recalled" }),
    noteReturn: base.assign({ output: ({ context }) => ({ kind: "returned", reason: context.reason }) as const }),
    noteTransfer: base.assign({ output: { kind: "transferred" } }),
  },
});

const input = ({ context }: { readonly context: DonorContext }): OfferRef => ({ id: context.id });

export const handoffDonorMachine = createMachine({
  id: "handoffDonor",
  context: ({ input: given }) => ({ ...given, reason: "notAccepted", output: { kind: "transferred" } }),
  initial: "offering",
  output: ({ context }) => context.output,
  states: {
    /** The request is on its way: it may be made at any moment, also after we left this state. */
    offering: {
      invoke: {
        src: "makeOffer",
        input,
        onDone: [
          { guard: ({ event }) => event.output.kind === "offered", target: "offered" },
          {
            target: "returned",
            actions: assign(({ event: { output } }) => (output.kind === "refused" ? { reason: output.reason } : {})),
          },
        ],
        onError: "cancelling",
      },
      on: { "offer.recall": { target: "cancelling", actions: "noteRecall" } },
    },
    /** It stands: the recipient may accept it at any moment, and the store may end it with the recipient. */
    offered: {
      initial: "waiting",
      after: { budget: "cancelling" },
      on: { "offer.recall": { target: "cancelling", actions: "noteRecall" } },
      states: {
        waiting: { after: { lookInterval: "looking" } },
        looking: {
          invoke: {
            src: "findStanding",
            input,
            onDone: [
              { guard: ({ event }) => event.output.kind === "returned", target: "#returned" },
              { guard: ({ event }) => event.output.kind === "gone", target: "#transferred" },
              { target: "waiting" },
            ],
            onError: "waiting",
          },
        },
      },
    },
    /** Cancel and accept race in the store: exactly one of them wins. */
    cancelling: {
      id: "cancelling",
      invoke: { src: "cancelOffer", input, onDone: "frozen", onError: "pausing" },
      on: { "offer.recall": { actions: "noteRecall" } },
    },
    pausing: {
      after: { retryInterval: "cancelling" },
      on: { "offer.recall": { actions: "noteRecall" } },
    },
    /** The offer has ended, one way or the other: the journal says which. */
    frozen: {
      initial: "looking",
      on: { "offer.recall": { actions: "noteRecall" } },
      states: {
        looking: {
          invoke: {
            src: "findStanding",
            input,
            onDone: [
              { guard: ({ event }) => event.output.kind === "returned", target: "#returned" },
              { guard: ({ event }) => event.output.kind === "gone", target: "#transferred" },
              { target: "#cancelling" },
            ],
            onError: "waiting",
          },
        },
        waiting: { after: { retryInterval: "looking" } },
      },
    },
    returned: { id: "returned", type: "final", entry: ["noteReturn", emit({ type: "handoff.returned" })] },
    transferred: {
      id: "transferred",
      type: "final",
      entry: ["noteTransfer", emit({ type: "handoff.transferred" })],
    },
  },
});
