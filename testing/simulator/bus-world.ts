/**
 * World 2: whole instances on one line, users who write into their threads, and everything that can go wrong.
 *
 * Owns: rounds of faults and calm, the checks after every step and at the end of every calm, the result.
 * Does not own: the charts, the services, the invariants.
 * Checked: the invariants of `machines/invariants.ts` over the truth; no update of a bound thread ends unrun; after
 * faults end one instance leads and the others have joined within `convergeMs`, and everything written is settled, and the
 * threads of the chat are the bound ones, within `settleMs`; what is settled was handed out, was dropped, or the process that settled it has died.
 * Worlds of even seeds settle updates before handlers see them (`ack: "auto"`), those of odd seeds on the handlers' word.
 */
import { keyOfThread } from "../../adapters/store/memory/database.ts";
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import {
  instanceId,
  threadId,
  updateId,
  type InstanceId,
  type SeatKey,
  type ThreadTarget,
  type ThreadId,
} from "../../machines/ids.ts";
import { judgedWith, judgeOf, type SeatView, type Shown, type StoreStepView } from "../../machines/invariants.ts";
import { defaultThreadGraceMs } from "../../machines/reconciliation.types.ts";
import type { RequestHandler, Store } from "../../services/ports.ts";
import { createCallLedger } from "./bus-calls.ts";
import { ExchangeNotes } from "./bus-exchanges.ts";
import { startBusInstance } from "./bus-instance.ts";
import type { BusInstance } from "./bus-instance.ts";
import { createTelegramWatch } from "./bus-telegram.ts";
import { reopenAll, rollCall, threadFaults } from "./bus-threads.ts";
import { createUpdateLedger } from "./bus-updates.ts";
import { asTimerless, type HostClock } from "./clock.ts";
import { planBusFaults } from "./bus-faults.ts";
import type { SimulatedHost } from "./bus-host.ts";
import type { BusPlace, BusPlant, BusWorld } from "./bus-line.ts";
import { watchLease } from "./ghost.ts";
import { watchLeaderWrites } from "./leader-writes.ts";
import type { SimulationResult } from "./lease-world.ts";
import { createNetwork } from "./network.ts";
import { vanishMaxMs } from "./process-table.ts";
import { createRegistrationGhost } from "./registration-ghost.ts";
import { createStagehand, type Stagehand, type StagehandOptions } from "./stagehand.ts";
import { createStoreSteps } from "./store-steps.ts";
import type { TelegramGate } from "./telegram-api.ts";
import { createTelegramWorld } from "./telegram.ts";

export interface BusSimulation extends StagehandOptions {
  readonly hours: number;
  readonly instances: number;
  readonly plant?: BusPlant;
  /** Default: by the seed, so that both are tried. */
  readonly ack?: "auto" | "explicit";
  /** Instead of the host that answers everything. */
  readonly host?: SimulatedHost;
  /** Names of further properties that are false at this moment. */
  readonly alsoCheck?: () => readonly string[];
  readonly onProgress?: (simulatedHours: number) => void;
}

/** A lease runs out and is taken (10 s), the leader activates; a registration whose answer was lost waits 30 s for it. */
const convergeMs = 60_000;
/** Back-off after a round of failures is at most 30 s. */
const settleMs = 120_000;
const bootMs = 60_000;
/** Characters of what a violation says of the view. */
const detailMax = 20_000;
/** Instances without a name. */
const unnamedShare = 0.25;

interface Watched {
  readonly hand: Stagehand;
  readonly storeClock: HostClock;
  readonly database: MemoryDatabase;
  /** The store as instances would have it unwatched. */
  readonly inner: Store;
  /** The instance in a place at this moment. */
  readonly instanceAt: (place: string) => InstanceId;
  /** The world's own host answers, and every answer is looked for. */
  readonly isOwnHost: boolean;
}

