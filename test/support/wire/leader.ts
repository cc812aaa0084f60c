/**
 * A whole instance that leads, over memory adapters and a clock that a test moves, and v1 peers that talk to it.
 *
 * Owns: the ports, the composition, the words of a v1 peer. Does not own: what is expected of anybody.
 * The same charts and services as in production; only the edges are stand-ins.
 */
import { createHash } from "node:crypto";
import { onTestFinished } from "vitest";
import { createMemoryStore } from "../../../adapters/store/memory/index.ts";
import { createMemoryNetwork } from "../../../adapters/transport/memory/network.ts";
import type { MemoryNetwork } from "../../../adapters/transport/memory/network.ts";
import { acquisitionId, chatId, generation, instanceId, seatKey } from "../../../machines/ids.ts";
import type { Incarnation, InstanceId, Liveness } from "../../../machines/ids.ts";
import { roleOf } from "../../../machines/role.rules.ts";
import { capability } from "../../../machines/wire/constants.ts";
import type { Ack, Envelope, Registration } from "../../../machines/wire/envelopes.ts";
import type { HandedUpdate } from "../../../services/queue.ts";
import { composeInstance } from "../../../services/instance.ts";
import type { ComposedInstance } from "../../../services/instance.ts";
import type { Ids, Link, Processes, Store } from "../../../services/ports.ts";
import type { V1Fleet } from "../../../services/ports/owner.ts";
import type { Settings } from "../../../services/runtime.ts";
import { ManualClock, settled } from "./manual-clock.ts";
import { ScriptedTelegram } from "./scripted-telegram.ts";
import { hostOf, plainSettings } from "./composing.ts";

export const owner = 7;
export const secret = "s".repeat(43);

/** Identity that a v1 production peer advertises. */
export const v1Protocol = {
  protocolVersion: 1,
  runtimeBuild: "1.4.2",
  capabilities: [capability.durableAdmission, capability.queueHandoff],
};

/** Those that an instance of ours advertises. */
export const ownCapabilities: readonly string[] = [
  capability.durableAdmission,
  capability.sharedStore,
  capability.queueHandoff,
];

