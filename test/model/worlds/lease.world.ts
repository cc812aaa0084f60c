/**
 * World `lease`: instances that stand for one lease row.
 *
 * Owns: the row (faithful to `LeaseStore` in services/ports.ts), who lives, the budgets of faults.
 * Does not own: what an instance decides (`leaseMachine`, the very chart).
 *
 * Bounds: epochs, renewals per grant, crashes, restarts, pauses, requests that fail, releases. Time is any time: a timer
 * may fire whenever it is pending, and the row may pass its end whenever it has a holder, so a slow holder loses its lease.
 */
import type { AnyEventObject, AnyStateMachine, SnapshotFrom } from "xstate";
import { epoch, instanceId } from "../../../machines/ids.ts";
import type { Epoch, InstanceId } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { GrantView, LeaderWriteView, Shown } from "../../../machines/invariants.ts";
import { leaseMachine } from "../../../machines/lease.machine.ts";
import type { AcquireInput, LeaseInput, RenewInput } from "../../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../../machines/lease.rules.ts";
import type { LeaseHolder, LeaseRecord } from "../../../machines/lease.rules.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, Outcome, Request, World } from "../../../testing/explorer/index.ts";

type Life = "up" | "paused" | "down";

export interface LeaseEnv {
  readonly epoch: number;
  readonly renewals: number;
  readonly holder: string | null;
  readonly expired: boolean;
  /** Per instance: which life it is in, and how it is. */
  readonly lives: readonly { readonly life: number; readonly is: Life }[];
  readonly left: LeaseBudgets;
  /** The latest grant, and every earlier one that somebody may still believe in. */
  readonly grants: readonly GrantView[];
  /** Writes of leaders that the store judged wrongly. */
  readonly wrongWrites: readonly LeaderWriteView[];
}

export interface LeaseBudgets {
  readonly crashes: number;
  readonly restarts: number;
  readonly pauses: number;
  /** Requests whose asker gives up although they may still take effect. */
  readonly losses: number;
  readonly releases: number;
  readonly writes: number;
}

export interface LeaseBounds extends LeaseBudgets {
  readonly instances: number;
  readonly epochs: number;
  readonly renewals: number;
  /** Hints may come at any time. Whether they stop with the faults (`fault`, the default) or go on (`free`). */
  readonly hints?: "free" | "fault";
}

/** The rules of the store, replaceable one by one to seed faults. */
export interface LeaseRules {
  readonly mayAcquire: (env: LeaseEnv, by: string, input: AcquireInput) => boolean;
  readonly epochAfterGrant: (env: LeaseEnv, by: string) => number;
  readonly mayRenew: (env: LeaseEnv, input: RenewInput) => "renewed" | "lapsed" | "fenced";
  readonly mayRelease: (env: LeaseEnv, input: { readonly epoch: Epoch }) => boolean;
  readonly mayWrite: (env: LeaseEnv, input: { readonly epoch: Epoch }) => boolean;
  /** How the store judges the end of the lease when it answers a read. */
  readonly readsAsEnded: (env: LeaseEnv) => boolean;
  /** What a look at the process table says of an instance in this condition. */
  readonly looksAlive: (is: Life) => boolean;
  readonly machine: AnyStateMachine;
  /** What a restarted process calls itself. */
  readonly nameOf: (instance: number, life: number) => string;
}

export const faithfulRules: LeaseRules = {
  mayAcquire: (env, _by, { expected, evidence }) =>
    expected.epoch === env.epoch &&
    expected.renewals === env.renewals &&
    (evidence !== "vacant" || env.holder === null) &&
    (evidence !== "expired" || env.expired),
  epochAfterGrant: (env) => env.epoch + 1,
  mayRenew: (env, input) => {
    if (input.epoch !== env.epoch || env.holder === null) return "fenced";
    return env.expired ? "lapsed" : "renewed";
  },
  mayRelease: (env, input) => input.epoch === env.epoch,
  mayWrite: (env, input) => input.epoch === env.epoch,
  readsAsEnded: (env) => env.expired,
  looksAlive: (is) => is !== "down",
  machine: leaseMachine,
  nameOf: (instance, life) => `i${instance}.${life}`,
};

type Seen = { readonly holds: Epoch | null; readonly done: boolean };

const placeOf = (instance: number): string => `lease${instance}`;
const instanceOfPlace = (place: string): number => Number(place.slice("lease".length));
const instanceOf = (token: string): number => Number(token.slice(1, token.indexOf(".")));

