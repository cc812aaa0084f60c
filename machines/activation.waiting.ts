/**
 * What leading waits for before it begins: that somebody is paired, that Telegram takes the token.
 *
 * Owns: the states of that. Does not own: what comes after (`activation.machine.ts`).
 */
import { assign, emit } from "xstate";
import { unpairedText } from "./pairing.rules.ts";
import { chart, doubtOnConflict, epochOnly, troubled } from "./activation.setup.ts";

/** Nobody is known who may write to the bot. */
export const pairingState = chart.createStateConfig({
  invoke: { src: "audience", id: "audience" },
  on: { "pairing.known": { target: "identifying", actions: "moveToChat" } },
  initial: "looking",
  states: {
    looking: {
      on: {
        "pairing.missing": {
          target: "polled",
          actions: emit(troubled("unpaired", unpairedText)),
        },
      },
    },
    /** We poll to hear who asks; no endpoint, no thread, and every update is a counted drop. */
    polled: {
      invoke: [
        { src: "dispatcher", id: "dispatcher", input: epochOnly },
        { src: "poller", id: "poller", input: epochOnly },
      ],
      on: {
        "pairing.missing": {},
        "polling.answered": { actions: "nudgeDispatcher" },
        "polling.troubled": doubtOnConflict,
        "polling.fenced": "#activation.fencedOff",
        "dispatcher.fenced": "#activation.fencedOff",
      },
    },
  },
});

/** Telegram rejects the token: there is no leading without a better one. The lease stays ours, nobody else would fare better. */
export const rejectedState = chart.createStateConfig({
  entry: assign({ rejections: ({ context }) => context.rejections + 1 }),
  invoke: { src: "watchToken", id: "watchToken" },
  on: { "token.renewed": "identifying" },
  after: { rejectedPause: "renewing" },
});