/** Whoever watches, around the store, the wire and Telegram. */
function createWatches({ hand, storeClock, database, inner, instanceAt, isOwnHost }: Watched) {
  const ghost = watchLease(inner.lease, { database, clock: storeClock, isAlive: (who) => hand.table.isAlive(who) });
  const registrations = createRegistrationGhost(database);
  const isAlive = (id: InstanceId) => hand.table.isInstanceAlive(id);
  const threadNow = (id: ThreadId, by: InstanceId): ThreadId => {
    if (!telegram.isGone(id)) return id;
    // Who is dead by now had its seat by its last registration.
    const places = [...database.seatClaims.values(), ...database.registrations.values()];
    const seat = places.find(({ instanceId: who }) => who === by)?.seat;
    const bound = [...database.bindings.values()].find((binding) => binding.seat === seat);
    return bound?.thread.target.threadId ?? id;
  };
  const calls = createCallLedger({ nowMs: hand.scheduler.nowMs, isAlive, threadNow });
  const goneHolders = new Map<string, boolean>();
  const wasHolderGone = (target: ThreadTarget) => goneHolders.get(keyOfThread(target)) ?? null;
  const apiCalls = createTelegramWatch({ database, isAlive, instanceAt, wasHolderGone });
  const telegram = apiCalls.watch(createTelegramWorld(hand.scheduler, isOwnHost ? calls.seen : () => undefined));
  const onStep = (step: StoreStepView) => {
    const { op, kind, epoch, seat, target } = step;
    if (op === "registrations.commit" && kind === "committed" && epoch !== null && seat !== null) {
      const committed = step.after.registrations.get(seat);
      if (committed !== undefined) exchanges.noteCommit(committed, epoch);
    }
    if (op === "work.claim" && (kind === "claimed" || kind === "repeated") && step.claimant !== null)
      for (const { seq } of step.entries) exchanges.noteClaim(step.claimant.instanceId, seq);
    if (op === "cleanups.begin" && kind === "begun" && target !== null)
      goneHolders.set(keyOfThread(target), isHolderGone(step, isAlive));
  };
  const steps = createStoreSteps({ database, isAlive, onStep });
  const exchanges = new ExchangeNotes({
    database,
    writes: steps.count,
    steps: hand.recorder.steps,
    isThreadGone: (id) => telegram.isGone(id),
  });
  const ledger = createUpdateLedger({ database, telegram, isAlive, nowMs: hand.scheduler.nowMs });
  const fenced = watchLeaderWrites({ ...inner, lease: ghost.lease }, { database, note: ghost.noteWrite });
  const store: Store = ledger.watch(registrations.watch(steps.watch(fenced)));
  return { ghost, registrations, exchanges, steps, apiCalls, calls, ledger, telegram, store };
}

function createBusWorld(options: BusSimulation): BusWorld {
  const hand = createStagehand(options);
  const storeClock = hand.newHost();
  const database = new MemoryDatabase("simulated");
  const { plant = {} } = options;
  const real = openMemoryStore({ database, clock: asTimerless(storeClock) });
  const inner = plant.store?.(real, database) ?? real;
  const instanceAt = (name: string) => places.find((place) => place.name === name)?.instance.id ?? instanceId(name);
  const watches = createWatches({
    hand,
    storeClock,
    database,
    inner,
    instanceAt,
    isOwnHost: options.host === undefined,
  });
  const { registrations, telegram, store, ledger, calls, exchanges } = watches;
  const serve = (handle: RequestHandler) => registrations.serve(plant.serve?.(handle) ?? handle);
  const network = createNetwork({ ...hand, random: hand.random.split("network") });
  const gate: TelegramGate = { throttledUntilMs: 0 };
  const isReady = (own: SeatKey, taken: ReadonlySet<SeatKey>, me: InstanceId) =>
    database.registrations.get(own)?.instanceId === me &&
    [...database.registrations.values()].every(
      ({ seat, ended, thread, instanceId: who }) => ended !== null || thread === null || who === me || taken.has(seat),
    );
  const names = hand.random.split("names");
  const ack = options.ack ?? (options.seed % 2 === 0 ? "auto" : "explicit");
  const start = (place: Pick<BusPlace, "name" | "host" | "isNamed">) =>
    startBusInstance({
      ...place,
      ack,
      userHost: options.host ?? null,
      threadGraceMs: defaultThreadGraceMs,
      hand,
      store,
      network,
      telegram,
      gate,
      ledger,
      calls,
      exchanges,
      isReady,
      serve,
    });
  const places = Array.from({ length: options.instances }, (_, index): BusPlace => {
    const place = { name: `i${index + 1}`, host: hand.newHost(), isNamed: !names.chance(unnamedShare) };
    return { ...place, instance: start(place) };
  });
  const boot = (place: BusPlace) => {
    if (place.instance.process.state() !== "dead") return null;
    place.instance = start(place);
    return "starts";
  };
  const { alsoCheck = () => [] } = options;
  return { hand, database, ...watches, storeClock, network, gate, places, boot, alsoCheck };
}

