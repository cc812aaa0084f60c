/**
 * The process table: who really lives, and what a look at it says.
 *
 * Owns: incarnations, the truth about them, the failures of a look.
 * Does not own: killing (`process.ts`).
 * Invariants: `dead` is said only of processes that are dead; a killed one may be seen alive for a moment.
 */
import type { Incarnation, InstanceId, Liveness } from "../../machines/ids.ts";
import type { Processes } from "../../services/ports.ts";
import type { FaultCounts, Swarm } from "./faults.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

/** How long a killed process may still be in the table. */
export const vanishMaxMs = 120;

export interface ProcessTable {
  /** Enters a process; its incarnation and its port. */
  enter(process: SimulatedProcess): { readonly incarnation: Incarnation; readonly processes: Processes };
  /** The truth. */
  isAlive(who: Incarnation): boolean;
  isInstanceAlive(id: InstanceId): boolean;
  assign(id: InstanceId, process: SimulatedProcess): void;
}

export function createProcessTable(world: {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly swarm: () => Swarm;
  readonly faults: FaultCounts;
}): ProcessTable {
  const byPid = new Map<number, SimulatedProcess>();
  const byInstance = new Map<InstanceId, SimulatedProcess>();
  const vanishesAfterMs = new Map<number, number>();
  const base = { bootId: "simulated-boot", pidNamespace: "4026531836" };
  const incarnationOf = (pid: number, counter: number): Incarnation => ({
    ...base,
    pid,
    startTicks: String(pid * 100),
    counter,
  });
  const isAlive = (who: Incarnation) => {
    const state = byPid.get(who.pid)?.state();
    return state === "running" || state === "paused";
  };
  const look = (who: Incarnation): Liveness => {
    if (world.random.chance(world.swarm().lookFails)) {
      world.faults.count("lookFailed");
      throw new Error("the simulated process table could not be read");
    }
    if (world.random.chance(world.swarm().lookUnverifiable)) {
      world.faults.count("lookUnverifiable");
      return "unverifiable";
    }
    const diedAtMs = byPid.get(who.pid)?.diedAtMs() ?? null;
    if (isAlive(who)) return "alive";
    if (diedAtMs === null) return "dead";
    return world.scheduler.nowMs() < diedAtMs + (vanishesAfterMs.get(who.pid) ?? 0) ? "alive" : "dead";
  };
  return {
    enter(process) {
      byPid.set(process.pid, process);
      vanishesAfterMs.set(process.pid, world.random.between(0, vanishMaxMs));
      let counter = 0;
      const own = () => {
        counter += 1;
        return incarnationOf(process.pid, counter);
      };
      return {
        incarnation: incarnationOf(process.pid, 1),
        processes: { own, parent: () => incarnationOf(1, 0), liveness: look },
      };
    },
    isAlive,
    assign: (id, process) => void byInstance.set(id, process),
    isInstanceAlive: (id) => {
      const state = byInstance.get(id)?.state();
      return state === "running" || state === "paused";
    },
  };
}
