/**
 * Local states: one component with its pending timers and open requests, interned and stepped by memo.
 *
 * Owns: what a chart's step does to its own timers and requests, the memo (local state, event) → step, renaming.
 * Does not own: effects on others (`composition.ts`), the calls into XState (`chart.ts`).
 *
 * Invariants: equal local states have equal ids; each (local state, event) is computed once; an answer reaches only the
 * invocation that asked for it; a timer fires at most once per scheduling.
 */
import type { AnyEventObject, AnyMachineSnapshot } from "xstate";
import { ChartRunner, keyOfSnapshot } from "./chart.ts";
import type { Chart, ChartEffect, ChartStep } from "./chart.ts";
import { Interner, keyOf, renamed } from "./data.ts";

export interface Operation {
  readonly by: string;
  readonly src: string;
  readonly input: unknown;
}

export type Answer = { readonly output: unknown } | { readonly error: unknown };

export interface OpenRequest {
  readonly child: string;
  readonly operation: number;
  /** The answer on its way back; -1 until the request took effect. */
  readonly answer: number;
}

export interface Local {
  readonly chart: number;
  readonly as: string;
  readonly snapshot: AnyMachineSnapshot;
  readonly timers: readonly { readonly id: string; readonly event: AnyEventObject }[];
  readonly requests: readonly OpenRequest[];
  readonly companions: readonly { readonly child: string; readonly src: string }[];
}

/** What a step does beyond its own component. */
export type Effect =
  | { readonly kind: "fact"; readonly fact: number }
  | { readonly kind: "orphaned"; readonly operation: number }
  | { readonly kind: "companionStarted"; readonly child: string; readonly src: string; readonly input: unknown }
  | { readonly kind: "companionStopped"; readonly child: string; readonly src: string }
  | { readonly kind: "companionTold"; readonly child: string; readonly src: string; readonly event: number };

export interface Step {
  readonly next: number;
  readonly effects: readonly Effect[];
  /** The chart is done: whoever invoked it gets its output. */
  readonly isDone: boolean;
  /** Timers that were pending before and count from the beginning again. */
  readonly restarted: readonly string[];
}

/** Two snapshots that the projection calls equal behaved differently. */
export class ProjectionFault extends Error {}

/** The mutable parts of a component while one step is carried out. */
interface Draft {
  timers: Local["timers"];
  requests: OpenRequest[];
  companions: Local["companions"];
  readonly effects: Effect[];
}

/** An event with what it uses up. */
interface Cause {
  readonly event: number;
  readonly index: number;
  readonly used: "timer" | "request" | "nothing";
}

interface Remembered {
  readonly cause: Cause;
  readonly step: Step;
}

const nobody = -1;
const donePrefix = "xstate.done.actor.";

export class Locals {
  readonly operations = new Interner<Operation>();
  readonly answers = new Interner<Answer>();
  readonly events = new Interner<AnyEventObject>();
  readonly runners: readonly ChartRunner[];
  private readonly states = new Interner<Local | null>();
  /** Local state → key of the cause → step. Sparse, and only ever indexed by small integers. */
  private readonly memo: Remembered[][] = [];
  private readonly answered: number[][] = [];
  private readonly left: (readonly number[])[] = [];
  private readonly started = new Map<string, Step>();
  /** Other snapshots of a local state, kept to test the projection. */
  private readonly variants = new Map<number, Map<string, AnyMachineSnapshot>>();
  private readonly charts: readonly Chart[];
  private readonly outlives: (operation: number) => boolean;
  private readonly variantsMax: number;

  constructor(charts: readonly Chart[], outlives: (operation: number) => boolean, variantsMax: number) {
    this.charts = charts;
    this.outlives = outlives;
    this.variantsMax = variantsMax;
    this.runners = charts.map((each) => new ChartRunner(each.machine));
    // Id 0 is the empty place, in all tables.
    this.states.intern("absent", () => null);
  }

  get count(): number {
    return this.states.values.length;
  }

  at(id: number): Local {
    const local = this.states.at(id);
    if (local === null) throw new Error("an empty place has no local state");
    return local;
  }

  start(chart: number, as: string, input: unknown): Step {
    const key = keyOf([chart, as, input]);
    const before = this.started.get(key);
    if (before !== undefined) return before;
    const began = this.runnerOf(chart).start(input);
    const draft: Draft = { timers: [], requests: [], companions: [], effects: [] };
    const step = this.carriedOut({ chart, as, timers: [] }, began, draft);
    this.started.set(key, step);
    return step;
  }

  send(id: number, event: number): Step {
    return (
      this.memo[id]?.[event * 4]?.step ??
      this.remembered(id, event * 4, () => ({ event, index: nobody, used: "nothing" }))
    );
  }

  fire(id: number, timer: number): Step {
    const before = this.memo[id]?.[timer * 4 + 1];
    if (before !== undefined) return before.step;
    return this.remembered(id, timer * 4 + 1, () => {
      const fired = this.at(id).timers[timer];
      if (fired === undefined) throw new Error(`local state ${id} has no timer ${timer}`);
      return { event: this.events.add(fired.event), index: timer, used: "timer" };
    });
  }

