/**
 * One whole instance in a simulated process: every chart and every service, over simulated ports.
 *
 * Owns: making the ports, booting the composition, the host's handlers (an answer to every update, an ack after a while),
 * what the world may know of the instance's charts.
 * Does not own: when it is killed, paused or cut off (`bus-world.ts`), any decision.
 */
import type { SnapshotFrom } from "xstate";
import {
  chatId,
  instanceId,
  updateId,
  type Epoch,
  type Generation,
  type InstanceId,
  type SeatKey,
} from "../../machines/ids.ts";
import type { FollowerSideView, InstanceView, LeaderSideView, RoleView } from "../../machines/invariants.ts";
import type { instanceMachine } from "../../machines/instance.machine.ts";
import { roleOf, type Role } from "../../machines/role.rules.ts";
import type { leaseMachine } from "../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../machines/lease.rules.ts";
import { defaultMembershipTimings, type membershipMachine } from "../../machines/membership.machine.ts";
import { defaultSeatTimings } from "../../machines/registration.machine.ts";
import { readUpdate } from "../../machines/updates.rules.ts";
import { capability, protocolVersion } from "../../machines/wire/constants.ts";
import type { MemoryNetwork } from "../../adapters/transport/memory/network.ts";
import type { HandedUpdate } from "../../services/queue.ts";
import { composeInstance, type ComposedInstance } from "../../services/instance.ts";
import type { Log, RequestHandler, Store, TelegramApi } from "../../services/ports.ts";
import type { Settings } from "../../services/runtime.ts";
import type { CallLedger } from "./bus-calls.ts";
import type { SimulatedHost } from "./bus-host.ts";
import type { ExchangeWatch, Server } from "./bus-exchanges.ts";
import { createSides, type Sides } from "./bus-sides.ts";
import type { HostClock } from "./clock.ts";
import { createIds } from "./ids.ts";
import { transportOf } from "./network.ts";
import { createPeephole, createSeatsPeephole, type SeatsPeephole } from "./peepholes.ts";
import type { SimulatedProcess } from "./process.ts";
import { createRequests } from "./requests.ts";
import type { Stagehand } from "./stagehand.ts";
import { storeOver } from "./store-over.ts";
import { createTelegramPort, type TelegramGate } from "./telegram-api.ts";
import { simulatedChatId, type TelegramWorld } from "./telegram.ts";
import type { UpdateLedger } from "./bus-updates.ts";
import { defaultSeatsMax } from "../../services/seats.ts";

export interface BusInstance {
  readonly id: InstanceId;
  readonly process: SimulatedProcess;
  readonly role: () => Role;
  readonly isJoined: () => boolean;
  /** The seat it has claimed, as it believes; empty before. */
  readonly seat: () => SeatKey;
  readonly view: () => InstanceView;
  readonly roleView: () => RoleView;
  readonly leaderSide: () => LeaderSideView;
  readonly followerSide: () => FollowerSideView;
  readonly heartbeatEnds: Sides["heartbeatEnds"];
  readonly permit: () => { readonly epoch: Epoch; readonly remainingMs: number } | null;
  /** Writes into its thread by itself, unless it is still at it. */
  readonly say: () => void;
  /** The last word that it began to say stands in a thread. */
  readonly wasHeard: () => boolean;
  /** `leave` also gives the thread up. */
  readonly stop: (leave: boolean) => void;
  /** It was asked to stop, and may not have noticed yet. */
  readonly isStopping: () => boolean;
}

export interface BusInstanceTraits {
  readonly hand: Stagehand;
  /** Its place in the world. */
  readonly name: string;
  readonly isNamed: boolean;
  readonly ack: Settings["ack"];
  /** Null = the one that answers everything and acks. */
  readonly userHost: SimulatedHost | null;
  readonly threadGraceMs: number;
  readonly host: HostClock;
  /** The store as it is, watched. */
  readonly store: Store;
  readonly network: MemoryNetwork;
  readonly telegram: TelegramWorld;
  readonly gate: TelegramGate;
  readonly ledger: UpdateLedger;
  readonly calls: CallLedger;
  readonly exchanges: ExchangeWatch;
  /** Stands between the wire and whoever serves in this process. */
  readonly serve: (inner: RequestHandler) => RequestHandler;
  /** Whether everything that must be there before a leader’s endpoint is there. */
  readonly isReady: (own: SeatKey, taken: ReadonlySet<SeatKey>, me: InstanceId) => boolean;
}

