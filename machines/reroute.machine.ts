/**
 * One question to the user: whose shall be what was written in a thread that nobody has?
 *
 * Owns: when the question is asked, that what waits goes to one thread and only once, or the thread to one agent that takes
 * it, when the emptied thread and the question are taken away. Does not own: who is asked at all (`reroute.rules.ts`), the
 * content, which stays in the journal from its admission to its settlement, deleting the thread (`cleanup.machine.ts`, with
 * its own proof).
 *
 * One question is about everything that waits in its thread. An unknown outcome of moving it is asked about again for the
 * same thread, never for another one. Once the content has moved, the buttons serve the clean-up alone.
 *
 * Invariants: cleanup/instructionBeforeCall, journal/oneAuthority.
 */
import { assign, emit, not } from "xstate";
import type { CleanupInput } from "./cleanup.machine.ts";
import { seatKey } from "./ids.ts";
import type { MessageId, ThreadTarget } from "./ids.ts";
import type { ShowAnswer, ShowOrder } from "./reroute.contract.ts";
import type { ChooserList } from "./reroute.rules.ts";
import { chart } from "./reroute.setup.ts";
import type { RerouteContext } from "./reroute.setup.ts";

export * from "./reroute.contract.ts";

const noPress = (source: ThreadTarget): RerouteContext["press"] => ({ to: source, query: "" });

/** The thread is nobody's, so it is given up by no seat. */
const cleanupOf = ({ epoch, source }: RerouteContext): CleanupInput => ({
  epoch,
  seat: seatKey(""),
  target: source,
  asks: "rerouted",
  seenDead: null,
});

const showOf = ({ epoch, id, source, asked, message }: RerouteContext, list: ChooserList): ShowOrder => ({
  epoch,
  id,
  source,
  asked,
  message,
  list,
});
const shownAs = (output: ShowAnswer, before: MessageId | null): MessageId | null =>
  output.kind === "shown" ? output.message : before;

/** While nothing is decided a press decides it, or asks for the other list. */
const presses = {
  "chooser.pressed": [
    { guard: "isForward", target: "#reroute.moving", actions: "rememberPress" },
    { guard: "isRestore", target: "#reroute.restoring", actions: "rememberPress" },
    { guard: "isForRestoring", target: "#reroute.choosing.listing", actions: ["rememberPress", "sayWhom"] },
    { target: "#reroute.choosing.asking", actions: ["rememberPress", "sayWhose"] },
  ],
} as const;