  /** Delivers the answer that is on its way. */
  answer(id: number, request: number): Step {
    const before = this.memo[id]?.[request * 4 + 2];
    if (before !== undefined) return before.step;
    return this.remembered(id, request * 4 + 2, () => {
      const { child, answer } = this.requestOf(id, request);
      const said = this.answers.at(answer);
      const event: AnyEventObject =
        "output" in said
          ? { type: donePrefix + child, output: said.output, actorId: child }
          : { type: `xstate.error.actor.${child}`, error: said.error, actorId: child };
      return { event: this.events.add(event), index: request, used: "request" };
    });
  }

  /** The output of a child that is done reaches its parent; null when the parent has no such child. */
  childDone(parent: number, src: string, child: number): Step | null {
    const invoked = this.at(parent).companions.find((each) => each.src === src);
    if (invoked === undefined) return null;
    const output: unknown = this.at(child).snapshot.output;
    const event: AnyEventObject = { type: donePrefix + invoked.child, output, actorId: invoked.child };
    return this.send(parent, this.events.add(event));
  }

  /** Fails the asker: not observed. The request itself may still take effect: whoever calls sees to that. */
  fail(id: number, request: number): Step {
    const before = this.memo[id]?.[request * 4 + 3];
    if (before !== undefined) return before.step;
    return this.remembered(id, request * 4 + 3, () => {
      const { child } = this.requestOf(id, request);
      const event = { type: `xstate.error.actor.${child}`, error: "not observed", actorId: child };
      return { event: this.events.add(event), index: request, used: "request" };
    });
  }

  /** The request took effect; its answer is on its way. */
  commit(id: number, request: number, answer: number): number {
    const known = (this.answered[id] ??= []);
    const key = answer * 16 + request;
    const before = known[key];
    if (before !== undefined) return before;
    const local = this.at(id);
    const requests = local.requests.map((each, index) => (index === request ? { ...each, answer } : each));
    const next = this.intern({ ...local, requests });
    known[key] = next;
    return next;
  }

  /** Whether the operation may still take effect when nobody waits for its answer. */
  livesOn(operation: number): boolean {
    return this.outlives(operation);
  }

  /** Requests without effect so far that live on when the component is gone. */
  leftBehind(id: number): readonly number[] {
    return (this.left[id] ??= this.at(id)
      .requests.filter((each) => each.answer === nobody && this.outlives(each.operation))
      .map((each) => each.operation));
  }

  rename(id: number, names: ReadonlyMap<string, string>): number {
    if (id === 0) return 0;
    const local = this.at(id);
    // `renamed` keeps the shape of what it is given.
    const same = <Value>(value: Value): Value => renamed(value, names) as Value;
    const { context, output } = local.snapshot as { readonly context: unknown; readonly output: unknown };
    const snapshot = { ...local.snapshot, context: same(context), output: same(output) } as AnyMachineSnapshot;
    const requests = local.requests.map((each) => ({
      ...each,
      operation: this.operations.add(same(this.operations.at(each.operation))),
      answer: each.answer === nobody ? nobody : this.answers.add(same(this.answers.at(each.answer))),
    }));
    return this.intern({ ...local, as: same(local.as), snapshot, timers: same(local.timers), requests });
  }

  private runnerOf(chart: number): ChartRunner {
    const runner = this.runners[chart];
    if (runner === undefined) throw new Error(`no chart ${chart}`);
    return runner;
  }

  private chartOf(index: number): Chart {
    const chart = this.charts[index];
    if (chart === undefined) throw new Error(`no chart ${index}`);
    return chart;
  }

  private requestOf(id: number, request: number): OpenRequest {
    const open = this.at(id).requests[request];
    if (open === undefined) throw new Error(`local state ${id} has no request ${request}`);
    return open;
  }

  /** Repeats each step taken so far from the other snapshots that the projection called equal, and compares. */
  audit(): number {
    let repeated = 0;
    for (const [id, variants] of this.variants)
      for (const { cause, step } of Object.values(this.memo[id] ?? []))
        for (const variant of variants.values()) {
          repeated += 1;
          const other = this.stepped(id, variant, cause);
          if (other.next !== step.next || keyOf(other.effects) !== keyOf(step.effects))
            throw new ProjectionFault(this.wordsOfFault(id, variant, cause));
        }
    return repeated;
  }

  private wordsOfFault(id: number, variant: AnyMachineSnapshot, cause: Cause): string {
    const { chart, snapshot } = this.at(id);
    return (
      `the projection of ${this.chartOf(chart).machine.id} drops what decides: in ${keyOf(snapshot.value)} on ` +
      `${this.events.at(cause.event).type}, contexts ${JSON.stringify(snapshot.context)} and ${JSON.stringify(variant.context)}`
    );
  }

