/**
 * A whole instance that follows a scripted leader, over memory adapters and a clock that a test moves.
 *
 * Owns: the ports, the composition, the leader's usual answers. Does not own: what is expected of anybody.
 * The same charts and services as in production; only the edges are stand-ins. The leader speaks the wire and has no part in
 * our store but what `ForeignLeader` writes there in its name.
 */
import { createHash } from "node:crypto";
import { onTestFinished } from "vitest";
import { createMemoryStore } from "../../../adapters/store/memory/index.ts";
import { createMemoryNetwork } from "../../../adapters/transport/memory/network.ts";
import type { MemoryNetwork } from "../../../adapters/transport/memory/network.ts";
import { acquisitionId, chatId, generation, instanceId, threadId } from "../../../machines/ids.ts";
import type { Incarnation } from "../../../machines/ids.ts";
import { deliveryIdPrefix, sourceUpdateIdField } from "../../../machines/wire/constants.ts";
import { deliveryIdText } from "../../../machines/wire/envelopes.ts";
import type { Ack, Envelope, ForwardMessageRequest, Registration } from "../../../machines/wire/envelopes.ts";
import { composeInstance } from "../../../services/instance.ts";
import type { ComposedInstance } from "../../../services/instance.ts";
import type { Endpoint, Ids, RequestOutcome, Store } from "../../../services/ports.ts";
import type { HandedUpdate } from "../../../services/queue.ts";
import { ForeignLeader } from "../../interop/lab/foreign-leader.ts";
import { hostOf, plainSettings } from "./composing.ts";
import { ManualClock, settled } from "./manual-clock.ts";
import { owner, ownCapabilities, secret, v1Protocol } from "./leader.ts";
import { ScriptedTelegram } from "./scripted-telegram.ts";

const me = instanceId("3000:1");

/** How the leader answers; what it leaves out of an ack is as usual. Null = it never answers. */
export type LeaderAnswer = (request: Envelope) => Promise<Partial<Ack> | null> | Partial<Ack> | null;

export interface FollowerWorld {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly store: Store;
  /** The instance's own way to Telegram. */
  readonly telegram: ScriptedTelegram;
  readonly instance: ComposedInstance;
  readonly handed: HandedUpdate[];
  readonly log: { readonly phase: string; readonly fields: Readonly<Record<string, unknown>> }[];
  readonly counted: string[];
  /** Reasons of what the instance called trouble. */
  readonly troubles: string[];
  readonly leader: ScriptedLeader;
}

/** A leader that answers what a test tells it, and remembers what it was asked. */
export class ScriptedLeader {
  /** What arrived, in order. */
  readonly received: Envelope[] = [];
  answer: LeaderAnswer;
  private readonly network: MemoryNetwork;
  private endpoint: Endpoint | null = null;
  private count = 0;

  constructor(network: MemoryNetwork, answer: LeaderAnswer) {
    this.network = network;
    this.answer = answer;
  }

  async open(): Promise<void> {
    this.endpoint = await this.network.transport("leader").listen({
      address: "memory:leader",
      handle: async (request) => {
        this.received.push(request);
        const answer = await this.answer(request);
        if (answer === null) return new Promise<never>(() => undefined);
        return { kind: "bus.ack", requestId: request.requestId, ok: true, ...usual(request), ...answer };
      },
      publish: (commit) => {
        commit();
        return Promise.resolve(true);
      },
    });
  }

  /** Its endpoint, and every connection to it, are gone. */
  async close(): Promise<void> {
    await this.endpoint?.close();
  }

  of<Kind extends Envelope["kind"]>(kind: Kind): readonly Extract<Envelope, { kind: Kind }>[] {
    return this.received.filter((each): each is Extract<Envelope, { kind: Kind }> => each.kind === kind);
  }

  /** The last registration that arrived. */
  get registration(): Registration {
    const last = this.of("follower.register").at(-1);
    if (last === undefined) throw new Error("nobody registered");
    return last.registration;
  }

  /** Sends to the follower's endpoint, on a connection of its own. */
  async send(request: Exclude<Envelope, Ack>): Promise<RequestOutcome> {
    const link = await this.network.transport("leader").dial(this.registration.busSocketPath ?? "", 1_000);
    try {
      return await link.request(request, 1_000);
    } finally {
      link.close();
    }
  }