/** Nobody sat there any more, or whoever did was dead. */
function isHolderGone({ seat, target, before }: StoreStepView, isAlive: (id: InstanceId) => boolean): boolean {
  const key = target === null ? "" : keyOfThread(target);
  const whose = seat ?? before.cleanups.find((each) => keyOfThread(each.target) === key)?.seat;
  if (whose === undefined) return false;
  const [claim, registration] = [before.seatClaims.get(whose), before.registrations.get(whose)];
  const isGone = claim === undefined || !isAlive(claim.instanceId);
  return isGone && (registration === undefined || registration.ended !== null || !isAlive(registration.instanceId));
}

/** The parts of the view that this world shows. */
export const busWorldParts = [
  "lease",
  "leaseHistory",
  "instances",
  "roles",
  "leaderSides",
  "followerSides",
  "heartbeatEnds",
  "seats",
  "fetched",
  "cursors",
  "updates",
  "grants",
  "writes",
  "ownConflicts",
  "exchanges",
  "registers",
  "farewells",
  "forwards",
  "sends",
  "answers",
  "apiCalls",
  "telegram",
  "tables",
  "storeSteps",
] as const;
const judge = judgeOf(busWorldParts);
/** Where nothing was written the tables are as they were. */
const judgeQuiet = judgeOf(busWorldParts.filter((part) => part !== "tables"));

function viewOf(world: BusWorld): Shown<(typeof busWorldParts)[number]> {
  const { ghost, registrations, places, ledger, telegram, database, steps } = world;
  const seats: SeatView[] = [];
  for (const { seat, instanceId, generation, ended } of database.registrations.values()) {
    const staleEffects = registrations.staleEffects(seat);
    if (ended === null || staleEffects > 0) seats.push({ seat, instanceId, generation, staleEffects });
  }
  const living = places.filter((place) => place.instance.process.state() !== "dead").map((place) => place.instance);
  const { cursor } = database;
  return {
    lease: ghost.row(),
    leaseHistory: ghost.takeHistory(),
    instances: places.map((place) => place.instance.view()),
    roles: living.map((instance) => instance.roleView()),
    leaderSides: living.map((instance) => instance.leaderSide()),
    followerSides: living.map((instance) => instance.followerSide()),
    heartbeatEnds: living.flatMap((instance) => instance.heartbeatEnds()),
    seats,
    ...ledger.takeViews(),
    cursors: cursor === null ? [] : [cursor],
    grants: ghost.grants(),
    writes: ghost.takeWrites(),
    ownConflicts: telegram.stats().ownConflicts,
    ...world.exchanges.take(),
    answers: world.calls.takeViews(),
    apiCalls: world.apiCalls.take(),
    telegram: { threads: telegram.threads().map(({ id, isGone }) => ({ id: threadId(id), isGone })) },
    tables: steps.tables(),
    storeSteps: steps.take(),
  };
}

/** What the broken invariant looked at, without what is long. */
function detailOf(name: string, view: ReturnType<typeof viewOf>): string {
  const needs = judgedWith(busWorldParts).find((each) => each.name === name)?.needs ?? [];
  const shown = Object.fromEntries(Object.entries(view).filter(([part]) => needs.some((each) => each === part)));
  return JSON.stringify(shown, (_key, value: unknown) => (value instanceof Map ? [...value.values()] : value)).slice(
    0,
    detailMax,
  );
}

