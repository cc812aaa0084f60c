/**
 * The network of a world: the in-memory transport, with its deliveries in the scheduler's hands.
 *
 * Owns: latency and loss of frames, letting a process hear of the network only while it may run.
 * Does not own: connections, partitions, the wire (`adapters/transport/memory`).
 * Invariants: whatever the transport resolves reaches a process through its inbox, in order; a dead process hears
 * nothing, and what it had begun to serve stays unanswered.
 */
import { createMemoryNetwork, type MemoryNetwork } from "../../adapters/transport/memory/network.ts";
import type { RequestEnvelope } from "../../machines/wire/envelopes.ts";
import type { Endpoint, Inbound, Link, RequestHandler, RequestOutcome, Transport } from "../../services/ports.ts";
import type { FaultCounts, Swarm } from "./faults.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface NetworkTraits {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly swarm: () => Swarm;
  readonly faults: FaultCounts;
}

export function createNetwork({ scheduler, random, swarm, faults }: NetworkTraits): MemoryNetwork {
  const network = createMemoryNetwork({
    // The network's own time-outs run in true time: nobody's clock drifts in a cable.
    clock: {
      setTimeout: (fn, delayMs) =>
        scheduler.after(delayMs, "network", () => {
          fn();
          return "time-out";
        }),
      clearTimeout: (handle) => {
        // Handles are what `setTimeout` above returned.
        (handle as { readonly cancel: () => void }).cancel();
      },
    },
    counters: { count: () => undefined },
    schedule: (deliver) =>
      void scheduler.after(random.between(0.05, swarm().networkLatencyMaxMs), "network", () => {
        deliver();
        return "delivers";
      }),
  });
  network.setFate(() => {
    if (!random.chance(swarm().networkLoss)) return { kind: "deliver" };
    faults.count("frameLost");
    return { kind: "drop" };
  });
  return network;
}

/** Hands what a promise settles with to the process, through its inbox. */
function through<Value>(process: SimulatedProcess, what: string, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    promise.then(
      (value) => process.deliver(what, () => resolve(value)),
      (error: unknown) =>
        process.deliver(`${what} failed`, () => reject(error instanceof Error ? error : new Error(String(error)))),
    );
  });
}

export interface TransportTraits {
  readonly network: MemoryNetwork;
  readonly place: string;
  readonly process: SimulatedProcess;
  /** Stands between the wire and whoever serves at an address of this process. */
  readonly serve: (inner: RequestHandler, address: string) => RequestHandler;
  /** Sees every request that leaves, and how it ends for whoever asked. */
  readonly onRequest: (request: RequestEnvelope, outcome: Promise<RequestOutcome>) => void;
  /** Stands between an endpoint that opened and whoever opened it. */
  readonly onListen: (endpoint: Endpoint) => Endpoint;
}

/** The transport of one process of one place. */
export function transportOf({ network, place, process, serve, onRequest, onListen }: TransportTraits): Transport {
  const inner = network.transport(place);
  const linkOf = (link: Link): Link => ({
    request(envelope, timeoutMs) {
      const outcome = through(process, `${envelope.kind} answered`, link.request(envelope, timeoutMs));
      onRequest(envelope, outcome);
      return outcome;
    },
    closed: through(process, "link closed", link.closed),
    close: () => link.close(),
  });
  const inboundOf = (from: Inbound): Inbound => ({ closed: through(process, "peer closed", from.closed) });
  return {
    leaderAddress: inner.leaderAddress,
    followerAddress: (instance) => inner.followerAddress(instance),
    async listen(request) {
      const handle = serve(request.handle, request.address);
      const endpoint = await inner.listen({
        ...request,
        handle: (envelope, from) =>
          new Promise((resolve, reject) => {
            process.deliver(`serves ${envelope.kind}`, () => {
              handle(envelope, inboundOf(from)).then(resolve, reject);
            });
          }),
      });
      return onListen(endpoint);
    },
    dial: (address, timeoutMs) => through(process, `dial ${address}`, inner.dial(address, timeoutMs).then(linkOf)),
  };
}
