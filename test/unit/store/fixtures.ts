/**
 * Values that the store's tests speak about, and a clock that stands still until it is told.
 */
import * as id from "../../../machines/ids.ts";
import type { Epoch, Generation, Incarnation, InstanceId, SeatKey, ThreadTarget } from "../../../machines/ids.ts";
import type { CleanupReason, ThreadEvidence } from "../../../machines/reconciliation.types.ts";
import type { LeaseHolder } from "../../../machines/lease.rules.ts";
import type {
  AdmittedUpdate,
  BegunProvision,
  Binding,
  Claimant,
  Clock,
  SeatRegistration,
  SeatStanding,
  Store,
} from "../../../services/ports.ts";

export const leaseMs = 6_000;
export const graceMs = 600_000;
export const startMs = 1_700_000_000_000;

export class StoppedClock implements Clock {
  #nowMs = startMs;
  nowMs(): number {
    return this.#nowMs;
  }
  elapsedMs(): number {
    return this.#nowMs - startMs;
  }
  advance(byMs: number): void {
    this.#nowMs += byMs;
  }
  setTimeout(): never {
    throw new Error("the store sets no timers");
  }
  clearTimeout(): never {
    throw new Error("the store sets no timers");
  }
}

/** A claim of the earliest entry with an id, and nothing more. */
export const plainly = { seq: null, owners: [], settleAtMs: null } as const;
/** The head of each lane. */
export const oneEach = { only: null, perLane: 1 } as const;

export const incarnation = (n: number): Incarnation => ({
  bootId: "boot",
  pidNamespace: "4026531836",
  pid: 1000 + n,
  startTicks: `${5000 + n}`,
  counter: 0,
});

export const instance = (n: number): InstanceId => id.instanceId(`${1000 + n}:${startMs}`);
export const seat = (n: number): SeatKey => id.seatKey(`manual:own:${n}`);
export const generation = (text: string): Generation => id.generation(text);
export const secretOf = (n: number): string => `secret-of-${n}-must-never-be-shown`;

export const holder = (n: number): LeaseHolder => ({
  instanceId: instance(n),
  incarnation: incarnation(n),
  endpoint: `/run/leader-${n}.sock`,
  secret: secretOf(n),
});

export const target = (n: number): ThreadTarget => ({
  chatId: id.chatId(-1_001_234_567_890),
  threadId: id.threadId(n),
});

export const thread = (n: number) => ({
  target: target(n),
  slot: String.fromCharCode(64 + n),
  threadName: `Thread ${n}`,
});

export const binding = (seatNumber: number, threadNumber: number, createdAtMs = startMs): Binding => ({
  seat: seat(seatNumber),
  thread: thread(threadNumber),
  createdAtMs,
  standing: "open",
  reason: "",
  provenAtMs: createdAtMs,
});

/** A binding as a view shows it, of a seat on which nobody has registered with it. */
export const unheld = (binding: Binding) => ({ ...binding, holder: null });

export const cleanup = (seatNumber: number, threadNumber: number, reason: CleanupReason = "left") => ({
  seat: seat(seatNumber),
  target: target(threadNumber),
  reason,
  atMs: startMs,
  dueAtMs: startMs + 5,
});

export const evidence = (threadNumber: number, what: ThreadEvidence["what"]): ThreadEvidence => ({
  target: target(threadNumber),
  what,
  name: what === "created" || what === "renamed" ? `Name ${threadNumber}` : null,
  by: "person",
  atMs: startMs,
});

export const provision = (name: string, seatNumber: number, slot: string): BegunProvision => ({
  id: name,
  seat: seat(seatNumber),
  chatId: target(1).chatId,
  slot,
  threadName: `Thread ${slot}`,
  startedAtMs: startMs,
  status: "inFlight",
  doubts: 0,
});

/** A begun creation as a view shows it, of whose thread nobody has learned. */
export const unseen = (begun: BegunProvision) => ({ ...begun, threadId: null });

export const registration = (seatNumber: number, instanceNumber: number, gen: string): SeatRegistration => ({
  seat: seat(seatNumber),
  instanceId: instance(instanceNumber),
  generation: generation(gen),
  incarnation: incarnation(instanceNumber),
  thread: thread(seatNumber),
  atMs: startMs,
  threadGraceMs: graceMs,
});

/** A registration as the status shows it, while it stands. */
export const standing = (registration: SeatRegistration): SeatStanding => ({
  ...registration,
  ended: null,
  endedAtMs: null,
  unprovable: null,
});

export const claimant = (seatNumber: number, instanceNumber: number, gen: string, acquisition: string): Claimant => ({
  seat: seat(seatNumber),
  instanceId: instance(instanceNumber),
  generation: generation(gen),
  acquisition: id.acquisitionId(acquisition),
});

export const update = (n: number, lane = "lane-1", text = "hello"): AdmittedUpdate => ({
  updateId: id.updateId(n),
  lane: id.lane(lane),
  body: JSON.stringify({ update_id: n, message: { text } }),
});

/** Takes the lease from whoever has it, as one who has proof. */
export async function lead(store: Store, n: number): Promise<Epoch> {
  const { epoch, renewals } = await store.lease.read();
  const grant = { me: holder(n), expected: { epoch, renewals }, evidence: "holderGone", durationMs: leaseMs } as const;
  const answer = await store.lease.acquire(grant);
  if (answer.kind !== "granted") throw new Error("the lease was not granted");
  return answer.record.epoch;
}

export async function admit(store: Store, epoch: Epoch, updates: readonly AdmittedUpdate[], nowMs = startMs) {
  const cursor = id.updateId(Math.max(0, ...updates.map((one) => one.updateId)) + 1);
  return await store.journal.admit({ epoch, updates, cursor, nowMs });
}

/** A rejected promise's error; fails when it resolved. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection");
}
