/**
 * The coverage gate: every transition of a chart is taken by some test, or stands in `unreached.ts` with a reason.
 *
 * Owns: the record of what the plays of this test file took, the comparison with what the chart has.
 * One test file tests one chart, so a file's own record is complete.
 */
import type { AnyStateMachine } from "xstate";
import { nodesOf, transitionName, transitionsOf } from "./naming.ts";
import { unreached } from "./unreached.ts";

const takenOf = new Map<string, Set<string>>();

export function recordTaken(chart: string, transitions: readonly string[]): void {
  const taken = takenOf.get(chart) ?? new Set();
  for (const each of transitions) taken.add(each);
  takenOf.set(chart, taken);
}

/** Every transition a chart has, by name. */
export const partsOf = (machine: AnyStateMachine): readonly string[] =>
  nodesOf(machine).flatMap((node) => transitionsOf(node).map((each) => transitionName(machine, each)));

export interface CoverageFaults {
  /** Taken by no test, and no reason is given. */
  readonly neverTaken: readonly string[];
  /** Listed as unreached although a test takes it, or the chart has no such transition. */
  readonly wronglyListed: readonly string[];
}

export function faultsOfCoverage(
  machine: AnyStateMachine,
  reasons: Readonly<Record<string, string>> = unreached[machine.id] ?? {},
): CoverageFaults {
  const taken = takenOf.get(machine.id) ?? new Set();
  const parts = partsOf(machine);
  return {
    neverTaken: parts.filter((each) => !taken.has(each) && !(each in reasons)),
    wronglyListed: Object.keys(reasons).filter((each) => taken.has(each) || !parts.includes(each)),
  };
}

export const noFaults: CoverageFaults = { neverTaken: [], wronglyListed: [] };
