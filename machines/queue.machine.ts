/**
 * The queue of one instance: what was claimed and waits, and the one turn that the host has.
 *
 * Owns: when a turn begins, what `/stop`, `/abort`, `/next` and `/continue` do to it and to what waits, holding back while
 * the host is busy by itself, how many updates outside turns handlers have at once.
 * Does not own: the order in which things wait and what reactions do (`queue.rules.ts`), grouping (`grouping.machine.ts`),
 * claims, settlement and the host's handlers (the slots and `services/queue.ts`).
 *
 * Two regions. `turns` belongs to a host that works in turns: at most one prompt or control at a time. `asides` are the
 * updates outside turns, which never wait for one: button presses, commands answered at once; with a host that takes
 * updates as they come, all of them.
 * Everything in the queue is claimed: what is here and not settled when the process ends comes again to the seat's next one.
 *
 * Invariants: queue/oneTurn, queue/oneItemPerEntry, queue/oneLaneOnePosition, queue/allowedLanes, queue/skippedNeverRuns,
 * queue/offeredIsUntouched, queue/nothingIsForgotten, queue/endsOnce.
 */
import { setup, stateIn } from "xstate";
import type { JournalSeq } from "./ids.ts";
import {
  admit,
  fold,
  grow,
  isOffered,
  itemOf,
  nextOf,
  noItems,
  react,
  refusalOfOffer,
  seqsOf,
  stand,
  without,
} from "./queue.rules.ts";
import type { Member, NewItem, QueueItem, QueueItems, ReactionChange } from "./queue.rules.ts";
import type { QueueCommand } from "./shape.rules.ts";
import { slot } from "./slots.ts";

export interface QueueInput {
  readonly asidesMax: number;
}

export interface Aside {
  readonly seq: JournalSeq;
  /** Goes ahead of what waits. */
  readonly isUrgent: boolean;
}

/** Those that act on the queue as a whole; `/continue` is an item in lane `control`. */
export type GivenCommand = Exclude<QueueCommand, "continue">;

export type QueueEvent =
  | { readonly type: "aside.arrived"; readonly aside: Aside }
  /** Its handlers have ended. */
  | { readonly type: "aside.ended" }
  /** Somebody listens for updates outside turns, or nobody any more. */
  | { readonly type: "host.attached" | "host.detached" }
  /** The host is busy by itself, or not ready for turns; each is taken back by one release. */
  | { readonly type: "host.held" }
  | { readonly type: "host.released" }
  | { readonly type: "item.opened"; readonly item: NewItem }
  | { readonly type: "item.grown"; readonly id: JournalSeq; readonly member: Member }
  | { readonly type: "item.closed"; readonly id: JournalSeq }
  | { readonly type: "item.reacted"; readonly id: JournalSeq; readonly member: Member; readonly change: ReactionChange }
  | { readonly type: "item.offered"; readonly id: JournalSeq }
  | { readonly type: "offer.ended"; readonly id: JournalSeq; readonly how: "transferred" | "returned" }
  /** `by`: the command's own entry; null when it came by the instance's interface. */
  | { readonly type: "command.given"; readonly command: GivenCommand; readonly by: JournalSeq | null };

export type CommandOutcome =
  /** `/stop`: so many items are gone. */
  | { readonly kind: "stopped"; readonly dropped: number; readonly aborted: boolean }
  | { readonly kind: "aborted" }
  | { readonly kind: "started" }
  | { readonly kind: "nothingRuns" | "empty" | "busy" };

export type QueueFact =
  | { readonly type: "aside.dispatched"; readonly seq: JournalSeq }
  /** They leave without a turn: settle them. */
  | { readonly type: "items.discarded"; readonly seqs: readonly JournalSeq[]; readonly reason: DiscardReason }
  /** What was to be begun belongs to somebody else by now. */
  | { readonly type: "item.lost"; readonly seqs: readonly JournalSeq[] }
  | { readonly type: "turn.aborted"; readonly id: JournalSeq }
  /** What is offered is not wanted any more: take it back if nobody has it yet. */
  | { readonly type: "offers.recalled"; readonly ids: readonly JournalSeq[] }
  | {
      readonly type: "command.done";
      readonly command: GivenCommand;
      readonly by: JournalSeq | null;
      readonly outcome: CommandOutcome;
    };

