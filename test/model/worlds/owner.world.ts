/**
 * World `owner`: instances and a v1 process that stand for one v1 owner record; inside it, one lease row.
 *
 * Owns: the record (its rules are the very ones of `owner.rules.ts`), the v1 process, who lives, what an instance has told
 * its host, the budgets of faults.
 * Does not own: what an instance decides (`ownerMachine` with `leaseMachine` inside), the row (`lease.world.ts`).
 *
 * Bounds: takes, refreshes per take, epochs, renewals, crashes, releases, requests that fail, cut files, takes by force.
 * Time is any time. What a host may still do follows from the gate it closes by its own clock: with the end of the record,
 * or of the lease, whatever its charts have noticed. One bound of time is used: a damaged file is set aside only when the
 * record in it has ended, since the wait for that is longer than a record lives.
 */
import type { AnyEventObject, AnyStateMachine, SnapshotFrom } from "xstate";
import { epoch, instanceId } from "../../../machines/ids.ts";
import type { Epoch, InstanceId } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { Shown } from "../../../machines/invariants.ts";
import type { LeaseInput } from "../../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../../machines/lease.rules.ts";
import { defaultOwnerTimings } from "../../../machines/owner.contract.ts";
import type { OwnerInput } from "../../../machines/owner.contract.ts";
import { type ownerMachine } from "../../../machines/owner.machine.ts";
import { ownerStateOf, takenRecord } from "../../../machines/owner.rules.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, Order, World } from "../../../testing/explorer/index.ts";
import { faithfulRules, forget, leaseChart } from "./lease.world.ts";
import {
  faithfulOwner,
  v1Pid,
  ownerPlace,
  leasePlace,
  indexOfPlace,
  nameOf,
  indexOf,
  selfOf,
  v1Self,
  spend,
  withPerson,
  ownerIndex,
  lookAt,
  written,
  overthrown,
  isRead,
  isOfOwner,
  commitOwner,
  commitOfLease,
} from "./owner.env.ts";
import type { OwnerBounds, OwnerEnv, OwnerRules } from "./owner.env.ts";

export { faithfulOwner } from "./owner.env.ts";
export type { OwnerBounds, OwnerRules } from "./owner.env.ts";

interface OwnerSeen {
  readonly owns: boolean;
  readonly holds: number | null;
  readonly done: boolean;
}

/** The parts of the view that this world shows. */
export const ownerParts = ["lease", "instances", "roles", "owner", "grants", "writes"] as const;
type OwnerWorldView = Shown<(typeof ownerParts)[number]>;
const judge = judgeOf(ownerParts);

export function ownerWorld(
  bounds: OwnerBounds,
  rules: OwnerRules = faithfulOwner,
  name = "owner",
): World<OwnerEnv, OwnerSeen, OwnerWorldView> {
  const all = Array.from({ length: bounds.instances }, (_each, index) => index);
  const owner = ownerChart(rules.machine);
  const lease = companionChart;
  return {
    ...worldDefaults,
    name,
    orphansMax: bounds.orphans,
    places: all.flatMap((index) => [
      { name: ownerPlace(index), chart: owner },
      { name: leasePlace(index), chart: lease },
    ]),
    start: { env: beginning(bounds), orders: all.map((index) => startOwner(index)) },
    actions: (env) => [
      ...timeActions(env),
      ...v1Actions(env, bounds),
      ...all.flatMap((index) => hostActions(env, index)),
    ],
    commit: (env, request) =>
      isOfOwner(request.src) ? commitOwner(env, request, { bounds, rules }) : commitOfLease(env, request, bounds),
    faults: (env, { src }, phase) => {
      if (env.left.losses === 0) return [];
      const next = spend(env, "losses");
      // A transaction of the owner store runs in the asker's own process and is awaited to its end: it fails before or
      // after it took effect, never is there an effect after the failure. The lease's store gives no such word.
      if (phase === "committed") return [{ kind: "answerLost", env: next }];
      return [{ kind: isRead(src) || isOfOwner(src) ? "notCommitted" : "unanswered", env: next }];
    },
    outlives: ({ src }) => !isRead(src),
    runs: (env, place) => env.people[indexOfPlace(place)]?.alive === true,
    onFact: (env, place, fact) => reactTo(env, place, fact),
    observe: (place, snapshot) => ({
      owns: place.startsWith("owner") && snapshot.matches("owning"),
      // The lease chart's context, whose snapshots alone come here with this place.
      holds:
        place.startsWith("lease") && snapshot.matches("holding") ? (snapshot.context as { epoch: number }).epoch : null,
      done: snapshot.status === "done",
    }),
    view: viewOf,
    check: judge,
    mayEnd: (env, seen) => all.every((index) => env.people[index]?.alive !== true || seen[2 * index]?.done === true),
    goal: (env, seen) =>
      (env.record?.pid === v1Pid && env.isV1Alive) ||
      all.some((index) => actsAsLeader(env, index)) ||
      all.every((index) => env.people[index]?.alive !== true || seen[2 * index]?.done === true),
  };
}

