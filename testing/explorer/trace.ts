/**
 * A path through a world, told step by step.
 *
 * Owns: finding the path to a state, replaying it with the same who-is-who throughout, the words for each step.
 * Does not own: the formats (`report.ts`).
 *
 * Invariants: the path to a state of a breadth-first exploration is a shortest one.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
import { environment, orphans, placeOffset } from "./cascade.ts";
import type { Composition, MoveKind } from "./composition.ts";
import { keyOf } from "./data.ts";
import type { Exploration, StateSpace } from "./explore.ts";

export interface TraceStep {
  readonly kind: MoveKind;
  /** The place that moves; null for the environment. */
  readonly place: string | null;
  readonly words: string;
  /** Requests that the step issues, per place. */
  readonly issued: readonly { readonly place: string; readonly words: string }[];
  /** State values after the step, per place; null = nobody there. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly env: unknown;
}

/** One move, with the state that it leads to. */
export interface Chosen {
  readonly kind: MoveKind;
  readonly place: number;
  readonly index: number;
  readonly choice: number;
  readonly to: Int32Array;
}

/** The steps from the start to the state of this number. */
export function traceTo<Env, Seen, View>({ space }: Exploration<Env, Seen, View>, state: number): TraceStep[] {
  const path: number[] = [];
  for (let at = state; at >= 0; at = space.table.parentOf(at)) path.unshift(at);
  return traceAlong(space, path);
}

/** The steps along a path of state numbers that begins at the start. */
export function traceAlong<Env, Seen, View>(space: StateSpace<Env, Seen, View>, path: readonly number[]): TraceStep[] {
  space.composition.begin();
  let current: Int32Array = Int32Array.from(space.composition.next);
  return path.slice(1).map((number) => {
    const chosen = choose(space, current, number);
    const step = tell(space.composition, current, chosen);
    current = chosen.to;
    return step;
  });
}

/** The move whose result stands for the wanted state; the result itself keeps the names of this trace. */
function choose<Env, Seen, View>(space: StateSpace<Env, Seen, View>, from: Int32Array, wanted: number): Chosen {
  const candidates: Chosen[] = [];
  const { composition, table } = space;
  const scratch = new Int32Array(table.width);
  composition.expand(from, (kind, place, index, choice) => {
    if (candidates.length > 0) return;
    scratch.set(composition.next);
    space.canonical(scratch);
    if (table.find(scratch) === wanted)
      candidates.push({ kind, place, index, choice, to: Int32Array.from(composition.next) });
  });
  const [chosen] = candidates;
  if (chosen === undefined) throw new Error("a state of the path has no move to its successor");
  return chosen;
}

const short = (value: unknown): string => {
  const text = value === undefined ? "" : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 157)}…` : text;
};

/** A move in words, with what it leads to. */
export function tell<Env, Seen, View>(
  composition: Composition<Env, Seen, View>,
  from: Int32Array,
  chosen: Chosen,
): TraceStep {
  const { world, locals, cascade } = composition;
  const values = Object.fromEntries(
    world.places.map(({ name }, place) => {
      const local = chosen.to[placeOffset + place]!;
      return [name, local === 0 ? null : (locals.at(local).snapshot.value as unknown)];
    }),
  );
  return {
    kind: chosen.kind,
    place: chosen.place < 0 ? null : world.places[chosen.place]!.name,
    words: wordsFor(composition, from, chosen),
    issued: issuedBy(composition, from, chosen.to),
    values,
    env: cascade.envs.at(chosen.to[environment]!),
  };
}

function wordsFor<Env, Seen, View>(
  composition: Composition<Env, Seen, View>,
  from: Int32Array,
  chosen: Chosen,
): string {
  const { locals, cascade } = composition;
  const { kind, place, index, choice } = chosen;
  const env = from[environment]!;
  if (kind === "action") return composition.actionsOf(env)[index]!.name;
  if (kind === "orphan") {
    const { by, src, input } = locals.operations.at(cascade.bags.at(from[orphans]!)[index]!);
    return `late: ${src} of ${by} takes effect ${short(input)}`;
  }
  const local = locals.at(from[placeOffset + place]!);
  if (kind === "timer") return `${local.as}: ${local.timers[index]!.id} fires`;
  const request = local.requests[index]!;
  const { src } = locals.operations.at(request.operation);
  if (kind === "answer") return `${local.as}: ${src} answers ${short(locals.answers.at(request.answer))}`;
  if (kind === "fault") {
    const fault = composition.faultsOf(env, request.operation, request.answer >= 0)[choice]!;
    return `${local.as}: ${src} fails (${fault.kind})`;
  }
  const after = locals.at(chosen.to[placeOffset + place]!).requests;
  const answer = after.find((each) => each.child === request.child)?.answer ?? -1;
  return `${src} of ${local.as} takes effect${answer < 0 ? "" : `: ${short(locals.answers.at(answer))}`}`;
}

function issuedBy<Env, Seen, View>(composition: Composition<Env, Seen, View>, from: Int32Array, to: Int32Array) {
  const { world, locals } = composition;
  const openIn = (state: Int32Array, place: number) => {
    const local = state[placeOffset + place]!;
    return local === 0 ? [] : locals.at(local).requests.filter((each) => each.answer < 0);
  };
  return world.places.flatMap(({ name }, place) => {
    const before = new Set(openIn(from, place).map((each) => keyOf(each)));
    return openIn(to, place)
      .filter((each) => !before.has(keyOf(each)))
      .map((each) => {
        const { src, input } = locals.operations.at(each.operation);
        return { place: name, words: `${src} ${short(input)}`.trim() };
      });
  });
}