export type DiscardReason = "stopped" | "skipped";

export interface QueueContext extends QueueItems {
  readonly asidesMax: number;
  readonly asidesAtHost: number;
  readonly asides: readonly Aside[];
  /** The item whose turn begins or runs; null in every other state. */
  readonly current: QueueItem | null;
  /** Reasons for which the host takes no turn. */
  readonly holds: number;
}

export type TakeUpAnswer =
  /** The host may begin: with `ack: "auto"` its entries are settled. */
  | { readonly kind: "taken" }
  /** An entry is not ours any more. */
  | { readonly kind: "notOurs" };

const currentOf = ({ current }: QueueContext): QueueItem => {
  if (current === null) throw new Error("the queue has a turn and no item for it");
  return current;
};

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as QueueInput,
    context: {} as QueueContext,
    events: {} as QueueEvent,
    emitted: {} as QueueFact,
  },
  actors: {
    takeUp: slot<TakeUpAnswer, { readonly item: QueueItem }>("takeUp"),
    /** The host's turn, from its begin to its end, however it ends. */
    runTurn: slot<undefined, { readonly item: QueueItem }>("runTurn"),
  },
  guards: {
    isHeld: ({ context }) => context.holds > 0,
    hasSkipped: ({ context }) => nextOf(context).skipped.length > 0,
    hasHead: ({ context }) => nextOf(context).head !== null,
    isEmpty: ({ context }) => context.items.length === 0,
    isFull: ({ context }) => context.asidesAtHost >= context.asidesMax,
    hasAside: ({ context }) => context.asides.length > 0,
    isStop: ({ event }) => event.type === "command.given" && event.command === "stop",
    isAbort: ({ event }) => event.type === "command.given" && event.command === "abort",
    isNext: ({ event }) => event.type === "command.given" && event.command === "next",
    /** It absorbs what waits. */
    isFolding: ({ event }) => event.type === "item.opened" && event.item.lane !== "control",
    isOfferable: ({ context, event }) => event.type === "item.offered" && refusalOfOffer(context, event.id) === null,
    isRevoked: stateIn("#revoked"),
    isToFold: stateIn("#foldingAtEnd"),
  },
  delays: { retryInterval: 250 },
});