function holderRecord(token: string): LeaseHolder {
  // What the process table proves is the environment's truth about the id, so the incarnation says nothing here.
  const incarnation = { bootId: "", pidNamespace: "", pid: 0, startTicks: "", counter: 0 };
  return { instanceId: instanceId(token), incarnation, endpoint: "", secret: "" };
}

const recordOf = (env: LeaseEnv, ended = env.expired): LeaseRecord => ({
  epoch: epoch(env.epoch),
  renewals: env.renewals,
  holder: env.holder === null ? null : holderRecord(env.holder),
  remainingMs: env.holder === null || ended ? 0 : 1,
});

const spend = (env: LeaseEnv, what: keyof LeaseBudgets): LeaseEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});

const withLife = (env: LeaseEnv, instance: number, is: Life): LeaseEnv => ({
  ...env,
  lives: env.lives.map((each, index) => (index === instance ? { ...each, is } : each)),
});

/** Only what is right can be forgotten: a grant that nobody can believe in any more, unless it is the latest. */
export function forget(env: LeaseEnv, isOver: (grant: GrantView) => boolean): LeaseEnv {
  const last = env.grants.length - 1;
  const grants = env.grants.filter((each, index) => index === last || each.over === "liveHolder" || !isOver(each));
  return grants.length === env.grants.length ? env : { ...env, grants };
}

/** The parts of the view that this world shows. */
export const leaseParts = ["lease", "instances", "grants", "writes"] as const;
type LeaseView = Shown<(typeof leaseParts)[number]>;
const judge = judgeOf(leaseParts);

export function leaseWorld(
  bounds: LeaseBounds,
  rules: LeaseRules = faithfulRules,
  name = "lease",
): World<LeaseEnv, Seen, LeaseView> {
  const { instances } = bounds;
  const { nameOf } = rules;
  const all = Array.from({ length: instances }, (_each, index) => index);
  const inputOf = (token: string): LeaseInput => ({
    me: instanceId(token),
    timings: { ...defaultLeaseTimings, proofLooksMax: 2 },
  });
  const isAlive = (env: LeaseEnv, token: string): boolean => {
    const now = env.lives[instanceOf(token)];
    return now !== undefined && now.is !== "down" && nameOf(instanceOf(token), now.life) === token;
  };

  return {
    ...worldDefaults,
    name,
    orphansMax: 3,
    places: all.map((index) => ({ name: placeOf(index), chart: leaseChart(rules.machine) })),
    start: {
      env: {
        epoch: 0,
        renewals: 0,
        holder: null,
        expired: false,
        lives: all.map(() => ({ life: 0, is: "up" })),
        left: budgetsOf(bounds),
        grants: [],
        wrongWrites: [],
      },
      orders: all.map((index) => start(index, nameOf(index, 0), inputOf(nameOf(index, 0)))),
    },

    actions: (env) => [
      ...(env.holder !== null && !env.expired
        ? [{ name: "the lease passes its end", env: { ...env, expired: true }, kind: "fair" } as const]
        : []),
      ...all.flatMap((index) => instanceActions(env, index, { nameOf, inputOf, hints: bounds.hints ?? "fault" })),
    ],

    commit: (env, request) => commitLease(env, request, { bounds, rules, isAlive }),
    faults: (env, { src }) => {
      if (env.left.losses === 0) return [];
      return [
        {
          kind: src === "readLease" || src === "proveHolder" ? "notCommitted" : "unanswered",
          env: spend(env, "losses"),
        },
      ];
    },
    outlives: ({ src }) => src !== "readLease" && src !== "proveHolder",
    runs: (env, place) => env.lives[instanceOfPlace(place)]?.is === "up",
    onFact: (env, place, fact) => reactTo(env, instanceOfPlace(place), fact, nameOf),

    observe: (_place, snapshot) => ({
      // The leaf's context is that of the lease chart, whose snapshots alone come here.
      holds: snapshot.matches("holding") ? (snapshot.context as { epoch: Epoch }).epoch : null,
      done: snapshot.status === "done",
    }),
    view: (env, seen) => viewOf(env, seen, nameOf),
    check: judge,
    mayEnd: (env, seen) => seen.every((each, index) => each === null || each.done || env.lives[index]?.is !== "up"),
    goal: (env, seen) =>
      seen.some((each, index) => each?.holds === env.epoch && env.lives[index]?.is === "up") ||
      seen.every((each) => each === null || each.done),
    symmetry: {
      members: all.map((index) => [placeOf(index)]),
      tokens: (member) => Array.from({ length: bounds.restarts + 1 }, (_each, life) => nameOf(member, life)),
      permute: (env, to, rename) => {
        const lives = [...env.lives];
        env.lives.forEach((each, index) => (lives[to[index] ?? index] = each));
        return { ...rename(env), lives };
      },
    },
  };
}

