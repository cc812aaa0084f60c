/**
 * Seeded faults in charts: a chart with a part of its configuration replaced.
 *
 * Owns: the replacement at a path. Does not own: which faults there are (the tests).
 */
import { createMachine } from "xstate";
import type { AnyStateMachine } from "xstate";

type Config = Readonly<Record<string, unknown>>;

function changedAt(value: unknown, path: readonly string[], change: (part: never) => unknown): unknown {
  const [first, ...rest] = path;
  // The caller says what stands at the path; `never` makes it say so.
  if (first === undefined) return change(value as never);
  if (Array.isArray(value))
    return value.map((each: unknown, index) => (String(index) === first ? changedAt(each, rest, change) : each));
  if (typeof value !== "object" || value === null) throw new Error(`nothing stands at ${path.join("/")}`);
  const fields = value as Config;
  if (!(first in fields)) throw new Error(`nothing stands at ${path.join("/")}`);
  return { ...fields, [first]: changedAt(fields[first], rest, change) };
}

/** The chart with what stands at `path` (names and indices, separated by `/`) of its configuration changed. */
export function patched(machine: AnyStateMachine, path: string, change: (part: never) => unknown): AnyStateMachine {
  const config = changedAt(machine.config, path.split("/"), change);
  // The shape is that of the chart it was made from, and so are the names of what fills it.
  const make = createMachine as unknown as (config: unknown, implementations: unknown) => AnyStateMachine;
  return make(config, machine.implementations);
}
