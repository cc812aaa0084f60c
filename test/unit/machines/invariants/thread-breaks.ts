/** For each invariant of threads: the smallest change of a sound world that breaks it. */
import type { DeletionView } from "../../../../machines/invariants.ts";
import type { Breaks } from "./breaks.ts";
import { otherSeat, sound } from "./sound.ts";

const withDeletion = (over: Partial<DeletionView>) => ({
  apiCalls: sound.apiCalls.map((each) =>
    each.deletion === null ? each : { ...each, deletion: { ...each.deletion, ...over } },
  ),
});
const withGhost = (over: Partial<(typeof sound.seatGhosts)[number]>) => ({
  seatGhosts: sound.seatGhosts.map((each) => ({ ...each, ...over })),
});

export const threadBreaks: Breaks = {
  "cleanup/onlyInstructed": [
    withDeletion({ instruction: null }),
    withDeletion({ instruction: { reason: "ended", phase: "waiting", seat: otherSeat } }),
  ],
  "cleanup/endedOnlyWithProof": [withDeletion({ wasHolderGone: false }), withDeletion({ wasHolderGone: null })],
  "cleanup/neverUnderTheLiving": [withDeletion({ isHeldByLiving: true })],
  "cleanup/instructionBeforeCall": [withGhost({ unprovenDeletions: 1 })],
  "cleanup/neverWhatIsHeld": [withGhost({ heldDeletions: 1 })],
  "provisioning/neverTwoThreads": [withGhost({ secondCreations: 1 })],
};
