/**
 * One whole instance in a simulated process: every chart and every service, over simulated ports.
 *
 * Owns: making the ports, booting the composition, the host's handlers (explicit ack after a while), what the world may
 * know of the instance's charts.
 * Does not own: when it is killed, paused or cut off (`bus-world.ts`), any decision.
 */
import type { SnapshotFrom } from "xstate";
import { chatId, instanceId, updateId, type Epoch, type InstanceId } from "../../machines/ids.ts";
import type { InstanceView } from "../../machines/invariants.ts";
import { roleOf, type Role } from "../../machines/instance.machine.ts";
import type { leaseMachine } from "../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../machines/lease.rules.ts";
import { defaultMembershipTimings } from "../../machines/membership.machine.ts";
import { defaultSeatTimings } from "../../machines/registration.machine.ts";
import { readUpdate } from "../../machines/updates.rules.ts";
import { capability, protocolVersion } from "../../machines/wire/constants.ts";
import type { MemoryNetwork } from "../../adapters/transport/memory/network.ts";
import type { HandedUpdate } from "../../services/inbox.ts";
import { composeInstance, type ComposedInstance } from "../../services/instance.ts";
import type { Log, Store, TelegramApi } from "../../services/ports.ts";
import type { Settings } from "../../services/runtime.ts";
import type { HostClock } from "./clock.ts";
import { createIds } from "./ids.ts";
import { transportOf } from "./network.ts";
import type { SimulatedProcess } from "./process.ts";
import { createRequests } from "./requests.ts";
import type { Stagehand } from "./stagehand.ts";
import { storeOver } from "./store-over.ts";
import { createTelegramPort, type TelegramGate } from "./telegram-api.ts";
import { simulatedChatId, type TelegramWorld } from "./telegram.ts";
import type { UpdateLedger } from "./bus-updates.ts";

export interface BusInstance {
  readonly id: InstanceId;
  readonly process: SimulatedProcess;
  readonly role: () => Role;
  readonly isJoined: () => boolean;
  readonly view: () => InstanceView;
  readonly permit: () => { readonly epoch: Epoch; readonly remainingMs: number } | null;
  readonly stop: () => void;
  /** It was asked to stop, and may not have noticed yet. */
  readonly isStopping: () => boolean;
}

export interface BusInstanceTraits {
  readonly hand: Stagehand;
  readonly name: string;
  readonly host: HostClock;
  /** The store as it is, watched. */
  readonly store: Store;
  readonly network: MemoryNetwork;
  readonly telegram: TelegramWorld;
  readonly gate: TelegramGate;
  readonly ledger: UpdateLedger;
}

/** Longest that a handler of the simulated host takes, in milliseconds. */
const handlingMaxMs = 400;

const settingsOf = (me: InstanceId, incarnation: Settings["incarnation"], name: string, secret: string): Settings => ({
  me,
  incarnation,
  secret,
  name,
  audience: { user: simulatedChatId, chat: chatId(simulatedChatId) },
  identity: {
    protocolVersion,
    runtimeBuild: "simulated",
    capabilities: [capability.durableAdmission, capability.sharedStore],
  },
  ack: "explicit",
  lease: defaultLeaseTimings,
  seats: defaultSeatTimings,
  membership: defaultMembershipTimings,
  pollSeconds: 25,
  capabilityMs: 60_000,
});

/** Counts the polls that are open, from the side of the process. */
function countingPolls(api: TelegramApi): TelegramApi & { readonly open: () => number } {
  let open = 0;
  return {
    open: () => open,
    async call(method, payload, limits) {
      if (method !== "getUpdates") return api.call(method, payload, limits);
      open += 1;
      try {
        return await api.call(method, payload, limits);
      } finally {
        open -= 1;
      }
    },
  };
}

/** Diagnostics go into the trace; a chart that broke is a violation. */
function logOf({ hand, name }: BusInstanceTraits): Log {
  return {
    event(level, phase, fields) {
      const reason = fields["reason"];
      const why = typeof reason === "string" ? `: ${reason}` : "";
      if (level !== "debug") hand.scheduler.note(`${name} ${phase}${why}`);
      if (phase.endsWith("broke")) hand.violate("chart/broke", `${name} ${phase} ${JSON.stringify(fields)}`);
    },
  };
}

