/**
 * Breadth-first, exhaustive exploration of a bounded world.
 *
 * Owns: the frontier, the counts, stopping at the first violation, which is therefore at least depth.
 * Does not own: how a violation is told (`trace.ts`), liveness (`liveness.ts`).
 *
 * Invariants: every state within the bounds is visited once, or the result says `exhaustive: false`. The search is
 * deterministic: same world, same numbers.
 */
import { partsOf } from "./chart.ts";
import { Composition } from "./composition.ts";
import { StateTable } from "./table.ts";
import { Symmetry } from "./symmetry.ts";
import { Verdicts } from "./verdicts.ts";
import type { World } from "./world.ts";

export interface ExploreOptions {
  /** Stop, not exhaustive, at this many states. Default: none. */
  readonly statesMax?: number;
  /** Without the reduction by the world's symmetry. Default: with it. */
  readonly asymmetric?: boolean;
  /** Snapshots that a projection calls equal and that are kept to compare their behaviour. Default 4; 0 = no audit. */
  readonly variantsMax?: number;
  readonly onProgress?: (states: number, depth: number) => void;
}

export interface Violation {
  /** Name of the property, `deadlock`, or `liveness/…`. */
  readonly property: string;
  /** Number of the state in which it is broken. */
  readonly state: number;
}

export interface Exploration<Env, Seen, View> {
  readonly world: World<Env, Seen, View>;
  readonly states: number;
  readonly transitions: number;
  /** Steps to the farthest state. */
  readonly depth: number;
  /** Moves that were not made because they lead beyond the bounds. */
  readonly cut: number;
  readonly localStates: number;
  readonly chartCalls: number;
  /** Steps repeated to test the projections. */
  readonly audited: number;
  readonly exhaustive: boolean;
  readonly violations: readonly Violation[];
  readonly space: StateSpace<Env, Seen, View>;
}

/** The machinery of one exploration, for traces and liveness. */
export class StateSpace<Env, Seen, View> {
  readonly composition: Composition<Env, Seen, View>;
  readonly table: StateTable;
  readonly verdicts: Verdicts<Env, Seen, View>;
  readonly symmetry: Symmetry<Env, Seen, View> | null;

  constructor(world: World<Env, Seen, View>, options: ExploreOptions) {
    this.composition = new Composition(world, options.variantsMax ?? 4);
    this.table = new StateTable(this.composition.width);
    this.verdicts = new Verdicts(this.composition);
    const { symmetry } = world;
    this.symmetry =
      symmetry === undefined || options.asymmetric === true ? null : new Symmetry(this.composition, symmetry);
  }

  canonical(state: Int32Array): void {
    this.symmetry?.canonical(state);
  }
}

export function explore<Env, Seen, View>(
  world: World<Env, Seen, View>,
  options: ExploreOptions = {},
): Exploration<Env, Seen, View> {
  const space = new StateSpace(world, options);
  const { composition, table } = space;
  const state = new Int32Array(composition.width);
  const violations: Violation[] = [];
  const counts = { transitions: 0, cut: 0, depth: 0, current: -1 };

  const visit = (): void => {
    counts.transitions += 1;
    const { next } = composition;
    space.canonical(next);
    const number = table.add(next, counts.current);
    if (number >= 0) return;
    for (const property of space.verdicts.of(next).broken) violations.push({ property, state: ~number });
  };

  composition.begin();
  visit();
  counts.transitions = 0;
  let levelEnd = 1;
  const statesMax = options.statesMax ?? Infinity;
  while (counts.current + 1 < table.count && violations.length === 0 && table.count < statesMax) {
    counts.current += 1;
    if (counts.current === levelEnd) {
      counts.depth += 1;
      levelEnd = table.count;
      options.onProgress?.(table.count, counts.depth);
    }
    table.read(counts.current, state);
    const before = counts.transitions;
    composition.expand(state, visit);
    counts.cut += composition.cut;
    const stuck = counts.transitions === before && composition.cut === 0;
    if (stuck && !space.verdicts.of(state).mayEnd) violations.push({ property: "deadlock", state: counts.current });
  }
  const exhaustive = violations.length === 0 && counts.current + 1 === table.count;
  return {
    world,
    states: table.count,
    transitions: counts.transitions,
    depth: counts.depth,
    cut: counts.cut,
    localStates: composition.locals.count - 1,
    chartCalls: composition.chartRunners.reduce((sum, { runner }) => sum + runner.calls, 0),
    audited: composition.locals.audit(),
    exhaustive,
    violations,
    space,
  };
}

/** How many states those that were visited stand for, without the reduction by symmetry. */
export function unreducedCount<Env, Seen, View>({ space: { table, symmetry } }: Exploration<Env, Seen, View>): number {
  if (symmetry === null) return table.count;
  const state = new Int32Array(table.width);
  let sum = 0;
  for (let number = 0; number < table.count; number += 1) {
    table.read(number, state);
    sum += symmetry.orbitSize(state);
  }
  return sum;
}

export interface ChartReach {
  readonly chart: string;
  readonly reached: readonly string[];
  readonly unreached: readonly string[];
}

/** An exploration, whatever its world is made of. */
interface Explored {
  readonly space: { readonly composition: { readonly chartRunners: Composition<never, never, never>["chartRunners"] } };
}

/** Per chart, each state and each transition: taken in one of these explorations, or not. */
export function reachOf(explorations: readonly Explored[]): ChartReach[] {
  const charts = new Map<string, { parts: readonly string[]; taken: Set<string> }>();
  for (const { space } of explorations)
    for (const { machine, runner } of space.composition.chartRunners) {
      const known = charts.get(machine.id) ?? { parts: partsOf(machine), taken: new Set<string>() };
      for (const part of known.parts) if (runner.coverage.has(part)) known.taken.add(part);
      charts.set(machine.id, known);
    }
  return [...charts].map(([chart, { parts, taken }]) => ({
    chart,
    reached: parts.filter((part) => taken.has(part)),
    unreached: parts.filter((part) => !taken.has(part)),
  }));
}
