/** The parts of the view that any sequence of operations of a store shows. */
export const storeParts = ["tables", "storeSteps"] as const;

/** What a store keeps only for those who ask as instances do: with fresh acquisitions, after proof, for one seat each. */
export const dependingOnTheAsker: readonly string[] = [
  "creation/endsWithItsBinding",
  "thread/oneSlotEach",
  "thread/oneLiveEach",
  "thread/suspectIsNotSeated",
  "journal/oneAuthority",
];
