/**
 * Whole instances with a host of yours, in virtual time and with faults from a seed.
 *
 * Owns: what such a host is given. Does not own: the world around it (`simulator/bus-world.ts`).
 */
import { simulateBus } from "./simulator/bus-world.ts";
import type { SimulatedHost } from "./simulator/bus-host.ts";
import type { Swarm } from "./simulator/faults.ts";
import type { SimulationResult } from "./simulator/lease-world.ts";

export interface HostSimulation {
  /** The same seed, the same run, event by event. */
  readonly seed: number;
  /** Simulated. An hour of three instances takes about a minute. */
  readonly hours: number;
  /** Default 3. */
  readonly instances?: number;
  readonly ack: "auto" | "explicit";
  /** Called for each process that starts, and again when it is started anew: what it keeps in memory dies with it. */
  readonly host: SimulatedHost;
  /** Names of properties of yours that are false at this moment. Asked after every event. Default: none. */
  readonly check?: () => readonly string[];
  /** Faults that every round has, whatever the seed draws. Default: none. */
  readonly force?: Partial<Swarm>;
}

/**
 * Runs to the first violation of an invariant, of the line's own or of `check`, or to the end. Rounds of faults (processes killed,
 * paused and cut off, a store that stalls, lost answers of Telegram) alternate with calm, in which everything admitted must
 * end and one leader must stand.
 *
 * A host must not use real time or chance: `pause` and `random` are given. With `ack: "explicit"` it acks by itself.
 */
export const simulateHost = ({ instances = 3, check, ...options }: HostSimulation): Promise<SimulationResult> =>
  simulateBus({ ...options, instances, ...(check === undefined ? {} : { alsoCheck: check }) });
