/**
 * Liveness: once faults have stopped, does the goal come about from every reachable state?
 *
 * Owns: the graph of states without the goal under moves that are no faults, the search for a fair cycle or a dead end.
 * Does not own: the goal, which moves are faults (the world says both).
 *
 * Strong fairness: a class of moves (a request of a place taking effect or being answered, a fair action) that is possible
 * again and again is taken. Timers have weak fairness: one that is pending all the time fires, one that is started anew
 * again and again need not. A cycle that starves none of its classes is a violation. Moves cut by
 * the bounds count as ways out. Not with symmetry reduction: it would mix up whose move is whose.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
import { environment, orphans, placeOffset } from "./cascade.ts";
import type { MoveKind } from "./composition.ts";
import type { Exploration, StateSpace } from "./explore.ts";
import { stronglyConnected } from "./scc.ts";
import type { Graph } from "./scc.ts";

export interface LivenessResult {
  /** States in which the goal does not stand. */
  readonly pending: number;
  readonly edges: number;
  /** A state from which the goal need not come about: on a fair cycle, or with nothing left to happen. Null = none. */
  readonly starved: { readonly state: number; readonly kind: "cycle" | "deadEnd"; readonly size: number } | null;
}

/** Every way out of the graph (to the goal, beyond the bounds) leads to this node. */
const away = -1;

class GraphBuilder<Env, Seen, View> {
  readonly nodes: number[] = [];
  readonly nodeOf: Int32Array;
  readonly offsets: number[] = [0];
  readonly targets: number[] = [];
  /** Class of each edge; -1 for moves that fairness does not speak of. */
  readonly classes: number[] = [];
  readonly weak = new Set<number>();
  /** Edge → timers that it starts anew. */
  readonly restarts = new Map<number, readonly number[]>();
  private readonly classIds = new Map<string, number>();
  private readonly space: StateSpace<Env, Seen, View>;
  private readonly state: Int32Array;

  constructor(space: StateSpace<Env, Seen, View>) {
    this.space = space;
    this.state = new Int32Array(space.table.width);
    this.nodeOf = new Int32Array(space.table.count).fill(away);
    for (let number = 0; number < space.table.count; number += 1) {
      space.table.read(number, this.state);
      if (space.verdicts.of(this.state).goal) continue;
      this.nodeOf[number] = this.nodes.length;
      this.nodes.push(number);
    }
    for (const number of this.nodes) this.addEdges(number);
  }

  private addEdges(number: number): void {
    const { table, composition } = this.space;
    table.read(number, this.state);
    composition.expand(this.state, (kind, place, index) => {
      const name = this.className(kind, place, index);
      if (name === "fault") return;
      const target = table.find(composition.next);
      const restarted = [...composition.cascade.restarted()].map(([at, id]) => this.classId(`timer ${at} ${id}`));
      if (restarted.length > 0) this.restarts.set(this.targets.length, restarted);
      this.edge(target < 0 ? away : this.nodeOf[target]!, name === "free" ? -1 : this.classId(name));
    });
    if (composition.cut > 0) this.edge(away, this.classId("cut"));
    this.offsets.push(this.targets.length);
  }

  private edge(target: number, kind: number): void {
    this.targets.push(target);
    this.classes.push(kind);
  }

  private classId(name: string): number {
    const known = this.classIds.get(name);
    if (known !== undefined) return known;
    this.classIds.set(name, this.classIds.size);
    if (name.startsWith("timer ")) this.weak.add(this.classIds.size - 1);
    return this.classIds.size - 1;
  }

  private className(kind: MoveKind, place: number, index: number): string {
    const { locals, cascade } = this.space.composition;
    if (kind === "fault") return "fault";
    if (kind === "action") {
      const action = this.space.composition.actionsOf(this.state[environment]!)[index]!;
      return action.kind === "fair" ? `action ${action.name}` : action.kind;
    }
    if (kind === "orphan") {
      const operation = cascade.bags.at(this.state[orphans]!)[index]!;
      return `orphan ${operation}`;
    }
    const local = locals.at(this.state[placeOffset + place]!);
    if (kind === "timer") return `timer ${place} ${local.timers[index]!.id}`;
    return `${place} ${kind} ${local.requests[index]!.child}`;
  }
}

export function checkLiveness<Env, Seen, View>({ space, exhaustive }: Exploration<Env, Seen, View>): LivenessResult {
  if (space.symmetry !== null) throw new Error("liveness needs an exploration without symmetry reduction");
  if (!exhaustive) throw new Error("liveness needs an exhaustive exploration");
  const { nodes, offsets, targets, classes, weak, restarts } = new GraphBuilder(space);
  const graph: Graph = { offsets: Int32Array.from(offsets), targets: Int32Array.from(targets) };
  const found = (node: number, kind: "cycle" | "deadEnd", size: number): LivenessResult => ({
    pending: nodes.length,
    edges: targets.length,
    starved: { state: nodes[node]!, kind, size },
  });

  const state = new Int32Array(space.table.width);
  const mayEnd = (node: number): boolean => {
    space.table.read(nodes[node]!, state);
    return space.verdicts.of(state).mayEnd;
  };
  for (let node = 0; node < nodes.length; node += 1)
    if (graph.offsets[node] === graph.offsets[node + 1] && !mayEnd(node)) return found(node, "deadEnd", 1);

  // Streett emptiness: take away the states where a starved class is possible, look again at what remains.
  const alive = new Uint8Array(nodes.length).fill(1);
  const pending: number[][] = [nodes.map((_number, node) => node)];
  for (let within = pending.pop(); within !== undefined; within = pending.pop()) {
    for (const component of stronglyConnected(graph, within, alive)) {
      const starved = starvedClasses(component, graph, { classes, weak, restarts });
      if (starved === "acyclic") continue;
      if (starved.size === 0) return found(component[0]!, "cycle", component.length);
      const rest = component.filter((node) => !isPossible(node, starved, graph, classes));
      if (rest.length > 0) pending.push(rest);
    }
  }
  return { pending: nodes.length, edges: targets.length, starved: null };
}

function starvedClasses(
  component: readonly number[],
  graph: Graph,
  { classes, weak, restarts }: Pick<GraphBuilder<never, never, never>, "classes" | "weak" | "restarts">,
): Set<number> | "acyclic" {
  const members = new Set(component);
  /** Class → in how many states it is possible. */
  const possible = new Map<number, number>();
  const taken = new Set<number>();
  const restarted = new Set<number>();
  let cyclic = false;
  for (const node of component) {
    const here = new Set<number>();
    for (let edge = graph.offsets[node]!; edge < graph.offsets[node + 1]!; edge += 1) {
      const kind = classes[edge]!;
      if (kind >= 0) here.add(kind);
      if (!members.has(graph.targets[edge]!)) continue;
      cyclic = true;
      if (kind >= 0) taken.add(kind);
      for (const each of restarts.get(edge) ?? []) restarted.add(each);
    }
    for (const kind of here) possible.set(kind, (possible.get(kind) ?? 0) + 1);
  }
  if (!cyclic) return "acyclic";
  const isStarved = ([kind, states]: [number, number]): boolean =>
    !taken.has(kind) && (!weak.has(kind) || (states === component.length && !restarted.has(kind)));
  return new Set([...possible].filter(isStarved).map(([kind]) => kind));
}

function isPossible(node: number, kinds: ReadonlySet<number>, graph: Graph, classes: readonly number[]): boolean {
  for (let edge = graph.offsets[node]!; edge < graph.offsets[node + 1]!; edge += 1)
    if (kinds.has(classes[edge]!)) return true;
  return false;
}
