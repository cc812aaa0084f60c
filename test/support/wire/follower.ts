/**
 * A v1 leader over the memory network, and an instance of ours in its fleet.
 *
 * Owns: the owner record in memory, the leader's endpoint and its words, forwards. Does not own: what is expected of ours.
 */
import { createHash } from "node:crypto";
import type { InstanceId, SeatKey, UpdateId } from "../../../machines/ids.ts";
import { generation, instanceId, seatKey, updateId } from "../../../machines/ids.ts";
import { defaultOwnerTimings } from "../../../machines/owner.contract.ts";
import type { OwnerRecord } from "../../../machines/owner.rules.ts";
import { roleOf } from "../../../machines/role.rules.ts";
import type { Ack, AnyForwardRequest, Envelope, RegisterRequest } from "../../../machines/wire/envelopes.ts";
import { deliveryIdText } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { Endpoint, Transport } from "../../../services/ports.ts";
import type { OwnerStore, V1Fleet } from "../../../services/ports/owner.ts";
import { owner, secret, startInstance, v1Protocol } from "./leader.ts";
import type { LeaderWorld, WorldOptions } from "./leader.ts";
import type { ManualClock } from "./manual-clock.ts";
import { settled } from "./manual-clock.ts";

/** The owner store of a fleet, in memory. A living owner's heartbeat is always fresh. */
export class MemoryOwners implements OwnerStore {
  record: OwnerRecord | null;
  readonly alive = new Set<number>();
  readonly writes: (OwnerRecord | null)[] = [];
  private readonly clock: ManualClock;

  constructor(clock: ManualClock, record: OwnerRecord | null) {
    this.clock = clock;
    this.record = record;
  }

  async read() {
    return { kind: "read", record: this.current() } as const;
  }

  async change(decide: Parameters<OwnerStore["change"]>[0]): Promise<void> {
    const change = decide(this.current());
    if (change.kind === "keep") return;
    this.record = change.kind === "write" ? change.record : null;
    this.writes.push(this.record);
  }

  async commitIf(isOwner: Parameters<OwnerStore["commitIf"]>[0], commit: () => Promise<boolean>): Promise<boolean> {
    return isOwner(this.current()) && commit();
  }

  async setAside(): Promise<void> {
    this.record = null;
  }

  isRunning(pid: number): boolean {
    return this.alive.has(pid);
  }

  private current(): OwnerRecord | null {
    if (this.record === null || !this.alive.has(this.record.pid)) return this.record;
    return { ...this.record, heartbeatMs: this.clock.nowMs() };
  }
}

type Answer = (request: Envelope) => Partial<Ack> | Promise<Partial<Ack>>;

export class V1Leader {
  readonly pid: number;
  readonly id: InstanceId;
  /** Authenticated requests, in order. */
  readonly received: Envelope[] = [];
  /** Decides first; `null` = as by itself. */
  answer: (request: Envelope) => ReturnType<Answer> | null = () => null;
  private readonly transport: Transport;
  private readonly clock: ManualClock;
  private endpoint: Endpoint | null = null;
  private count = 0;

  constructor(world: Pick<LeaderWorld, "network" | "clock">, pid = 2000) {
    this.pid = pid;
    this.id = instanceId(`${String(pid)}:1`);
    this.clock = world.clock;
    this.transport = world.network.transport(`v1-leader-${String(pid)}`);
  }

  get record(): OwnerRecord {
    return {
      pid: this.pid,
      cwd: "/srv/v1",
      instanceId: this.id,
      leaderEpoch: `epoch-of-${String(this.pid)}`,
      runtimeGeneration: this.pid,
      heartbeatMs: this.clock.nowMs(),
      busSecret: this.secret,
      busSocketPath: null,
    };
  }

  get secret(): string {
    return String(this.pid).padEnd(43, "v");
  }

  async serve(): Promise<void> {
    this.endpoint = await this.transport.listen({
      address: this.transport.leaderAddress,
      handle: (request) => this.handle(request),
      publish: (commit) => {
        commit();
        return Promise.resolve(true);
      },
    });
  }

  async close(): Promise<void> {
    await this.endpoint?.close();
    this.endpoint = null;
  }

  of<Kind extends Envelope["kind"]>(kind: Kind): readonly Extract<Envelope, { kind: Kind }>[] {
    return this.received.filter((each): each is Extract<Envelope, { kind: Kind }> => each.kind === kind);
  }

  /** What ours said of itself last. */
  get registration(): RegisterRequest["registration"] {
    const last = this.of("follower.register").at(-1);
    if (last === undefined) throw new Error("ours has not registered");
    return last.registration;
  }

