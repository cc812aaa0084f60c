/**
 * Charts as plain data: what a viewer needs to draw one, and to find the transition just taken in it.
 *
 * Owns: the description of states and transitions, the names of charts. Does not own: redaction (`composer.ts`).
 *
 * The description is a flat list, so that a redactor with a depth limit reaches every field. The initial context is no
 * part of it: it holds configuration and secrets, and snapshots show it (redacted).
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";

/** Ids whose charts are told apart. Past it (a program that makes up ids) a chart goes by its id alone. */
const idsMax = 1_000;

/** What JavaScript names a function that is written right behind its key in a chart. */
const keyNames: ReadonlySet<string> = new Set(["", "guard", "actions", "entry", "exit", "src"]);

export interface TransitionShown {
  /** Id of the state it starts from. */
  readonly source: string;
  /** Ids of its target states; empty when it stays. */
  readonly target: readonly string[];
  /** Event descriptor; `""` for an eventless transition, `xstate.after.<delay>.<state id>` for a delayed one. */
  readonly event: string;
  /** `isOwn`, `not(isOwn)`, or `(inline)` for a function without a name. */
  readonly guard?: string;
  readonly actions: readonly ActionShown[];
  readonly reenter: boolean;
  readonly description?: string;
}

/** Name of an action, with its parameters when they are fixed in the chart. */
export type ActionShown = string | { readonly type: string; readonly params: unknown };

export interface NodeShown {
  readonly id: string;
  readonly key: string;
  /** Id of the state around it; absent for the root. */
  readonly parent?: string;
  readonly type: "atomic" | "compound" | "parallel" | "final" | "history";
  /** Id of its initial state. */
  readonly initial?: string;
  readonly entry: readonly ActionShown[];
  readonly exit: readonly ActionShown[];
  readonly invoke: readonly { readonly id: string; readonly src: string }[];
  readonly transitions: readonly TransitionShown[];
  readonly tags: readonly string[];
  readonly description?: string;
  readonly meta?: unknown;
}

/** What `TransitionShown` is made of; XState's transition definitions have it. */
export interface TransitionSource {
  readonly source: { readonly id: string };
  readonly target: readonly { readonly id: string }[] | undefined;
  readonly eventType: string;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
  readonly description?: string | undefined;
}

export function showTransition(transition: TransitionSource): TransitionShown {
  return {
    source: transition.source.id,
    target: (transition.target ?? []).map((state) => state.id),
    event: transition.eventType,
    ...(transition.guard === undefined ? {} : { guard: guardName(transition.guard) }),
    actions: transition.actions.map(showAction),
    reenter: transition.reenter,
    ...(transition.description === undefined ? {} : { description: transition.description }),
  };
}

export function showChart(chart: AnyStateMachine): readonly NodeShown[] {
  return nodesOf(chart.root).map(showNode);
}

const nodesOf = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodesOf)];

function showNode(node: AnyStateNode): NodeShown {
  const transitions: readonly TransitionSource[] = [...node.transitions.values()].flat();
  const eventless: readonly TransitionSource[] = node.always ?? [];
  const initial: TransitionSource["target"] = node.initial.target;
  const meta: unknown = node.meta;
  return {
    id: node.id,
    key: node.key,
    ...(node.parent === undefined ? {} : { parent: node.parent.id }),
    type: node.type,
    ...(node.type === "compound" && initial[0] !== undefined ? { initial: initial[0].id } : {}),
    entry: node.entry.map(showAction),
    exit: node.exit.map(showAction),
    invoke: node.invoke.map(({ id, src }) => ({ id, src: nameOf(src) })),
    transitions: [...transitions, ...eventless].map(showTransition),
    tags: node.tags,
    ...(node.description === undefined ? {} : { description: node.description }),
    ...(meta === undefined ? {} : { meta }),
  };
}

function showAction(action: unknown): ActionShown {
  const params = paramsOf(action);
  return params === undefined ? nameOf(action) : { type: nameOf(action), params };
}

function paramsOf(action: unknown): unknown {
  if (typeof action !== "object" || action === null || !("params" in action)) return undefined;
  return typeof action.params === "function" ? undefined : action.params;
}

/** Guards made of guards (`and`, `or`, `not`) are functions that carry their parts. */
function guardName(guard: unknown): string {
  if (typeof guard === "function" && "guards" in guard && Array.isArray(guard.guards))
    return `${nameOf(guard)}(${guard.guards.map(guardName).join(", ")})`;
  return nameOf(guard);
}

/** XState's own actions (`assign`, `emit`) are functions that carry their type. */
function nameOf(part: unknown): string {
  if (typeof part === "string") return part;
  if ((typeof part === "object" && part !== null) || typeof part === "function") {
    if ("type" in part && typeof part.type === "string") return part.type;
    if (typeof part === "function" && !keyNames.has(part.name)) return part.name;
  }
  return "(inline)";
}

/** Gives each chart one name. Filling a chart's slots makes a new machine of the same configuration: the same chart. */
export class ChartNames {
  readonly #names = new WeakMap<object, string>();
  readonly #countById = new Map<string, number>();

  of(chart: AnyStateMachine): string {
    const config: object = chart.config;
    const known = this.#names.get(config);
    if (known !== undefined) return known;
    const count = (this.#countById.get(chart.id) ?? 0) + 1;
    if (count === 1 && this.#countById.size >= idsMax) return chart.id;
    this.#countById.set(chart.id, count);
    const name = count === 1 ? chart.id : `${chart.id}#${count}`;
    this.#names.set(config, name);
    return name;
  }
}