export const rerouteMachine = chart.createMachine({
  id: "reroute",
  context: ({ input }) => ({
    ...input,
    message: null,
    press: noPress(input.source),
    seat: seatKey(""),
    open: [],
    taken: [],
    mayDelete: false,
    failures: 0,
  }),
  initial: "beginning",
  // What is written while the question stands goes where everything goes; others' entries are others'.
  on: {
    "content.arrived": {},
    "content.accepted": {},
    "content.ended": {},
    "seats.changed": {},
    "chooser.pressed": { actions: "sayUnderWay" },
  },
  states: {
    /** Passed through at once. */
    beginning: { always: [{ guard: ({ context }) => context.isAlbum, target: "collecting" }, { target: "choosing" }] },

    /** An album comes in parts: one question for all of them. */
    collecting: {
      after: { albumWindow: "choosing" },
      on: { "content.arrived": { guard: "isAlbumPart", target: "collecting", reenter: true } },
    },

    /** Nothing has moved; the content waits in the journal and goes on waiting when this ends. */
    choosing: {
      initial: "asking",
      after: { lifetime: "dismissing" },
      on: presses,
      states: {
        asking: {
          invoke: {
            src: "showChooser",
            input: ({ context }) => showOf(context, "forward"),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "shown",
                target: "waiting",
                actions: assign({
                  failures: 0,
                  message: ({ context, event: { output } }) => shownAs(output, context.message),
                }),
              },
              { guard: ({ event }) => event.output.kind === "guided", target: "#reroute.guided" },
              { guard: ({ event }) => event.output.kind === "owned", target: "#reroute.dismissing" },
              { target: "pausing", actions: "countFailure" },
            ],
            onError: { target: "pausing", actions: "countFailure" },
          },
        },
        /** It could not be shown: again, when somebody may hear it. */
        pausing: { after: { showPause: "asking" } },
        waiting: {
          on: {
            "seats.changed": { guard: "isShown", target: "outdated" },
            // It may not have been sent after all.
            "content.arrived": { guard: not("isShown"), target: "asking" },
          },
        },
        /** Its buttons are not those of now; however often that happens, they are renewed now and then. */
        outdated: { after: { showInterval: "asking" } },

        /** The same question with its other list: which agent shall move into this thread? */
        listing: {
          initial: "asking",
          states: {
            asking: {
              invoke: {
                src: "showChooser",
                input: ({ context }) => showOf(context, "restore"),
                onDone: [
                  {
                    guard: ({ event }) => event.output.kind === "shown",
                    target: "waiting",
                    actions: assign({ message: ({ context, event }) => shownAs(event.output, context.message) }),
                  },
                  { guard: ({ event }) => event.output.kind === "guided", target: "#reroute.guided" },
                  { guard: ({ event }) => event.output.kind === "owned", target: "#reroute.dismissing" },
                  { target: "outdated" },
                ],
                onError: "outdated",
              },
            },
            waiting: {
              on: {
                "seats.changed": { guard: "isShown", target: "outdated" },
                // The user may have deleted it: asked about anew, from the first list on.
                "content.arrived": { guard: not("isShown"), target: "#reroute.choosing.asking" },
              },
            },
            outdated: { after: { showInterval: "asking" } },
          },
        },
      },
    },

    /** Nobody can be chosen. However long that lasts: the user was told that the question comes. */
    guided: {
      // Somebody may have come while we looked.
      after: { showInterval: "choosing" },
      on: { "seats.changed": "choosing", ...presses },
    },

    /** The thread itself goes to the agent that was chosen: what waits there is then its seat's, by its binding. */
    restoring: {
      initial: "offering",
      // Whatever is bound by then stays so.
      after: { lifetime: "dismissing" },
      states: {
        /** Nothing is bound unless the agent has said that it takes the thread. */
        offering: {
          invoke: {
            src: "offerThread",
            input: ({ context: { epoch, source, press } }) => ({ epoch, source, to: press.to }),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "accepted",
                target: "giving",
                actions: assign({
                  seat: ({ context, event: { output } }) => (output.kind === "accepted" ? output.seat : context.seat),
                }),
              },
              { guard: ({ event }) => event.output.kind === "absent", target: "#reroute.choosing", actions: "sayGone" },
              {
                guard: ({ event }) => event.output.kind === "owned",
                target: "#reroute.dismissing",
                actions: "sayExpired",
              },
              { target: "#reroute.choosing", actions: "sayRefused" },
            ],
            onError: { target: "#reroute.choosing", actions: "sayRefused" },
          },
        },
        giving: {
          invoke: {
            src: "giveThread",
            input: ({ context: { epoch, source, seat } }) => ({ epoch, source, seat }),
            onDone: [
              { guard: ({ event }) => event.output.kind === "given", target: "seating", actions: "sayRestored" },
              { guard: ({ event }) => event.output.kind === "absent", target: "#reroute.choosing", actions: "sayGone" },
              {
                guard: ({ event }) => event.output.kind === "gone",
                target: "#reroute.choosing",
                actions: "sayRefused",
              },
              {
                guard: ({ event }) => event.output.kind === "owned",
                target: "#reroute.dismissing",
                actions: "sayExpired",
              },
              { target: "#reroute.fenced" },
            ],
            // Perhaps it is done: asked again for the same seat, it then finds that it has the thread.
            onError: "pausing",
          },
        },
        pausing: { after: { retryInterval: "giving" } },
        /** It is the seat's: its registration follows, as when a thread is lost. */
        seating: {
          invoke: {
            src: "seatAgent",
            input: ({ context: { epoch, source, seat } }) => ({ epoch, source, seat }),
            onDone: [
              {
                guard: ({ event }) => event.output,
                target: "#reroute.dismissing",
                actions: emit(({ context }) => ({ type: "reroute.restored", seat: context.seat })),
              },
              { target: "remaining" },
            ],
            onError: "remaining",
          },
        },
        /** Its seat is busy, or Telegram did not say whether its old thread is there: asked again. */
        remaining: { after: { showInterval: "seating" } },
      },
    },

    /** Whoever was chosen gets all of it, or nobody does. */
    moving: {
      initial: "writing",
      entry: assign({ mayDelete: true }),
      on: { "content.accepted": { actions: "rememberTaken" } },
      states: {
        writing: {
          invoke: {
            src: "moveContent",
            input: ({ context: { epoch, source, press } }) => ({ epoch, source, to: press.to }),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === "moved",
                target: "#reroute.delivering",
                actions: [
                  assign(({ context, event: { output } }) =>
                    output.kind === "moved"
                      ? {
                          open: output.seqs.filter((seq) => !context.taken.includes(seq)),
                          mayDelete: context.mayDelete && output.mayDelete,
                        }
                      : {},
                  ),
                  "sayMoved",
                  emit(({ context, event: { output } }) => ({
                    type: "reroute.moved",
                    to: context.press.to,
                    seqs: output.kind === "moved" ? output.seqs : [],
                  })),
                ],
              },
              { guard: ({ event }) => event.output.kind === "absent", target: "#reroute.choosing", actions: "sayGone" },
              {
                guard: ({ event }) => event.output.kind === "nothing",
                target: "#reroute.dismissing",
                actions: "sayExpired",
              },
              { target: "#reroute.fenced" },
            ],
            // Perhaps it is done: asked again for the same thread, it then finds nothing more to move, or only what came since.
            onError: "pausing",
          },
        },
        /** What was moved before is not known, nor when it is taken: the thread stays. */
        pausing: { entry: assign({ mayDelete: false }), after: { retryInterval: "writing" } },
      },
    },

    /** The journal has given all of it to the chosen thread; the old one stays until it was taken there. */
    delivering: {
      always: [{ guard: ({ context }) => context.open.length === 0, target: "settling" }],
      after: { lifetime: "dismissing" },
      on: {
        "content.accepted": [{ guard: "isLast", target: "settling", actions: "takeOff" }, { actions: "takeOff" }],
        "content.ended": { guard: "isAmongThem", target: "dismissing" },
        "content.arrived": { target: "dismissing", actions: "tellLeft" },
      },
    },

    /** Passed through at once: taken, all of it. */
    settling: {
      always: [{ guard: ({ context }) => context.mayDelete, target: "cleaning" }, { target: "dismissing" }],
    },

    /** The emptied thread goes, and the question with it. */
    cleaning: {
      initial: "deleting",
      on: { "content.arrived": { actions: "tellLeft" } },
      states: {
        deleting: {
          invoke: {
            src: "cleanup",
            input: ({ context }) => cleanupOf(context),
            onDone: [
              { guard: ({ event }) => event.output.kind === "removed", target: "#reroute.done" },
              { guard: ({ event }) => event.output.kind === "lostOwnership", target: "#reroute.fenced" },
              { guard: ({ event }) => event.output.kind === "failed", target: "unconfirmed" },
              // Somebody has the thread by now, or something was written there.
              { target: "#reroute.dismissing" },
            ],
            onError: "unconfirmed",
          },
        },
        /** The instruction is on disk, so it is tried again anyway; a press tries at once, and moves nothing. */
        unconfirmed: {
          after: { lifetime: "#reroute.done" },
          on: {
            "chooser.pressed": { target: "deleting", actions: "saySettled" },
            "content.arrived": { target: "#reroute.done", actions: "tellLeft" },
          },
        },
      },
    },

    /** The thread stays: only the question is taken away. */
    dismissing: {
      initial: "deciding",
      after: { lifetime: "done" },
      on: { "content.arrived": { actions: "tellLeft" } },
      states: {
        deciding: { always: [{ guard: "isShown", target: "deleting" }, { target: "#reroute.done" }] },
        deleting: {
          invoke: {
            src: "dismissChooser",
            input: ({ context: { epoch, source, message } }) => {
              if (message === null) throw new Error("there is no question to take away");
              return { epoch, source, message };
            },
            onDone: [{ guard: ({ event }) => event.output, target: "#reroute.done" }, { target: "unconfirmed" }],
            onError: "unconfirmed",
          },
        },
        unconfirmed: {
          on: {
            "chooser.pressed": { target: "deleting", actions: "saySettled" },
            "content.arrived": { target: "#reroute.done", actions: "tellLeft" },
          },
        },
      },
    },

    done: { type: "final" },
    fenced: { type: "final", entry: emit({ type: "reroute.fenced" }) },
  },
});
