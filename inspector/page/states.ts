/**
 * What a chart says about a moment of an actor: the states it is in, and the guards that said no.
 *
 * Owns: reading charts. Does not own: how they are drawn.
 */
import type { NodeShown, TransitionShown } from "../charts.ts";

export type Chart = readonly NodeShown[];

/** Ids of the states that an actor is in, with all states around them. */
export function activeStates(nodes: Chart, value: unknown): ReadonlySet<string> {
  const active = new Set<string>();
  const walk = (node: NodeShown, inside: unknown): void => {
    active.add(node.id);
    const inner: Readonly<Record<string, unknown>> =
      typeof inside === "string"
        ? { [inside]: {} }
        : typeof inside === "object" && inside !== null
          ? (inside as Readonly<Record<string, unknown>>)
          : {};
    for (const child of nodes) if (child.parent === node.id && child.key in inner) walk(child, inner[child.key]);
  };
  const [root] = nodes;
  if (root !== undefined) walk(root, value);
  return active;
}

export interface Refusal {
  readonly source: string;
  readonly event: string;
  readonly guard: string;
}

const isSame = (one: TransitionShown, other: TransitionShown): boolean =>
  one.source === other.source &&
  one.event === other.event &&
  one.guard === other.guard &&
  one.target.join() === other.target.join();

/**
 * Guards that said no: in XState's order, innermost state first, every guarded transition for the event that comes before
 * the one taken. Nothing taken: all of them.
 */
export function refusals(
  nodes: Chart,
  moment: { readonly value: unknown; readonly event: string; readonly taken: readonly TransitionShown[] },
): readonly Refusal[] {
  const active = activeStates(nodes, moment.value);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const leaves = [...active].filter((id) => !nodes.some((node) => node.parent === id && active.has(node.id)));
  const found = new Map<string, Refusal>();
  for (const leaf of leaves) {
    for (let node = byId.get(leaf); node !== undefined; node = byId.get(node.parent ?? "")) {
      const ends = refuseIn(node, moment, (refusal) => found.set(`${refusal.source}|${refusal.guard}`, refusal));
      if (ends) break;
    }
  }
  return [...found.values()];
}

/** True when a transition of this state was taken, or would have been: states around it were not asked. */
function refuseIn(
  node: NodeShown,
  { event, taken }: { readonly event: string; readonly taken: readonly TransitionShown[] },
  tell: (refusal: Refusal) => void,
): boolean {
  // An eventless transition that was taken is asked for under no event.
  const asked = taken.length > 0 && taken.every((each) => each.event === "") ? "" : event;
  for (const candidate of node.transitions) {
    if (candidate.event !== asked) continue;
    if (taken.some((each) => isSame(each, candidate)) || candidate.guard === undefined) return true;
    tell({ source: node.id, event: candidate.event, guard: candidate.guard });
  }
  return false;
}
