/**
 * One open group of prompts that belong together: the photos of an album, the parts of a split text, a comment with its
 * forward.
 *
 * Owns: how long more of it may come, and that it closes once. Does not own: which parts belong together
 * (`shape.rules.ts`), the item in the queue.
 *
 * While it is open its item waits and nothing overtakes it. Its parts are claimed: after a crash they come again, in order,
 * and are gathered again.
 */
import { emit, setup } from "xstate";
import { albumWindowMs, textWindowMs } from "./queue.rules.ts";
import { judgePart } from "./shape.rules.ts";
import type { GroupPart } from "./shape.rules.ts";

export interface GroupingInput {
  readonly first: GroupPart;
}

export type GroupingEvent =
  /** Another part of the same key. */
  | { readonly type: "part.arrived"; readonly part: GroupPart }
  /** Somebody needs it whole, now. */
  | { readonly type: "group.close" };

export type GroupingFact =
  | { readonly type: "part.joined" }
  /** The part begins a group of its own. */
  | { readonly type: "part.follows" }
  | { readonly type: "group.closed" };

export interface GroupingContext {
  readonly last: GroupPart;
  readonly parts: number;
}

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as GroupingInput,
    context: {} as GroupingContext,
    events: {} as GroupingEvent,
    emitted: {} as GroupingFact,
  },
  guards: {
    isJoining: ({ context, event }) => event.type === "part.arrived" && judgePart(context, event.part) === "joins",
    isCompleting: ({ context, event }) =>
      event.type === "part.arrived" && judgePart(context, event.part) === "completes",
  },
  delays: { window: ({ context }) => (context.last.group === "album" ? albumWindowMs : textWindowMs) },
});

const { createMachine } = base.extend({
  actions: {
    join: base.assign(({ context, event }) =>
      event.type === "part.arrived" ? { last: event.part, parts: context.parts + 1 } : {},
    ),
  },
});

export const groupingMachine = createMachine({
  id: "grouping",
  context: ({ input }) => ({ last: input.first, parts: 1 }),
  initial: "gathering",
  states: {
    gathering: {
      after: { window: "closed" },
      on: {
        "part.arrived": [
          { guard: "isJoining", target: "gathering", reenter: true, actions: ["join", emit({ type: "part.joined" })] },
          { guard: "isCompleting", target: "closed", actions: ["join", emit({ type: "part.joined" })] },
          { target: "closed", actions: emit({ type: "part.follows" }) },
        ],
        "group.close": "closed",
      },
    },
    closed: { type: "final", entry: emit({ type: "group.closed" }) },
  },
});
