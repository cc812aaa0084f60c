/**
 * Worlds too wide to exhaust: more instances, more faults, more of everything than `npm run check` has time for.
 *
 * Owns: their bounds and what each is for. Does not own: the worlds (`test/model/worlds`), how they are walked.
 */
import { deliveryWorld } from "../model/worlds/delivery.world.ts";
import { quietDelivery, quietLease, quietPolling, quietRegistration } from "../model/worlds/index.ts";
import { leaseWorld } from "../model/worlds/lease.world.ts";
import { pollingWorld } from "../model/worlds/polling.world.ts";
import { registrationWorld } from "../model/worlds/registration.world.ts";
import type { World } from "../../testing/explorer/index.ts";
import { findBrokenWalk } from "../support/property/walks.ts";
import type { BrokenWalk, WalkOptions } from "../support/property/walks.ts";

/** A world behind one face, whatever its environment is. */
export interface WideWorld {
  readonly name: string;
  readonly states: string;
  /** Walks with this seed; the words tell a broken walk step by step. */
  find(options: WalkOptions, seed: number): BrokenWalk | null;
}

function wide<Env, Seen, View>(states: string, world: World<Env, Seen, View>): WideWorld {
  return { name: world.name, states, find: (options, seed) => findBrokenWalk(world, options, seed) };
}

const leaseFaults = { crashes: 3, restarts: 3, pauses: 3, losses: 4, releases: 2, writes: 3, renewals: 3, epochs: 6 };
const leases = [2, 3, 4].map((instances) =>
  wide(
    `the epoch grows with every grant and has one holder, among ${String(instances)} instances`,
    leaseWorld({ ...quietLease, ...leaseFaults, instances }, undefined, `lease/wide${String(instances)}`),
  ),
);

export const wideWorlds: readonly WideWorld[] = [
  ...leases,
  wide(
    "a stale generation neither acts, nor extends a life, nor ends one",
    registrationWorld(
      {
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
      },
      undefined,
      "registration/wide",
    ),
  ),
  wide(
    "updates of one lane are handed out in order, once, whoever leads and whoever sits",
    deliveryWorld(
      {
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
      },
      undefined,
      "delivery/wide",
    ),
  ),
  wide(
    "nothing is confirmed to Telegram that is not in the journal, whatever polling meets",
    pollingWorld(
      { ...quietPolling, updates: 6, troubles: 5, losses: 5, fulls: 3, crashes: 1 },
      undefined,
      "polling/wide",
    ),
  ),
];