const { createMachine } = base.extend({
  actions: {
    queueAside: base.assign(({ context: { asides }, event }) => {
      if (event.type !== "aside.arrived") return {};
      const [ahead, behind] = [asides.filter((each) => each.isUrgent), asides.filter((each) => !each.isUrgent)];
      return { asides: event.aside.isUrgent ? [...ahead, event.aside, ...behind] : [...asides, event.aside] };
    }),
    emitAside: base.emit(({ context: { asides } }) => {
      const [first] = asides;
      if (first === undefined) throw new Error("there is no update to hand out");
      return { type: "aside.dispatched", seq: first.seq };
    }),
    noteAside: base.assign({
      asides: ({ context }) => context.asides.slice(1),
      asidesAtHost: ({ context }) => context.asidesAtHost + 1,
    }),
    endAside: base.assign({ asidesAtHost: ({ context }) => context.asidesAtHost - 1 }),

    admitItem: base.assign(({ context, event }) => (event.type === "item.opened" ? admit(context, event.item) : {})),
    foldItem: base.assign(({ context, event }) => (event.type === "item.opened" ? fold(context, event.item.id) : {})),
    growItem: base.assign(({ context, event }) =>
      event.type === "item.grown" ? grow(context, event.id, event.member) : {},
    ),
    closeItem: base.assign(({ context, event }) =>
      event.type === "item.closed" ? stand(context, event.id, "waiting") : {},
    ),
    reactToItem: base.assign(({ context, event }) =>
      event.type === "item.reacted" ? react(grow(context, event.id, event.member), event.id, event.change) : {},
    ),
    offerItem: base.assign(({ context, event }) =>
      event.type === "item.offered" ? stand(context, event.id, "offered") : {},
    ),
    dropItem: base.assign(({ context, event }) => (event.type === "offer.ended" ? without(context, [event.id]) : {})),
    takeBack: base.assign(({ context, event }) =>
      event.type === "offer.ended" ? stand(context, event.id, "waiting") : {},
    ),
    emitRecalled: base.emit(({ context, event }) => {
      const item = event.type === "offer.ended" ? itemOf(context, event.id) : null;
      return { type: "items.discarded", seqs: item === null ? [] : seqsOf(item), reason: "stopped" };
    }),

    emitSkipped: base.emit(({ context }) => ({
      type: "items.discarded",
      seqs: nextOf(context).skipped.flatMap(seqsOf),
      reason: "skipped",
    })),
    dropSkipped: base.assign(({ context }) =>
      without(
        context,
        nextOf(context).skipped.map((item) => item.id),
      ),
    ),
    takeHead: base.assign(({ context }) => {
      const { head } = nextOf(context);
      return head === null ? {} : { ...without(context, [head.id]), current: head };
    }),
    putBack: base.assign(({ context }) => ({
      ...stand({ ...context, items: [...context.items, currentOf(context)] }, currentOf(context).id, "waiting"),
      current: null,
    })),
    forgetCurrent: base.assign({ current: null }),
    emitLost: base.emit(({ context }) => ({ type: "item.lost", seqs: seqsOf(currentOf(context)) })),
    emitRevoked: base.emit(({ context }) => ({
      type: "items.discarded",
      seqs: seqsOf(currentOf(context)),
      reason: "stopped",
    })),
    emitAborted: base.emit(({ context }) => ({ type: "turn.aborted", id: currentOf(context).id })),

    hold: base.assign({ holds: ({ context }) => context.holds + 1 }),
    release: base.assign({ holds: ({ context }) => Math.max(0, context.holds - 1) }),

    emitCleared: base.emit(({ context }) => ({
      type: "items.discarded",
      seqs: context.items.filter((item) => !isOffered(item)).flatMap(seqsOf),
      reason: "stopped",
    })),
    emitStopped: base.emit(({ context, event }) => ({
      type: "command.done",
      command: "stop",
      by: event.type === "command.given" ? event.by : null,
      outcome: {
        kind: "stopped",
        dropped: context.items.filter((item) => !isOffered(item)).length,
        aborted: context.current !== null,
      },
    })),
    emitRecalls: base.emit(({ context }) => ({
      type: "offers.recalled",
      ids: context.items.filter(isOffered).map((item) => item.id),
    })),
    /** What is offered is another's to take; should it come back, it ends. */
    clear: base.assign(({ context }) => ({
      items: context.items.flatMap((item): QueueItem[] => (isOffered(item) ? [{ ...item, standing: "recalled" }] : [])),
    })),
  },
});

/** In order: the reader of the facts settles, then hears of it. */
const stopping = ["emitCleared", "emitStopped", "emitRecalls", "clear"] as const;
const tell = (outcome: CommandOutcome) =>
  base.emit(({ event }) => ({
    type: "command.done",
    command: event.type === "command.given" ? event.command : "next",
    by: event.type === "command.given" ? event.by : null,
    outcome,
  }));

