/** Invariants of threads: who has which, how one comes about, when one may be deleted. */
import { eachOf } from "./define.ts";
import type { Invariant } from "./define.ts";

export const threadInvariants: readonly Invariant[] = [
  eachOf({
    name: "cleanup/onlyInstructed",
    ids: [
      "protocol/P-53",
      "threads/T-1",
      "threads/T-2",
      "threads/T-14",
      "threads/T-19",
      "threads/T-20",
      "threads/T-41",
    ],
    sentence:
      "A thread is deleted only under an instruction that was on disk, as begun under the epoch, just before the call.",
    of: "apiCalls",
    holds: ({ deletion }) => deletion === null || deletion.instruction?.phase === "deleting",
  }),
  eachOf({
    name: "cleanup/endedOnlyWithProof",
    ids: ["protocol/P-52", "threads/T-29", "threads/T-30"],
    sentence:
      "The thread of one that is merely gone is deleted only after its holder was proven dead or had given the seat up; silence proves nothing.",
    of: "apiCalls",
    holds: ({ deletion }) => deletion?.instruction?.reason !== "ended" || deletion.wasHolderGone === true,
  }),
  eachOf({
    name: "cleanup/neverUnderTheLiving",
    ids: ["protocol/P-52", "threads/T-3"],
    sentence: "Unless its holder or the operator gave it up, no thread is deleted that a living registration has.",
    of: "apiCalls",
    holds: ({ deletion }) =>
      deletion === null ||
      deletion.instruction?.reason === "left" ||
      deletion.instruction?.reason === "operator" ||
      !deletion.isHeldByLiving,
  }),
  eachOf({
    name: "cleanup/instructionBeforeCall",
    ids: ["protocol/P-53", "threads/T-14"],
    sentence: "No thread of a seat was ever deleted without an instruction under way.",
    of: "seatGhosts",
    holds: ({ unprovenDeletions }) => unprovenDeletions === 0,
  }),
  eachOf({
    name: "cleanup/neverWhatIsHeld",
    ids: ["threads/T-3", "threads/T-28"],
    sentence: "A thread that a registration got after its clean-up was asked for is not deleted.",
    of: "seatGhosts",
    holds: ({ heldDeletions }) => heldDeletions === 0,
  }),
  eachOf({
    name: "provisioning/neverTwoThreads",
    ids: ["threads/T-10", "threads/T-11"],
    sentence: "No thread is created for a seat while an earlier creation for it is undecided.",
    of: "seatGhosts",
    holds: ({ secondCreations }) => secondCreations === 0,
  }),
];
