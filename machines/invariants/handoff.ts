/** Invariants of work that moves: between live instances, and out of a thread that nobody has. */
import { eachOf } from "./define.ts";
import type { Invariant } from "./define.ts";

export const handoffInvariants: readonly Invariant[] = [
  eachOf({
    name: "handoff/oneHolder",
    ids: ["updates/Q-36", "updates/Q-45", "updates/Q-47", "updates/Q-49", "updates/Q-50"],
    sentence:
      "Work that moves between instances can be begun only by the one that the journal names, and by none while it is on offer.",
    of: "moving",
    holds: ({ runnableAt, heldBy }) => runnableAt.every((who) => who === heldBy),
  }),
  eachOf({
    name: "handoff/runsOnce",
    ids: ["updates/Q-46", "updates/Q-55"],
    sentence: "Work that moves between instances is begun once, unless who began it died before it was settled.",
    of: "moving",
    holds: ({ runs }) => runs <= 1,
  }),
  eachOf({
    name: "reroute/movedOnce",
    ids: ["updates/Q-70"],
    sentence: "What the user has chosen for is moved in one write, and never again.",
    of: "rerouting",
    holds: ({ movesMax }) => movesMax <= 1,
  }),
  eachOf({
    name: "reroute/deletedWhenTaken",
    ids: ["updates/Q-71"],
    sentence: "A thread whose content the user has chosen for is deleted only when all of it was taken elsewhere.",
    of: "rerouting",
    holds: ({ untakenDeletions }) => untakenDeletions === 0,
  }),
];