export const queueMachine = createMachine({
  id: "queue",
  context: ({ input }) => ({
    ...noItems,
    asidesMax: input.asidesMax,
    asidesAtHost: 0,
    asides: [],
    current: null,
    holds: 0,
  }),
  type: "parallel",
  on: {
    "aside.arrived": { actions: "queueAside" },
    "aside.ended": { actions: "endAside" },
    "host.attached": {},
    "host.detached": {},
    "host.held": { actions: "hold" },
    "host.released": { actions: "release" },
    "item.opened": { actions: "admitItem" },
    "item.grown": { actions: "growItem" },
    "item.closed": { actions: "closeItem" },
    "item.reacted": { actions: "reactToItem" },
    // What cannot be offered (any more) stays as it is: whoever asked looks at its standing.
    "item.offered": [{ guard: "isOfferable", actions: "offerItem" }, {}],
    "offer.ended": [
      { guard: ({ event }) => event.how === "transferred", actions: "dropItem" },
      {
        guard: ({ context, event }) => itemOf(context, event.id)?.standing === "recalled",
        actions: ["emitRecalled", "dropItem"],
      },
      { actions: "takeBack" },
    ],
  },
  states: {
    asides: {
      initial: "unheard",
      // Commands are about turns.
      on: { "command.given": {} },
      states: {
        /** Nobody listens yet: updates wait, unsettled. */
        unheard: { on: { "host.attached": "flowing" } },
        flowing: {
          always: [
            { guard: "isFull", target: "full" },
            { guard: "hasAside", actions: ["emitAside", "noteAside"] },
          ],
          on: { "host.detached": "unheard" },
        },
        full: {
          always: { guard: ({ context }) => context.asidesAtHost < context.asidesMax, target: "flowing" },
          on: { "host.detached": "unheard" },
        },
      },
    },
    turns: {
      initial: "idle",
      on: {
        "command.given": [
          { guard: "isStop", actions: stopping },
          { guard: "isAbort", actions: tell({ kind: "nothingRuns" }) },
          { guard: "isEmpty", actions: tell({ kind: "empty" }) },
          { actions: tell({ kind: "started" }) },
        ],
      },
      states: {
        idle: {
          always: [
            { guard: "isHeld", target: "held" },
            { guard: "hasSkipped", actions: ["emitSkipped", "dropSkipped"] },
            { guard: "hasHead", target: "dispatching", actions: "takeHead" },
          ],
        },
        /** On its way to the host: it may still be called back, and after a crash it runs again. */
        dispatching: {
          invoke: {
            src: "takeUp",
            input: ({ context }) => ({ item: currentOf(context) }),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "notOurs",
                target: "idle",
                actions: ["emitLost", "forgetCurrent"],
              },
              { guard: "isRevoked", target: "idle", actions: ["emitRevoked", "forgetCurrent"] },
              { target: "awaitingHost" },
            ],
            onError: [
              { guard: "isRevoked", target: "pausing", actions: ["emitRevoked", "forgetCurrent"] },
              { target: "pausing", actions: "putBack" },
            ],
          },
          initial: "wanted",
          states: { wanted: {}, revoked: { id: "revoked" } },
          on: {
            "command.given": [
              { guard: "isStop", target: ".revoked", actions: stopping },
              { guard: "isAbort", target: ".revoked", actions: tell({ kind: "aborted" }) },
              { target: ".revoked", actions: tell({ kind: "started" }) },
            ],
          },
        },
        /** The store did not answer: the item is at its place again. */
        pausing: { after: { retryInterval: "idle" } },
        /** The host has it. It is done with `current` when its turn has ended, also after an abort. */
        awaitingHost: {
          invoke: {
            src: "runTurn",
            input: ({ context }) => ({ item: currentOf(context) }),
            onDone: [
              { guard: "isToFold", target: "folding", actions: "forgetCurrent" },
              { target: "idle", actions: "forgetCurrent" },
            ],
            onError: { target: "idle", actions: "forgetCurrent" },
          },
          initial: "running",
          on: {
            "command.given": [
              { guard: "isStop", target: ".aborting", actions: [...stopping, "emitAborted"] },
              { guard: "isAbort", target: ".folding", actions: ["emitAborted", tell({ kind: "aborted" })] },
              { guard: "isEmpty", actions: tell({ kind: "empty" }) },
              { target: ".aborting", actions: ["emitAborted", tell({ kind: "started" })] },
            ],
          },
          states: {
            running: {},
            aborting: {},
            /** After `/abort`: what waits becomes the history of the next prompt. */
            folding: { id: "foldingAtEnd" },
          },
        },
        /** Nothing runs, and nothing begins until the next prompt, which absorbs what waits. */
        folding: {
          on: {
            "item.opened": [
              { guard: "isFolding", target: "idle", actions: ["admitItem", "foldItem"] },
              { target: "idle", actions: "admitItem" },
            ],
            "command.given": [
              { guard: "isStop", target: "idle", actions: stopping },
              { guard: "isAbort", actions: tell({ kind: "nothingRuns" }) },
              { guard: "isEmpty", target: "idle", actions: tell({ kind: "empty" }) },
              { target: "idle", actions: tell({ kind: "started" }) },
            ],
          },
        },
        /** The host is busy by itself, or has no handler for turns yet. */
        held: {
          always: { guard: ({ context }) => context.holds === 0, target: "idle" },
          on: {
            "command.given": [
              { guard: "isStop", actions: stopping },
              { guard: "isAbort", actions: tell({ kind: "nothingRuns" }) },
              { actions: tell({ kind: "busy" }) },
            ],
          },
        },
      },
    },
  },
});