function beginning(bounds: OwnerBounds): OwnerEnv {
  const { crashes, releases, losses, damages, v1Takes, v1Forces, v1Releases, v1Crashes } = bounds;
  const people = Array.from({ length: bounds.instances }, () => ({
    alive: true,
    told: null,
    recordEnded: true,
    leaseEnded: true,
    isOverthrown: false,
  }));
  return {
    record: null,
    isStale: false,
    isDamaged: false,
    minted: 0,
    isV1Alive: true,
    people,
    lease: {
      epoch: 0,
      renewals: 0,
      holder: null,
      expired: false,
      lives: people.map(() => ({ life: 0, is: "up" })),
      left: { crashes: 0, restarts: 0, pauses: 0, losses: 0, releases: 0, writes: 0 },
      grants: [],
      wrongWrites: [],
    },
    wrongTakes: [],
    left: { crashes, releases, losses, damages, v1Takes, v1Forces, v1Releases, v1Crashes },
  };
}

function startOwner(index: number): Order {
  const input: OwnerInput = {
    self: selfOf(index),
    leaderAddress: "",
    timings: { ...defaultOwnerTimings, proofLooksMax: 2 },
  };
  return { kind: "start", place: ownerPlace(index), as: nameOf(index), input };
}

function startLease(index: number): Order {
  const input: LeaseInput = { me: instanceId(nameOf(index)), timings: { ...defaultLeaseTimings, proofLooksMax: 2 } };
  return { kind: "start", place: leasePlace(index), as: nameOf(index), input };
}

/** Of a context only what the state still uses: what was seen is compared in `confirming` alone, else it is read anew. */
function projectOwner(snapshot: SnapshotFrom<typeof ownerMachine>): unknown {
  const { self, sight, mine, looks, epoch: granted } = snapshot.context;
  const me = self.instanceId;
  if (snapshot.matches("confirming")) return { me, sight };
  if (snapshot.matches("proving")) return { me, looks };
  if (snapshot.matches("returning") || snapshot.matches("releasing")) return { me, mine };
  return snapshot.matches("owning") ? { me, mine, granted } : { me };
}

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();

function ownerChart(machine: AnyStateMachine) {
  const known = charts.get(machine);
  if (known !== undefined) return known;
  const chart = chartOf(machine, {
    // A seeded variant of the owner chart has its context and its states.
    project: (it: SnapshotFrom<AnyStateMachine>) => projectOwner(it as SnapshotFrom<typeof ownerMachine>),
    companions: ["lease"],
    facts: ["lease.granted", "lease.lost", "lease.releasing", "lease.released"],
  });
  charts.set(machine, chart);
  return chart;
}

/** The lease chart of the lease world, all of whose facts the owner chart hears. */
const companionChart = { ...leaseChart(faithfulRules.machine), hears: () => true };

function timeActions(env: OwnerEnv): Action<OwnerEnv>[] {
  const actions: Action<OwnerEnv>[] = [];
  if (env.record !== null && !env.isStale) {
    const index = ownerIndex(env);
    const next = { ...env, isStale: true };
    actions.push({
      name: "nobody refreshes the record in time",
      env: index === null ? next : withPerson(next, index, { recordEnded: true }),
      kind: "fair",
    });
  }
  const { lease } = env;
  if (lease.holder !== null && !lease.expired)
    actions.push({
      name: "the lease passes its end",
      env: withPerson({ ...env, lease: { ...lease, expired: true } }, indexOf(lease.holder), { leaseEnded: true }),
      kind: "fair",
    });
  return actions;
}

/** A process that speaks v1: it elects as we do, and may take a live record by force. */
function v1Actions(env: OwnerEnv, { takes, refreshes }: OwnerBounds): Action<OwnerEnv>[] {
  const { left, record } = env;
  if (!env.isV1Alive) return [];
  const actions: Action<OwnerEnv>[] = [];
  const add = (name: string, next: OwnerEnv, kind: Action<OwnerEnv>["kind"] = "fault"): void =>
    void actions.push({ name: `v1 ${name}`, env: next, kind });
  const isOwn = record?.pid === v1Pid;
  const take = (spent: OwnerEnv): OwnerEnv => ({
    ...written(spent, takenRecord(v1Self, String(env.minted + 1), 0)),
    minted: env.minted + 1,
  });
  if (left.v1Crashes > 0) add("crashes", { ...spend(env, "v1Crashes"), isV1Alive: false });
  if (env.isDamaged) return actions;
  const state = ownerStateOf(lookAt(env), v1Self);
  if (env.minted < takes && !isOwn) {
    if (left.v1Takes > 0 && ["inactive", "gone", "stale"].includes(state)) add("takes", take(spend(env, "v1Takes")));
    if (left.v1Forces > 0 && state === "held") add("takes by force", take(overthrown(spend(env, "v1Forces"))));
  }
  if (isOwn && (record.heartbeatMs ?? 0) < refreshes)
    add("refreshes", written(env, { ...record, heartbeatMs: (record.heartbeatMs ?? 0) + 1 }), "free");
  if (isOwn && left.v1Releases > 0) add("lets go", { ...spend(env, "v1Releases"), record: null, isStale: false });
  return actions;
}

