/**
 * Random walks through worlds too wide to exhaust: more instances, more faults, more of everything than `npm run check`
 * has time for. Every invariant is judged after every step.
 */
import { describe, expect, it } from "vitest";
import { deliveryWorld } from "../model/worlds/delivery.world.ts";
import { quietDelivery, quietLease, quietPolling, quietRegistration } from "../model/worlds/index.ts";
import { faithfulRules, leaseWorld } from "../model/worlds/lease.world.ts";
import { pollingWorld } from "../model/worlds/polling.world.ts";
import { registrationWorld } from "../model/worlds/registration.world.ts";
import { expectWalksToHold, findBrokenWalk, fixedSeed } from "../support/property/walks.ts";

const wide = { walks: 150, stepsMax: 120 };

describe("random walks", { timeout: 120_000 }, () => {
  it.each([2, 3, 4])("the epoch grows with every grant and has one holder, among %i instances", (instances) => {
    const faults = { crashes: 3, restarts: 3, pauses: 3, losses: 4, releases: 2, writes: 3, renewals: 3 };
    expectWalksToHold(leaseWorld({ ...quietLease, ...faults, instances, epochs: 6 }), wide);
  });

  it("a stale generation neither acts, nor extends a life, nor ends one", () => {
    const world = registrationWorld({
      ...quietRegistration,
      attempts: 6,
      leaders: 2,
      heartbeats: 4,
      farewells: 3,
      deaths: 1,
      impatience: 4,
      losses: 4,
      commitLosses: 2,
      troubles: 3,
      closings: 3,
      unprovable: 2,
      crashes: 1,
      waits: 2,
    });
    expectWalksToHold(world, wide);
  });

  it("updates of one lane are handed out in order, once, whoever leads and whoever sits", () => {
    const world = deliveryWorld({
      ...quietDelivery,
      updates: 5,
      failures: 4,
      losses: 4,
      claimLosses: 2,
      silences: 3,
      deaths: 1,
      crashes: 1,
      unowned: 2,
      isPatienceFinite: true,
      foreign: [1],
    });
    expectWalksToHold(world, wide);
  });

  it("nothing is confirmed to Telegram that is not in the journal, whatever polling meets", () => {
    expectWalksToHold(
      pollingWorld({ ...quietPolling, updates: 6, troubles: 5, losses: 5, fulls: 3, crashes: 1 }),
      wide,
    );
  });

  it("finds a broken lease, shrinks the walk, and finds the same again from the seed", () => {
    const broken = leaseWorld(
      { ...quietLease, epochs: 3 },
      { ...faithfulRules, epochAfterGrant: (env, by) => (env.holder === by ? env.epoch : env.epoch + 1) },
    );
    const found = findBrokenWalk(broken, wide, fixedSeed);
    expect(found?.properties).toEqual(["lease/epochIncreases"]);
    expect(found?.way.choices.length).toBeLessThan(20);
    expect(findBrokenWalk(broken, wide, fixedSeed)).toEqual(found);
  });
});
