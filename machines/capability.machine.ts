/**
 * Whether the chat has threads at all, while we lead: looks now and then, and at once when a call makes it doubtful.
 *
 * Owns: when to look, and the judgement: two looks in a row must say no before threads count as off, one yes is enough for
 * them to be on again; a look that failed or said nothing is no look. Does not own: what a look is, what follows from the
 * judgement (`services/topics.ts`); nothing is ever deleted or unbound for it (threads CP-8).
 */
import { emit, setup } from "xstate";
import type { TopicsLook } from "./capability.rules.ts";
import { companion, slot } from "./slots.ts";
import type { CompanionFailed } from "./slots.ts";

export interface CapabilityInput {
  /** Between looks while threads are off, or may be. */
  readonly capabilityMs: number;
  /** Between looks while nobody doubts. */
  readonly healthMs: number;
}

export type CapabilityEvent =
  /** A call failed in a way that may mean that threads are off. */
  { readonly type: "capability.doubted" } | CompanionFailed;

/** After every look: what holds now. `doubted` = one look said no. */
export interface CapabilityFact {
  readonly type: "capability.judged";
  readonly verdict: "on" | "doubted" | "off";
}

const judged = (verdict: CapabilityFact["verdict"]): CapabilityFact => ({ type: "capability.judged", verdict });

const { createMachine } = setup({
  // Types only: these values are never read.
  types: {
    input: {} as CapabilityInput,
    context: {} as CapabilityInput,
    events: {} as CapabilityEvent,
    emitted: {} as CapabilityFact,
  },
  actors: {
    /** Reports `capability.doubted`. */
    watchDoubts: companion<{ readonly type: "never" }>("watchDoubts"),
    lookAtTopics: slot<TopicsLook>("lookAtTopics"),
  },
  delays: {
    healthInterval: ({ context }) => context.healthMs,
    capabilityInterval: ({ context }) => context.capabilityMs,
  },
});

export const capabilityMachine = createMachine({
  id: "capability",
  context: ({ input }) => input,
  invoke: { src: "watchDoubts", id: "watchDoubts" },
  // A doubt while a look is under way, or the next one near, changes nothing. Without the watcher, time alone makes us look.
  on: { "capability.doubted": {}, "companion.failed": {} },
  initial: "on",
  states: {
    /** Somebody asked Telegram before we began. */
    on: {
      initial: "resting",
      states: {
        resting: { on: { "capability.doubted": "looking" }, after: { healthInterval: "looking" } },
        looking: {
          invoke: {
            src: "lookAtTopics",
            onDone: [
              {
                guard: ({ event }) => event.output === "off",
                target: "#capability.doubted",
                actions: emit(judged("doubted")),
              },
              { target: "resting", actions: emit(judged("on")) },
            ],
            onError: { target: "resting", actions: emit(judged("on")) },
          },
        },
      },
    },

    /** One look said no: another one decides. */
    doubted: {
      initial: "resting",
      states: {
        resting: { after: { capabilityInterval: "looking" } },
        looking: {
          invoke: {
            src: "lookAtTopics",
            onDone: [
              { guard: ({ event }) => event.output === "on", target: "#capability.on", actions: emit(judged("on")) },
              { guard: ({ event }) => event.output === "off", target: "#capability.off", actions: emit(judged("off")) },
              { target: "resting", actions: emit(judged("doubted")) },
            ],
            onError: { target: "resting", actions: emit(judged("doubted")) },
          },
        },
      },
    },

    off: {
      initial: "resting",
      states: {
        resting: { after: { capabilityInterval: "looking" } },
        looking: {
          invoke: {
            src: "lookAtTopics",
            onDone: [
              { guard: ({ event }) => event.output === "on", target: "#capability.on", actions: emit(judged("on")) },
              { target: "resting", actions: emit(judged("off")) },
            ],
            onError: { target: "resting", actions: emit(judged("off")) },
          },
        },
      },
    },
  },
});
