/**
 * World `membership`: one follower, and a leader that forgets it, refuses, falls silent, moves it and is left.
 *
 * Owns: what the leader knows and answers, connections that close, notices of earlier registrations that come late.
 * Does not own: when the follower registers, beats, gives up and leaves (`membershipMachine`, the very chart).
 *
 * Each attempt has a fresh generation. A registration is carried out when it arrives, also when nobody waits for it any more:
 * then it is the leader's newest, and the follower finds out with its next heartbeat.
 *
 * Bounds: attempts; lost requests; refusals; times that the leader forgets; closed connections; moves; late notices; farewells.
 */
import type { AnyEventObject, AnyStateMachine } from "xstate";
import { generation, instanceId, sameTarget, seatKey } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { Shown } from "../../../machines/invariants.ts";
import { defaultMembershipTimings, membershipMachine } from "../../../machines/membership.machine.ts";
import type { MembershipContext, MembershipEvent, MembershipFact } from "../../../machines/membership.machine.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, CompanionFact, Outcome, Request, World } from "../../../testing/explorer/index.ts";
import { leader, thread } from "../../support/charts/samples.ts";

export interface MembershipBudgets {
  readonly losses: number;
  readonly refusals: number;
  readonly forgets: number;
  readonly closings: number;
  readonly moves: number;
  /** Notices that name an earlier registration. */
  readonly lates: number;
  readonly leaves: number;
}

export interface MembershipBounds extends MembershipBudgets {
  readonly attempts: number;
}

export interface MembershipEnv {
  readonly attempts: number;
  /** The registration that the leader has; null = none. */
  readonly current: string | null;
  /** Whose connection is watched. */
  readonly watched: string | null;
  readonly staleEffects: number;
  readonly hasLeft: boolean;
  readonly left: MembershipBudgets;
}

interface MembershipSeen {
  readonly registered: string | null;
  readonly beats: boolean;
  readonly asks: boolean;
  readonly done: boolean;
}

export const membershipParts = ["followerSides", "seats"] as const;
type MembershipView = Shown<(typeof membershipParts)[number]>;
const judge = judgeOf(membershipParts);

const seat = seatKey("seat");
const me = instanceId("follower");
/** The thread that only a late notice speaks of. */
const lateThread = thread(99);

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();
function membershipChart(machine: AnyStateMachine) {
  const known =
    charts.get(machine) ??
    chartOf(machine, {
      // Reasons are words, and failures say how long a pause is; a seeded variant of the chart has its context.
      project: ({ context }) => ({ generation: (context as MembershipContext).generation }),
      projectInput: (src, input) => (src === "register" ? null : input),
      projectFact: (fact) =>
        fact.type === "membership.moved" ? { type: fact.type, thread: fact["thread"] as unknown } : { type: fact.type },
      companions: ["watchLeader"],
    });
  charts.set(machine, known);
  return known;
}

export function membershipWorld(
  bounds: MembershipBounds,
  machine: AnyStateMachine = membershipMachine,
  name = "membership",
): World<MembershipEnv, MembershipSeen, MembershipView> {
  const { attempts, ...left } = bounds;
  return {
    ...worldDefaults,
    name,
    orphansMax: 2,
    places: [{ name: "member", chart: membershipChart(machine) }],
    start: {
      env: { attempts, current: null, watched: null, staleEffects: 0, hasLeft: false, left },
      orders: [
        {
          kind: "start",
          place: "member",
          as: "member",
          input: { leader: leader(), seat, timings: defaultMembershipTimings },
        },
      ],
    },
    actions: actionsOf,
    commit: (env, request) => commitOf(env, request, bounds),
    faults: (env, { src }, phase) => {
      if (env.left.losses === 0) return [];
      const next = spend(env, "losses");
      if (phase === "committed") return [{ kind: "answerLost", env: next }];
      const fails = { kind: "notCommitted", env: next } as const;
      return src === "register" ? [fails, { kind: "unanswered", env: next }] : [fails];
    },
    outlives: ({ src }) => src === "register" || src === "disconnect",
    // Facts of the membership chart and of its companion.
    onFact: (env, _place, fact) => ({ env: heard(env, fact as MembershipFact | CompanionFact) }),
    observe: (_place, snapshot) => ({
      registered: snapshot.matches("registered") ? (snapshot.context as MembershipContext).generation : null,
      beats: snapshot.matches({ registered: "beating" }),
      asks: snapshot.matches("registering"),
      done: snapshot.status === "done",
    }),
    view: viewOf,
    check: judge,
    mayEnd: (env) => env.hasLeft,
    goal: (env, [seen]) => env.hasLeft || (env.current !== null && seen?.registered === env.current),
  };
}

