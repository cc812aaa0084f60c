/**
 * Requests to a simulated store: three points, and what may fall between them.
 *
 * Owns: issued, durable and answered as happenings of their own; who dies with whom.
 * Does not own: what the store does (the memory store).
 * Invariants: a request that was detached becomes durable whatever happens to its sender; one that was not dies with
 * it, and waits while it is paused. An answer reaches only the process that asked, never before the durable point.
 */
import type { LeaseStore } from "../../services/ports.ts";
import type { FaultCounts, Swarm } from "./faults.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface RequestPath {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly swarm: () => Swarm;
  readonly faults: FaultCounts;
  readonly process: SimulatedProcess;
  /** Called between the points of a request: a process that is doomed dies here. */
  readonly crashPoint: (process: SimulatedProcess) => void;
}

export interface Asked<Answer> {
  readonly what: string;
  /** May the request be carried out without its sender? Not if a piece of the sender's code runs inside it. */
  readonly canOutlive: boolean;
  readonly perform: () => Promise<Answer>;
}

export class StoreBusy extends Error {
  constructor(what: string) {
    super(`the simulated store did not answer ${what}`);
    this.name = "StoreBusy";
  }
}

export type Ask = <Answer>(asked: Asked<Answer>) => Promise<Answer>;

/** How this process talks to the store. */
export function createRequests({ scheduler, random, swarm, faults, process, crashPoint }: RequestPath): Ask {
  const latencyMs = () => {
    const { storeLatencyMaxMs, storeStall, storeStallMaxMs } = swarm();
    if (!random.chance(storeStall)) return random.between(0.02, storeLatencyMaxMs);
    faults.count("storeStall");
    return random.between(0, storeStallMaxMs);
  };
  return <Answer>({ what, canOutlive, perform }: Asked<Answer>) =>
    new Promise<Answer>((resolve, reject) => {
      const isDetached = canOutlive && random.chance(swarm().storeDetached);
      const answer = (kind: string, deliver: () => void) => {
        scheduler.after(latencyMs(), process.name, () => {
          const label = `${what} ${kind}`;
          process.deliver(label, deliver);
          return process.state() === "running" ? label : `${label} (${process.state()})`;
        });
      };
      const makeDurable = () => {
        if (random.chance(swarm().storeBusy)) {
          faults.count("storeBusy");
          answer("busy", () => reject(new StoreBusy(what)));
          return;
        }
        const isLost = random.chance(swarm().storeAnswerLost);
        if (process.state() === "dead") faults.count("storeOutlived");
        perform().then(
          (value) => {
            crashPoint(process);
            if (!isLost) {
              answer("answered", () => resolve(value));
              return;
            }
            faults.count("storeAnswerLost");
            answer("answer lost", () => reject(new StoreBusy(what)));
          },
          (error: unknown) => {
            scheduler.note(`${what} rejected: ${String(error)}`);
            answer("failed", () => reject(error instanceof Error ? error : new Error(String(error))));
          },
        );
      };
      crashPoint(process);
      scheduler.after(latencyMs(), process.name, () => {
        if (isDetached) makeDurable();
        else process.deliver(`${what} durable`, makeDurable);
        return `${what} at the store${isDetached ? " (detached)" : ""}`;
      });
    });
}

/** The lease as this process reaches it. */
export function leaseOver(ask: Ask, inner: LeaseStore): LeaseStore {
  return {
    read: () => ask({ what: "lease.read", canOutlive: true, perform: () => inner.read() }),
    acquire: (request) =>
      ask({ what: `lease.acquire ${request.evidence}`, canOutlive: true, perform: () => inner.acquire(request) }),
    renew: (request) =>
      ask({ what: `lease.renew ${request.epoch}`, canOutlive: true, perform: () => inner.renew(request) }),
    release: (request) =>
      ask({ what: `lease.release ${request.epoch}`, canOutlive: true, perform: () => inner.release(request) }),
    commitIfHeld: (epoch, commit) =>
      ask({ what: `lease.commitIfHeld ${epoch}`, canOutlive: false, perform: () => inner.commitIfHeld(epoch, commit) }),
  };
}
