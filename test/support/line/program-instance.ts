/**
 * A whole instance for programs of tests that put something between the real ports and the services.
 *
 * Owns: the real ports of a process that a line has started, its settings, the lines `ready` and `role`. Does not own: what
 * the program puts between, what its handlers do.
 */
import { writeSync } from "node:fs";
import { systemClock } from "../../../adapters/host/clock.ts";
import { systemIds } from "../../../adapters/host/ids.ts";
import { systemProcesses } from "../../../adapters/host/processes.ts";
import { openSqliteStore } from "../../../adapters/store/sqlite/index.ts";
import { createTelegramClient } from "../../../adapters/telegram/client/index.ts";
import { createUnixTransport } from "../../../adapters/transport/unix/transport.ts";
import { sameSecret } from "../../../adapters/transport/wire/secret.ts";
import { stateFolder, version } from "../../../index.ts";
import { chatId } from "../../../machines/ids.ts";
import { defaultLeaseTimings } from "../../../machines/lease.rules.ts";
import { defaultMembershipTimings } from "../../../machines/membership.machine.ts";
import { defaultSeatTimings } from "../../../machines/registration.machine.ts";
import { roleOf } from "../../../machines/role.rules.ts";
import { capability, protocolVersion } from "../../../machines/wire/constants.ts";
import { composeInstance } from "../../../services/instance.ts";
import type { ComposedInstance } from "../../../services/instance.ts";
import type { Store, TelegramApi, Transport } from "../../../services/ports.ts";
import type { QueueHost } from "../../../services/queue.ts";
import type { Settings } from "../../../services/runtime.ts";
import { defaultSeatsMax } from "../../../services/seats.ts";

function must(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** Written at once, for nothing else of this process may come to pass. */
export const tell = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

export interface ProgramTraits extends Pick<QueueHost, "handOut" | "runTurn"> {
  readonly host: Settings["host"];
  readonly store?: (store: Store) => Store;
  readonly transport?: (transport: Transport) => Transport;
  readonly telegram?: (telegram: TelegramApi) => TelegramApi;
}

const asIs = <Value>(value: Value): Value => value;

/** Not started: the program does that. */
export async function openProgramInstance(traits: ProgramTraits): Promise<ComposedInstance> {
  const token = must("TELEGRAM_BOT_TOKEN");
  const folder = stateFolder({ token, home: must("PARTYLINE_HOME") });
  const user = Number(must("PARTYLINE_USER"));
  const clock = systemClock();
  const ids = systemIds();
  const processes = systemProcesses();
  const store = await openSqliteStore({ folder, clock });
  if ("kind" in store) throw new Error(store.reason);
  const transport = createUnixTransport({ folder, clock, counters: { count: () => undefined } });
  const telegram = createTelegramClient({ token, apiRoot: must("PARTYLINE_API_ROOT") });
  const composed = composeInstance(
    {
      stage: { clock, log: { event: () => undefined }, inspect: () => undefined },
      counters: { count: () => undefined },
      ids,
      processes,
      store: (traits.store ?? asIs)(store),
      transport: (traits.transport ?? asIs)(transport),
      telegram: (traits.telegram ?? asIs)(telegram),
      v1: null,
    },
    {
      me: ids.instanceId(process.pid, clock.nowMs()),
      incarnation: processes.own(),
      secret: ids.secret(),
      name: process.argv[process.argv.indexOf("--name") + 1] ?? "L",
      user,
      chat: chatId(user),
      identity: {
        protocolVersion,
        runtimeBuild: version,
        capabilities: [capability.durableAdmission, capability.sharedStore],
      },
      ack: "explicit",
      host: traits.host,
      lease: defaultLeaseTimings,
      seats: defaultSeatTimings,
      membership: defaultMembershipTimings,
      pollSeconds: 30,
      capabilityMs: 2_500,
      threadGraceMs: 600_000,
      unprovableAfterMs: null,
      lostThreads: "replace",
      closedThreads: "wait",
      seatsMax: defaultSeatsMax,
    },
    {
      isSecret: sameSecret,
      // What was handed out is settled by lines on stdin: no handler runs between them.
      drained: () => Promise.resolve(),
      handOut: traits.handOut,
      runTurn: traits.runTurn,
      commandDone: () => undefined,
    },
  );
  announce(composed);
  return composed;
}

function announce(composed: ComposedInstance): void {
  let role = "none";
  composed.actor.on("instance.ready", ({ thread }) => {
    const shown =
      thread === null
        ? null
        : {
            chatId: thread.target.chatId,
            threadId: thread.target.threadId,
            slot: thread.slot,
            name: thread.threadName,
          };
    tell({ type: "ready", instanceId: composed.runtime.settings.me, role, thread: shown });
  });
  composed.actor.subscribe((snapshot) => {
    const next = roleOf(snapshot);
    if (next !== role) tell({ type: "role", role: (role = next), epoch: snapshot.context.epoch });
  });
}
