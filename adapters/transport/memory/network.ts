/**
 * A network in memory, for simulation: the same ports and the same wire as between real processes.
 *
 * Owns: addresses, connections, partitions, deaths. Does not own: order and time: whatever travels (a dial, a frame, the
 * news of a close) is handed to `schedule`, and arrives when the simulator calls it.
 * Invariants:
 *  - within one direction of one connection order is kept (channel.ts); everything else may interleave as it likes;
 *  - a dead name's ends are closed at once and its endpoints refuse; its peers learn of it through the scheduler;
 *  - across a partition frames are lost, dials time out, and closes are announced after it healed.
 */
import type { Clock, Endpoint, ListenRequest, Transport } from "../../../services/ports.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { createAnswering, type Answering } from "../wire/answering.ts";
import type { TransportCounters } from "../wire/counters.ts";
import { lostOwnership } from "../wire/ownership.ts";
import { MemoryConnection, type ConnectionWorld, type Fate, type Frame } from "./connection.ts";

export interface MemoryNetworkOptions {
  readonly clock: Pick<Clock, "setTimeout" | "clearTimeout">;
  readonly counters: TransportCounters;
  /** Takes each delivery on its way; the simulator calls it once, when and in the order it likes. */
  readonly schedule: (deliver: () => void) => void;
}

export interface MemoryNetwork {
  /** The transport of a process of that name; after `kill`, asking again is its restart. */
  transport(name: string): Transport;
  /** Decides over each frame from now on; `null` delivers everything. */
  setFate(decide: ((frame: Frame) => Fate) | null): void;
  partition(a: string, b: string): void;
  heal(a: string, b: string): void;
  kill(name: string): void;
  /** Removes an address as if its file had been deleted; its server does not notice (E-1). */
  unpublish(address: string): void;
}

interface Served {
  readonly owner: string;
  readonly answering: Answering;
  readonly connections: Set<MemoryConnection>;
  isOpen: boolean;
}

const leaderAddress = "memory:leader";
const pairOf = (a: string, b: string): string => JSON.stringify([a, b].sort());
const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code });

export function createMemoryNetwork(options: MemoryNetworkOptions): MemoryNetwork {
  return new Network(options);
}

class Network implements MemoryNetwork, ConnectionWorld {
  readonly timers: MemoryNetworkOptions["clock"];
  readonly counters: TransportCounters;
  readonly schedule: (deliver: () => void) => void;
  readonly #published = new Map<string, Served>();
  readonly #served = new Set<Served>();
  readonly #connections = new Set<MemoryConnection>();
  readonly #partitions = new Set<string>();
  /** How often each name died: a transport of an earlier life does nothing any more. */
  readonly #deaths = new Map<string, number>();
  #decide: ((frame: Frame) => Fate) | null = null;

  constructor({ clock, counters, schedule }: MemoryNetworkOptions) {
    this.timers = clock;
    this.counters = counters;
    this.schedule = schedule;
  }

  transport(name: string): Transport {
    const life = this.#deaths.get(name) ?? 0;
    const isAlive = () => (this.#deaths.get(name) ?? 0) === life;
    return {
      leaderAddress,
      followerAddress: (instance) => `memory:follower/${instance}`,
      listen: async (request) => this.#listen(name, isAlive, request),
      dial: (address, timeoutMs) => this.#dial(name, isAlive, { address, timeoutMs }),
    };
  }

  setFate(decide: ((frame: Frame) => Fate) | null): void {
    this.#decide = decide;
  }

  partition(a: string, b: string): void {
    this.#partitions.add(pairOf(a, b));
  }

  heal(a: string, b: string): void {
    this.#partitions.delete(pairOf(a, b));
    for (const connection of this.#connections) {
      if (pairOf(connection.client, connection.server) === pairOf(a, b)) connection.announceCloses();
    }
  }

  kill(name: string): void {
    this.#deaths.set(name, (this.#deaths.get(name) ?? 0) + 1);
    for (const served of this.#served) if (served.owner === name) this.#stop(served);
    for (const connection of [...this.#connections]) {
      if (connection.client === name) connection.closeClient();
      if (connection.server === name) connection.closeServer();
    }
  }

  unpublish(address: string): void {
    this.#published.delete(address);
  }

  fateOf(frame: Frame): Fate {
    return this.#decide?.(frame) ?? { kind: "deliver" };
  }

  isPartitioned(a: string, b: string): boolean {
    return this.#partitions.has(pairOf(a, b));
  }

  forget(connection: MemoryConnection): void {
    this.#connections.delete(connection);
    for (const served of this.#served) served.connections.delete(connection);
  }

  async #listen(owner: string, isAlive: () => boolean, request: ListenRequest): Promise<Endpoint> {
    const { address, handle, publish } = request;
    const answering = createAnswering({ handle, counters: this.counters });
    const served: Served = { owner, answering, connections: new Set(), isOpen: true };
    const open = async () => {
      const published = { times: 0 };
      const isOwner = await publish(() => {
        if (!served.isOpen || !isAlive()) return;
        this.#published.set(address, served);
        published.times += 1;
      });
      if (!isOwner || published.times === 0) throw new Error(lostOwnership);
    };
    this.#served.add(served);
    await open().catch((error: unknown) => {
      this.#stop(served);
      throw error;
    });
    return this.#endpoint(address, served, open);
  }

  #endpoint(address: string, served: Served, open: () => Promise<void>): Endpoint {
    let recovery: Promise<boolean> | null = null;
    const recover = async () => {
      this.counters.count("endpoint-missing");
      try {
        await open();
        this.counters.count("endpoint-recovered");
        return true;
      } catch (error) {
        // Closed meanwhile: that is why nothing was published (E-3).
        if (!served.isOpen) return false;
        throw error;
      }
    };
    return {
      address,
      ensure: async () => {
        if (!served.isOpen || (recovery === null && this.#published.has(address))) return false;
        recovery ??= recover().finally(() => (recovery = null));
        return recovery;
      },
      close: async () => this.#stop(served),
    };
  }

  #stop(served: Served): void {
    served.isOpen = false;
    served.answering.clear();
    this.#served.delete(served);
    for (const connection of [...served.connections]) connection.closeServer();
  }

  #dial(
    client: string,
    isAlive: () => boolean,
    to: { address: string; timeoutMs: number },
  ): ReturnType<Transport["dial"]> {
    return new Promise((resolve, reject) => {
      const dialling = { isOver: false };
      const timer = this.timers.setTimeout(() => {
        dialling.isOver = true;
        reject(failure("ETIMEDOUT", wireText.timedOut));
      }, to.timeoutMs);
      const refuse = (code: string) => {
        this.timers.clearTimeout(timer);
        reject(failure(code, `connect ${code} ${to.address}`));
      };
      this.schedule(() => {
        const served = this.#published.get(to.address);
        if (dialling.isOver) return;
        if (!isAlive()) refuse("ECONNRESET");
        else if (served === undefined) refuse("ENOENT");
        // Only the time-out ends a dial into a partition.
        else if (this.isPartitioned(client, served.owner)) return;
        else if (!served.isOpen) refuse("ECONNREFUSED");
        else {
          this.timers.clearTimeout(timer);
          const ends = { client, server: served.owner, answering: served.answering };
          const connection = new MemoryConnection(ends, this);
          this.#connections.add(connection);
          served.connections.add(connection);
          resolve(connection.link);
        }
      });
    });
  }
}
