/**
 * Checks of the lease that need true time: who may act, and for how long.
 *
 * Owns: the bound between a permit and the store's own end of that grant, and the count of moments with two open gates.
 * Does not own: the named invariants (`machines/invariants.ts`).
 * Invariant checked: a permit never outlives the lease in the store by more than what clocks explain: drift of at most
 * `driftMax` over one duration, a millisecond of rounding, and jumps of the store's clock since the grant.
 */
import type { Epoch } from "../../machines/ids.ts";
import type { HostClock } from "./clock.ts";
import type { LeaseGhost } from "./ghost.ts";
import { driftMax } from "./stagehand.ts";

export interface OpenGate {
  readonly who: string;
  readonly epoch: Epoch;
  readonly remainingMs: number;
}

export interface GateChecks {
  /** What is wrong with the gates at this moment, in words. */
  readonly faultsOf: (open: readonly OpenGate[]) => readonly string[];
  /** Moments at which two gates were open and clocks explain it. */
  readonly explainedOverlaps: () => number;
  /** The least margin seen between the end of a permit and the store's end, in milliseconds. */
  readonly leastMarginMs: () => number;
}

const roundingMs = 2;

export function createGateChecks(world: {
  readonly ghost: LeaseGhost;
  readonly storeClock: HostClock;
  readonly durationMs: number;
}): GateChecks {
  let overlaps = 0;
  let leastMarginMs = Infinity;
  const faultOf = (gate: OpenGate): string | null => {
    const end = world.ghost.endOf(gate.epoch);
    if (end === undefined) return `${gate.who} may act under epoch ${gate.epoch}, which was never granted`;
    const jumps = Math.max(0, world.storeClock.jumpedMs() - end.jumpedMs);
    const marginMs = end.endsAtMs - world.storeClock.nowMs() - gate.remainingMs;
    if (jumps === 0) leastMarginMs = Math.min(leastMarginMs, marginMs);
    const allowedMs = driftMax * world.durationMs + roundingMs + jumps;
    if (marginMs >= -allowedMs) return null;
    return `${gate.who} may act under epoch ${gate.epoch} for ${gate.remainingMs.toFixed(1)} ms, ${(-marginMs).toFixed(1)} ms longer than the store lets it`;
  };
  return {
    faultsOf(open) {
      if (open.length > 1) overlaps += 1;
      return open.flatMap((gate) => faultOf(gate) ?? []);
    },
    explainedOverlaps: () => overlaps,
    leastMarginMs: () => leastMarginMs,
  };
}