  /** A forward of a message to ours as it last registered, on a connection of its own. */
  forward(id: number, differs: Partial<Extract<AnyForwardRequest, { kind: "leader.forwardMessage" }>> = {}) {
    const { profileKey = seatKey("none"), registrationGeneration = generation("") } = this.registration;
    return this.send({
      kind: "leader.forwardMessage",
      requestId: this.nextId(),
      auth: this.secret,
      recipientInstanceId: this.registration.instanceId,
      recipientRegistrationGeneration: registrationGeneration,
      delivery: deliveryOf(profileKey, updateId(id)),
      sentAtMs: this.clock.nowMs(),
      message: messageOf(id),
      ...differs,
    });
  }

  async send(envelope: Exclude<Envelope, Ack>): Promise<Ack> {
    const link = await this.transport.dial(this.registration.busSocketPath ?? "", 1_000);
    const outcome = await link.request(envelope, 30_000);
    link.close();
    if (outcome.kind !== "answered") throw new Error(`${envelope.kind}: ${outcome.kind}, ${outcome.reason}`);
    return outcome.ack;
  }

  nextId(): string {
    return `${this.id}:${String((this.count += 1))}`;
  }

  private async handle(request: Envelope): Promise<Ack> {
    const ack = { kind: "bus.ack", requestId: request.requestId } as const;
    if (request.auth !== this.secret) return { ...ack, ok: false, message: wireText.unauthorized };
    this.received.push(request);
    return { ...ack, ok: true, ...(await (this.answer(request) ?? usual(request))) };
  }
}

export const v1Thread = { chatId: owner, threadId: 42, slot: "B", threadName: "Beryl" };

const usual: Answer = ({ kind }) => {
  if (kind === "follower.register") return { protocol: v1Protocol, result: v1Thread };
  if (kind === "follower.heartbeat") return { result: { eligibleElectionSlots: ["B"] } };
  return kind === "follower.callApi" ? { result: { message_id: 7, chat: { id: owner } } } : {};
};

export function deliveryOf(recipientBindingKey: SeatKey, sourceUpdateId: UpdateId) {
  const text = deliveryIdText("leader.forwardMessage", recipientBindingKey, sourceUpdateId);
  const digest = createHash("sha256").update(text, "utf8").digest("hex");
  return { deliveryId: `telegram-follower-v1-${digest}`, sourceUpdateId, recipientBindingKey };
}

const messageOf = (id: number) => ({
  message_id: id,
  date: 1,
  chat: { id: owner, type: "private", first_name: "U" },
  from: { id: owner, is_bot: false, first_name: "U" },
  message_thread_id: v1Thread.threadId,
  is_topic_message: true,
  text: `m${String(id)}`,
  pi_telegram_source_update_id: id,
});

export interface FleetWorld extends LeaderWorld {
  readonly owners: MemoryOwners;
  readonly v1: V1Leader;
}

export interface FleetOptions extends Omit<WorldOptions, "v1"> {
  /** Whether the v1 leader serves from the start. Default true. */
  readonly isServing?: boolean;
  readonly answer?: V1Leader["answer"];
}

/** An instance of ours where a v1 process leads; not registered yet. */
export async function startInFleet(options: FleetOptions = {}): Promise<FleetWorld> {
  const made: { fleet?: Pick<FleetWorld, "owners" | "v1"> } = {};
  const world = await startInstance({
    ...options,
    prepare: async (parts) => {
      const v1 = new V1Leader(parts);
      const owners = new MemoryOwners(parts.clock, v1.record);
      owners.alive.add(v1.pid).add(1000);
      if (options.answer !== undefined) v1.answer = options.answer;
      if (options.isServing !== false) await v1.serve();
      made.fleet = { owners, v1 };
      await options.prepare?.(parts);
    },
    v1: (): V1Fleet => {
      if (made.fleet === undefined) throw new Error("the fleet is made before the instance");
      let epochs = 0;
      return {
        store: made.fleet.owners,
        self: { pid: 1000, cwd: "/srv/ours", instanceId: instanceId("1000:1"), runtimeGeneration: 1, secret },
        timings: defaultOwnerTimings,
        mintEpoch: () => `epoch-of-ours-${String((epochs += 1))}`,
      };
    },
  });
  if (made.fleet === undefined) throw new Error("the fleet is made before the instance");
  return { ...world, ...made.fleet };
}

/** One that follows the v1 leader. */
export async function startFollower(options: FleetOptions = {}): Promise<FleetWorld> {
  const world = await startInFleet(options);
  await until(world, () => isRegistered(world));
  return world;
}

export const roleIn = ({ instance }: LeaderWorld) => roleOf(instance.actor.getSnapshot());
export const isRegistered = ({ instance }: LeaderWorld): boolean => instance.runtime.board.leader !== null;

/** Moves the clock until it is so, 20 s at most. */
export async function until({ clock }: Pick<LeaderWorld, "clock">, isSo: () => boolean): Promise<void> {
  await settled();
  for (let tries = 0; tries < 400 && !isSo(); tries += 1) await clock.advance(50);
  if (!isSo()) throw new Error("it did not come to be within 20 s");
}
