/**
 * One real chart, stepped without an actor.
 *
 * Owns: the calls into XState (`machine.transition` with one re-used actor scope), reading the actions that come back,
 * noting which states and transitions were passed.
 * Does not own: what becomes of the effects (`locals.ts`, `composition.ts`).
 *
 * Invariants: nothing is executed: no child starts, no timer runs. Effects are reported in the order of the chart.
 */
/* eslint-disable @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-assignment -- XState types what holds for any machine by `any` */
import { createActor } from "xstate";
import type {
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  SnapshotFrom,
} from "xstate";
import { keyOf } from "./data.ts";

/** A chart as a component of worlds. */
export interface Chart {
  readonly machine: AnyStateMachine;
  /** What of a snapshot's context decides anything, as plain data. Two snapshots that agree in it must behave alike. */
  readonly project: (snapshot: AnyMachineSnapshot) => unknown;
  /** Slots that are no request with one answer: they live beside the chart, take commands and send facts. */
  readonly companions: readonly string[];
  /** Slots that are charts themselves: played in a place of their own, and answered by their output when they are done. */
  readonly children: readonly string[];
  /** What of a request's input decides anything, as plain data. */
  readonly projectInput: (src: string, input: unknown) => unknown;
  /** What of a fact anybody uses. */
  readonly projectFact: (fact: AnyEventObject) => AnyEventObject;
  /** Whether anybody in the world listens to facts of this type. */
  readonly hears: (factType: string) => boolean;
}

/** Names a chart for the explorer. Without `project` the whole context counts, which is always right and seldom small. */
export function chartOf<Machine extends AnyStateMachine>(
  machine: Machine,
  options: {
    readonly project?: (snapshot: SnapshotFrom<Machine>) => unknown;
    readonly companions?: readonly string[];
    readonly children?: readonly string[];
    readonly projectInput?: (src: string, input: unknown) => unknown;
    readonly projectFact?: (fact: AnyEventObject) => AnyEventObject;
    /** Types of the facts that somebody in the world listens to. Default: all. */
    readonly facts?: readonly string[];
  } = {},
): Chart {
  const { project, companions = [], children = [], facts } = options;
  const { projectInput = (_src, input) => input, projectFact = (fact) => fact } = options;
  return {
    machine,
    // Only snapshots of this very machine are handed to its projection.
    project:
      project === undefined ? (it) => it.context as unknown : (it): unknown => project(it as SnapshotFrom<Machine>),
    companions,
    children,
    projectInput,
    projectFact,
    hears: (type) => facts === undefined || facts.includes(type),
  };
}

export type ChartEffect =
  | { readonly kind: "fact"; readonly fact: AnyEventObject }
  | { readonly kind: "invoked"; readonly child: string; readonly src: string; readonly input: unknown }
  | { readonly kind: "stopped"; readonly child: string }
  | { readonly kind: "told"; readonly child: string; readonly event: AnyEventObject }
  | { readonly kind: "scheduled"; readonly timer: string; readonly event: AnyEventObject }
  | { readonly kind: "cancelled"; readonly timer: string };

/** What XState reports about an action that it would execute; the members that we read. */
interface ReportedAction {
  readonly type: string;
  readonly params?: unknown;
}

interface ReportedParams {
  readonly id?: string;
  readonly src?: unknown;
  readonly input?: unknown;
  readonly event?: AnyEventObject;
  readonly delay?: number;
  readonly sendId?: string;
  readonly targetId?: string;
}

function effectOf(action: ReportedAction): ChartEffect | null {
  // Built-in actions report their resolved parameters as one flat object; for `cancel` it is the id alone in some releases.
  const params = (
    typeof action.params === "string" ? { sendId: action.params } : (action.params ?? {})
  ) as ReportedParams;
  const named = (what: string | undefined): string => {
    if (what === undefined)
      throw new Error(`${action.type} names nothing: does this release of XState report it otherwise?`);
    return what;
  };
  const sent = (): AnyEventObject => {
    if (params.event === undefined) throw new Error(`${action.type} without an event`);
    return params.event;
  };
  switch (action.type) {
    case "xstate.emit":
      return { kind: "fact", fact: sent() };
    case "xstate.spawnChild":
      if (typeof params.src !== "string") throw new Error("the explorer answers named slots only, not inline actors");
      return { kind: "invoked", child: named(params.id), src: params.src, input: params.input };
    case "xstate.stopChild":
      return params.id === undefined ? null : { kind: "stopped", child: params.id };
    case "xstate.sendTo":
      if (params.delay !== undefined)
        throw new Error("a delayed sendTo is not supported: use an `after` of the receiver");
      return { kind: "told", child: named(params.targetId), event: sent() };
    case "xstate.raise":
      return params.delay === undefined ? null : { kind: "scheduled", timer: named(params.id), event: sent() };
    case "xstate.cancel":
      return { kind: "cancelled", timer: named(params.sendId) };
    default:
      return null;
  }
}

