/**
 * World 2: whole instances on one line, users who write into their threads, and everything that can go wrong.
 *
 * Owns: rounds of faults and calm, the checks after every step and at the end of every calm, the result.
 * Does not own: the charts, the services, the invariants.
 * Checked: the invariants of `machines/invariants.ts` over the truth; no update of a bound thread ends unrun; after
 * faults end one instance leads and the others have joined within `convergeMs`, and everything written is settled within
 * `settleMs`.
 */
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import { updateId } from "../../machines/ids.ts";
import { brokenIn, type WorldView } from "../../machines/invariants.ts";
import type { Store } from "../../services/ports.ts";
import { startBusInstance } from "./bus-instance.ts";
import { createUpdateLedger } from "./bus-updates.ts";
import { asTimerless, type HostClock } from "./clock.ts";
import { planBusFaults } from "./bus-faults.ts";
import type { BusPlace, BusWorld } from "./bus-line.ts";
import { watchLease } from "./ghost.ts";
import type { SimulationResult } from "./lease-world.ts";
import { createNetwork } from "./network.ts";
import { vanishMaxMs } from "./process-table.ts";
import { createStagehand, type StagehandOptions } from "./stagehand.ts";
import type { TelegramGate } from "./telegram-api.ts";
import { createTelegramWorld } from "./telegram.ts";

export interface BusSimulation extends StagehandOptions {
  readonly hours: number;
  readonly instances: number;
  readonly onProgress?: (simulatedHours: number) => void;
}

/** A lease runs out and is taken (10 s), the leader activates; a registration whose answer was lost waits 30 s for it. */
const convergeMs = 60_000;
/** Back-off after a round of failures is at most 30 s. */
const settleMs = 120_000;
const bootMs = 60_000;

function createBusWorld(options: BusSimulation): BusWorld {
  const hand = createStagehand(options);
  const storeClock = hand.newHost();
  const database = new MemoryDatabase("simulated");
  const inner = openMemoryStore({ database, clock: asTimerless(storeClock) });
  const ghost = watchLease(inner.lease, { clock: storeClock, isAlive: (who) => hand.table.isAlive(who) });
  const telegram = createTelegramWorld(hand.scheduler);
  const ledger = createUpdateLedger({ database, telegram, isAlive: (id) => hand.table.isInstanceAlive(id) });
  const store: Store = ledger.watch({ ...inner, lease: ghost.lease });
  const network = createNetwork({ ...hand, random: hand.random.split("network") });
  const gate: TelegramGate = { throttledUntilMs: 0 };
  const start = (name: string, host: HostClock) =>
    startBusInstance({ hand, name, host, store, network, telegram, gate, ledger });
  const places = Array.from({ length: options.instances }, (_, index): BusPlace => {
    const name = `i${index + 1}`;
    const host = hand.newHost();
    return { name, host, instance: start(name, host) };
  });
  const boot = (place: BusPlace) => {
    place.instance = start(place.name, place.host);
  };
  return { hand, database, ghost, storeClock, network, telegram, gate, ledger, places, boot };
}

function viewOf({ ghost, places, ledger, telegram, database }: BusWorld): WorldView {
  const seats = [...database.registrations.values()].filter((each) => each.ended === null);
  return {
    lease: ghost.row(),
    instances: places.map((place) => place.instance.view()),
    seats: seats.map(({ seat, instanceId, generation }) => ({ seat, instanceId, generation, staleEffects: 0 })),
    updates: ledger.takeViews(),
    ghost: { grants: ghost.grants(), writes: ghost.takeWrites(), ownConflicts: telegram.stats().ownConflicts },
  };
}

function check(world: BusWorld): boolean {
  const { hand } = world;
  const view = viewOf(world);
  for (const name of brokenIn(view)) {
    const { updates, instances, ghost } = view;
    hand.violate(name, JSON.stringify({ updates, instances, grants: ghost.grants.slice(-3), writes: ghost.writes }));
  }
  for (const lost of world.ledger.takeLost()) hand.violate("update/endedUnrun", lost);
  return hand.violations.length > 0;
}

/** Ends all faults: whoever is dead starts, whoever is paused goes on, every link works. */
function heal(world: BusWorld): void {
  world.hand.begin("calm");
  world.gate.throttledUntilMs = 0;
  for (const place of world.places) {
    for (const other of world.places) if (other !== place) world.network.heal(place.name, other.name);
    const { process, isStopping } = place.instance;
    process.resume();
    if (process.state() !== "dead" && !isStopping()) continue;
    process.kill();
    world.network.kill(place.name);
    // A supervisor starts the next one when the last is out of the process table.
    world.hand.scheduler.after(vanishMaxMs + 1, place.name, () => {
      world.boot(place);
      return "starts";
    });
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

/** A seat whose thread may or may not have been created waits for evidence or the operator: that is its right. */
const waitsForOperator = ({ database }: BusWorld): boolean => database.provisions.size > 0;

function isConverged(world: BusWorld): boolean {
  const roles = world.places.map((place) => place.instance.role());
  if (roles.filter((role) => role === "leader").length !== 1) return false;
  return waitsForOperator(world) || world.places.every((place) => place.instance.isJoined());
}

async function converge(world: BusWorld): Promise<number> {
  const { hand } = world;
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
  const old = world.ledger.open();
  const isOldSettled = () => old.every((update) => update.settled > 0);
  await hand.scheduler.runUntil(startedAtMs + settleMs, () => check(world) || isOldSettled());
  if (hand.violations.length === 0 && !isOldSettled() && !waitsForOperator(world)) {
    const left = old.filter((update) => update.settled === 0).slice(0, 5);
    hand.violate("liveness/everythingSettled", `${settleMs} ms after faults ended: ${JSON.stringify(left)}`);
  }
  return tookMs;
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
    figures: { grants: ghost.grantCount(), ...ledger.counts(), conflicts, polls, sent },
  };
}
