/** Each invariant can hold and can be broken: a predicate that cannot fail says nothing. */
import { describe, expect, it } from "vitest";
import { invariants, judgedWith, judgeOf } from "../../../../machines/invariants.ts";
import type { Part, WorldView } from "../../../../machines/invariants.ts";
import { deliveryBreaks, leaseBreaks, registrationBreaks } from "./breaks.ts";
import { sound } from "./sound.ts";
import { queueBreaks, storeBreaks } from "./store-breaks.ts";
import { threadBreaks } from "./thread-breaks.ts";
import { wireBreaks } from "./wire-breaks.ts";

const breaks = {
  ...leaseBreaks,
  ...registrationBreaks,
  ...deliveryBreaks,
  ...threadBreaks,
  ...storeBreaks,
  ...queueBreaks,
  ...wireBreaks,
};
// Its keys are the parts.
const allParts = Object.keys(sound) as Part[];
const brokenIn = judgeOf(allParts);

/** The change alone, on parts that nothing else is said of, must be what breaks it. */
const brokenBy = (change: Partial<WorldView>) => brokenIn({ ...sound, ...change });

describe("in a sound world", () => {
  it("every invariant holds", () => {
    expect(brokenIn(sound)).toEqual([]);
  });
});

describe("the smallest change that breaks it", () => {
  it.each(invariants.map((each) => each.name))("%s", (name) => {
    const changes = breaks[name] ?? [];
    expect(changes.length).toBeGreaterThan(0);
    for (const change of changes) expect(brokenBy(change), JSON.stringify(change)).toContain(name);
  });

  it("is told for no invariant that there is not", () => {
    const names = invariants.map((each) => each.name);
    expect(Object.keys(breaks).filter((name) => !names.includes(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("a world that does not show every part", () => {
  it("judges what it can, and nothing else", () => {
    const names = judgedWith(["lease", "instances"]).map((each) => each.name);
    expect(names).toEqual(["lease/oneHolderPerEpoch"]);
    expect(judgeOf(["grants"])({ grants: [...sound.grants].reverse() })).toEqual(["lease/epochIncreases"]);
  });
});
