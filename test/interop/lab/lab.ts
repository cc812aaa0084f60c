/**
 * One whole instance of ours at a socket of the caller's choice, over a store in memory: what the recorded sessions are
 * replayed against, and what `npm run interop` points at a foreign process.
 *
 * Owns: the composition of the real charts, services and unix transport with ports that the caller gives or that stand in.
 * Does not own: what the other side of the socket is.
 *
 * Stand-ins: the store is private to this process; every other process counts as alive, because the recorded ones are
 * long gone and foreign ones may live elsewhere.
 */
import os from "node:os";
import { systemClock } from "../../../adapters/host/clock.ts";
import { systemProcesses } from "../../../adapters/host/processes.ts";
import type { FrameTap } from "../../../adapters/transport/unix/frame-tap.ts";
import { createUnixTransport } from "../../../adapters/transport/unix/transport.ts";
import type { TransportCounters } from "../../../adapters/transport/wire/counters.ts";
import { sameSecret } from "../../../adapters/transport/wire/secret.ts";
import { chatId, generation, type InstanceId } from "../../../machines/ids.ts";
import { capability, protocolVersion, type ProtocolIdentity } from "../../../machines/wire/constants.ts";
import type { HandedUpdate } from "../../../services/queue.ts";
import { composeInstance, type ComposedInstance } from "../../../services/instance.ts";
import type { V1Fleet } from "../../../services/ports/owner.ts";
import type { Ports } from "../../../services/runtime.ts";
import type { Ids, Log, Processes, Store, TelegramApi, Transport } from "../../../services/ports.ts";
import { hostOf, plainSettings } from "../../support/wire/composing.ts";

export interface LabOptions {
  readonly me: InstanceId;
  readonly name: string;
  /** The secret that opens our endpoint while we lead. */
  readonly secret: string;
  /** The chat and the user that the line serves. */
  readonly chat: number;
  readonly identity: ProtocolIdentity;
  readonly ids: Ids;
  readonly telegram: TelegramApi;
  readonly store: Store;
  /** Where our own sockets go. */
  readonly folder: string;
  readonly leaderAddress: string;
  readonly log: Log;
  readonly counters: TransportCounters;
  readonly tap?: FrameTap;
  /** The v1 fleet that the instance is part of; by default none. */
  readonly v1?: V1Fleet;
  readonly handOut: (update: HandedUpdate) => void;
  /** Stands between the instance and its store or transport; by default nothing does. */
  readonly around?: (ports: {
    readonly store: Store;
    readonly transport: Transport;
  }) => Pick<Ports, "store" | "transport">;
}

export interface Lab {
  readonly instance: ComposedInstance;
  /** Ends the instance and closes everything; `leave` gives its thread up. */
  stop(leave?: boolean): Promise<void>;
}

/** What a v1 program says of itself. */
export const v1Capabilities: readonly string[] = [capability.durableAdmission, capability.queueHandoff];

export const identityOf = (runtimeBuild: string, capabilities: readonly string[]): ProtocolIdentity => ({
  protocolVersion,
  runtimeBuild,
  capabilities,
});

function everyoneElseLives(): Processes {
  const real = systemProcesses();
  return { own: () => real.own(), parent: () => real.parent(), liveness: () => "alive" };
}

export function openLab(options: LabOptions): Lab {
  const { me, name, secret, identity, ids, telegram, log, folder, leaderAddress, counters, tap } = options;
  const clock = systemClock();
  const made = {
    store: options.store,
    transport: createUnixTransport({
      folder,
      clock,
      counters,
      tmpFolder: os.tmpdir(),
      leaderAddress,
      ...(tap === undefined ? {} : { tap }),
    }),
  };
  const processes = everyoneElseLives();
  const instance = composeInstance(
    {
      stage: { clock, log, inspect: () => undefined },
      counters: { count: () => undefined },
      ids,
      processes,
      telegram,
      v1: options.v1 ?? null,
      ...(options.around?.(made) ?? made),
    },
    {
      me,
      incarnation: processes.own(),
      secret,
      name,
      user: options.chat,
      chat: chatId(options.chat),
      identity,
      capabilityMs: 60_000,
      ...plainSettings,
    },
    hostOf(options.handOut, sameSecret),
  );
  instance.queue.listening.updates(true);
  instance.actor.start();
  return {
    instance,
    stop: (leave = false) => stopped(instance, options.store, leave),
  };
}

async function stopped(instance: ComposedInstance, store: Store, leave: boolean): Promise<void> {
  const { actor } = instance;
  await new Promise<void>((resolve) => {
    if (actor.getSnapshot().status !== "active") {
      resolve();
      return;
    }
    actor.subscribe({ complete: resolve, error: () => resolve() });
    actor.send({ type: "instance.stop", leave });
  });
  await instance.dispose();
  await store.close();
}

/** Ids that count as v1 programs do: `<instance>:<n>`, one count for requests and generations. */
export function countingIds(base: Ids): Ids {
  let minted = 0;
  const next = (instance: InstanceId): string => `${instance}:${String((minted += 1))}`;
  return {
    ...base,
    requestId: next,
    // A generation is the id of the request that asks for it.
    generation: (instance) => generation(next(instance)),
  };
}