export interface Logged {
  readonly level: string;
  readonly phase: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LeaderWorld {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly telegram: ScriptedTelegram;
  readonly store: Store;
  readonly instance: ComposedInstance;
  readonly handed: HandedUpdate[];
  readonly log: Logged[];
  readonly counted: string[];
  /** What a look at a process says, by pid. Default: alive. */
  readonly processes: Map<number, Liveness | "throws">;
}

function idsOf(): Ids {
  let count = 0;
  return {
    instanceId: (pid, nowMs) => instanceId(`${pid}:${nowMs}`),
    generation: (instance) => generation(`${instance}:${(count += 1)}`),
    acquisition: () => acquisitionId(`acquisition-${(count += 1)}`),
    secret: () => secret,
    requestId: (instance) => `${instance}:${(count += 1)}`,
    chance: () => 0.5,
    sha256Hex: (text) => createHash("sha256").update(text, "utf8").digest("hex"),
  };
}

const incarnationOf = (pid: number): Incarnation => ({
  bootId: "boot",
  pidNamespace: "4026531836",
  pid,
  startTicks: `start-${pid}`,
  counter: 1,
});

function processesOf(pid: number, table: LeaderWorld["processes"]): Processes {
  return {
    own: () => incarnationOf(pid),
    parent: () => incarnationOf(pid - 1),
    liveness(who) {
      // As a real host: of a pid that counts elsewhere nothing can be seen.
      if (who.pidNamespace !== incarnationOf(pid).pidNamespace) return "unverifiable";
      const said = table.get(who.pid) ?? "alive";
      if (said === "throws") throw new Error("the process table cannot be read");
      return said;
    },
  };
}

export interface WorldOptions {
  readonly name?: string;
  readonly hasTopics?: boolean;
  /** Differing from those of every world. */
  readonly settings?: Partial<Settings>;
  /** The v1 fleet that the instance is part of; by default it has no v1 peers. */
  readonly v1?: (world: Omit<LeaderWorld, "instance">) => V1Fleet;
  /** A world that ended, whose store, clock, network and Telegram this one goes on with. */
  readonly after?: LeaderWorld;
  /** Runs before the instance starts. */
  readonly prepare?: (world: Omit<LeaderWorld, "instance">) => void | Promise<void>;
}

/** Everything but a leader that has finished activating: for tests of the way there. */
export async function startInstance(options: WorldOptions = {}): Promise<LeaderWorld> {
  const { after } = options;
  const clock = after?.clock ?? new ManualClock();
  const telegram = after?.telegram ?? new ScriptedTelegram();
  telegram.setTopics(options.hasTopics ?? true);
  const counted: string[] = [];
  const log: Logged[] = [];
  const handed: HandedUpdate[] = [];
  const processes: LeaderWorld["processes"] = after?.processes ?? new Map<number, Liveness | "throws">();
  const network =
    after?.network ??
    createMemoryNetwork({
      clock,
      counters: { count: (reason) => void counted.push(reason) },
      schedule: (deliver) => {
        queueMicrotask(deliver);
      },
    });
  const store = after?.store ?? createMemoryStore({ clock });
  const parts = { clock, network, telegram, store, handed, log, counted, processes };
  await options.prepare?.(parts);
  const pid = after === undefined ? 1000 : after.instance.runtime.settings.incarnation.pid + 1;
  const instance = composeInstance(
    {
      stage: {
        clock,
        log: { event: (level, phase, fields) => void log.push({ level, phase, fields }) },
        inspect: () => undefined,
      },
      counters: { count: (reason) => void counted.push(reason) },
      ids: idsOf(),
      processes: processesOf(pid, processes),
      store,
      transport: network.transport("leader"),
      v1: options.v1?.(parts) ?? null,
      telegram,
    },
    {
      me: instanceId(`${pid}:1`),
      incarnation: incarnationOf(pid),
      secret,
      name: options.name ?? "leader",
      user: owner,
      chat: chatId(owner),
      identity: {
        protocolVersion: 1,
        runtimeBuild: "test",
        capabilities: ownCapabilities,
      },
      capabilityMs: 2_500,
      ...plainSettings,
      ...options.settings,
    },
    hostOf((update) => handed.push(update)),
  );
  instance.queue.listening.updates(true);
  instance.actor.start();
  onTestFinished(async () => {
    instance.actor.stop();
    await instance.dispose();
  });
  await settled();
  return { ...parts, instance };
}

/** Its process is gone, and nobody leads. */
export async function kill({ instance, processes }: LeaderWorld): Promise<void> {
  processes.set(instance.runtime.settings.incarnation.pid, "dead");
  instance.actor.stop();
  await instance.dispose();
  await settled();
}

/** An instance that leads, with its endpoint open. */
export async function startLeader(options: WorldOptions = {}): Promise<LeaderWorld> {
  const world = await startInstance(options);
  const { clock, instance } = world;
  for (let tries = 0; tries < 100 && roleOf(instance.actor.getSnapshot()) !== "leader"; tries += 1)
    await clock.advance(50);
  if (roleOf(instance.actor.getSnapshot()) !== "leader") throw new Error("the instance does not come to lead");
  return world;
}

export interface PeerOptions {
  readonly pid?: number;
  readonly capabilities?: readonly string[];
  readonly profileKey?: string | null;
  /** One of ours: it keeps one connection for all its requests. Default false. */
  readonly isOwn?: boolean;
  /** How it answers what arrives at its endpoint. Default: exact durable receipts, and `ok` to the rest. */
  readonly answer?: (request: Envelope) => Promise<Partial<Ack>> | Partial<Ack>;
}

/** A v1 follower: one connection for each request, an endpoint of its own. */
export class V1Peer {
  readonly id: InstanceId;
  readonly pid: number;
  generation = generation("");
  /** What arrived at its endpoint, in order. */
  readonly received: Envelope[] = [];
  answer: NonNullable<PeerOptions["answer"]>;
  private readonly world: LeaderWorld;
  private readonly capabilities: readonly string[];
  private readonly profileKey: string | null;
  private count = 0;
  private readonly isOwn: boolean;
  private kept: Promise<Link> | null = null;

  private constructor(world: LeaderWorld, { pid = 2001, ...options }: PeerOptions) {
    this.world = world;
    this.pid = pid;
    this.id = instanceId(`${pid}:1`);
    this.isOwn = options.isOwn ?? false;
    this.capabilities = options.capabilities ?? (this.isOwn ? ownCapabilities : v1Protocol.capabilities);
    this.profileKey = options.profileKey === undefined ? `manual:owner-${pid}` : options.profileKey;
    this.answer = options.answer ?? receipt;
  }