  private remembered(id: number, key: number, causeOf: () => Cause): Step {
    const memo = (this.memo[id] ??= []);
    const before = memo[key];
    if (before !== undefined) return before.step;
    const cause = causeOf();
    const step = this.stepped(id, this.at(id).snapshot, cause);
    memo[key] = { cause, step };
    return step;
  }

  private stepped(id: number, snapshot: AnyMachineSnapshot, { event, index, used }: Cause): Step {
    const local = this.at(id);
    const without = <Item>(items: readonly Item[]): Item[] => items.filter((_item, at) => at !== index);
    const draft: Draft = {
      timers: used === "timer" ? without(local.timers) : local.timers,
      requests: used === "request" ? without(local.requests) : [...local.requests],
      companions: local.companions,
      effects: [],
    };
    const sent = this.events.at(event);
    // A child that is done is stopped by nobody.
    if (sent.type.startsWith(donePrefix))
      draft.companions = draft.companions.filter((each) => donePrefix + each.child !== sent.type);
    const step = this.runnerOf(local.chart).step(snapshot, sent);
    return this.carriedOut(local, step, draft);
  }

  private carriedOut(
    { chart, as, timers }: Pick<Local, "chart" | "as" | "timers">,
    { snapshot, effects }: ChartStep,
    draft: Draft,
  ): Step {
    for (const effect of effects) this.apply(effect, chart, as, draft);
    const next = this.intern({
      chart,
      as,
      snapshot,
      timers: draft.timers,
      requests: draft.requests,
      companions: draft.companions,
    });
    const restarted = effects.flatMap((each) =>
      each.kind === "scheduled" && timers.some(({ id }) => id === each.timer) ? [each.timer] : [],
    );
    return { next, effects: draft.effects, isDone: snapshot.status === "done", restarted };
  }

  private apply(effect: ChartEffect, chart: number, as: string, draft: Draft): void {
    switch (effect.kind) {
      case "fact":
        if (!this.chartOf(chart).hears(effect.fact.type)) return;
        draft.effects.push({ kind: "fact", fact: this.events.add(this.chartOf(chart).projectFact(effect.fact)) });
        return;
      case "scheduled":
        draft.timers = [...draft.timers, { id: effect.timer, event: effect.event }];
        return;
      case "cancelled":
        draft.timers = draft.timers.filter((each) => each.id !== effect.timer);
        return;
      case "invoked":
        this.invoke(effect, chart, as, draft);
        return;
      case "stopped":
        this.stop(effect.child, draft);
        return;
      case "told": {
        const companion = draft.companions.find((each) => each.child === effect.child);
        if (companion === undefined) throw new Error(`${effect.event.type} is sent to ${effect.child}, which is gone`);
        draft.effects.push({ kind: "companionTold", ...companion, event: this.events.add(effect.event) });
      }
    }
  }

  private invoke(effect: ChartEffect & { kind: "invoked" }, chart: number, as: string, draft: Draft): void {
    const { child, src, input } = effect;
    const { companions, children } = this.chartOf(chart);
    if (companions.includes(src) || children.includes(src)) {
      draft.companions = [...draft.companions, { child, src }];
      draft.effects.push({ kind: "companionStarted", child, src, input });
      return;
    }
    draft.requests.push({
      child,
      operation: this.operations.add({ by: as, src, input: this.chartOf(chart).projectInput(src, input) }),
      answer: nobody,
    });
  }

  private stop(child: string, draft: Draft): void {
    const companion = draft.companions.find((each) => each.child === child);
    if (companion !== undefined) draft.effects.push({ kind: "companionStopped", ...companion });
    draft.companions = draft.companions.filter((each) => each !== companion);
    const request = draft.requests.find((each) => each.child === child);
    if (request !== undefined && request.answer === nobody && this.outlives(request.operation))
      draft.effects.push({ kind: "orphaned", operation: request.operation });
    draft.requests = draft.requests.filter((each) => each !== request);
  }

  private intern(local: Local): number {
    const chart = this.chartOf(local.chart);
    const timers = local.timers.map((each) => keyOf(each)).sort();
    const requests = local.requests.map((each) => keyOf(each)).sort();
    const companions = local.companions.map((each) => keyOf(each)).sort();
    const key = keyOf([local.chart, local.as, keyOfSnapshot(chart, local.snapshot), timers, requests, companions]);
    const id = this.states.intern(key, () => local);
    if (this.variantsMax > 0 && this.at(id) !== local) this.keepVariant(id, local);
    return id;
  }

  private keepVariant(id: number, local: Local): void {
    if ((this.variants.get(id)?.size ?? 0) >= this.variantsMax) return;
    const first = JSON.stringify(this.at(id).snapshot.context);
    const text = JSON.stringify(local.snapshot.context);
    const kept = this.variants.get(id) ?? new Map<string, AnyMachineSnapshot>();
    if (text === first || kept.has(text)) return;
    kept.set(text, local.snapshot);
    this.variants.set(id, kept);
  }
}