export interface ChartStep {
  readonly snapshot: AnyMachineSnapshot;
  readonly effects: readonly ChartEffect[];
}

/** Which states and transitions of one chart were passed, by name. */
export class ChartCoverage {
  private readonly passed = new Set<string>();

  note(states: readonly AnyStateNode[], transitions: readonly AnyTransitionDefinition[]): void {
    for (const state of states) this.passed.add(`state ${state.id}`);
    for (const each of transitions) this.passed.add(nameOfTransition(each)).add(`state ${each.source.id}`);
  }

  has(name: string): boolean {
    return this.passed.has(name);
  }
}

function siblingsOf(transition: AnyTransitionDefinition): readonly AnyTransitionDefinition[] {
  const source: AnyStateNode = transition.source;
  const eventType: string = transition.eventType;
  return eventType === "" ? (source.always ?? []) : (source.transitions.get(eventType) ?? []);
}

/** `<state> on <event> [<index>] → <targets>`: the index tells guarded alternatives of one event apart. */
function nameOfTransition(transition: AnyTransitionDefinition): string {
  const index = siblingsOf(transition).indexOf(transition);
  const targets = transition.target?.map((each) => each.id).join(" + ") ?? "no target";
  return `${transition.source.id} on ${transition.eventType || "always"} [${index}] → ${targets}`;
}

/** Every state and transition that a chart has, by the names that coverage uses. */
export function partsOf(machine: AnyStateMachine): readonly string[] {
  const parts: string[] = [];
  const visit = (node: AnyStateNode): void => {
    parts.push(`state ${node.id}`);
    const transitions: readonly AnyTransitionDefinition[] = [...node.transitions.values()].flat();
    for (const each of [...transitions, ...(node.always ?? [])]) parts.push(nameOfTransition(each));
    for (const child of Object.values(node.states)) visit(child);
  };
  visit(machine.root);
  return [...new Set(parts)];
}

export class ChartRunner {
  readonly coverage = new ChartCoverage();
  /** Calls into XState: what memoisation saves. */
  calls = 0;
  private scope: AnyActorScope | null = null;
  private effects: ChartEffect[] = [];
  private readonly machine: AnyStateMachine;

  constructor(machine: AnyStateMachine) {
    this.machine = machine;
  }

  start(input: unknown): ChartStep {
    return this.collected((scope) => this.machine.getInitialSnapshot(scope, input), input);
  }

  step(snapshot: AnyMachineSnapshot, event: AnyEventObject): ChartStep {
    return this.collected((scope) => this.machine.transition(snapshot, event, scope), undefined);
  }

  private collected(call: (scope: AnyActorScope) => AnyMachineSnapshot, input: unknown): ChartStep {
    this.calls += 1;
    const scope = this.scope ?? this.openScope(input);
    this.effects = [];
    const snapshot = call(scope);
    this.coverage.note(snapshot._nodes, []);
    return { snapshot, effects: this.effects };
  }

  private openScope(input: unknown): AnyActorScope {
    const self = createActor(this.machine, { input });
    self.system.inspect((inspected) => {
      if (inspected.type === "@xstate.microstep")
        // The snapshot of a machine's microstep is a machine snapshot; the general type covers other logics.
        this.coverage.note((inspected.snapshot as AnyMachineSnapshot)._nodes, inspected._transitions);
    });
    this.scope = {
      self,
      id: "",
      sessionId: "",
      system: self.system,
      logger: () => {},
      defer: () => {},
      stopChild: () => {},
      emit: () => {},
      actionExecutor: (action: ReportedAction) => {
        const effect = effectOf(action);
        if (effect !== null) this.effects.push(effect);
      },
    };
    return this.scope;
  }
}

/** What makes two snapshots of one chart the same for the explorer. */
export const keyOfSnapshot = (chart: Chart, snapshot: AnyMachineSnapshot): string =>
  keyOf([snapshot.value, snapshot.status, snapshot.output, chart.project(snapshot), historyOf(snapshot)]);

function historyOf(snapshot: AnyMachineSnapshot): Record<string, string[]> {
  // The library keeps remembered nodes by the id of their history node.
  const remembered = snapshot.historyValue as Readonly<Record<string, readonly AnyStateNode[]>>;
  return Object.fromEntries(Object.entries(remembered).map(([id, nodes]) => [id, nodes.map((each) => each.id).sort()]));
}
