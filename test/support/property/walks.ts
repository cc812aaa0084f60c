/**
 * Random walks of real charts through a world, as a property: no step breaks an invariant.
 *
 * Owns: how choices are generated and shrunk, which seeds are walked, what a failure prints and writes.
 * Does not own: the worlds (`test/model/worlds`), the invariants (`machines/invariants.ts`).
 *
 * Each property runs with one fixed seed, the same everywhere, and with a fresh one. A failure prints the seed, the shrunk
 * walk step by step, and the file of its recording.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import fc from "fast-check";
import { asRecording, asText, Walker } from "../../../testing/explorer/index.ts";
import type { TraceStep, Way, World } from "../../../testing/explorer/index.ts";

export interface WalkOptions {
  /** Walks per seed. */
  readonly walks: number;
  /** Steps of a walk at most. */
  readonly stepsMax: number;
}

export const fixedSeed = 20_260_101;
export const freshSeed = Date.now() & 0x7fff_ffff;

/** What broke in a walk that was shrunk, or null. */
export interface BrokenWalk {
  readonly properties: readonly string[];
  readonly way: Way;
  /** The walk step by step, its seed, and the file of its recording. */
  readonly words: string;
}

export function findBrokenWalk<Env, Seen, View>(
  world: World<Env, Seen, View>,
  { walks, stepsMax }: WalkOptions,
  seed: number,
): BrokenWalk | null {
  const walker = new Walker(world);
  const ways = fc.record({
    taste: fc.nat(9_999),
    choices: fc.array(fc.nat(9_999), { minLength: 1, maxLength: stepsMax, size: "max" }),
  });
  const result = fc.check(
    fc.property(ways, (each) => walker.walk(each).broken.length === 0),
    { numRuns: walks, seed },
  );
  if (!result.failed) return null;
  const [shrunk] = result.counterexample ?? [];
  if (shrunk === undefined)
    throw new Error(`${world.name}: a run failed without a counterexample`, { cause: result.errorInstance });
  const { broken, length } = walker.walk(shrunk);
  const way = { ...shrunk, choices: shrunk.choices.slice(0, length) };
  const words = wordsFor(world, { broken, steps: walker.told(way), again: `seed ${seed}, ${JSON.stringify(way)}` });
  return { properties: broken, way, words };
}

interface Told {
  readonly broken: readonly string[];
  readonly steps: readonly TraceStep[];
  /** How to walk the same way again. */
  readonly again: string;
}

function wordsFor(
  { name: world, places }: Pick<World<never, never, never>, "name" | "places">,
  { broken, steps, again }: Told,
): string {
  const property = broken.join(", ");
  const file = path.join(mkdtempSync(path.join(os.tmpdir(), "partyline-walk-")), "walk.ndjson");
  writeFileSync(file, asRecording({ world, property, places }, steps));
  return `${asText(`${world}: ${property} is broken after ${steps.length} steps (${again})`, steps)}\nrecording: ${file}`;
}
