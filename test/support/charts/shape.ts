/**
 * What must hold of a chart's shape, whatever it does.
 *
 * Owns: totality (an event that no state handles vanishes without a word), the ban on `"*"` (it would swallow the death of a
 * child), and that every request has an error path. Each function returns the faults in words.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";
import type { CataloguedChart } from "./catalogue.ts";
import { nodesOf, pathOf, slotName, transitionsOf } from "./naming.ts";

const withParents = (node: AnyStateNode): readonly AnyStateNode[] =>
  node.parent === undefined ? [node] : [node, ...withParents(node.parent)];

/** States an actor can rest in: atomic and not final. */
const restingStates = (machine: AnyStateMachine): readonly AnyStateNode[] =>
  nodesOf(machine).filter((node) => node.type === "atomic");

/**
 * Events that may vanish: in some state no handler, there or above, takes them whatever the guards say. `{}` is a handler:
 * declared ignored.
 */
export const vanishingEvents = ({ machine, events }: Pick<CataloguedChart, "machine" | "events">): readonly string[] =>
  restingStates(machine).flatMap((node) => {
    const handlers = withParents(node).flatMap(transitionsOf);
    return events
      .filter((type) => !handlers.some((each) => each.eventType === type && each.guard === undefined))
      .map((type) => `${type} in ${pathOf(node)}`);
  });

/** Handlers of events that the chart's event type does not have. */
export const unknownEvents = ({ machine, events }: Pick<CataloguedChart, "machine" | "events">): readonly string[] =>
  nodesOf(machine).flatMap((node) =>
    transitionsOf(node)
      .map((each) => String(each.eventType))
      .filter((type) => type !== "" && !type.startsWith("xstate.") && !events.includes(type))
      .map((type) => `${type} in ${pathOf(node)}`),
  );

export const wildcards = (machine: AnyStateMachine): readonly string[] =>
  nodesOf(machine).flatMap((node) =>
    transitionsOf(node)
      .filter((each) => String(each.eventType).includes("*"))
      .map((each) => `${String(each.eventType)} in ${pathOf(node)}`),
  );

/** Requests and child charts whose failure would end this chart. */
export const requestsWithoutErrorPath = ({
  machine,
  companions,
}: Pick<CataloguedChart, "machine" | "companions">): readonly string[] =>
  nodesOf(machine).flatMap((node) =>
    node.invoke
      .filter((each) => !companions.includes(slotName(each.src)))
      .filter((each) => !isCaught(node, `xstate.error.actor.${each.id}`))
      .map((each) => `${slotName(each.src)} in ${pathOf(node)}`),
  );

/** Some handler takes the failure whatever the guards say. */
const isCaught = (node: AnyStateNode, type: string): boolean =>
  transitionsOf(node).some((each) => each.eventType === type && each.guard === undefined);