function check(world: BusWorld): boolean {
  const { hand } = world;
  const view = viewOf(world);
  for (const name of view.storeSteps.length === 0 ? judgeQuiet(view) : judge(view))
    hand.violate(name, detailOf(name, view));
  for (const name of world.alsoCheck()) hand.violate(name, "");
  for (const lost of world.ledger.takeLost()) hand.violate("update/endedUnrun", lost);
  return hand.violations.length > 0;
}

/** Ends all faults: whoever is dead starts, whoever is paused goes on, every link works. */
function heal(world: BusWorld): void {
  world.hand.begin("calm");
  world.gate.throttledUntilMs = 0;
  reopenAll(world);
  for (const place of world.places) {
    for (const other of world.places) if (other !== place) world.network.heal(place.name, other.name);
    const { process, isStopping } = place.instance;
    process.resume();
    if (process.state() !== "dead" && !isStopping()) continue;
    process.kill();
    world.network.kill(place.name);
    // A supervisor starts the next one when the last is out of the process table.
    world.hand.scheduler.after(vanishMaxMs + 1, place.name, () => world.boot(place));
  }
}

/** A user writes into one of the bound threads, now and then. */
function write(world: BusWorld): void {
  const { hand, database, telegram, ledger } = world;
  const chance = hand.random.split("users");
  const next = () =>
    hand.scheduler.after(chance.between(50, 3_000), "user", () => {
      next();
      const threads = [...database.bindings.values()].map((binding) => binding.thread.target.threadId);
      if (threads.length === 0) return null;
      const threadId = chance.pick(threads);
      const id = telegram.write(threadId, "hello");
      if (id === null) return null;
      ledger.written(updateId(id), threadId);
      return `writes ${id} into ${threadId}`;
    });
  next();
}

/** Seats whose thread may or may not have been created: they wait for evidence or the operator, which is their right. */
const undecidedSeats = ({ database }: BusWorld): ReadonlySet<SeatKey> =>
  new Set([...database.provisions.values()].map((provision) => provision.seat));

function isConverged(world: BusWorld): boolean {
  const { places } = world;
  if (places.filter((place) => place.instance.role() === "leader").length !== 1) return false;
  const undecided = undecidedSeats(world);
  // Whoever is about to start again is not there yet, whatever is undecided about its seat.
  const isThere = (instance: BusInstance) => instance.process.state() !== "dead";
  return places.every(({ instance }) => instance.isJoined() || (isThere(instance) && undecided.has(instance.seat())));
}

/** Updates that somebody who can take them has not yet ended. Those of seats that nobody sits on wait for a day. */
function overdue(world: BusWorld, old: ReturnType<BusWorld["ledger"]["open"]>) {
  const undecided = undecidedSeats(world);
  const seats = new Set(world.places.map((place) => place.instance.seat()));
  const bindings = [...world.database.bindings.values()];
  const isAwaited = (threadId: number) => {
    const seat = bindings.find((binding) => binding.thread.target.threadId === threadId)?.seat;
    return seat !== undefined && (undecided.has(seat) || !seats.has(seat));
  };
  // What waits in a thread that was given up ends when its seat has a holder again.
  const isGivenUp = (threadId: number) => world.telegram.isGone(threadId);
  return old.filter(({ settled, threadId }) => settled === 0 && !isAwaited(threadId) && !isGivenUp(threadId));
}

