/**
 * Hosts of somebody else's in the world of whole instances.
 *
 * Owns: what they are given. Does not own: the world's own host, which answers everything (`bus-instance.ts`).
 */
import type { CallOutcome } from "../../services/ports.ts";
import type { HandedUpdate } from "../../services/queue.ts";
import type { Random } from "./random.ts";

export interface HostSurroundings {
  /** The place in the line, the same for every process that starts there. */
  readonly place: string;
  /** Of this process. */
  readonly instanceId: string;
  /** A Bot API call into the instance's own thread. Never rejects. */
  readonly call: (method: string, payload: Readonly<Record<string, unknown>>) => Promise<CallOutcome>;
  /** Virtual time, in milliseconds. Never ends in a process that is killed meanwhile. */
  readonly pause: (ms: number) => Promise<void>;
  readonly random: Random;
}

/** One process of a host: what it does with each update that it is handed. An update has ended when that has resolved. */
export type SimulatedHost = (surroundings: HostSurroundings) => (update: HandedUpdate) => Promise<void>;