const budgetsOf = ({ crashes, restarts, pauses, losses, releases, writes }: LeaseBounds): LeaseBudgets => ({
  crashes,
  restarts,
  pauses,
  losses,
  releases,
  writes,
});

const start = (instance: number, as: string, input: LeaseInput) =>
  ({ kind: "start", place: placeOf(instance), as, input }) as const;

/**
 * Of a context only what the state still uses. A record is compared in `confirming`, and taken as seen once its holder is proven
 * dead; elsewhere it is read anew.
 */
export function projectLease(snapshot: SnapshotFrom<typeof leaseMachine>): unknown {
  const { me, record, epoch: granted, proofLooks } = snapshot.context;
  const seen = { me, epoch: record?.epoch, renewals: record?.renewals };
  if (snapshot.matches("confirming")) return seen;
  if (snapshot.matches({ proving: "proving" })) return { ...seen, proofLooks };
  if (snapshot.matches("proving")) return { me, proofLooks };
  return snapshot.matches("holding") ? { me, granted } : { me };
}

/** The store compares epoch and renewals of what is expected; of a holder only its identity is looked up. */
function projectLeaseInput(src: string, input: unknown): unknown {
  if (src !== "acquireLease") return input;
  const { expected, evidence } = input as AcquireInput;
  return { expected: { epoch: expected.epoch, renewals: expected.renewals }, evidence };
}

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();

export function leaseChart(machine: AnyStateMachine) {
  const known = charts.get(machine);
  if (known !== undefined) return known;
  // A seeded variant of the lease chart has its context and its states.
  const project = (it: SnapshotFrom<AnyStateMachine>) => projectLease(it as SnapshotFrom<typeof leaseMachine>);
  const chart = chartOf(machine, {
    project,
    projectInput: projectLeaseInput,
    facts: ["lease.granted", "lease.lost", "lease.released"],
  });
  charts.set(machine, chart);
  return chart;
}

function instanceActions(
  env: LeaseEnv,
  index: number,
  naming: {
    readonly nameOf: LeaseRules["nameOf"];
    readonly inputOf: (token: string) => LeaseInput;
    readonly hints: "free" | "fault";
  },
): Action<LeaseEnv>[] {
  const { nameOf, inputOf, hints } = naming;
  const { life, is } = env.lives[index] ?? { life: 0, is: "down" };
  const { left } = env;
  const place = placeOf(index);
  const token = nameOf(index, life);
  const actions: Action<LeaseEnv>[] = [];
  const add = (name: string, next: LeaseEnv, kind: Action<LeaseEnv>["kind"], orders: Action<LeaseEnv>["orders"] = []) =>
    actions.push({ name: `${token} ${name}`, env: next, kind, orders });

  if (is === "paused") add("resumes", withLife(env, index, "up"), "fair");
  if (is === "up") {
    add("is told to look", env, hints, [{ kind: "send", place, event: { type: "lease.check" } }]);
    if (left.pauses > 0) add("pauses", withLife(spend(env, "pauses"), index, "paused"), "fault");
    if (left.releases > 0)
      add("is told to let go", spend(env, "releases"), "fault", [
        { kind: "send", place, event: { type: "lease.release" } },
      ]);
  }
  if (is !== "down" && left.crashes > 0)
    add(
      "crashes",
      forget(withLife(spend(env, "crashes"), index, "down"), (each) => each.to === token),
      "fault",
      [{ kind: "remove", place }],
    );
  if (is === "down" && left.restarts > 0) {
    const next = nameOf(index, life + 1);
    const lives = env.lives.map((each, at) => (at === index ? { life: life + 1, is: "up" as const } : each));
    add("starts anew", { ...spend(env, "restarts"), lives }, "fault", [start(index, next, inputOf(next))]);
  }
  return actions;
}

export interface LeaseTruth {
  readonly bounds: LeaseBounds;
  readonly rules: LeaseRules;
  readonly isAlive: (env: LeaseEnv, token: string) => boolean;
}