/** The host's handler: takes its time, then says that it is done, again and again until the store has heard. */
function handlerOf(traits: BusInstanceTraits, process: SimulatedProcess, id: InstanceId) {
  const random = traits.hand.random.split(`handler ${process.pid}`);
  return (handed: HandedUpdate) => {
    const facts = readUpdate(handed.update);
    if (facts !== null) traits.ledger.handed(facts.updateId, id, handed.redelivered);
    traits.hand.scheduler.note(`${traits.name} handles ${facts?.updateId ?? updateId(0)}`);
    const acknowledge = () =>
      handed.ack().catch(() => {
        // Not observed: a host asks again.
        process.clock.setTimeout(() => void acknowledge(), 200);
      });
    process.clock.setTimeout(() => void acknowledge(), random.between(1, handlingMaxMs));
  };
}

const idOf = (ref: object): string => ("id" in ref && typeof ref.id === "string" ? ref.id : "");

/** The grant that the lease chart believes in, from its snapshot as the inspection shows it. */
function heldEpoch(snapshot: unknown): Epoch | null {
  // The snapshot comes from the actor whose id is the lease chart's.
  const seen = snapshot as SnapshotFrom<typeof leaseMachine> | null;
  return seen?.status === "active" && seen.matches("holding") ? seen.context.epoch : null;
}

function compose(traits: BusInstanceTraits, process: SimulatedProcess) {
  const { hand, name, network } = traits;
  const { incarnation, processes } = hand.table.enter(process);
  const id = instanceId(`${process.pid}:${process.clock.nowMs()}`);
  hand.table.assign(id, process);
  const path = { ...hand, process, random: hand.random.split(`requests ${process.pid}`) };
  const telegram = countingPolls(createTelegramPort({ ...path, world: traits.telegram, gate: traits.gate }));
  const ids = createIds(process.pid, hand.random.split(`ids ${process.pid}`));
  const lease: { ref: unknown; snapshot: unknown } = { ref: null, snapshot: null };
  const composed: ComposedInstance = composeInstance(
    {
      stage: {
        clock: process.clock,
        log: logOf(traits),
        inspect(event) {
          if (event.type === "@xstate.snapshot" && event.actorRef === lease.ref) lease.snapshot = event.snapshot;
          else if (event.type === "@xstate.actor" && idOf(event.actorRef) === `${id}/lease`) lease.ref = event.actorRef;
        },
      },
      ids,
      processes,
      store: storeOver(createRequests(path), traits.store),
      transport: transportOf(network, name, process),
      telegram,
    },
    settingsOf(id, incarnation, name, ids.secret()),
    { handOut: handlerOf(traits, process, id), isSecret: (given, expected) => given === expected },
  );
  return { id, composed, telegram, holds: () => heldEpoch(lease.snapshot) };
}

export function startBusInstance(traits: BusInstanceTraits): BusInstance {
  const { hand, name } = traits;
  const process = hand.newProcess(name, traits.host);
  const { id, composed, telegram, holds } = compose(traits, process);
  const { actor, runtime } = composed;
  let role: Role = "starting";
  let isStopping = false;
  actor.subscribe({
    next(snapshot) {
      const now = roleOf(snapshot);
      if (now !== role) hand.scheduler.note(`${name} is ${now}`);
      role = now;
    },
    complete() {
      hand.scheduler.note(`${name} ended`);
      process.kill();
      traits.network.kill(name);
    },
    error: (error: unknown) => hand.violate("chart/broke", `${name}: ${String(error)}`),
  });
  actor.start();
  const leadsUnder = () => {
    const snapshot = actor.getSnapshot();
    return snapshot.matches({ online: "leading" }) ? snapshot.context.epoch : null;
  };
  const isDead = () => process.state() === "dead";
  return {
    id,
    process,
    role: () => (isDead() ? "stopped" : role),
    isJoined: () =>
      actor.getSnapshot().matches({ online: { following: "joined" } }) ||
      actor.getSnapshot().matches({ online: { leading: "bus" } }),
    permit: () => (isDead() ? null : runtime.gate.permit()),
    view: () => ({
      id,
      alive: !isDead(),
      holds: isDead() ? null : holds(),
      leadsUnder: isDead() ? null : leadsUnder(),
      polls: !isDead() && telegram.open() > 0,
      registered: null,
    }),
    stop() {
      isStopping = true;
      process.deliver("stop", () => actor.send({ type: "instance.stop", leave: false }));
    },
    isStopping: () => isStopping,
  };
}
