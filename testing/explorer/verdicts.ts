/**
 * What is true of a state: broken properties, whether it may end here, whether the goal stands.
 *
 * Owns: the memo from (environment, what is seen of each place) to the verdict. Does not own: the properties.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
import { placeOffset } from "./cascade.ts";
import type { Composition } from "./composition.ts";
import { Interner } from "./data.ts";

export interface Verdict {
  readonly broken: readonly string[];
  readonly mayEnd: boolean;
  readonly goal: boolean;
}

export class Verdicts<Env, Seen, View> {
  private readonly composition: Composition<Env, Seen, View>;
  private readonly seen = new Interner<Seen | null>();
  /** Place → local state → what is seen of it. */
  private readonly seenOf: number[][];
  /** Observations that can be told apart: as many as leave the key of all places a small integer, and 64 at least. */
  private readonly seenMax: number;
  private readonly memo: Map<number, Verdict>[] = [];

  constructor(composition: Composition<Env, Seen, View>) {
    this.composition = composition;
    this.seenOf = composition.world.places.map(() => []);
    this.seenMax = Math.max(64, Math.floor(2 ** (30 / this.seenOf.length)));
    this.seen.add(null);
  }

  of(state: Int32Array): Verdict {
    const memo = (this.memo[state[0]!] ??= new Map<number, Verdict>());
    let key = 0;
    for (let place = 0; place < this.seenOf.length; place += 1)
      key = key * this.seenMax + this.see(place, state[placeOffset + place]!);
    const known = memo.get(key);
    if (known !== undefined) return known;
    const verdict = this.judge(state);
    memo.set(key, verdict);
    return verdict;
  }

  private see(place: number, local: number): number {
    const seenOf = this.seenOf[place]!;
    const known = seenOf[local];
    if (known !== undefined) return known;
    const { world, locals } = this.composition;
    const seen = local === 0 ? 0 : this.seen.add(world.observe(world.places[place]!.name, locals.at(local).snapshot));
    if (seen >= this.seenMax)
      throw new Error(`${world.name}: ${this.seenMax} or more different observations of its components`);
    seenOf[local] = seen;
    return seen;
  }

  private judge(state: Int32Array): Verdict {
    const { world, cascade, locals } = this.composition;
    const env = cascade.envs.at(state[0]!);
    const places = world.places.map((_each, place) => state[placeOffset + place]!);
    const seen = places.map((local, place) => this.seen.at(this.see(place, local)));
    const failed = places.flatMap((local) => {
      if (local === 0) return [];
      const { snapshot } = locals.at(local);
      return snapshot.status === "error" ? [`chart/${snapshot.machine.id}Failed`] : [];
    });
    return {
      broken: [...world.check(world.view(env, seen)), ...failed],
      mayEnd: world.mayEnd(env, seen),
      goal: world.goal?.(env, seen) ?? false,
    };
  }
}
