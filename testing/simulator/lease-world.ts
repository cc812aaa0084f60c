/**
 * World 1: instances that do nothing but stand for the lease, and everything that can go wrong with that.
 *
 * Owns: rounds of faults and calm over N instances and one store, the checks after every step, the result.
 * Does not own: the charts, their effects, the invariants.
 * Checked: the invariants of `machines/invariants.ts` over the truth; no permit outlives its lease (`lease-checks.ts`);
 * within `convergeMs` after faults end somebody may act, and nobody takes over from it while the calm lasts.
 */
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import { judgeOf, type Shown } from "../../machines/invariants.ts";
import { defaultLeaseTimings } from "../../machines/lease.rules.ts";
import { createGateChecks, type GateChecks, type OpenGate } from "./lease-checks.ts";
import { watchLease, type LeaseGhost } from "./ghost.ts";
import { startLeaseInstance, type LeaseInstance, type LeasePlant } from "./lease-instance.ts";
import { createStagehand, type Stagehand, type StagehandOptions, type Violation } from "./stagehand.ts";
import { asTimerless, type HostClock } from "./clock.ts";

export interface LeaseSimulation extends StagehandOptions {
  readonly hours: number;
  readonly instances: number;
  readonly plant?: LeasePlant;
  readonly onProgress?: (simulatedHours: number) => void;
}

export interface Liveness {
  /** Times that faults ended and convergence was looked for. */
  readonly checks: number;
  /** The longest it took. */
  readonly worstMs: number;
}

export interface SimulationResult {
  readonly seed: number;
  readonly simulatedHours: number;
  readonly events: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  readonly liveness: Liveness;
  readonly traceHash: string;
  readonly figures: Readonly<Record<string, number>>;
}

/** A lease runs out (6 s), is seen to (1 s), agreed on (1.5 s) and taken. */
const convergeMs = 10_000;
const calmMs = 30_000;

interface Place {
  readonly name: string;
  readonly host: HostClock;
  instance: LeaseInstance;
}

interface LeaseWorld {
  readonly hand: Stagehand;
  readonly ghost: LeaseGhost;
  readonly checks: GateChecks;
  readonly storeClock: HostClock;
  readonly places: readonly Place[];
  readonly boot: (place: Place) => void;
}

function createLeaseWorld(options: LeaseSimulation): LeaseWorld {
  const { instances, plant = {} } = options;
  const hand = createStagehand(options);
  const storeClock = hand.newHost();
  const database = new MemoryDatabase("simulated");
  const { lease } = openMemoryStore({ database, clock: asTimerless(storeClock) });
  const ghost = watchLease(plant.lease?.(lease) ?? lease, {
    database,
    clock: storeClock,
    isAlive: (who) => hand.table.isAlive(who),
  });
  const timings = defaultLeaseTimings;
  const start = (name: string, host: HostClock) =>
    startLeaseInstance({ hand, name, host, lease: ghost.lease, timings, plant });
  const places = Array.from({ length: instances }, (_, index): Place => {
    const name = `i${index + 1}`;
    const host = hand.newHost();
    return { name, host, instance: start(name, host) };
  });
  return {
    hand,
    ghost,
    storeClock,
    places,
    checks: createGateChecks({ ghost, storeClock, durationMs: timings.durationMs }),
    boot: (place) => {
      place.instance = start(place.name, place.host);
    },
  };
}

/** The gates that let through at this moment. A process on its way out has stopped acting: its gate is not asked. */
const openGates = (world: LeaseWorld): readonly OpenGate[] =>
  world.places.flatMap(({ name, instance }) => {
    if (instance.process.state() === "dead" || instance.isLeaving()) return [];
    const permit = instance.gate.permit();
    return permit === null ? [] : [{ who: name, ...permit }];
  });

/** The parts of the view that this world shows. */
export const leaseWorldParts = ["lease", "leaseHistory", "instances", "grants", "writes"] as const;
const judge = judgeOf(leaseWorldParts);

function viewOf({ ghost, places }: LeaseWorld): Shown<(typeof leaseWorldParts)[number]> {
  return {
    lease: ghost.row(),
    leaseHistory: ghost.takeHistory(),
    instances: places.map((place) => place.instance.view()),
    grants: ghost.grants(),
    writes: ghost.takeWrites(),
  };
}

/** Looks at the world after a step; true = stop here. */
function check(world: LeaseWorld): boolean {
  const { hand } = world;
  for (const name of judge(viewOf(world))) hand.violate(name, JSON.stringify(world.ghost.grants().slice(-3)));
  for (const fault of world.checks.faultsOf(openGates(world))) hand.violate("gate/outlivesLease", fault);
  return hand.violations.length > 0;
}

