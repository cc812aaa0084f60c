/**
 * Names for the parts of a chart, for coverage lists and traces.
 *
 * Owns: how a state, an event and a transition are written down. XState's own event names carry generated ids
 * (`xstate.done.actor.0.lease.unknown.looking`); here the same reads `readLease answered`.
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from "xstate";

/** All state nodes, the root first, in document order. */
export function nodesOf(machine: AnyStateMachine): readonly AnyStateNode[] {
  const below = (node: AnyStateNode): readonly AnyStateNode[] => [
    node,
    ...Object.values(node.states as Readonly<Record<string, AnyStateNode>>).flatMap(below),
  ];
  return below(machine.root);
}

/** `holding.renewing`; the root is `(any)`. */
export const pathOf = (node: AnyStateNode): string => (node.path.length === 0 ? "(any)" : node.path.join("."));

/** `after renewInterval` of `xstate.after.renewInterval.lease.holding.held`; null when the event is no timer's. */
export const timerOf = (eventType: string): string | null =>
  /^xstate\.after\.(?<name>[^.]+)\./.exec(eventType)?.groups?.["name"] ?? null;

/** Slots are named; logic put in place has no name. */
export const slotName = (src: unknown): string => (typeof src === "string" ? src : "(inline)");

/** The slot that an invocation's id belongs to. */
function slotOf(machine: AnyStateMachine, invokeId: string): string {
  const invokes = nodesOf(machine).flatMap((node) => node.invoke);
  return slotName(invokes.find((each) => each.id === invokeId)?.src ?? invokeId);
}

/** An event in words. */
export function eventName(machine: AnyStateMachine, eventType: string): string {
  if (eventType === "") return "always";
  const timer = timerOf(eventType);
  if (timer !== null) return `after ${timer}`;
  const ended = /^xstate\.(?<how>done|error)\.actor\.(?<id>.+)$/.exec(eventType)?.groups;
  if (ended === undefined) return eventType;
  return `${slotOf(machine, ended["id"] ?? "")} ${ended["how"] === "done" ? "answered" : "failed"}`;
}

/** The transitions of one state, each with the event that takes it. */
export const transitionsOf = (node: AnyStateNode): readonly AnyTransitionDefinition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
];

/** `<state> on <event> [<index>] → <target>`: the index tells the alternatives of one event apart. */
export function transitionName(machine: AnyStateMachine, transition: AnyTransitionDefinition): string {
  const { source, target } = transition;
  const eventType = String(transition.eventType);
  const siblings = transitionsOf(source).filter((each) => each.eventType === eventType);
  const goal = target === undefined ? "stays" : target.map(pathOf).join(" + ");
  return `${pathOf(source)} on ${eventName(machine, eventType)} [${siblings.indexOf(transition)}] → ${goal}`;
}
