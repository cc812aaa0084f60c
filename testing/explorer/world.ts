/**
 * What a world is: charts in fixed places, and an environment that plays everything else.
 *
 * Owns: the contract between the explorer and the author of a world. Does not own: any world.
 *
 * Invariants that the author keeps: the environment is immutable plain data; every function here is pure; everything is
 * bounded, by budgets in the environment, by `cut`, or because nothing new can arise.
 */
import type { AnyEventObject, AnyMachineSnapshot } from "xstate";
import type { Chart } from "./chart.ts";

/** A place for one component. Charts come and go in it; there is never more than one. */
export interface Place {
  readonly name: string;
  readonly chart: Chart;
  /** Companions and children of this chart that are played by the chart in another place: slot name → its name. */
  readonly hosts?: Readonly<Record<string, string>>;
}

/** An effect that a chart asked for: issued, then committed (it took effect), then answered. */
export interface Request {
  /** Who asks: the `as` of the component at the time, which survives a restart of the place. */
  readonly by: string;
  readonly src: string;
  readonly input: unknown;
  /** Nobody waits for the answer any more: the asker left the state, gave up, or died. */
  readonly orphan: boolean;
}

/** One way a request may take effect. */
export interface Outcome<Env> {
  readonly env: Env;
  readonly answer: { readonly output: unknown } | { readonly error: unknown };
}

/**
 * One way a request may fail its asker. `notCommitted`: it never takes effect. `unanswered`: the asker gives up, the
 * request lives on and may take effect later. `answerLost`: it took effect.
 */
export interface RequestFault<Env> {
  readonly kind: "notCommitted" | "unanswered" | "answerLost";
  readonly env: Env;
}

/** What the environment does to the components. */
export type Order =
  | { readonly kind: "send"; readonly place: string; readonly event: AnyEventObject }
  | { readonly kind: "start"; readonly place: string; readonly as: string; readonly input: unknown }
  /** The component is gone at once; its open requests live on. */
  | { readonly kind: "remove"; readonly place: string }
  /** A request of nobody's: it may commit at any later moment. */
  | { readonly kind: "request"; readonly by: string; readonly src: string; readonly input: unknown };

export interface Action<Env> {
  readonly name: string;
  readonly env: Env;
  readonly orders?: readonly Order[];
  /**
   * For liveness. `fault`: does not happen once faults have stopped. `free`: may happen or not. `fair`: happens if it
   * could happen again and again.
   */
  readonly kind: "fault" | "free" | "fair";
}

export interface Reaction<Env> {
  readonly env: Env;
  readonly orders?: readonly Order[];
}

/** Companions that no chart plays report to the environment by these facts. */
export type CompanionFact =
  | { readonly type: "companion.started"; readonly companion: string; readonly child: string; readonly input: unknown }
  | { readonly type: "companion.stopped"; readonly companion: string; readonly child: string }
  | {
      readonly type: "companion.told";
      readonly companion: string;
      readonly child: string;
      readonly event: AnyEventObject;
    };

/** Interchangeable groups of places. The world must not treat one of them differently from another. */
export interface SymmetryOf<Env> {
  /** The places of each member, in corresponding order. */
  readonly members: readonly (readonly string[])[];
  /** Every string that names the member in any data, in corresponding order. */
  readonly tokens: (member: number) => readonly string[];
  /** The environment after member `i` has become member `to[i]`; strings are renamed by `rename`. */
  readonly permute: (env: Env, to: readonly number[], rename: (value: Env) => Env) => Env;
}

export interface World<Env, Seen, View> {
  readonly name: string;
  readonly places: readonly Place[];
  readonly start: { readonly env: Env; readonly orders: readonly Order[] };
  /** What the environment may do next. */
  actions(env: Env): readonly Action<Env>[];
  /** How the request may take effect now; `cut` = only beyond the world's bounds; empty = not now. */
  commit(env: Env, request: Request): readonly Outcome<Env>[] | "cut";
  faults(env: Env, request: Request, phase: "issued" | "committed"): readonly RequestFault<Env>[];
  /** Whether the request has an effect that matters when nobody waits for its answer. */
  outlives(request: Request): boolean;
  /** Whether the component takes steps; when not, its requests still take effect. */
  runs(env: Env, place: string): boolean;
  mayFire(env: Env, place: string, timer: string): boolean;
  onFact(env: Env, place: string, fact: AnyEventObject): Reaction<Env>;
  /** What the view needs to know of a component, as plain data. */
  observe(place: string, snapshot: AnyMachineSnapshot): Seen;
  view(env: Env, seen: readonly (Seen | null)[]): View;
  /** Names of the properties that are false in this view. */
  check(view: View): readonly string[];
  /** Whether it is fine that nothing can happen any more. */
  mayEnd(env: Env, seen: readonly (Seen | null)[]): boolean;
  /** Liveness: what must come about again and again once faults have stopped. */
  readonly goal?: (env: Env, seen: readonly (Seen | null)[]) => boolean;
  readonly symmetry?: SymmetryOf<Env>;
  /** Requests that nobody waits for, at the same time. Moves that would exceed it are cut. */
  readonly orphansMax: number;
}

/** Members of a world that need saying only where they differ. */
export const worldDefaults = {
  faults: () => [],
  outlives: () => true,
  runs: () => true,
  mayFire: () => true,
  mayEnd: () => false,
} as const;
