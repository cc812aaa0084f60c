/**
 * Makes frames out of what XState tells an observer.
 *
 * Owns: which inspection event becomes which frame, and that every field passes the redactor.
 * Does not own: sequence numbers and delivery (`audience.ts`).
 *
 * Called only while a client is attached: everything here costs.
 */
import type { AnyActor, AnyStateMachine, InspectionEvent, Snapshot } from "xstate";
import { actorOf, chartOf, childrenOf, fieldOf, parentOf, pathOf, snapshotOf, timersOf } from "./actors.ts";
import { ChartNames, showChart, showTransition } from "./charts.ts";
import type { TransitionSource } from "./charts.ts";
import type { ActorName, ActorShown, ChartBody, LiveBody, SnapshotBody, TimerShown, WelcomeBody } from "./frames.ts";
import type { SafeRedaction } from "./redaction.ts";

const welcomeActorsMax = 2_000;

/**
 * What has a frame of its own. Actions are shown with the transition that has them; logic other than charts tells its
 * steps as `@xstate.transition`, and the snapshot that follows says the same.
 */
export type FramedEvent = Exclude<InspectionEvent, { readonly type: "@xstate.action" | "@xstate.transition" }>;

export const hasFrame = (event: InspectionEvent): event is FramedEvent =>
  event.type !== "@xstate.action" && event.type !== "@xstate.transition";

/** A frame's body with the charts that a client must know to read it. */
export interface Composed<Body> {
  readonly body: Body;
  readonly charts: readonly AnyStateMachine[];
}

export class Composer {
  readonly #redaction: SafeRedaction;
  readonly #names = new ChartNames();
  /** The context that an actor's last frame showed, as it was in the actor: the same one is not shown twice. */
  #shown = new WeakMap<AnyActor, unknown>();
  /** What never changes is made fit to be shown once: an actor's name, a chart's, a transition's definition. */
  readonly #actorNames = new WeakMap<AnyActor, ActorName>();
  readonly #chartNames = new WeakMap<AnyStateMachine, string>();
  readonly #transitions = new WeakMap<object, unknown>();

  constructor(redaction: SafeRedaction) {
    this.#redaction = redaction;
  }

  live(event: FramedEvent): Composed<LiveBody> {
    const actor = actorOf(event.actorRef);
    const named = { actor: this.#name(actor), ...this.#chartField(actor) };
    switch (event.type) {
      case "@xstate.actor":
        return this.#with(actor, { kind: "actor", ...named });
      case "@xstate.event": {
        const source = event.sourceRef === undefined ? {} : { source: this.#name(actorOf(event.sourceRef)) };
        return this.#with(actor, { kind: "event", ...named, ...source, event: this.#redaction.value(event.event) });
      }
      case "@xstate.microstep":
        return this.#with(actor, {
          kind: "transition",
          ...named,
          event: this.#redaction.text(event.event.type),
          transitions: event._transitions.map((transition) => this.#transition(transition)),
          ...this.#valueField(event.snapshot),
        });
      case "@xstate.snapshot":
        return this.snapshot(actor, event.snapshot);
    }
  }

  snapshot(actor: AnyActor, snapshot: Snapshot<unknown>): Composed<SnapshotBody> {
    const context = fieldOf(snapshot, "context");
    const isNews = context !== undefined && this.#shown.get(actor) !== context;
    if (isNews) this.#shown.set(actor, context);
    return this.#with(actor, {
      kind: "snapshot",
      ...this.#show(actor, snapshot),
      ...(isNews ? { context: this.#redaction.value(context) } : {}),
      ...(snapshot.output === undefined ? {} : { output: this.#redaction.value(snapshot.output) }),
      ...(snapshot.error === undefined ? {} : { error: this.#redaction.value(snapshot.error) }),
    });
  }

  welcome(roots: readonly AnyActor[], forgotten: number): Composed<WelcomeBody> {
    const actors: AnyActor[] = [];
    const found: AnyActor[] = [...roots];
    // Grows while it is walked: breadth first, so parents come before their children.
    for (const actor of found) {
      if (actors.length >= welcomeActorsMax) break;
      actors.push(actor);
      found.push(...childrenOf(actor));
    }
    const omitted = forgotten + found.length - actors.length;
    const charts = new Map(actors.map(chartOf).flatMap((chart) => (chart ? [[this.chartName(chart), chart]] : [])));
    return {
      body: { kind: "welcome", actors: actors.map((actor) => this.#showWhole(actor)), omitted },
      charts: [...charts.values()],
    };
  }

  /** Some frame did not reach everybody: contexts are shown again. */
  forgetShown(): void {
    this.#shown = new WeakMap();
  }

  text(text: string): string {
    return this.#redaction.text(text);
  }

  value(value: unknown): unknown {
    return this.#redaction.value(value);
  }

  chartName(chart: AnyStateMachine): string {
    return remembered(this.#chartNames, chart, () => this.#redaction.text(this.#names.of(chart)));
  }

  chart(chart: AnyStateMachine): ChartBody {
    // Node by node: the redactor's limits on size are meant for one value.
    const nodes = showChart(chart).map((node) => this.#redaction.value(node));
    return { kind: "chart", chart: this.chartName(chart), nodes };
  }

  #with<Body extends LiveBody>(actor: AnyActor, body: Body): Composed<Body> {
    const chart = chartOf(actor);
    return { body, charts: chart === null ? [] : [chart] };
  }

  #name(actor: AnyActor): ActorName {
    return remembered(this.#actorNames, actor, () => {
      const parent = parentOf(actor);
      return {
        id: this.#redaction.text(pathOf(actor)),
        session: actor.sessionId,
        ...(parent === undefined ? {} : { parent: parent.sessionId }),
      };
    });
  }

  #transition(definition: TransitionSource): unknown {
    return remembered(this.#transitions, definition, () => this.#redaction.value(showTransition(definition)));
  }

  #show(actor: AnyActor, snapshot: Snapshot<unknown> | undefined): ActorShown {
    return {
      actor: this.#name(actor),
      ...this.#chartField(actor),
      status: snapshot?.status ?? "active",
      ...this.#valueField(snapshot),
      ...this.#timersField(actor, snapshot),
    };
  }

  #timersField(actor: AnyActor, snapshot: Snapshot<unknown> | undefined): { readonly timers?: readonly TimerShown[] } {
    if (snapshot?.status !== "active" || chartOf(actor) === null) return {};
    const timers = timersOf(actor).map((timer) => ({ ...timer, event: this.#redaction.text(timer.event) }));
    return timers.length === 0 ? {} : { timers };
  }

  #showWhole(actor: AnyActor): ActorShown {
    const snapshot = snapshotOf(actor);
    const context = fieldOf(snapshot, "context");
    return {
      ...this.#show(actor, snapshot),
      ...(context === undefined ? {} : { context: this.#redaction.value(context) }),
    };
  }

  #chartField(actor: AnyActor): { readonly chart?: string } {
    const chart = chartOf(actor);
    return chart === null ? {} : { chart: this.chartName(chart) };
  }

  #valueField(snapshot: Snapshot<unknown> | undefined): { readonly value?: unknown } {
    const value = fieldOf(snapshot, "value");
    return value === undefined ? {} : { value: this.#redaction.value(value) };
  }
}

function remembered<Key extends object, Value>(known: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const before = known.get(key);
  if (before !== undefined) return before;
  const value = make();
  known.set(key, value);
  return value;
}
