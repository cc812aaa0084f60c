/** Random walks through worlds too wide to exhaust. Every invariant is judged after every step. */
import { describe, expect, it } from "vitest";
import { quietLease } from "../model/worlds/index.ts";
import { faithfulRules, leaseWorld } from "../model/worlds/lease.world.ts";
import { findBrokenWalk, fixedSeed, freshSeed } from "../support/property/walks.ts";
import { wideWorlds } from "./wide-worlds.ts";

const options = { walks: 150, stepsMax: 120 };

describe("random walks", { timeout: 240_000 }, () => {
  it.each(wideWorlds)("$name: $states", (world) => {
    for (const seed of [fixedSeed, freshSeed]) expect(world.find(options, seed)?.words ?? "holds").toBe("holds");
  });

  it("find a broken lease, shrink the walk, and find the same again from the seed", () => {
    const broken = leaseWorld(
      { ...quietLease, epochs: 3 },
      { ...faithfulRules, epochAfterGrant: (env, by) => (env.holder === by ? env.epoch : env.epoch + 1) },
    );
    const found = findBrokenWalk(broken, options, fixedSeed);
    expect(found?.properties).toEqual(["lease/epochIncreases"]);
    expect(found?.way.choices.length).toBeLessThan(20);
    expect(findBrokenWalk(broken, options, fixedSeed)).toMatchObject({ way: found?.way });
  });
});
