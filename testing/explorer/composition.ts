/**
 * The composed state and its successors.
 *
 * Owns: the packed state `[environment, bag of orphans, local state of each place…]` and every move possible in one.
 * Does not own: what a step sets off (`cascade.ts`), which states are visited (`explore.ts`), renaming (`symmetry.ts`).
 *
 * Invariants: a move is one atomic step of one component or of the environment together with the cascade it causes;
 * nothing here depends on anything but the packed state.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
import { Cascade, environment, orphans, placeOffset } from "./cascade.ts";
import type { Orders } from "./cascade.ts";
import type { Chart } from "./chart.ts";
import { Locals } from "./locals.ts";
import { worldDefaults } from "./world.ts";
import type { Action, Request, RequestFault, World } from "./world.ts";

export type MoveKind = "timer" | "commit" | "answer" | "fault" | "orphan" | "action";

/**
 * One move out of a state, with the successor in `next`. `index` counts timers, requests, orphans or actions, `choice`
 * the outcomes of one of them; `place` is -1 when no component moves.
 */
export type Visit = (kind: MoveKind, place: number, index: number, choice: number) => void;

interface CommittedOutcome {
  readonly env: number;
  readonly answer: number;
}

type Possible = readonly CommittedOutcome[] | "cut";
type PossibleFaults<Env> = readonly (RequestFault<Env> & { readonly id: number })[];
type PossibleActions<Env> = readonly (Action<Env> & { readonly id: number; readonly prepared: Orders })[];

/** Moves of one kind by one place are of one sort; a walk may like some sorts better than others. */
const sortsPerKind = 64;
const sortOf = (kind: number, place: number): number => kind * sortsPerKind + place;
/** No fault and no action of the environment. */
export const isOfTheCharts = (sort: number): boolean => ![2, 5].includes(Math.floor(sort / sortsPerKind));

export class Composition<Env, Seen, View> {
  readonly world: World<Env, Seen, View>;
  readonly locals: Locals;
  readonly cascade: Cascade<Env, Seen, View>;
  readonly width: number;
  /** The successor under construction; valid during a visit. */
  readonly next: Int32Array;
  /** Moves of the last expanded state that lead beyond the bounds. */
  cut = 0;
  /** Null = every move is made; else only the move of this rank. */
  private wanted: number | null = null;
  private sorts: number[] = [];
  private readonly charts: readonly Chart[];
  private readonly timersAreFree: boolean;
  // All memos are sparse arrays indexed by small integers, the environment last.
  private readonly outcomes: readonly [Possible[][], Possible[][]] = [[], []];
  private readonly possibleFaults: PossibleFaults<Env>[][] = [];
  private readonly possibleActions: PossibleActions<Env>[] = [];
  private readonly running: (readonly boolean[])[] = [];
  private readonly firing: (readonly boolean[])[][][] = [];

  constructor(world: World<Env, Seen, View>, variantsMax = 0) {
    this.world = world;
    this.charts = [...new Set(world.places.map((each) => each.chart))];
    const outlives = (operation: number) => world.outlives(this.requestOf(operation, false));
    this.locals = new Locals(this.charts, outlives, variantsMax);
    const chartAt = world.places.map((each) => this.charts.indexOf(each.chart));
    this.cascade = new Cascade(world, this.locals, chartAt);
    this.next = this.cascade.state;
    this.width = this.next.length;
    this.timersAreFree = world.mayFire === worldDefaults.mayFire;
  }

  get chartRunners() {
    return this.charts.map(({ machine }, index) => ({ machine, runner: this.locals.runners[index]! }));
  }

  /** The moves that are possible, those beyond the bounds included, each by a number for its sort. None is made. */
  sortsOfMoves(state: Int32Array): readonly number[] {
    this.wanted = -1;
    this.sorts = [];
    this.expand(state, () => {});
    this.wanted = null;
    return this.sorts;
  }

  /** Makes the move of this rank and no other; visits nothing when it leads beyond the bounds. */
  makeMove(state: Int32Array, rank: number, visit: Visit): void {
    this.wanted = rank;
    this.sorts = [];
    this.expand(state, visit);
    this.wanted = null;
  }

  private isSkipped(sort: number): boolean {
    if (this.wanted === null) return false;
    this.sorts.push(sort);
    return this.sorts.length - 1 !== this.wanted;
  }

  /** The initial state, in `next`. */
  begin(): void {
    const { env, orders } = this.world.start;
    this.next.fill(0);
    this.next[environment] = this.cascade.envs.add(env);
    if (!this.cascade.carryOut(this.cascade.prepare(orders)))
      throw new Error(`${this.world.name}: the start is beyond the world's own bounds`);
  }

  expand(state: Int32Array, visit: Visit): void {
    this.cut = 0;
    const env = state[environment]!;
    const running = (this.running[env] ??= this.world.places.map((each) =>
      this.world.runs(this.cascade.envs.at(env), each.name),
    ));
    for (let place = 0; place < running.length; place += 1) {
      if (state[placeOffset + place] === 0) continue;
      if (running[place] === true) {
        this.visitTimers(state, place, visit);
        this.visitAnswers(state, place, visit);
      }
      this.visitCommits(state, place, visit);
    }
    if (state[orphans] !== 0) this.visitOrphans(state, visit);
    this.visitActions(state, visit);
  }

  actionsOf(env: number): PossibleActions<Env> {
    return (this.possibleActions[env] ??= this.world.actions(this.cascade.envs.at(env)).map((action) => ({
      ...action,
      id: this.cascade.envs.add(action.env),
      prepared: this.cascade.prepare(action.orders ?? []),
    })));
  }

