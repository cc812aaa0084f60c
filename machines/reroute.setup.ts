/**
 * What the chart of a question whose a thread shall be is made of: its context, slots, guards, delays and actions.
 *
 * Owns: these. Does not own: the states in which they take effect (`reroute.machine.ts`).
 */
import { setup } from "xstate";
import { cleanupMachine } from "./cleanup.machine.ts";
import type { JournalSeq, MessageId, SeatKey } from "./ids.ts";
import { albumWindowMs } from "./queue.rules.ts";
import type {
  DismissOrder,
  GiveAnswer,
  GiveOrder,
  MoveAnswer,
  MoveOrder,
  OfferAnswer,
  Pressed,
  RerouteEvent,
  RerouteFact,
  RerouteInput,
  ShowAnswer,
  ShowOrder,
} from "./reroute.contract.ts";
import { chooserKeepMs } from "./reroute.rules.ts";
import type { PressWord } from "./reroute.rules.ts";
import { slot } from "./slots.ts";

export interface RerouteContext extends RerouteInput {
  readonly message: MessageId | null;
  readonly press: Pick<Pressed, "to" | "query">;
  /** Whose agent has said that it takes the thread; empty = nobody has. */
  readonly seat: SeatKey;
  /** Entries that moved and that nobody has taken yet. */
  readonly open: readonly JournalSeq[];
  /** Entries that were taken while it was not known yet that they had moved. */
  readonly taken: readonly JournalSeq[];
  /** All that was moved is known, and the thread is one to delete. */
  readonly mayDelete: boolean;
  /** Times in a row that the question could not be shown. */
  readonly failures: number;
}

const pressOf = (event: RerouteEvent): Pressed => {
  if (event.type !== "chooser.pressed") throw new Error(`${event.type} is no press`);
  return event;
};
const seqOf = (event: RerouteEvent): JournalSeq => {
  if (!("seq" in event)) throw new Error(`${event.type} is about no entry`);
  return event.seq;
};

const base = setup({
  // Types only: these values are never read.
  types: {
    input: {} as RerouteInput,
    context: {} as RerouteContext,
    events: {} as RerouteEvent,
    emitted: {} as RerouteFact,
  },
  actors: {
    showChooser: slot<ShowAnswer, ShowOrder>("showChooser"),
    /** One write: it has happened or it has not. */
    moveContent: slot<MoveAnswer, MoveOrder>("moveContent"),
    /** The agent says that it takes the thread; nothing is bound yet. */
    offerThread: slot<OfferAnswer, MoveOrder>("offerThread"),
    /** The thread becomes the seat's, in one write. */
    giveThread: slot<GiveAnswer, GiveOrder>("giveThread"),
    /** True = the seat has moved, or moves by itself when it registers. */
    seatAgent: slot<boolean, GiveOrder>("seatAgent"),
    cleanup: cleanupMachine,
    /** True = the question is not there any more. */
    dismissChooser: slot<boolean, DismissOrder>("dismissChooser"),
  },
  guards: {
    isLast: ({ context, event }) => context.open.every((seq) => seq === seqOf(event)),
    isAmongThem: ({ context, event }) => context.open.includes(seqOf(event)),
    isAlbumPart: ({ event }) => event.type === "content.arrived" && event.isAlbum,
    isShown: ({ context }) => context.message !== null,
    isForward: ({ event }) => pressOf(event).press === "forward",
    isRestore: ({ event }) => pressOf(event).press === "restore",
    isForRestoring: ({ event }) => pressOf(event).press === "restoreList",
  },
  delays: {
    albumWindow: albumWindowMs,
    lifetime: chooserKeepMs,
    retryInterval: 250,
    showInterval: 5_000,
    /** 5 s, 10 s, … at most 5 minutes. */
    showPause: ({ context }) => Math.min(300_000, 5_000 * 2 ** Math.min(10, Math.max(0, context.failures - 1))),
  },
});

/** Answers the press that was remembered, whose outcome is known by now. */
const sayToPress = (word: PressWord) =>
  base.emit(({ context }) => ({ type: "reroute.answered", query: context.press.query, word }));
/** Answers the press that has just come. */
const sayAtOnce = (word: PressWord) =>
  base.emit(({ event }) => ({ type: "reroute.answered", query: pressOf(event).query, word }));

export const chart = base.extend({
  actions: {
    rememberPress: base.assign(({ context, event }) => {
      const { to, query, message } = pressOf(event);
      return { press: { to, query }, message: message ?? context.message };
    }),
    countFailure: base.assign({ failures: ({ context }) => context.failures + 1 }),
    rememberTaken: base.assign({ taken: ({ context, event }) => [...context.taken, seqOf(event)] }),
    takeOff: base.assign({ open: ({ context, event }) => context.open.filter((seq) => seq !== seqOf(event)) }),
    sayMoved: sayToPress("moved"),
    sayGone: sayToPress("gone"),
    sayExpired: sayToPress("expired"),
    sayRestored: sayToPress("restored"),
    sayRefused: sayToPress("refused"),
    sayWhom: sayAtOnce("whom"),
    sayWhose: sayAtOnce("whose"),
    sayUnderWay: sayAtOnce("underWay"),
    saySettled: sayAtOnce("settled"),
    tellLeft: base.emit({ type: "reroute.left" }),
  },
});