const spend = (env: MembershipEnv, what: keyof MembershipBudgets): MembershipEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});

function actionsOf(env: MembershipEnv): Action<MembershipEnv>[] {
  const actions: Action<MembershipEnv>[] = [];
  const add = (what: string, next: MembershipEnv, ...events: MembershipEvent[]): void => {
    const orders = events.map((event: AnyEventObject) => ({ kind: "send", place: "member", event }) as const);
    actions.push({ name: what, kind: "fault", env: next, orders });
  };
  const { current, watched, left } = env;
  if (left.forgets > 0 && current !== null) add("the leader forgets", { ...spend(env, "forgets"), current: null });
  if (left.closings > 0 && watched !== null) {
    const closed = { ...spend(env, "closings"), watched: null };
    add("the connection closes", closed, { type: "link.closed", generation: generation(watched) });
    add("the connection cannot be watched", closed, {
      type: "companion.failed",
      companion: "watchLeader",
      reason: "",
    });
  }
  if (left.moves > 0 && current !== null)
    add("the leader moves it", spend(env, "moves"), {
      type: "thread.moved",
      generation: generation(current),
      thread: thread(),
    });
  if (left.lates > 0 && watched !== "g1") {
    const old = generation("g1");
    add("a late notice: moved", spend(env, "lates"), { type: "thread.moved", generation: old, thread: lateThread });
    add("a late notice: closed", spend(env, "lates"), { type: "link.closed", generation: old });
  }
  if (left.leaves > 0) add("it is to leave", spend(env, "leaves"), { type: "membership.leave" });
  return actions;
}

function commitOf(
  env: MembershipEnv,
  { src, input }: Request,
  bounds: MembershipBounds,
): readonly Outcome<MembershipEnv>[] | "cut" {
  const answered = (next: MembershipEnv, output: unknown): Outcome<MembershipEnv> => ({
    env: next,
    answer: { output },
  });
  if (src === "register") {
    if (env.attempts === 0) return "cut";
    const given = `g${bounds.attempts - env.attempts + 1}`;
    const taken = { ...env, attempts: env.attempts - 1, current: given };
    const accepted = answered(taken, { kind: "accepted", generation: generation(given), thread: thread() });
    if (env.left.refusals === 0) return [accepted];
    const next = spend(env, "refusals");
    return [
      accepted,
      answered(next, { kind: "refused", reason: "" }),
      answered(next, { kind: "unreachable", reason: "" }),
    ];
  }
  // What the chart asks of its registration names it.
  const isCurrent = (input as { readonly generation: string }).generation === env.current;
  if (src === "heartbeat") return [answered(env, isCurrent ? { kind: "alive" } : { kind: "refused", reason: "" })];
  return [
    isCurrent
      ? answered({ ...env, current: null }, { kind: "left" })
      : answered(env, { kind: "notLeft", reason: "stale" }),
  ];
}

function heard(env: MembershipEnv, fact: MembershipFact | CompanionFact): MembershipEnv {
  switch (fact.type) {
    case "companion.started":
      return { ...env, watched: (fact.input as { readonly generation: string }).generation };
    case "companion.stopped":
      return { ...env, watched: null };
    case "membership.moved":
      return sameTarget(fact.thread.target, lateThread.target) ? { ...env, staleEffects: env.staleEffects + 1 } : env;
    case "membership.left":
      return { ...env, hasLeft: true };
    default:
      return env;
  }
}

function viewOf(env: MembershipEnv, [seen]: readonly (MembershipSeen | null)[]): MembershipView {
  const registered = seen?.registered ?? null;
  return {
    followerSides: [
      {
        id: me,
        registered:
          registered === null
            ? null
            : { seat, generation: generation(registered), isAcknowledged: /^g\d+$/.test(registered) },
        heartbeatsInFlight: Number(seen?.beats ?? false),
        registrationsInFlight: Number(seen?.asks ?? false),
      },
    ],
    seats: [{ seat, instanceId: me, generation: generation(env.current ?? ""), staleEffects: env.staleEffects }],
  };
}