  faultsOf(env: number, operation: number, answered: boolean): PossibleFaults<Env> {
    const memo = (this.possibleFaults[operation * 2 + (answered ? 1 : 0)] ??= []);
    return (memo[env] ??= this.world
      .faults(this.cascade.envs.at(env), this.requestOf(operation, false), answered ? "committed" : "issued")
      .filter((each) => (each.kind === "answerLost") === answered)
      .map((each) => ({ ...each, id: this.cascade.envs.add(each.env) })));
  }

  requestOf(operation: number, orphan: boolean): Request {
    const { by, src, input } = this.locals.operations.at(operation);
    return { by, src, input, orphan };
  }

  private visitTimers(state: Int32Array, place: number, visit: Visit): void {
    const id = state[placeOffset + place]!;
    const { timers } = this.locals.at(id);
    if (timers.length === 0) return;
    const may = this.timersAreFree ? null : this.mayFire(state[environment]!, place, id);
    for (let timer = 0; timer < timers.length; timer += 1) {
      if ((may !== null && may[timer] !== true) || this.isSkipped(sortOf(0, place))) continue;
      this.from(state);
      if (this.cascade.took(place, this.locals.fire(id, timer))) visit("timer", place, timer, 0);
      else this.cut += 1;
    }
  }

  private visitAnswers(state: Int32Array, place: number, visit: Visit): void {
    const env = state[environment]!;
    const id = state[placeOffset + place]!;
    const { requests } = this.locals.at(id);
    for (let index = 0; index < requests.length; index += 1) {
      const { operation, answer } = requests[index]!;
      if (answer >= 0 && !this.isSkipped(sortOf(1, place))) {
        this.from(state);
        if (this.cascade.took(place, this.locals.answer(id, index))) visit("answer", place, index, 0);
        else this.cut += 1;
      }
      const faults = this.faultsOf(env, operation, answer >= 0);
      for (let choice = 0; choice < faults.length; choice += 1) {
        if (this.isSkipped(sortOf(2, place))) continue;
        const fault = faults[choice]!;
        this.from(state);
        this.next[environment] = fault.id;
        const livesOn = fault.kind === "unanswered" && this.locals.livesOn(operation);
        const within = !livesOn || this.cascade.orphan(operation);
        if (within && this.cascade.took(place, this.locals.fail(id, index))) visit("fault", place, index, choice);
        else this.cut += 1;
      }
    }
  }

  private visitCommits(state: Int32Array, place: number, visit: Visit): void {
    const id = state[placeOffset + place]!;
    const { requests } = this.locals.at(id);
    for (let index = 0; index < requests.length; index += 1) {
      const { operation, answer } = requests[index]!;
      if (answer >= 0) continue;
      const outcomes = this.outcomesOf(state[environment]!, operation, false);
      if (outcomes === "cut") {
        this.cut += 1;
        continue;
      }
      for (let choice = 0; choice < outcomes.length; choice += 1) {
        if (this.isSkipped(sortOf(3, place))) continue;
        const outcome = outcomes[choice]!;
        this.from(state);
        this.next[environment] = outcome.env;
        this.next[placeOffset + place] = this.locals.commit(id, index, outcome.answer);
        visit("commit", place, index, choice);
      }
    }
  }

  private visitOrphans(state: Int32Array, visit: Visit): void {
    const bag = state[orphans]!;
    const operations = this.cascade.bags.at(bag);
    for (let index = 0; index < operations.length; index += 1) {
      if (index > 0 && operations[index] === operations[index - 1]) continue;
      const outcomes = this.outcomesOf(state[environment]!, operations[index]!, true);
      if (outcomes === "cut") {
        this.cut += 1;
        continue;
      }
      for (let choice = 0; choice < outcomes.length; choice += 1) {
        if (this.isSkipped(sortOf(4, 0))) continue;
        this.from(state);
        this.next[environment] = outcomes[choice]!.env;
        this.next[orphans] = this.cascade.bags.without(bag, index);
        visit("orphan", -1, index, choice);
      }
    }
  }

  private visitActions(state: Int32Array, visit: Visit): void {
    const actions = this.actionsOf(state[environment]!);
    for (let index = 0; index < actions.length; index += 1) {
      if (this.isSkipped(sortOf(5, index))) continue;
      const { id, prepared } = actions[index]!;
      this.from(state);
      this.next[environment] = id;
      if (this.cascade.carryOut(prepared)) visit("action", -1, index, 0);
      else this.cut += 1;
    }
  }

  /** Faster than `set` for rows this short. */
  private from(state: Int32Array): void {
    this.cascade.forget();
    for (let index = 0; index < state.length; index += 1) this.next[index] = state[index]!;
  }

  private outcomesOf(env: number, operation: number, orphan: boolean): Possible {
    const memo = (this.outcomes[orphan ? 1 : 0][operation] ??= []);
    return (memo[env] ??= this.possibleOutcomes(env, operation, orphan));
  }

  private possibleOutcomes(env: number, operation: number, orphan: boolean): Possible {
    const outcomes = this.world.commit(this.cascade.envs.at(env), this.requestOf(operation, orphan));
    if (outcomes === "cut") return outcomes;
    return outcomes.map((each) => ({
      env: this.cascade.envs.add(each.env),
      answer: this.locals.answers.add(each.answer),
    }));
  }

  private mayFire(env: number, place: number, local: number): readonly boolean[] {
    const { name } = this.world.places[place]!;
    const memo = ((this.firing[place] ??= [])[local] ??= []);
    return (memo[env] ??= this.locals
      .at(local)
      .timers.map((each) => this.world.mayFire(this.cascade.envs.at(env), name, each.id)));
  }
}
