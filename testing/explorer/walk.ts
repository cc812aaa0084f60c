/**
 * One walk through a world: a sequence of numbers chooses one possible move after the other, by a taste for sorts of moves.
 *
 * Owns: what a choice means, the check after each step. Does not own: where choices come from (a property test generates
 * and shrinks them), how far a world goes (its bounds: wider than what an exhaustive exploration can take).
 *
 * Invariants: the same world and choices give the same walk; every property is judged in every state that is passed; a
 * walk ends at the first broken one.
 */
import { Composition, isOfTheCharts } from "./composition.ts";
import { tell } from "./trace.ts";
import type { Chosen, TraceStep } from "./trace.ts";
import { Verdicts } from "./verdicts.ts";
import type { World } from "./world.ts";

/** Where a walk goes. */
export interface Way {
  /**
   * Some walks never hear an answer in time, some see no timer fire: a taste makes some sorts of moves frequent and others
   * rare throughout. 0 = all alike.
   */
  readonly taste: number;
  /** One move each: its number among those possible, modulo how many there are. */
  readonly choices: readonly number[];
}

export interface Walk {
  /** Moves taken; at most one per choice. */
  readonly length: number;
  /** Properties broken in the last state, `deadlock` among them; empty when all held. */
  readonly broken: readonly string[];
}

export class Walker<Env, Seen, View> {
  private readonly composition: Composition<Env, Seen, View>;
  private readonly verdicts: Verdicts<Env, Seen, View>;

  /** Keeps what it has computed of the world: one walker serves all walks of a property. */
  constructor(world: World<Env, Seen, View>) {
    this.composition = new Composition(world);
    this.verdicts = new Verdicts(this.composition);
  }

  walk(way: Way): Walk {
    return this.follow(way, () => {});
  }

  /** The same walk in words. */
  told(way: Way): readonly TraceStep[] {
    const steps: TraceStep[] = [];
    this.follow(way, (from, chosen) => steps.push(tell(this.composition, from, chosen)));
    return steps;
  }

  private follow({ taste, choices }: Way, onMove: (from: Int32Array, chosen: Chosen) => void): Walk {
    this.composition.begin();
    let state: Int32Array = Int32Array.from(this.composition.next);
    let length = 0;
    for (const choice of choices) {
      const { broken, mayEnd } = this.verdicts.of(state);
      if (broken.length > 0) return { length, broken };
      const chosen = this.choose(state, choice, taste);
      if (chosen === null) return { length, broken: mayEnd || this.isBounded(state) ? [] : ["deadlock"] };
      onMove(state, chosen);
      state = chosen.to;
      length += 1;
    }
    return { length, broken: this.verdicts.of(state).broken };
  }

  /** Whether something more could happen, beyond the bounds. */
  private isBounded(state: Int32Array): boolean {
    return this.composition.sortsOfMoves(state).length > 0 || this.composition.cut > 0;
  }

  /** The move that the choice means, or the next one that changes something and stays within the bounds; null = none. */
  private choose(state: Int32Array, choice: number, taste: number): Chosen | null {
    const ranks = this.composition
      .sortsOfMoves(state)
      .flatMap((sort, rank) => Array.from({ length: likingOf(taste, sort) }, () => rank));
    for (let tried = 0; tried < ranks.length; tried += 1) {
      const made = this.made(state, ranks[(choice + tried) % ranks.length] ?? 0);
      if (made !== null && !isSame(state, made.to)) return made;
    }
    return null;
  }

  private made(state: Int32Array, rank: number): Chosen | null {
    const made: Chosen[] = [];
    this.composition.makeMove(state, rank, (kind, place, index, choice) => {
      made.push({ kind, place, index, choice, to: Int32Array.from(this.composition.next) });
    });
    return made[0] ?? null;
  }
}

const isSame = (a: Int32Array, b: Int32Array): boolean => a.every((each, index) => each === b[index]);

/**
 * How much a walk likes moves of a sort: 1 is seldom, 36 is often. A taste of 0 likes all the same. What the charts do is
 * liked better than what befalls them, so that faults last for the whole walk.
 */
function likingOf(taste: number, sort: number): number {
  if (taste === 0) return 1;
  const mixed = Math.imul(taste ^ Math.imul(sort + 1, 0x9e3779b1), 0x85ebca6b) >>> 0;
  return ([1, 1, 3, 9][(mixed >>> 13) % 4] ?? 1) * (isOfTheCharts(sort) ? 4 : 1);
}
