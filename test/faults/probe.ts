/**
 * Tries to catch a seeded fault in the copy of the sources that this program belongs to.
 *
 * Owns: running one try in a world. Does not own: the fault (it is in the sources already), time boxes and tests (`faults.ts`).
 * Usage: `node probe.js TRY`, where TRY is JSON; prints `{"caught":{"layer","by"}}` or `{"caught":null}`.
 */
import { fixedSeed } from "../support/property/walks.ts";
import { simulateBus } from "../../testing/simulator/bus-world.ts";
import { simulateLease } from "../../testing/simulator/lease-world.ts";
import { worlds } from "../model/worlds/index.ts";
import { wideWorlds } from "../property/wide-worlds.ts";
import type { Try, UnitTry } from "./fault.ts";

type WorldTry = Exclude<Try, UnitTry>;

/** What a try found broken, or null. */
async function foundBy(attempt: WorldTry): Promise<string | null> {
  switch (attempt.layer) {
    case "exploration":
      return explored(attempt.world);
    case "property":
      return walked(attempt.world);
    case "simulation": {
      const { world, seed, hours } = attempt;
      const simulate = world === "lease" ? simulateLease : simulateBus;
      const result = await simulate({ seed, hours, instances: 3, force: {}, ignore: [], onProgress: () => {} });
      return result.violations[0]?.name ?? null;
    }
  }
}

function explored(name: string): string | null {
  const world = worlds.find((each) => each.name === name);
  if (world === undefined) throw new Error(`no world is called ${name}`);
  const { exploration, liveness } = world.run({ long: false });
  const starved = liveness?.starved ?? null;
  return exploration.violations[0]?.property ?? (starved === null ? null : `liveness/${starved.kind}`);
}

function walked(name: string): string | null {
  const world = wideWorlds.find((each) => each.name === name);
  if (world === undefined) throw new Error(`no wide world is called ${name}`);
  return world.find({ walks: 150, stepsMax: 120 }, fixedSeed)?.properties.join(", ") ?? null;
}

// The parent passes what the catalogue says.
const attempt = JSON.parse(process.argv[2] ?? "") as WorldTry;
const by = await foundBy(attempt);
console.log(JSON.stringify({ caught: by === null ? null : { layer: attempt.layer, by } }));
