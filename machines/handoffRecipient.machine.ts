/**
 * One offer of another instance's waiting work, at its recipient.
 *
 * Owns: staging, acceptance, publication, giving back what cannot be published. Does not own: whether there is room for it
 * (`services/handoff.ts`), authority over it (the store), the queue that it comes to.
 *
 * *Staged* means: known here and in no queue. The commit point is acceptance, one transaction that makes all entries ours,
 * each under a fresh acquisition; asking again gives the acquisitions of the first time. Only then is anything published.
 * A recipient that dies leaves what it accepted to the next holder of its seat, by proof.
 *
 * Invariants: handoff/oneHolder, handoff/runsOnce.
 */
import { assign, emit, setup } from "xstate";
import type { OfferRef } from "./handoff.rules.ts";
import { slot } from "./slots.ts";

export interface RecipientInput extends OfferRef {
  readonly triesMax: number;
}

export type AcceptAnswer =
  | { readonly kind: "accepted" }
  /** `conflict`: it has ended, or names somebody else. `stale`: not under this registration; an earlier request may still win. */
  | { readonly kind: "conflict" | "stale" };

/** `live`: in our queue. `unstaged`: never ours. `givenBack`: it was ours and could not be published. */
export interface RecipientOutput {
  readonly kind: "live" | "unstaged" | "givenBack";
}

export interface RecipientFact {
  readonly type: "handoff.live" | "handoff.unstaged" | "handoff.givenBack";
}

export interface RecipientContext extends RecipientInput {
  readonly tries: number;
  readonly output: RecipientOutput;
}

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as RecipientInput,
    context: {} as RecipientContext,
    events: {} as { type: "recipient.never" },
    emitted: {} as RecipientFact,
    output: {} as RecipientOutput,
  },
  actors: {
    acceptOffer: slot<AcceptAnswer, OfferRef>("acceptOffer"),
    /** Puts what is ours into the hand and the queue: all of it, or nothing and an error. */
    publish: slot<undefined, OfferRef>("publish"),
    giveBack: slot<undefined, OfferRef>("giveBack"),
  },
  guards: { hasTries: ({ context }) => context.tries < context.triesMax },
  delays: { retryInterval: 250 },
});

const { createMachine } = base.extend({
  actions: { countTry: base.assign({ tries: ({ context }) => context.tries + 1 }) },
});

const input = ({ context }: { readonly context: RecipientContext }): OfferRef => ({ id: context.id });

export const handoffRecipientMachine = createMachine({
  id: "handoffRecipient",
  context: ({ input: given }) => ({ ...given, tries: 0, output: { kind: "unstaged" } }),
  initial: "staged",
  output: ({ context }) => context.output,
  states: {
    staged: {
      initial: "accepting",
      states: {
        accepting: {
          invoke: {
            src: "acceptOffer",
            input,
            onDone: [
              { guard: ({ event }) => event.output.kind === "accepted", target: "#accepted" },
              { guard: ({ event }) => event.output.kind === "stale", target: "unsure" },
              { target: "#unstaged" },
            ],
            onError: "unsure",
          },
        },
        /** It may be ours by now, or become so: asked again until the store has answered for good. */
        unsure: { after: { retryInterval: "accepting" } },
      },
    },
    /** Ours by the journal, and in no queue yet. */
    accepted: {
      id: "accepted",
      initial: "publishing",
      states: {
        publishing: {
          entry: "countTry",
          invoke: {
            src: "publish",
            input,
            onDone: "#live",
            onError: [{ guard: "hasTries", target: "unpublished" }, { target: "givingBack" }],
          },
        },
        unpublished: { after: { retryInterval: "publishing" } },
        givingBack: { invoke: { src: "giveBack", input, onDone: "#givenBack", onError: "notGivenBack" } },
        notGivenBack: { after: { retryInterval: "givingBack" } },
      },
    },
    live: {
      id: "live",
      type: "final",
      entry: [assign({ output: { kind: "live" } }), emit({ type: "handoff.live" })],
    },
    unstaged: { id: "unstaged", type: "final", entry: emit({ type: "handoff.unstaged" }) },
    givenBack: {
      id: "givenBack",
      type: "final",
      entry: [assign({ output: { kind: "givenBack" } }), emit({ type: "handoff.givenBack" })],
    },
  },
});
