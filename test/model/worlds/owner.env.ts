/**
 * Environment of the owner world: the record, the v1 process, who lives, and what a request does to them.
 *
 * Owns: the record in the file, by the very rules of `owner.rules.ts`, and the store's side of every request.
 * Does not own: what may happen next (`owner.world.ts`), the lease row (`lease.world.ts`).
 */
import type { AnyStateMachine } from "xstate";
import { epoch, instanceId } from "../../../machines/ids.ts";
import type { OwnerTakeView } from "../../../machines/invariants.ts";
import { ownerMachine } from "../../../machines/owner.machine.ts";
import { isSameOwner, judgeTake, ownerStaleMs, ownerStateOf, takenRecord } from "../../../machines/owner.rules.ts";
import type { OwnerLook, OwnerRecord, OwnerSelf, OwnerSight, TakeVerdict } from "../../../machines/owner.rules.ts";
import type { Outcome, Request } from "../../../testing/explorer/index.ts";
import { commitLease, faithfulRules } from "./lease.world.ts";
import type { LeaseEnv } from "./lease.world.ts";

interface OwnerBudgets {
  readonly crashes: number;
  readonly releases: number;
  /** Requests whose asker gives up although they may still take effect. */
  readonly losses: number;
  /** Files cut in the middle. */
  readonly damages: number;
  /** What the v1 process does to the record: takes of a free one, of a live one, removals of its own. */
  readonly v1Takes: number;
  readonly v1Forces: number;
  readonly v1Releases: number;
  readonly v1Crashes: number;
}

export interface OwnerBounds extends OwnerBudgets {
  readonly instances: number;
  readonly takes: number;
  readonly refreshes: number;
  readonly epochs: number;
  readonly renewals: number;
  /** Requests that live on without their asker, at the same time. */
  readonly orphans: number;
  /** The last leader named a candidate before the second instance. */
  readonly isPreceded: boolean;
}

interface Person {
  readonly alive: boolean;
  /** The grant it told its host and has not taken back. */
  readonly told: number | null;
  /** Its gate: the record it wrote last, and the lease it was granted last, have ended by the clock. */
  readonly recordEnded: boolean;
  readonly leaseEnded: boolean;
  /** A v1 process took its live record, and it has not noticed. */
  readonly isOverthrown: boolean;
}

export interface OwnerEnv {
  readonly record: OwnerRecord | null;
  /** Nobody refreshed the record in time. */
  readonly isStale: boolean;
  readonly isDamaged: boolean;
  readonly minted: number;
  readonly isV1Alive: boolean;
  readonly people: readonly Person[];
  readonly lease: LeaseEnv;
  /** Takes of ours that should not have been. */
  readonly wrongTakes: readonly OwnerTakeView[];
  readonly left: OwnerBudgets;
}

/** The rules of the store and the charts, replaceable one by one to seed faults. */
export interface OwnerRules {
  readonly judgeTake: typeof judgeTake;
  readonly isSameOwner: typeof isSameOwner;
  readonly ownerStateOf: typeof ownerStateOf;
  readonly machine: AnyStateMachine;
}
export const faithfulOwner: OwnerRules = { judgeTake, isSameOwner, ownerStateOf, machine: ownerMachine };

export const v1Pid = 9;
export const ownerPlace = (index: number): string => `owner${index}`;
export const leasePlace = (index: number): string => `lease${index}`;
export const indexOfPlace = (place: string): number => Number(place.slice(-1));
/** As the lease world calls an instance in its first life. */
export const nameOf = (index: number): string => `i${index}.0`;
export const indexOf = (name: string): number => Number(name.slice(1, 2));

export const selfOf = (index: number): OwnerSelf => ({
  pid: index + 1,
  cwd: "",
  instanceId: instanceId(nameOf(index)),
  runtimeGeneration: 1,
  secret: "",
});
export const v1Self: OwnerSelf = { ...selfOf(0), pid: v1Pid, instanceId: instanceId("v1") };

export const spend = (env: OwnerEnv, what: keyof OwnerBudgets): OwnerEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});
export const withPerson = (env: OwnerEnv, index: number, differs: Partial<Person>): OwnerEnv => ({
  ...env,
  people: env.people.map((each, at) => (at === index ? { ...each, ...differs } : each)),
});
export const ownerIndex = ({ record }: OwnerEnv): number | null =>
  record === null || record.pid === v1Pid ? null : record.pid - 1;

const isRunning = (env: OwnerEnv, pid: number): boolean =>
  pid === v1Pid ? env.isV1Alive : (env.people[pid - 1]?.alive ?? false);

export const lookAt = (env: OwnerEnv): OwnerLook => ({
  record: env.record,
  nowMs: (env.record?.heartbeatMs ?? 0) + (env.isStale ? ownerStaleMs + 1 : 0),
  isRunning: env.record === null || isRunning(env, env.record.pid),
});