export function commitLease(env: LeaseEnv, request: Request, truth: LeaseTruth): readonly Outcome<LeaseEnv>[] | "cut" {
  const { rules, bounds, isAlive } = truth;
  const { by, src, input, orphan } = request;
  const answered = (next: LeaseEnv, output: unknown): Outcome<LeaseEnv>[] => [{ env: next, answer: { output } }];
  // Inputs are what the lease chart passes to the slot of this name, after the projection above.
  switch (src) {
    case "readLease":
      return answered(env, recordOf(env, rules.readsAsEnded(env)));
    case "proveHolder":
      return answered(env, looksAlive(env, (input as LeaseHolder).instanceId, truth) ? "alive" : "dead");
    case "acquireLease": {
      const asked = input as AcquireInput;
      if (!rules.mayAcquire(env, by, asked))
        return answered(env, { kind: "refused", record: recordOf(env), remainingMs: 1 });
      if (env.epoch >= bounds.epochs) return "cut";
      const next = granted(env, by, asked, truth);
      const kept = orphan || !isAlive(env, by) ? forget(next, () => false) : next;
      return answered(kept, { kind: "granted", record: recordOf(next), remainingMs: 1 });
    }
    case "renewLease": {
      const kind = rules.mayRenew(env, input as RenewInput);
      if (kind === "renewed" && env.renewals >= bounds.renewals) return "cut";
      const renewed = kind === "renewed" ? { ...env, renewals: env.renewals + 1, expired: false } : env;
      // A renewal is a write of the leader like any other.
      const next = noted(renewed, by, (input as RenewInput).epoch, kind === "renewed");
      return answered(next, { kind, record: recordOf(next), remainingMs: 1 });
    }
    case "releaseLease": {
      const empties = rules.mayRelease(env, input as { readonly epoch: Epoch });
      return answered(empties ? { ...env, renewals: 0, holder: null, expired: false } : env, undefined);
    }
    case "commitIfHeld": {
      const { epoch: presented } = input as { readonly epoch: Epoch };
      return answered(noted(env, by, presented, rules.mayWrite(env, { epoch: presented })), undefined);
    }
    default:
      throw new Error(`the lease world answers no ${src}`);
  }
}

/** Keeps what the store took although it should not have; what it judged rightly need not be remembered. */
function noted(env: LeaseEnv, by: string, presented: Epoch, accepted: boolean): LeaseEnv {
  const current = epoch(env.epoch);
  if (!accepted || presented === current) return env;
  return { ...env, wrongWrites: [{ by: instanceId(by), presented, current, accepted }] };
}

function looksAlive(env: LeaseEnv, token: string, { rules, isAlive }: LeaseTruth): boolean {
  return isAlive(env, token) && rules.looksAlive(env.lives[instanceOf(token)]?.is ?? "down");
}

function granted(env: LeaseEnv, by: string, { evidence }: AcquireInput, { rules, isAlive }: LeaseTruth): LeaseEnv {
  const overOf = (): GrantView["over"] => {
    if (env.holder === null) return "vacant";
    if (env.holder === by) return "own";
    if (env.expired) return "expired";
    return isAlive(env, env.holder) ? "liveHolder" : "deadHolder";
  };
  const next = rules.epochAfterGrant(env, by);
  const grant: GrantView = { epoch: epoch(next), to: instanceId(by), evidence, over: overOf() };
  return { ...env, epoch: next, renewals: 0, holder: by, expired: false, grants: [...env.grants, grant] };
}

function reactTo(env: LeaseEnv, index: number, fact: AnyEventObject, nameOf: LeaseRules["nameOf"]) {
  const token = nameOf(index, env.lives[index]?.life ?? 0);
  if (fact.type === "lease.granted" && env.left.writes > 0) {
    const input = { epoch: fact["epoch"] as Epoch };
    const order = { kind: "request", by: token, src: "commitIfHeld", input } as const;
    return { env: spend(env, "writes"), orders: [order] };
  }
  const isOver = (grant: GrantView): boolean => grant.to === token && grant.epoch === fact["epoch"];
  if (fact.type === "lease.lost") return { env: forget(env, isOver) };
  if (fact.type === "lease.released") return { env: forget(env, (grant) => grant.to === token) };
  return { env };
}

function viewOf(env: LeaseEnv, seen: readonly (Seen | null)[], nameOf: LeaseRules["nameOf"]): LeaseView {
  const idOf = (index: number): InstanceId => instanceId(nameOf(index, env.lives[index]?.life ?? 0));
  return {
    lease: { epoch: epoch(env.epoch), holder: env.holder === null ? null : instanceId(env.holder) },
    instances: seen.map((each, index) => ({
      id: idOf(index),
      alive: env.lives[index]?.is !== "down",
      holds: each?.holds ?? null,
    })),
    grants: env.grants,
    writes: env.wrongWrites,
  };
}