  static async open(world: LeaderWorld, options: PeerOptions = {}): Promise<V1Peer> {
    const peer = new V1Peer(world, options);
    await peer.transport.listen({
      address: peer.endpoint,
      handle: async (request) => {
        peer.received.push(request);
        return { kind: "bus.ack", requestId: request.requestId, ok: true, ...(await peer.answer(request)) };
      },
      publish: (commit) => {
        commit();
        return Promise.resolve(true);
      },
    });
    return peer;
  }

  get endpoint(): string {
    return `memory:v1/${this.id}`;
  }

  private get transport() {
    return this.world.network.transport(`v1-${this.pid}`);
  }

  nextId(): string {
    return `${this.id}:${(this.count += 1)}`;
  }

  /** What every fenced request of it has. */
  base() {
    return {
      requestId: this.nextId(),
      auth: secret,
      instanceId: this.id,
      registrationGeneration: this.generation,
      sentAtMs: this.world.clock.nowMs(),
    };
  }

  /** Sends on a connection of its own; null = no answer came before the clock had moved `patienceMs`. */
  async send(envelope: Envelope, patienceMs = 0): Promise<Ack> {
    const pending = this.begin(envelope);
    await settled();
    if (patienceMs > 0) await this.world.clock.advance(patienceMs);
    return pending;
  }

  async begin(envelope: Envelope): Promise<Ack> {
    const link = await (this.kept ?? this.dial());
    // The port's requests are not acks; a peer may send one all the same.
    const outcome = await link.request(envelope as Exclude<Envelope, Ack>, 60_000);
    if (!this.isOwn) link.close();
    if (outcome.kind !== "answered") throw new Error(`${envelope.kind}: ${outcome.kind}, ${outcome.reason}`);
    return outcome.ack;
  }

  private dial(): Promise<Link> {
    const dialled = this.transport.dial("memory:leader", 1_000);
    if (this.isOwn) this.kept = dialled;
    return dialled;
  }

  registration(differs: Partial<Registration> = {}): Registration {
    return {
      instanceId: this.id,
      ...(this.profileKey === null ? {} : { profileKey: seatKey(this.profileKey) }),
      threadName: `peer ${this.pid}`,
      cwd: "/srv/peer",
      pid: this.pid,
      processBirthId: `${this.pid}:start:start-${this.pid}`,
      sessionGeneration: 1,
      busSocketPath: this.endpoint,
      registrationGeneration: this.generation,
      protocol: { ...v1Protocol, capabilities: [...this.capabilities] },
      connectedAtMs: this.world.clock.nowMs(),
      ...differs,
    };
  }

  /** Registers under a fresh generation, which it believes in only after a positive answer. */
  async register(differs: Partial<Registration> = {}): Promise<Ack> {
    const requestId = this.nextId();
    const fresh = generation(requestId);
    const ack = await this.send({
      kind: "follower.register",
      requestId,
      auth: secret,
      registration: this.registration({ registrationGeneration: fresh, ...differs }),
    });
    if (ack.ok) this.generation = fresh;
    return ack;
  }

  heartbeat(): Promise<Ack> {
    return this.send({ kind: "follower.heartbeat", ...this.base() });
  }

  disconnect(): Promise<Ack> {
    return this.send({ kind: "follower.disconnect", ...this.base() });
  }

  callApi(method: string, ...args: readonly unknown[]): Promise<Ack> {
    return this.send({ kind: "follower.callApi", ...this.base(), method, args });
  }

  call(apiMethod: string, body: unknown): Promise<Ack> {
    return this.callApi("call", apiMethod, body);
  }
}

const receipt = (request: Envelope): Partial<Ack> =>
  "delivery" in request
    ? { result: { deliveryId: request.delivery.deliveryId, sourceUpdateId: request.delivery.sourceUpdateId } }
    : {};

/** A v1 follower that sits. */
export async function seated(
  world: LeaderWorld,
  options: PeerOptions = {},
): Promise<V1Peer & { readonly thread: number }> {
  const peer = await V1Peer.open(world, options);
  const ack = await peer.register();
  if (!ack.ok) throw new Error(`not registered: ${ack.message ?? ""}`);
  const { threadId } = ack.result as { readonly threadId: number }; // just registered: the answer names a thread
  return Object.assign(peer, { thread: threadId });
}
