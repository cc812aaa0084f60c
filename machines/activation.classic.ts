/**
 * Leading a bot without topics: there is no bus.
 *
 * Owns: one poller and one seat that has the whole chat, looking for topics now and then, and the switch to bus leadership.
 * Does not own: what comes after (`activation.machine.ts`).
 * Invariant: the classic poller is silent, or cut off, before leadership begins.
 */
import { assign, emit, sendTo } from "xstate";
import { chart, doubtOnConflict, epochOnly, onPairing, troubled } from "./activation.setup.ts";

/** Classic: the bot has no topics, so there is no bus. We poll for ourselves and look for topics now and then. */
export const dormantState = chart.createStateConfig({
  initial: "seating",
  states: {
    seating: {
      invoke: {
        src: "seatOwn",
        input: ({ context }) => ({
          epoch: context.epoch,
          seat: context.seat,
          thread: null,
          origin: "reused" as const,
          isClassic: true,
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "committed",
            target: "polled",
            actions: emit({ type: "activation.classic" }),
          },
          { target: "#activation.fencedOff" },
        ],
        onError: {
          target: "#activation.rollingBack",
          actions: emit(({ event }) => troubled("unavailable", String(event.error))),
        },
      },
    },
    polled: {
      invoke: [
        { src: "dispatcher", id: "dispatcher", input: epochOnly },
        { src: "poller", id: "poller", input: epochOnly },
        { src: "audience", id: "audience" },
      ],
      on: {
        ...onPairing,
        "polling.started": { actions: assign({ failures: 0 }) },
        "polling.answered": { actions: "nudgeDispatcher" },
        "polling.troubled": doubtOnConflict,
        "polling.fenced": "#activation.fencedOff",
        "dispatcher.fenced": "#activation.fencedOff",
      },
      initial: "resting",
      states: {
        resting: { after: { capabilityInterval: "scheduled" } },
        /** Perhaps a switch is due: ask. */
        scheduled: {
          invoke: {
            src: "identify",
            onDone: [
              { guard: ({ event }) => event.output.kind === "topics", target: "stoppingClassic" },
              { target: "resting" },
            ],
            onError: "resting",
          },
        },
        /** The classic poller must be silent before leadership begins. */
        stoppingClassic: {
          entry: sendTo("poller", { type: "polling.stop" }),
          on: { "polling.stopped": "#activation.provisioning" },
          after: { quiesceLimit: "#activation.provisioning" },
        },
      },
    },
  },
});
