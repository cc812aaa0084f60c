/**
 * Whether a recording is one that the charts allow, and breaks no property.
 *
 * Owns: following each actor through its frames, comparing every step with the chart's own transitions, judging the whole.
 * Does not own: the charts (`test/support/charts/catalogue.ts`), the properties and how frames show them (`inspector/page/judge.ts`).
 *
 * A step conforms when each of its transitions is one of the chart's, starts in a state that was active, and leads to where
 * the actor is then; nothing else may have become active. Guards and contexts are redacted or changed meanwhile: they are not
 * evaluated again. After frames were left out, actors of that process are followed anew from their next frame.
 */
import { getStateNodes } from "xstate";
import type { AnyStateMachine, AnyStateNode, StateValue } from "xstate";
import { showTransition } from "../../../inspector/charts.ts";
import type { TransitionShown } from "../../../inspector/charts.ts";
import type { Frame } from "../../../inspector/frames.ts";
import { Judge } from "../../../inspector/page/judge.ts";
import { History } from "../../../inspector/page/model.ts";
import { charts } from "../charts/catalogue.ts";

export interface Conformance {
  /** Steps that were compared. */
  readonly steps: number;
  /** Charts of which at least one step was. */
  readonly charts: ReadonlySet<string>;
  readonly faults: readonly string[];
}

const machineOf = new Map(charts.map(({ machine }): [string, AnyStateMachine] => [machine.id, machine]));

const idsOf = (machine: AnyStateMachine, value: StateValue): ReadonlySet<string> =>
  new Set(getStateNodes(machine.root, value).map(({ id }) => id));

const isWithin = (node: AnyStateNode, ancestor: string): boolean => {
  for (let at: AnyStateNode | undefined = node; at !== undefined; at = at.parent) if (at.id === ancestor) return true;
  return false;
};

function isOfChart(machine: AnyStateMachine, shown: TransitionShown): boolean {
  const text = JSON.stringify(shown);
  const node = machine.getStateNodeById(shown.source);
  return [...node.transitions.values(), node.always ?? []]
    .flat()
    .some((each) => JSON.stringify(showTransition(each)) === text);
}

/** What is wrong with one step; null when nothing is. */
function faultOf(
  machine: AnyStateMachine,
  { event, taken }: { readonly event: string; readonly taken: readonly TransitionShown[] },
  { before, after }: { readonly before: StateValue | null; readonly after: StateValue },
): string | null {
  const strange = taken.find((each) => !isOfChart(machine, each));
  if (strange !== undefined) return `a transition that the chart does not have: ${JSON.stringify(strange)}`;
  const now = idsOf(machine, after);
  const missed = taken.flatMap(({ target }) => target).find((id) => !now.has(id));
  if (missed !== undefined) return `it is not in ${missed}, where ${event} leads`;
  if (before === null) return null;
  const then = idsOf(machine, before);
  const idle = taken.find(({ source }) => !then.has(source));
  if (idle !== undefined) return `a transition from ${idle.source}, where it was not`;
  const targets = taken.flatMap(({ target }) => target);
  const entered = [...now].filter((id) => !then.has(id)).map((id) => machine.getStateNodeById(id));
  const unled = entered.find(
    (node) =>
      !targets.some((id) => isWithin(node, id) || isWithin(machine.getStateNodeById(id), node.parent?.id ?? "")),
  );
  return unled === undefined ? null : `it is in ${unled.id}, where ${event} does not lead`;
}

export function conformanceOf(frames: readonly Frame[]): Conformance {
  const values = new Map<string, StateValue>();
  const seen = new Set<string>();
  const faults: string[] = [];
  const history = new History();
  const judge = new Judge();
  let steps = 0;
  for (const frame of frames) {
    const from = frame.from ?? "";
    if (frame.kind === "dropped")
      for (const key of [...values.keys()]) if (key.startsWith(`${from} `)) values.delete(key);
    const step = history.add(frame);
    if (step !== null) judge.add(step, history.head);
    if (frame.kind !== "transition" && frame.kind !== "snapshot") continue;
    const { chart, actor } = frame;
    if (chart === undefined || frame.value === undefined) continue;
    const machine = machineOf.get(chart);
    const key = `${from} ${actor.session}`;
    // Frames of charts show what XState calls a state value.
    const after = frame.value as StateValue;
    const before = values.get(key) ?? null;
    values.set(key, after);
    if (machine === undefined) {
      faults.push(`${actor.id}: no chart is called ${chart}`);
      continue;
    }
    if (frame.kind === "snapshot") {
      if (before !== null && JSON.stringify(before) !== JSON.stringify(after))
        faults.push(`${actor.id}: at rest in ${JSON.stringify(after)}, but was in ${JSON.stringify(before)}`);
      continue;
    }
    steps += 1;
    seen.add(chart);
    // Each is a `TransitionShown`, says the frame's own type.
    const taken = frame.transitions as readonly TransitionShown[];
    const fault = faultOf(
      machine,
      { event: frame.event, taken },
      { before: taken.length === 0 ? null : before, after },
    );
    if (fault !== null) faults.push(`${actor.id}, on ${frame.event}: ${fault}`);
  }
  for (const { name, detail } of judge.breaks) faults.push(`${name} is broken: ${detail}`);
  return { steps, charts: seen, faults };
}
