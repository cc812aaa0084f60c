/**
 * Symmetry reduction: of all states that differ only in who is who, one is kept.
 *
 * Owns: the permutations of interchangeable members, their action on a packed state, the choice of the one kept.
 * Does not own: which members are interchangeable (the world says so).
 *
 * Invariants: `canonical` gives the same state for all members of an orbit, and a state of that orbit.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
import { placeOffset } from "./cascade.ts";
import type { Composition } from "./composition.ts";
import { renamed } from "./data.ts";
import type { SymmetryOf } from "./world.ts";

interface Permutation {
  /** Member `i` becomes member `to[i]`. */
  readonly to: readonly number[];
  readonly names: ReadonlyMap<string, string>;
  /** Place `p` moves to place `places[p]`. */
  readonly places: readonly number[];
  readonly envs: number[];
  readonly bags: number[];
  readonly locals: number[];
  readonly operations: number[];
}

function permutationsOf(length: number): number[][] {
  if (length === 0) return [[]];
  return permutationsOf(length - 1).flatMap((shorter) =>
    Array.from({ length }, (_each, at) => [...shorter.slice(0, at), length - 1, ...shorter.slice(at)]),
  );
}

export class Symmetry<Env, Seen, View> {
  private readonly composition: Composition<Env, Seen, View>;
  private readonly spec: SymmetryOf<Env>;
  private readonly permutations: readonly Permutation[];
  private readonly memberPlaces: readonly (readonly number[])[];
  private readonly orbits: number[] = [];
  private readonly keys: number[];
  private readonly candidate: Int32Array;
  private readonly best: Int32Array;

  constructor(composition: Composition<Env, Seen, View>, spec: SymmetryOf<Env>) {
    this.composition = composition;
    this.spec = spec;
    const { places } = composition.world;
    const indexOf = new Map(places.map((each, index) => [each.name, index]));
    this.memberPlaces = spec.members.map((names) => names.map((name) => indexOf.get(name) ?? -1));
    this.permutations = permutationsOf(spec.members.length).map((to) => this.permutation(to, places.length));
    this.keys = spec.members.map(() => 0);
    this.candidate = new Int32Array(composition.width);
    this.best = new Int32Array(composition.width);
  }

  /** Replaces the state by the representative of its orbit. */
  canonical(state: Int32Array): void {
    for (let member = 0; member < this.keys.length; member += 1) this.keys[member] = this.keyOf(state, member);
    if (this.isStrictlySorted()) return;
    let found = false;
    for (const permutation of this.permutations) {
      if (!this.sorts(permutation)) continue;
      this.permute(state, permutation, this.candidate);
      if (found && !isBefore(this.candidate, this.best)) continue;
      this.best.set(this.candidate);
      found = true;
    }
    state.set(this.best);
  }

  /** How many states the representative stands for. */
  orbitSize(state: Int32Array): number {
    const images = this.permutations.map((each) => {
      this.permute(state, each, this.candidate);
      return this.candidate.join();
    });
    return new Set(images).size;
  }

  private permutation(to: readonly number[], placesCount: number): Permutation {
    const { members, tokens } = this.spec;
    const places = Array.from({ length: placesCount }, (_each, place) => place);
    const names = new Map<string, string>();
    to.forEach((target, member) => {
      this.memberPlaces[member]!.forEach((place, at) => (places[place] = this.memberPlaces[target]![at]!));
      const theirs = [...members[target]!, ...tokens(target)];
      [...members[member]!, ...tokens(member)].forEach((name, at) => names.set(name, theirs[at]!));
    });
    return { to, names, places, envs: [], bags: [], locals: [], operations: [] };
  }

  /** Invariant under renaming, so that members can be put in its order before anything else is compared. */
  private keyOf(state: Int32Array, member: number): number {
    let key = 0;
    for (const place of this.memberPlaces[member]!)
      key = (key * 65_537 + this.orbitOf(state[placeOffset + place]!)) | 0;
    return key;
  }

  private orbitOf(local: number): number {
    return (this.orbits[local] ??= Math.min(...this.permutations.map((each) => this.localUnder(each, local))));
  }

  /** Then only the identity sorts it. */
  private isStrictlySorted(): boolean {
    for (let member = 1; member < this.keys.length; member += 1)
      if (this.keys[member - 1]! >= this.keys[member]!) return false;
    return true;
  }

  private sorts({ to }: Permutation): boolean {
    // Sorted means: of two members, the one with the smaller key comes first.
    for (let a = 0; a < to.length; a += 1)
      for (let b = 0; b < to.length; b += 1) if (to[a]! < to[b]! && this.keys[a]! > this.keys[b]!) return false;
    return true;
  }

  private permute(state: Int32Array, permutation: Permutation, into: Int32Array): void {
    into[0] = this.envUnder(permutation, state[0]!);
    into[1] = this.bagUnder(permutation, state[1]!);
    const { places } = permutation;
    for (let place = 0; place < places.length; place += 1)
      into[placeOffset + places[place]!] = this.localUnder(permutation, state[placeOffset + place]!);
  }

  private localUnder(permutation: Permutation, local: number): number {
    return (permutation.locals[local] ??= this.composition.locals.rename(local, permutation.names));
  }

  private envUnder(permutation: Permutation, env: number): number {
    const known = permutation.envs[env];
    if (known !== undefined) return known;
    const { envs } = this.composition.cascade;
    // `renamed` keeps the shape of what it is given.
    const rename = (value: Env): Env => renamed(value, permutation.names) as Env;
    const image = envs.add(this.spec.permute(envs.at(env), permutation.to, rename));
    permutation.envs[env] = image;
    return image;
  }

  private bagUnder(permutation: Permutation, bag: number): number {
    if (bag === 0) return 0;
    const known = permutation.bags[bag];
    if (known !== undefined) return known;
    const { cascade, locals } = this.composition;
    const moved = cascade.bags.at(bag).map((operation) => {
      // An operation renamed is an operation.
      const rename = () => locals.operations.add(renamed(locals.operations.at(operation), permutation.names) as never);
      return (permutation.operations[operation] ??= rename());
    });
    const image = cascade.bags.of(moved);
    permutation.bags[bag] = image;
    return image;
  }
}

function isBefore(a: Int32Array, b: Int32Array): boolean {
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return a[index]! < b[index]!;
  return false;
}
