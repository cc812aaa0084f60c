/**
 * What every world stands on: one seed made into time, chance, a trace, a process table and the present fault plan.
 *
 * Owns: wiring those together, numbering processes, the rounds (faults, then calm), violations.
 * Does not own: what lives in the world (`lease-world.ts`).
 * Invariant: nothing outside reaches in: two stagehands of one seed do the same, step by step.
 */
import type { Log } from "../../services/ports.ts";
import { createHostClock, type HostClock } from "./clock.ts";
import { calm, createFaultCounts, drawSwarm, type FaultCounts, type Swarm } from "./faults.ts";
import { createProcess, type SimulatedProcess } from "./process.ts";
import { createProcessTable, type ProcessTable } from "./process-table.ts";
import { createRandom, type Random } from "./random.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import { createScheduler, type Scheduler } from "./scheduler.ts";

export interface Violation {
  readonly name: string;
  readonly atMs: number;
  readonly step: number;
  readonly detail: string;
  /** The last lines of the trace. */
  readonly tail: readonly string[];
}

export interface Stagehand {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly recorder: Recorder;
  readonly faults: FaultCounts;
  readonly table: ProcessTable;
  readonly swarm: () => Swarm;
  /** Starts a round of faults, or the calm. Faults planned by an earlier round end. */
  readonly begin: (phase: "faults" | "calm") => void;
  /** Does `act` again and again at random intervals around `everyMs`, until the round ends. */
  readonly repeat: (kind: string, everyMs: number | null, act: () => boolean) => void;
  readonly newHost: () => HostClock;
  readonly newProcess: (name: string, host: HostClock) => SimulatedProcess;
  /** Lets a process die between two points of its next request, by calling `die` in a step of its own. */
  readonly doom: (process: SimulatedProcess, die: () => void) => void;
  readonly crashPoint: (process: SimulatedProcess) => void;
  readonly log: (who: string) => Log;
  readonly violate: (name: string, detail: string) => void;
  readonly violations: readonly Violation[];
}

/** Two clocks drift apart by at most this share, in sum. */
export const driftMax = 0.01;

export interface StagehandOptions {
  readonly seed: number;
  /** Faults that every round has, whatever is drawn. */
  readonly force?: Partial<Swarm>;
  /** Names of violations that are only noted, to hunt behind a fault that is known. They do not stop the run. */
  readonly ignore?: readonly string[];
  /** Gets every line of the trace. */
  readonly sink?: (line: string) => void;
}

/** Deaths that wait for a point between two steps of a request. */
function createCrashes(scheduler: Scheduler, random: Random) {
  let doomed = new Map<SimulatedProcess, () => void>();
  return {
    forget: () => {
      doomed = new Map();
    },
    doom: (process: SimulatedProcess, die: () => void) => void doomed.set(process, die),
    crashPoint: (process: SimulatedProcess) => {
      const die = doomed.get(process);
      // Now, or at a later point: which of them is a choice.
      if (die === undefined || random.chance(0.5)) return;
      doomed.delete(process);
      const round = doomed;
      scheduler.after(0, process.name, () => {
        if (round !== doomed || process.state() === "dead") return null;
        die();
        return "dies between two points";
      });
    },
  };
}

export function createStagehand({ seed, force, ignore = [], sink }: StagehandOptions): Stagehand {
  const random = createRandom(seed);
  const recorder = createRecorder(sink);
  const scheduler = createScheduler({ random: random.split("order"), recorder });
  const faults = createFaultCounts();
  const rounds = random.split("rounds");
  const users = random.split("users' rounds");
  const hosts = random.split("hosts");
  const violations: Violation[] = [];
  const crashes = createCrashes(scheduler, random.split("crashes"));
  let swarm = calm;
  let round = 0;
  let pid = 100;
  const table = createProcessTable({ random: random.split("looks"), scheduler, faults, swarm: () => swarm });
  return {
    random,
    scheduler,
    recorder,
    faults,
    table,
    swarm: () => swarm,
    violations,
    begin(phase) {
      round += 1;
      crashes.forget();
      swarm = phase === "calm" ? calm : { ...drawSwarm(rounds, users), ...force };
      scheduler.note(`${phase} ${round}`);
    },
    repeat(kind, everyMs, act) {
      if (everyMs === null) return;
      const mine = round;
      const next = () =>
        scheduler.after(rounds.between(0, 2 * everyMs), "faults", () => {
          if (mine !== round) return null;
          next();
          if (!act()) return null;
          faults.count(kind);
          return kind;
        });
      next();
    },
    newHost: () =>
      createHostClock(scheduler, {
        rate: hosts.between(1 - driftMax / 2, 1 + driftMax / 2),
        offsetMs: hosts.int(-5_000, 5_000),
        elapsedStartMs: hosts.int(0, 1_000_000),
      }),
    newProcess(name, host) {
      pid += 1;
      const lags = random.split(`process ${pid}`);
      return createProcess({ name, pid, scheduler, host, random: lags, lagMaxMs: () => swarm.lagMaxMs });
    },
    doom: crashes.doom,
    crashPoint: crashes.crashPoint,
    log: (who) => ({
      event(level, phase) {
        if (level === "error") scheduler.note(`${who} logs ${phase}`);
      },
    }),
    violate(name, detail) {
      if (ignore.includes(name)) {
        faults.count(`ignored ${name}`);
        return;
      }
      violations.push({ name, detail, atMs: scheduler.nowMs(), step: recorder.steps(), tail: recorder.tail() });
    },
  };
}