  /** A forward of a message to the registration as it was told last. */
  forward(updateId: number, differs: Partial<ForwardMessageRequest> = {}): Promise<RequestOutcome> {
    const { instanceId: recipient, registrationGeneration = generation(""), profileKey } = this.registration;
    if (profileKey === undefined) throw new Error("the follower has no seat");
    const source = updateId as ForwardMessageRequest["delivery"]["sourceUpdateId"]; // brands exist at compile time only
    const digest = createHash("sha256").update(deliveryIdText("leader.forwardMessage", profileKey, source));
    return this.send({
      kind: "leader.forwardMessage",
      requestId: `leader:${String((this.count += 1))}`,
      auth: secret,
      recipientInstanceId: recipient,
      recipientRegistrationGeneration: registrationGeneration,
      delivery: {
        deliveryId: deliveryIdPrefix + digest.digest("hex"),
        sourceUpdateId: source,
        recipientBindingKey: profileKey,
      },
      sentAtMs: 1,
      message: {
        message_id: updateId,
        date: 1,
        chat: { id: owner, type: "private", first_name: "U" },
        from: { id: owner, is_bot: false, first_name: "U" },
        message_thread_id: 42,
        is_topic_message: true,
        text: `update ${String(updateId)}`,
        [sourceUpdateIdField]: updateId,
      },
      ...differs,
    });
  }
}

/** As a leader answers when nothing is wrong. */
function usual(request: Envelope): Partial<Ack> {
  if (request.kind === "follower.register")
    return {
      protocol: { ...v1Protocol, capabilities: [...ownCapabilities] },
      result: { chatId: owner, threadId: 42, slot: "B", threadName: "Beryl" },
    };
  if (request.kind === "follower.heartbeat") return { result: { eligibleElectionSlots: ["B"] } };
  if (request.kind === "follower.callApi") return { result: { message_id: 900 } };
  return {};
}

function idsOf(): Ids {
  let count = 0;
  return {
    instanceId: (pid, nowMs) => instanceId(`${pid}:${nowMs}`),
    generation: (instance) => generation(`${instance}:${(count += 1)}`),
    acquisition: () => acquisitionId(`acquisition-${(count += 1)}`),
    secret: () => "of our own, if we led",
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

export interface FollowerOptions {
  /** From the start on. Default: as usual. */
  readonly answer?: LeaderAnswer;
  /** The leader's endpoint is not there yet. Default false. */
  readonly isLeaderLate?: boolean;
}

/** An instance that has found its leader; whether it is registered is the leader's to say. */
export async function startFollower(options: FollowerOptions = {}): Promise<FollowerWorld> {
  const clock = new ManualClock();
  const counted: string[] = [];
  const log: FollowerWorld["log"] = [];
  const handed: HandedUpdate[] = [];
  const troubles: string[] = [];
  const network = createMemoryNetwork({
    clock,
    counters: { count: (reason) => void counted.push(reason) },
    schedule: (deliver) => {
      queueMicrotask(deliver);
    },
  });
  const store = createMemoryStore({ clock });
  const telegram = new ScriptedTelegram();
  const leader = new ScriptedLeader(network, options.answer ?? (() => ({})));
  const foreign = await ForeignLeader.lead(store, {
    endpoint: "memory:leader",
    secret,
    incarnation: incarnationOf(1000),
  });
  if (options.isLeaderLate !== true) await leader.open();
  const instance = composeInstance(
    {
      stage: {
        clock,
        log: { event: (_, phase, fields) => void log.push({ phase, fields }) },
        inspect: () => undefined,
      },
      counters: { count: (reason) => void counted.push(reason) },
      ids: idsOf(),
      processes: { own: () => incarnationOf(3000), parent: () => incarnationOf(2999), liveness: () => "alive" },
      v1: null,
      telegram,
      ...foreign.around({ store, transport: network.transport("follower") }),
    },
    {
      me,
      incarnation: incarnationOf(3000),
      secret: "of our own, if we led",
      name: "follower",
      user: owner,
      chat: chatId(owner),
      identity: { protocolVersion: 1, runtimeBuild: "test", capabilities: ownCapabilities },
      capabilityMs: 2_500,
      ...plainSettings,
    },
    hostOf((update) => handed.push(update)),
  );
  instance.queue.listening.updates(true);
  instance.actor.on("instance.troubled", ({ reason }) => void troubles.push(reason));
  instance.actor.start();
  onTestFinished(async () => {
    instance.actor.stop();
    await instance.dispose();
  });
  await settled();
  return { clock, network, store, telegram, instance, handed, log, counted, troubles, leader };
}

export const isJoined = ({ instance }: FollowerWorld): boolean =>
  instance.actor.getSnapshot().matches({ online: { following: "joined" } });

/** The thread that the usual answer names. */
export const usualThread = {
  target: { chatId: chatId(owner), threadId: threadId(42) },
  slot: "B",
  threadName: "Beryl",
};