async function converge(world: BusWorld): Promise<number> {
  const { hand, ledger } = world;
  const startedAtMs = hand.scheduler.nowMs();
  const took = () => hand.scheduler.nowMs() - startedAtMs;
  heal(world);
  await hand.scheduler.runUntil(startedAtMs + convergeMs, () => check(world) || isConverged(world));
  const tookMs = took();
  if (hand.violations.length > 0) return tookMs;
  if (!isConverged(world)) {
    const roles = world.places.map(({ name, instance }) => `${name} ${instance.role()} ${instance.isJoined()}`);
    hand.violate("liveness/oneLeaderAllJoined", `${convergeMs} ms after faults ended: ${roles.join(", ")}`);
    return tookMs;
  }
  const old = ledger.open();
  checkSeats(world);
  const due = overdue(world, old);
  const roll = rollCall(world);
  const silent = () => {
    const undecided = undecidedSeats(world);
    return roll().filter((instance) => !undecided.has(instance.seat()));
  };
  const unanswered = () => world.calls.openSince(startedAtMs);
  const unheard = () => ledger.unheardSince(startedAtMs);
  // The roll is called from the first look on, whatever else is still open.
  const isAllDone = () =>
    silent().length === 0 &&
    due.every((update) => update.settled > 0) &&
    unanswered().length === 0 &&
    unheard().length === 0 &&
    threadFaults(world).length === 0;
  await hand.scheduler.runUntil(startedAtMs + settleMs, () => check(world) || isAllDone());
  if (hand.violations.length === 0 && unanswered().length > 0)
    hand.violate("liveness/everyCallEnds", `${settleMs} ms after faults ended: ${unanswered().join(", ")}`);
  if (hand.violations.length === 0 && unheard().length > 0)
    hand.violate("update/settledUnheard", `${settleMs} ms after faults ended: ${unheard().join(", ")}`);
  const strange =
    hand.violations.length === 0
      ? [...silent().map(({ id }) => `${id} cannot be heard in its thread`), ...threadFaults(world)]
      : [];
  if (strange.length > 0)
    hand.violate("liveness/threadsAreTheBound", `${settleMs} ms after faults ended: ${strange.join("; ")}`);
  const left = hand.violations.length === 0 ? overdue(world, old) : [];
  if (left.length > 0)
    hand.violate(
      "liveness/everythingSettled",
      `${settleMs} ms after faults ended: ${JSON.stringify(left.slice(0, 5))}`,
    );
  return tookMs;
}

/** A living process that holds two seats keeps one of them from everybody for as long as it lives. */
function checkSeats({ hand, places, database }: BusWorld): void {
  for (const { name, instance } of places) {
    const held = [...database.seatClaims.values()].filter((claim) => claim.instanceId === instance.id);
    if (held.length > 1) hand.violate("seat/oneEach", `${name} holds ${held.map((claim) => claim.seat).join(" and ")}`);
  }
}

/** Runs the world for so many simulated hours, or to its first violation. */
export async function simulateBus(options: BusSimulation): Promise<SimulationResult> {
  const world = createBusWorld(options);
  const { hand, ghost, ledger } = world;
  const rounds = hand.random.split("round lengths");
  const isBroken = () => hand.violations.length > 0;
  let convergences = 0;
  let worstMs = 0;
  await hand.scheduler.runUntil(bootMs, () => check(world));
  if (!isBroken() && !isConverged(world))
    hand.violate("liveness/boot", `not one line after ${bootMs} ms without faults`);
  write(world);
  while (hand.scheduler.nowMs() < options.hours * 3_600_000 && !isBroken()) {
    hand.begin("faults");
    planBusFaults(world);
    await hand.scheduler.runUntil(hand.scheduler.nowMs() + rounds.between(10_000, 120_000), () => check(world));
    if (isBroken()) break;
    worstMs = Math.max(worstMs, await converge(world));
    convergences += 1;
    options.onProgress?.(hand.scheduler.nowMs() / 3_600_000);
  }
  const { conflicts, polls, sent } = world.telegram.stats();
  return {
    seed: options.seed,
    simulatedHours: hand.scheduler.nowMs() / 3_600_000,
    events: hand.recorder.steps(),
    faults: hand.faults.read(),
    violations: hand.violations,
    liveness: { checks: convergences, worstMs },
    traceHash: hand.recorder.hash(),
    figures: { grants: ghost.grantCount(), ...ledger.counts(), ...world.calls.counts(), conflicts, polls, sent },
  };
}