/** Longest that a handler of the simulated host takes, in milliseconds. */
const handlingMaxMs = 400;

const identity: Settings["identity"] = {
  protocolVersion,
  runtimeBuild: "simulated",
  capabilities: [capability.durableAdmission, capability.sharedStore],
};

type OwnSettings = Pick<Settings, "me" | "incarnation" | "name" | "secret" | "ack" | "threadGraceMs">;
const settingsOf = (own: OwnSettings): Settings => ({
  ...own,
  user: simulatedChatId,
  chat: chatId(simulatedChatId),
  identity,
  lease: defaultLeaseTimings,
  seats: defaultSeatTimings,
  membership: defaultMembershipTimings,
  host: "updates",
  pollSeconds: 25,
  capabilityMs: 60_000,
  unprovableAfterMs: null,
  lostThreads: "replace",
  closedThreads: "wait",
  seatsMax: defaultSeatsMax,
});

/** Counts the polls that are open, from the side of the process. */
function countingPolls(api: TelegramApi): TelegramApi & { readonly open: () => number } {
  let open = 0;
  return {
    ...api,
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

interface Handling {
  readonly process: SimulatedProcess;
  readonly id: InstanceId;
  readonly call: ComposedInstance["call"];
}

/**
 * The host's handler: answers, takes its time, then says that it is done, again and again until the store has heard. It has
 * ended when both are over.
 */
function handlerOf(traits: BusInstanceTraits, { process, id, call }: Handling) {
  const random = traits.hand.random.split(`handler ${process.pid}`);
  const running = new Set<Promise<unknown>>();
  const handOut = (handed: HandedUpdate) => {
    const facts = readUpdate(handed.update);
    const number = facts?.updateId ?? updateId(0);
    traits.ledger.handed(number, id, handed.redelivered);
    traits.hand.scheduler.note(`${traits.name} handles ${number}`);
    const { text, ended } = traits.calls.begin({ to: number, by: id, threadId: facts?.thread ?? null });
    const answered = call({ method: "sendMessage", body: { text } }).then(
      (outcome) => {
        traits.hand.scheduler.note(`${traits.name} ${text}: ${outcome.kind}`);
        ended(outcome);
      },
      (error: unknown) => traits.hand.violate("answer/callRejected", `${text}: ${String(error)}`),
    );
    const acknowledged = new Promise<void>((resolve) => {
      const acknowledge = () =>
        handed.ack().then(
          () => resolve(),
          // Not observed: a host asks again.
          () => void process.clock.setTimeout(() => void acknowledge(), 200),
        );
      process.clock.setTimeout(() => void acknowledge(), random.between(1, handlingMaxMs));
    });
    const run = Promise.all([answered, acknowledged]);
    running.add(run);
    return run.then(() => void running.delete(run));
  };
  const drained = async () => {
    await Promise.all(running);
  };
  return { handOut, drained };
}

/** Somebody else's host: it ends an update when it says so. */
function userHandlerOf(traits: BusInstanceTraits, { process, id, call }: Handling) {
  if (traits.userHost === null) throw new Error("there is no host");
  const handle = traits.userHost({
    place: traits.name,
    instanceId: id,
    call: (method, payload) => call({ method, body: payload }),
    pause: (ms) => new Promise((resolve) => void process.clock.setTimeout(resolve, ms)),
    random: traits.hand.random.split(`host ${process.pid}`),
  });
  const running = new Set<Promise<unknown>>();
  const handOut = (handed: HandedUpdate) => {
    traits.ledger.handed(readUpdate(handed.update)?.updateId ?? updateId(0), id, handed.redelivered);
    const run = handle(handed);
    running.add(run);
    return run.finally(() => void running.delete(run));
  };
  const drained = async () => {
    await Promise.allSettled(running);
  };
  return { handOut, drained };
}

/** The grant that the lease chart believes in. */
function heldEpoch(snapshot: unknown): Epoch | null {
  // The snapshot comes from the actor whose id is the lease chart's.
  const seen = snapshot as SnapshotFrom<typeof leaseMachine> | null;
  return seen?.status === "active" && seen.matches("holding") ? seen.context.epoch : null;
}

/** The registration that the membership chart believes in. */
function registrationIn(snapshot: unknown): { readonly seat: SeatKey; readonly generation: Generation } | null {
  // The snapshot comes from the actor whose id is the membership chart's.
  const seen = snapshot as SnapshotFrom<typeof membershipMachine> | null;
  if (seen?.status !== "active" || !seen.matches("registered")) return null;
  return { seat: seen.context.seat, generation: seen.context.generation };
}

/** The grant under which the instance chart leads. */
const leadsUnder = (snapshot: SnapshotFrom<typeof instanceMachine>): Epoch | null =>
  snapshot.matches({ online: "leading" }) ? snapshot.context.epoch : null;

interface Watched {
  readonly id: InstanceId;
  readonly seats: SeatsPeephole;
  readonly composed: () => ComposedInstance;
  /** The registration that its membership chart believes in. */
  readonly registered: () => ReturnType<typeof registrationIn>;
}

/** Stands around the endpoints and the requests of one instance, which is composed a moment later. */
function watchSides(traits: BusInstanceTraits, { id, seats, composed, registered }: Watched) {
  const { exchanges, isReady } = traits;
  const { leaderAddress } = traits.network.transport(traits.name);
  const server: Server = {
    id,
    identity,
    seats,
    secret: () => composed().runtime.settings.secret,
    leadsUnder: () => leadsUnder(composed().actor.getSnapshot()),
    membership: () => composed().runtime.board.leader,
    seat: () => composed().runtime.board.place?.seat ?? null,
  };
  const isAllThere = () =>
    isReady(composed().actor.getSnapshot().context.seat, new Set(seats.seats().map((each) => each.seat)), id);
  const standing = () => {
    const { leader, place, roster } = composed().runtime.board;
    const { value } = composed().actor.getSnapshot();
    const state = isEnding(value) ? "ending" : value;
    return JSON.stringify([leader?.generation, place?.generation, place?.thread?.target, roster, state, registered()]);
  };
  return {
    sides: createSides({ server, exchanges, leaderAddress, isReady: isAllThere, standing }),
    serve: (inner: RequestHandler, address: string) =>
      traits.serve(exchanges.serve(inner, server, address === leaderAddress ? "leader" : "follower")),
  };
}

/** From here the chart goes to its end by itself, whatever a heartbeat brings. */
const isEnding = (value: unknown): boolean => ["draining", "closing", "stopped"].some((state) => state === value);

function compose(traits: BusInstanceTraits, process: SimulatedProcess) {
  const { hand, name, network } = traits;
  const { incarnation, processes } = hand.table.enter(process);
  const id = instanceId(`${process.pid}:${process.clock.nowMs()}`);
  hand.table.assign(id, process);
  const path = { ...hand, process, random: hand.random.split(`requests ${process.pid}`) };
  const telegram = countingPolls(createTelegramPort({ ...path, world: traits.telegram, gate: traits.gate }));
  const ids = createIds(process.pid, hand.random.split(`ids ${process.pid}`));
  const lease = createPeephole(`${id}/lease`);
  const membership = createPeephole(`${id}/membership`);
  const seats = createSeatsPeephole(id);
  const registered = () => registrationIn(membership.snapshot());
  const { sides, serve } = watchSides(traits, { id, seats, composed: () => composed, registered });
  const composed: ComposedInstance = composeInstance(
    {
      stage: {
        clock: process.clock,
        log: logOf(traits),
        inspect(event) {
          lease.look(event);
          membership.look(event);
          seats.look(event);
        },
      },
      // Counters are what `status` shows; nothing in the world asks.
      counters: { count: () => undefined },
      ids,
      processes,
      store: storeOver(createRequests(path), traits.store),
      transport: transportOf({ network, place: name, process, serve, ...sides }),
      telegram,
      v1: null,
    },
    settingsOf({
      me: id,
      incarnation,
      name: traits.isNamed ? name : null,
      secret: ids.secret(),
      ack: traits.ack,
      threadGraceMs: traits.threadGraceMs,
    }),
    {
      handOut: (update) => handler.handOut(update),
      runTurn: () => Promise.resolve(),
      commandDone: () => undefined,
      drained: () => handler.drained(),
      isSecret: (given, expected) => given === expected,
    },
  );
  const handler = (traits.userHost === null ? handlerOf : userHandlerOf)(traits, {
    process,
    id,
    call: (wanted) => composed.call(wanted),
  });
  return {
    id,
    composed,
    telegram,
    sides,
    holds: () => heldEpoch(lease.snapshot()),
    registered,
  };
}

export function startBusInstance(traits: BusInstanceTraits): BusInstance {
  const { hand, name } = traits;
  const process = hand.newProcess(name, traits.host);
  const { id, composed, telegram, sides, holds, registered } = compose(traits, process);
  const { actor, runtime } = composed;
  let role: Role = "starting";
  let isStopping = false;
  let word: "open" | "heard" | "unheard" = "unheard";
  actor.subscribe({
    next(snapshot) {
      const now = roleOf(snapshot);
      if (now !== role) hand.scheduler.note(`${name} is ${now}`);
      role = now;
    },
    complete() {
      const { output } = actor.getSnapshot();
      const reason = output !== undefined && "reason" in output ? output.reason : "stopped";
      hand.scheduler.note(`${name} ended: ${reason}`);
      if (reason.includes(`instance ${id},`)) hand.violate("seat/refusedByItself", `${name}: ${reason}`);
      process.kill();
      traits.network.kill(name);
    },
    error: (error: unknown) => hand.violate("chart/broke", `${name}: ${String(error)}`),
  });
  composed.queue.listening.updates(true);
  actor.start();
  const isDead = () => process.state() === "dead";
  return {
    id,
    process,
    role: () => (isDead() ? "stopped" : role),
    isJoined: () =>
      !isDead() &&
      (actor.getSnapshot().matches({ online: { following: "joined" } }) ||
        actor.getSnapshot().matches({ online: { leading: "bus" } })),
    seat: () => actor.getSnapshot().context.seat,
    permit: () => (isDead() ? null : runtime.gate.permit()),
    view: () => ({
      id,
      alive: !isDead(),
      holds: isDead() ? null : holds(),
    }),
    roleView: () => ({ id, holds: holds(), leadsUnder: leadsUnder(actor.getSnapshot()) }),
    leaderSide: () => sides.leader(telegram.open()),
    heartbeatEnds: () => sides.heartbeatEnds(),
    followerSide: () => sides.follower(actor.getSnapshot().matches({ online: "following" }) ? registered() : null),
    say() {
      if (word === "open") return;
      word = "open";
      process.deliver("say", () => {
        const said = composed.call({ method: "sendMessage", body: { text: "a word" } });
        void said.then((outcome) => {
          const { kind } = outcome;
          const why = kind === "rejected" ? ` (${outcome.error.description})` : "";
          hand.scheduler.note(`${name} said a word: ${kind}${why}`);
          word = kind === "ok" ? "heard" : "unheard";
        });
      });
    },
    wasHeard: () => word === "heard",
    stop(leave) {
      isStopping = true;
      process.deliver(leave ? "leave" : "stop", () => actor.send({ type: "instance.stop", leave }));
    },
    isStopping: () => isStopping,
  };
}