function hostActions(env: OwnerEnv, index: number): Action<OwnerEnv>[] {
  if (env.people[index]?.alive !== true) return [];
  const { left, lease } = env;
  const place = ownerPlace(index);
  const name = nameOf(index);
  const hint: Action<OwnerEnv> = {
    name: `${name} is told to look`,
    env,
    kind: "fault",
    orders: [{ kind: "send", place, event: { type: "lease.check" } }],
  };
  const actions = [hint];
  if (left.releases > 0)
    actions.push({
      name: `${name} is told to let go`,
      env: spend(env, "releases"),
      kind: "fault",
      orders: [{ kind: "send", place, event: { type: "lease.release" } }],
    });
  if (left.crashes > 0) {
    const lives = lease.lives.map((each, at) => (at === index ? ({ ...each, is: "down" } as const) : each));
    const down = forget({ ...lease, lives }, (each) => each.to === name);
    actions.push({
      name: `${name} crashes`,
      env: withPerson({ ...spend(env, "crashes"), lease: down }, index, {
        alive: false,
        told: null,
        isOverthrown: false,
      }),
      kind: "fault",
      orders: [
        { kind: "remove", place: leasePlace(index) },
        { kind: "remove", place },
      ],
    });
  }
  if (left.damages > 0 && index === 0 && !env.isDamaged)
    actions.push({ name: "the file is cut", env: { ...spend(env, "damages"), isDamaged: true }, kind: "fault" });
  return actions;
}

/** The owner chart tells the host, the lease chart tells the owner chart. */
function reactTo(env: OwnerEnv, place: string, fact: AnyEventObject) {
  const index = indexOfPlace(place);
  if (place.startsWith("lease")) {
    const order: Order = { kind: "send", place: ownerPlace(index), event: fact };
    const isOver = fact.type === "lease.lost" || fact.type === "lease.released";
    return {
      env: isOver ? { ...env, lease: forget(env.lease, (each) => each.to === nameOf(index)) } : env,
      orders: [order],
    };
  }
  // The host starts the lease chart with input of its own, so it is no plain guest of the owner chart's place.
  if (fact.type === "companion.started") return { env, orders: [startLease(index)] };
  if (fact.type === "companion.stopped")
    return { env, orders: [{ kind: "remove", place: leasePlace(index) } as const] };
  if (fact.type === "companion.told")
    return {
      env,
      orders: [{ kind: "send", place: leasePlace(index), event: fact["event"] as AnyEventObject } as const],
    };
  if (fact.type === "lease.granted") return { env: withPerson(env, index, { told: Number(fact["epoch"]) }) };
  return { env: withPerson(env, index, { told: null, isOverthrown: false }) };
}

/** Told to lead, and its gate is open. */
function actsAsLeader({ people }: OwnerEnv, index: number): boolean {
  const person = people[index];
  return person !== undefined && person.alive && person.told !== null && !person.recordEnded && !person.leaseEnded;
}

function viewOf(env: OwnerEnv, seen: readonly (OwnerSeen | null)[]): OwnerWorldView {
  const { lease, people, record } = env;
  const idOf = (index: number): InstanceId => instanceId(nameOf(index));
  const heldBy = (index: number): Epoch | null => {
    const holds = seen[2 * index + 1]?.holds ?? null;
    return holds === null ? null : epoch(holds);
  };
  return {
    lease: { epoch: epoch(lease.epoch), holder: lease.holder === null ? null : instanceId(lease.holder) },
    instances: people.map(({ alive }, index) => ({ id: idOf(index), alive, holds: heldBy(index) })),
    roles: people.map(({ told }, index) => ({
      id: idOf(index),
      holds: heldBy(index),
      leadsUnder: told === null ? null : epoch(told),
    })),
    owner: {
      // Compared with ids of ours: what a v1 process calls itself is none of them.
      recordOf: record === null ? null : instanceId(record.instanceId ?? ""),
      overthrown: people.flatMap(({ isOverthrown }, index) => (isOverthrown ? [idOf(index)] : [])),
      keepers: people.flatMap((_each, index) => (seen[2 * index]?.owns === true ? [idOf(index)] : [])),
      actors: people.flatMap((_each, index) => (actsAsLeader(env, index) ? [idOf(index)] : [])),
      takes: env.wrongTakes,
    },
    grants: lease.grants,
    writes: lease.wrongWrites,
  };
}
