/**
 * Runs a world and says what was found, in words, as a diagram and as a recording.
 *
 * Owns: exploration, liveness where there is a goal, and the three forms of a counterexample, in one call.
 * Does not own: how any of it works (`explorer/`).
 */
import { asMermaid, asRecording, asText, checkLiveness, explore, traceTo } from "./explorer/index.ts";
import type { ExploreOptions, World } from "./explorer/index.ts";

export interface Counterexample {
  /** Name of the property, `deadlock`, or `liveness/…`. */
  readonly property: string;
  readonly steps: number;
  /** The shortest way there, step by step. */
  readonly text: string;
  /** The same as a mermaid sequence diagram. */
  readonly mermaid: string;
  /** The same as NDJSON, which `partyline replay FILE` shows. */
  readonly recording: string;
}

export interface WorldReport {
  readonly name: string;
  /** Every state within the bounds was visited, and nothing was found. */
  readonly holds: boolean;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly counterexamples: readonly Counterexample[];
}

/**
 * Visits every state of a world, breadth first, and stops at the first level that breaks a property. With a `goal` in the world
 * it then looks for a way to go on for ever without it, and explores without symmetry for that. Takes as long as the world is
 * large: about a second per 100,000 states.
 *
 * @throws ProjectionFault when a chart's `project` drops what decides something.
 */
export function checkWorld<Env, Seen, View>(
  world: World<Env, Seen, View>,
  options: Omit<ExploreOptions, "asymmetric"> = {},
): WorldReport {
  const hasGoal = world.goal !== undefined;
  const exploration = explore(world, { ...options, asymmetric: hasGoal });
  const starved = hasGoal && exploration.exhaustive ? checkLiveness(exploration).starved : null;
  const found = [
    ...exploration.violations,
    ...(starved === null ? [] : [{ property: `liveness/${starved.kind}`, state: starved.state }]),
  ];
  const counterexamples = found.map(({ property, state }): Counterexample => {
    const steps = traceTo(exploration, state);
    const title = `${world.name}: ${property} is broken after ${steps.length} steps`;
    return {
      property,
      steps: steps.length,
      text: asText(title, steps),
      mermaid: asMermaid(title, steps),
      recording: asRecording({ world: world.name, property, places: world.places }, steps),
    };
  });
  const { states, transitions, depth, exhaustive } = exploration;
  return {
    name: world.name,
    holds: exhaustive && counterexamples.length === 0,
    states,
    transitions,
    depth,
    counterexamples,
  };
}
