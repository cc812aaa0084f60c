/**
 * The fault plan: what may go wrong in a round, and how often.
 *
 * Owns: the swarm options (each round draws which faults exist at all, and how strong they are), the calm without any,
 * the counts of what was done.
 * Does not own: doing it (the worlds).
 * Invariant: in the calm nothing fails, and latencies are small: whatever does not converge then is not unlucky.
 */
import type { Random } from "./random.ts";

/** Rates are probabilities; intervals are means in milliseconds of true time, null = never. */
export interface Swarm {
  readonly killEveryMs: number | null;
  readonly leaveEveryMs: number | null;
  readonly restartMaxMs: number;
  readonly pauseEveryMs: number | null;
  readonly pauseMaxMs: number;
  readonly suspendShare: number;
  readonly hostJumpEveryMs: number | null;
  readonly storeJumpEveryMs: number | null;
  readonly jumpMaxMs: number;
  readonly partitionEveryMs: number | null;
  readonly partitionMaxMs: number;
  /** The store says busy before it did anything. */
  readonly storeBusy: number;
  /** The store did it, and the answer is an error. */
  readonly storeAnswerLost: number;
  /** A request is on its way outside the process, and outlives it. */
  readonly storeDetached: number;
  readonly storeLatencyMaxMs: number;
  readonly storeStall: number;
  readonly storeStallMaxMs: number;
  readonly lagMaxMs: number;
  /** A look at the process table fails. */
  readonly lookFails: number;
  /** A look cannot tell. */
  readonly lookUnverifiable: number;
  /** Somebody who saw a connection close says so. */
  readonly hint: number;
  readonly networkLoss: number;
  readonly networkLatencyMaxMs: number;
  readonly telegramNotSent: number;
  readonly telegramAnswerLost: number;
  readonly telegramServerError: number;
  readonly telegramHang: number;
  readonly telegramThrottleEveryMs: number | null;
  readonly telegramLatencyMaxMs: number;
  /** Users delete, close (and later open) and rename threads. */
  readonly userDeletesEveryMs: number | null;
  readonly userClosesEveryMs: number | null;
  readonly userRenamesEveryMs: number | null;
}

export const calm: Swarm = {
  killEveryMs: null,
  leaveEveryMs: null,
  restartMaxMs: 200,
  pauseEveryMs: null,
  pauseMaxMs: 0,
  suspendShare: 0,
  hostJumpEveryMs: null,
  storeJumpEveryMs: null,
  jumpMaxMs: 0,
  partitionEveryMs: null,
  partitionMaxMs: 0,
  storeBusy: 0,
  storeAnswerLost: 0,
  storeDetached: 0,
  storeLatencyMaxMs: 5,
  storeStall: 0,
  storeStallMaxMs: 0,
  lagMaxMs: 2,
  lookFails: 0,
  lookUnverifiable: 0,
  hint: 1,
  networkLoss: 0,
  networkLatencyMaxMs: 5,
  telegramNotSent: 0,
  telegramAnswerLost: 0,
  telegramServerError: 0,
  telegramHang: 0,
  telegramThrottleEveryMs: null,
  telegramLatencyMaxMs: 80,
  userDeletesEveryMs: null,
  userClosesEveryMs: null,
  userRenamesEveryMs: null,
};

/**
 * Which faults a round has: each is there in about half of them. What users do comes of a chance of its own, so that it
 * changes nothing of what is drawn for the machines.
 */
export function drawSwarm(random: Random, users: Random): Swarm {
  const rate = (max: number) => (random.chance(0.5) ? random.between(0, max) : 0);
  const every = (fromMs: number, toMs: number) => (random.chance(0.5) ? random.between(fromMs, toMs) : null);
  return {
    killEveryMs: every(1_500, 30_000),
    leaveEveryMs: every(5_000, 60_000),
    restartMaxMs: random.between(50, 8_000),
    pauseEveryMs: every(1_500, 30_000),
    pauseMaxMs: random.pick([200, 2_000, 5_000, 9_000, 30_000]),
    suspendShare: rate(1),
    hostJumpEveryMs: every(10_000, 90_000),
    storeJumpEveryMs: random.chance(0.3) ? random.between(15_000, 120_000) : null,
    jumpMaxMs: random.pick([50, 500, 2_000]),
    partitionEveryMs: every(5_000, 60_000),
    partitionMaxMs: random.pick([500, 3_000, 8_000, 20_000]),
    storeBusy: rate(0.5),
    storeAnswerLost: rate(0.2),
    storeDetached: rate(1),
    storeLatencyMaxMs: random.pick([1, 10, 100, 600]),
    storeStall: rate(0.05),
    storeStallMaxMs: 1_500,
    lagMaxMs: random.pick([1, 5, 50, 300]),
    lookFails: rate(0.5),
    lookUnverifiable: rate(0.5),
    hint: random.pick([0, 0.5, 1]),
    networkLoss: rate(0.3),
    networkLatencyMaxMs: random.pick([1, 10, 100, 800]),
    telegramNotSent: rate(0.2),
    telegramAnswerLost: rate(0.2),
    telegramServerError: rate(0.1),
    telegramHang: rate(0.05),
    telegramThrottleEveryMs: every(20_000, 200_000),
    telegramLatencyMaxMs: random.pick([50, 300, 2_000]),
    ...drawUsers(users),
  };
}

function drawUsers(random: Random) {
  const every = (fromMs: number, toMs: number) => (random.chance(0.3) ? random.between(fromMs, toMs) : null);
  return {
    userDeletesEveryMs: every(10_000, 60_000),
    userClosesEveryMs: every(10_000, 60_000),
    userRenamesEveryMs: every(5_000, 60_000),
  };
}

export interface FaultCounts {
  readonly count: (kind: string) => void;
  readonly read: () => Readonly<Record<string, number>>;
  readonly total: () => number;
}

export function createFaultCounts(): FaultCounts {
  const counts = new Map<string, number>();
  return {
    count: (kind) => void counts.set(kind, (counts.get(kind) ?? 0) + 1),
    read: () => Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))),
    total: () => [...counts.values()].reduce((sum, each) => sum + each, 0),
  };
}