/** A take writes the record anew; a refresh stamps the one that is there. */
export function written(env: OwnerEnv, record: OwnerRecord): OwnerEnv {
  const next = { ...env, record, isStale: false };
  return record.pid === v1Pid ? next : withPerson(next, record.pid - 1, { recordEnded: false, isOverthrown: false });
}

export function overthrown(env: OwnerEnv): OwnerEnv {
  const index = ownerIndex(env);
  return index === null ? env : withPerson(env, index, { isOverthrown: true });
}

export const isRead = (src: string): boolean => ["readOwner", "readLease", "proveHolder"].includes(src);
export const isOfOwner = (src: string): boolean => src.endsWith("Owner") || src === "setAsideOwners";

const answered = (env: OwnerEnv, output: unknown): Outcome<OwnerEnv>[] => [{ env, answer: { output } }];

export function commitOwner(
  env: OwnerEnv,
  { by, src, input }: Request,
  { bounds, rules }: { readonly bounds: OwnerBounds; readonly rules: OwnerRules },
): readonly Outcome<OwnerEnv>[] | "cut" {
  const index = indexOf(by);
  // Inputs are what the owner chart passes to the slot of this name.
  const { expected = null, mine = null } = (input ?? {}) as Partial<Record<"expected" | "mine", OwnerRecord | null>>;
  if (src === "readOwner") return answered(env, sightOf(env, index, { bounds, rules }));
  if (src === "setAsideOwners") {
    if (!env.isDamaged) return answered(env, undefined);
    // Not before the owner in it, who cannot refresh, has closed its gate.
    return env.record === null || env.isStale
      ? answered({ ...env, isDamaged: false, record: null, isStale: false }, undefined)
      : [];
  }
  if (env.isDamaged) return [{ env, answer: { error: "damaged" } }];
  if (src === "takeOwner") return take(env, index, expected, { bounds, rules });
  const isOurs = rules.isSameOwner(env.record, mine);
  if (src === "releaseOwner") return answered(isOurs ? { ...env, record: null, isStale: false } : env, undefined);
  if (!isOurs || mine === null) return answered(env, { kind: "lost" });
  const heartbeatMs = (env.record?.heartbeatMs ?? 0) + 1;
  if (heartbeatMs > bounds.refreshes) return "cut";
  return answered(written(env, { ...mine, heartbeatMs }), { kind: "refreshed", remainingMs: 1 });
}

function sightOf(
  env: OwnerEnv,
  index: number,
  { bounds, rules }: { readonly bounds: OwnerBounds; readonly rules: OwnerRules },
): OwnerSight {
  if (env.isDamaged) return { kind: "damaged", reason: "" };
  return {
    kind: "seen",
    record: env.record,
    state: rules.ownerStateOf(lookAt(env), selfOf(index)),
    // Who leads is told to the host; no state of the chart asks for it.
    lease: { epoch: epoch(0), renewals: 0, holder: null, remainingMs: 0 },
    isPreceded: bounds.isPreceded && index === 1,
  };
}

export function take(
  env: OwnerEnv,
  index: number,
  expected: OwnerRecord | null,
  { bounds, rules }: { readonly bounds: OwnerBounds; readonly rules: OwnerRules },
): readonly Outcome<OwnerEnv>[] | "cut" {
  const self = selfOf(index);
  const kind: TakeVerdict = rules.judgeTake(lookAt(env), self, expected);
  if (kind === "refused") return answered(env, { kind, record: env.record, remainingMs: 1 });
  if (kind === "kept" && env.record !== null) {
    const heartbeatMs = (env.record.heartbeatMs ?? 0) + 1;
    if (heartbeatMs > bounds.refreshes) return "cut";
    const record = { ...env.record, heartbeatMs };
    return answered(written(env, record), { kind, record, remainingMs: 1 });
  }
  if (env.minted >= bounds.takes) return "cut";
  const record = takenRecord(self, String(env.minted + 1), 0);
  const over = ownerStateOf(lookAt(env), self);
  const wrongTakes =
    over === "held" || over === "sibling" ? [{ by: self.instanceId, over: "liveOwner" as const }] : env.wrongTakes;
  const next = { ...written(env, record), minted: env.minted + 1, wrongTakes };
  return answered(next, { kind, record, remainingMs: 1 });
}

export function commitOfLease(
  env: OwnerEnv,
  request: Request,
  { instances, epochs, renewals }: OwnerBounds,
): readonly Outcome<OwnerEnv>[] | "cut" {
  const outcomes = commitLease(env.lease, request, {
    bounds: { ...env.lease.left, instances, epochs, renewals },
    rules: faithfulRules,
    isAlive: (lease, token) => lease.lives[indexOf(token)]?.is !== "down",
  });
  if (outcomes === "cut") return "cut";
  return outcomes.map(({ env: lease, answer }) => {
    const isFresh = lease.holder === request.by && !lease.expired && lease !== env.lease;
    const next = { ...env, lease };
    return { env: isFresh ? withPerson(next, indexOf(request.by), { leaseEnded: false }) : next, answer };
  });
}