function planFaults(world: LeaseWorld): void {
  const { hand, places } = world;
  const chance = hand.random.split(`plan at ${hand.scheduler.nowUs()}`);
  const swarm = hand.swarm();
  const living = () => places.filter((place) => place.instance.process.state() !== "dead");
  const some = (act: (place: Place) => boolean) => () => {
    const candidates = living();
    return candidates.length > 0 && act(chance.pick(candidates));
  };
  const restart = (place: Place) =>
    hand.scheduler.after(chance.between(1, swarm.restartMaxMs), place.name, () => {
      if (place.instance.process.state() !== "dead") return null;
      world.boot(place);
      return "starts";
    });
  const die = (place: Place) => {
    place.instance.process.kill();
    for (const other of living())
      if (chance.chance(swarm.hint))
        hand.scheduler.after(chance.between(0.1, 200), other.name, () => {
          other.instance.hint();
          return `sees ${place.name} close`;
        });
    restart(place);
    return true;
  };
  hand.repeat(
    "kill",
    swarm.killEveryMs,
    some((place) => {
      if (chance.chance(0.5)) return die(place);
      hand.doom(place.instance.process, () => void die(place));
      return true;
    }),
  );
  hand.repeat(
    "leave",
    swarm.leaveEveryMs,
    some((place) => {
      place.instance.leave();
      restart(place);
      return true;
    }),
  );
  hand.repeat(
    "pause",
    swarm.pauseEveryMs,
    some((place) => {
      const { process } = place.instance;
      if (process.state() !== "running") return false;
      process.pause(chance.chance(swarm.suspendShare) ? "suspended" : "stopped");
      hand.scheduler.after(chance.between(1, swarm.pauseMaxMs), place.name, () => {
        process.resume();
        return "resumes";
      });
      return true;
    }),
  );
  const jump = (clock: HostClock) => {
    clock.jump(chance.between(-swarm.jumpMaxMs, swarm.jumpMaxMs));
    return true;
  };
  hand.repeat(
    "hostClockJump",
    swarm.hostJumpEveryMs,
    some((place) => jump(place.host)),
  );
  hand.repeat("storeClockJump", swarm.storeJumpEveryMs, () => jump(world.storeClock));
}

/** Ends all faults: whoever is dead starts, whoever is paused goes on. */
function heal(world: LeaseWorld): void {
  world.hand.begin("calm");
  for (const place of world.places) {
    place.instance.process.resume();
    if (place.instance.process.state() === "dead" || place.instance.isLeaving()) {
      place.instance.process.kill();
      world.boot(place);
    }
  }
}

/** Runs the calm after a round of faults; how long it took until somebody led. */
async function converge(world: LeaseWorld): Promise<number> {
  const { hand } = world;
  const startedAtMs = hand.scheduler.nowMs();
  heal(world);
  const leads = () => openGates(world).length > 0;
  await hand.scheduler.runUntil(startedAtMs + convergeMs, () => check(world) || leads());
  const tookMs = hand.scheduler.nowMs() - startedAtMs;
  if (hand.violations.length > 0) return tookMs;
  if (!leads()) {
    hand.violate("liveness/somebodyHolds", `nobody may act ${convergeMs} ms after faults ended`);
    return tookMs;
  }
  await hand.scheduler.runUntil(startedAtMs + convergeMs, () => check(world));
  const settled = world.ghost.grantCount();
  await hand.scheduler.runUntil(startedAtMs + calmMs, () => check(world));
  if (world.ghost.grantCount() !== settled)
    hand.violate("liveness/stable", `${world.ghost.grantCount() - settled} grants in the calm after convergence`);
  return tookMs;
}

/** Runs the world for so many simulated hours, or to its first violation. */
export async function simulateLease(options: LeaseSimulation): Promise<SimulationResult> {
  const world = createLeaseWorld(options);
  const { hand, checks, ghost } = world;
  const rounds = hand.random.split("round lengths");
  const untilMs = options.hours * 3_600_000;
  let convergences = 0;
  let worstMs = 0;
  const isBroken = () => hand.violations.length > 0;
  while (hand.scheduler.nowMs() < untilMs && !isBroken()) {
    hand.begin("faults");
    planFaults(world);
    await hand.scheduler.runUntil(hand.scheduler.nowMs() + rounds.between(10_000, 240_000), () => check(world));
    if (isBroken()) break;
    worstMs = Math.max(worstMs, await converge(world));
    convergences += 1;
    options.onProgress?.(hand.scheduler.nowMs() / 3_600_000);
  }
  return {
    seed: options.seed,
    simulatedHours: hand.scheduler.nowMs() / 3_600_000,
    events: hand.recorder.steps(),
    faults: hand.faults.read(),
    violations: hand.violations,
    liveness: { checks: convergences, worstMs },
    traceHash: hand.recorder.hash(),
    figures: {
      grants: ghost.grantCount(),
      explainedOverlaps: checks.explainedOverlaps(),
      leastMarginMs: Number(checks.leastMarginMs().toFixed(3)),
    },
  };
}
