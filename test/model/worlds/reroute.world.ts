/**
 * World `reroute`: what was written in a thread that nobody has, the question about it, two agents to choose from, two
 * leaders one after the other, reconciliation.
 *
 * Owns: who writes, presses, comes and goes, takes and ends entries, when a leader asks and when another leads.
 * Does not own: what the charts decide (the very charts of question and deletion), the store's rules (`reroute.env.ts`).
 *
 * A leader that was replaced goes on with its question until the store refuses it. Reconciliation goes on with a deletion
 * whose outcome is not known.
 *
 * Bounds: messages; presses; lost requests; agents that go or come; entries that end unheard; leaders; retried deletions;
 * questions.
 */
import type { AnyEventObject } from "xstate";
import { cleanupMachine } from "../../../machines/cleanup.machine.ts";
import { epoch, journalSeq, seatKey } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { Shown } from "../../../machines/invariants.ts";
import { rerouteMachine } from "../../../machines/reroute.machine.ts";
import type { ChooserPress } from "../../../machines/reroute.rules.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, Order, World } from "../../../testing/explorer/index.ts";
import {
  beginning,
  commitOf,
  faithfulReroute,
  faultsOf,
  isWaiting,
  names,
  question,
  source,
  spend,
  threads,
  withEntry,
} from "./reroute.env.ts";
import type { RerouteBounds, RerouteEnv, RerouteRules } from "./reroute.env.ts";

export { faithfulReroute } from "./reroute.env.ts";
export type { RerouteBounds, RerouteRules } from "./reroute.env.ts";

export const rerouteParts = ["seatGhosts", "rerouting"] as const;
type RerouteView = Shown<(typeof rerouteParts)[number]>;
const judge = judgeOf(rerouteParts);

const questionOf = (leader: number): string => `question${String(leader)}`;
const cleanupOf = (leader: number): string => `cleanup${String(leader)}`;
const reconciler = "reconciler";

const rerouteChart = chartOf(rerouteMachine, {
  children: ["cleanup"],
  // How often it could not be shown only makes the next pause longer.
  project: ({ context: { failures: _failures, ...rest } }) => rest,
  facts: [],
});
const cleanupChart = chartOf(cleanupMachine);

const inputOf = (leader: number, id: string, isAlbum: boolean) => ({
  epoch: epoch(leader),
  id,
  source,
  asked: { command: null },
  isAlbum,
});

export function rerouteWorld(
  bounds: RerouteBounds,
  rules: RerouteRules = faithfulReroute,
  name = "reroute",
): World<RerouteEnv, string, RerouteView> {
  const leaders = Array.from({ length: 1 + bounds.takeovers }, (_, index) => index + 1);
  return {
    ...worldDefaults,
    name,
    orphansMax: 2,
    places: [
      ...leaders.flatMap((leader) => [
        { name: questionOf(leader), chart: rerouteChart, hosts: { cleanup: cleanupOf(leader) } },
        { name: cleanupOf(leader), chart: cleanupChart },
      ]),
      { name: reconciler, chart: cleanupChart },
    ],
    start: { env: beginning(bounds), orders: [asks(1, 1, bounds.isAlbum)] },
    actions: (env) => [...chatActions(env), ...agentActions(env), ...leaderActions(env)],
    commit: (env, request) => commitOf(env, request, rules),
    faults: (env, { src }, phase) => faultsOf(env, src, phase),
    onFact: (env) => ({ env }),
    observe: (_place, { status }) => status,
    view: (env) => viewOf(env),
    check: judge,
    mayEnd: (_env, seen) => seen.every((status) => status !== "active"),
  };
}

/** Its id names it among requests, and in what it asks for. */
const asks = (leader: number, count: number, isAlbum: boolean): Order => ({
  kind: "start",
  place: questionOf(leader),
  as: `q${String(count)}`,
  input: inputOf(leader, `q${String(count)}`, isAlbum),
});
/** Only who leads hears of the journal and of Telegram; what it hears when it asks nothing is lost on it. */
const tells = ({ epoch: leader }: RerouteEnv, event: AnyEventObject): readonly Order[] => [
  { kind: "send", place: questionOf(leader), event },
];

function chatActions(env: RerouteEnv): Action<RerouteEnv>[] {
  const actions: Action<RerouteEnv>[] = [];
  const { owner, cleanup } = env;
  if (env.left.writes > 0 && !env.isGone) {
    const isOwed = cleanup?.phase !== "deleting";
    const entry = { at: owner ?? ("source" as const), is: "waiting" as const, moves: 0, movedBy: null, isOwed };
    const next = { ...spend(env, "writes"), entries: [...env.entries, entry] };
    const event = { type: "content.arrived", isAlbum: env.isAlbum };
    actions.push({
      name: "the user writes there",
      kind: "free",
      env: next,
      orders: owner === null ? tells(env, event) : [],
    });
  }
  if (env.left.presses > 0 && env.isShown) {
    const presses = (press: ChooserPress["kind"], to = source): Action<RerouteEnv> => ({
      name: `the user presses ${press} ${String(to.threadId)}`,
      kind: "free",
      env: spend(env, "presses"),
      orders: tells(env, { type: "chooser.pressed", press, to, query: press, message: question }),
    });
    actions.push(presses("restoreList"), presses("forwardList"));
    for (const each of names) actions.push(presses("forward", threads[each]), presses("restore", threads[each]));
  }
  return actions;
}

function agentActions(env: RerouteEnv): Action<RerouteEnv>[] {
  const actions: Action<RerouteEnv>[] = [];
  for (const name of names) {
    if (env.left.absences > 0)
      actions.push({
        name: `${name} ${env.isLive[name] ? "goes" : "comes back"}`,
        kind: "free",
        env: { ...spend(env, "absences"), isLive: { ...env.isLive, [name]: !env.isLive[name] } },
        orders: tells(env, { type: "seats.changed" }),
      });
    env.entries.forEach((entry, index) => {
      if (entry.at !== name || entry.is !== "waiting") return;
      const seq = journalSeq(index);
      if (env.isLive[name])
        actions.push({
          name: `${name} takes entry ${String(index)}`,
          kind: "fair",
          env: withEntry(env, index, { is: "taken" }),
          orders: tells(env, { type: "content.accepted", seq }),
        });
      if (env.left.ends > 0)
        actions.push({
          name: `entry ${String(index)} ends, and nobody has taken it`,
          kind: "fault",
          env: withEntry(spend(env, "ends"), index, { is: "ended" }),
          orders: tells(env, { type: "content.ended", seq }),
        });
    });
  }
  return actions;
}

function leaderActions(env: RerouteEnv): Action<RerouteEnv>[] {
  const actions: Action<RerouteEnv>[] = [];
  if (env.left.takeovers > 0)
    actions.push({
      name: "another instance leads",
      kind: "fault",
      env: { ...spend(env, "takeovers"), epoch: env.epoch + 1 },
    });
  if (env.left.questions > 0 && isWaiting(env)) {
    const count = env.questions + 1;
    actions.push({
      name: "whoever leads asks about it",
      kind: "fair",
      env: { ...spend(env, "questions"), questions: count },
      orders: [{ kind: "remove", place: questionOf(env.epoch) }, asks(env.epoch, count, env.isAlbum)],
    });
  }
  if (env.left.retries > 0 && env.cleanup !== null && !env.isBeingDeleted)
    actions.push({
      name: "reconciliation goes on with the deletion",
      kind: "fair",
      env: { ...spend(env, "retries"), isBeingDeleted: true },
      orders: [
        { kind: "remove", place: reconciler },
        {
          kind: "start",
          place: reconciler,
          as: "reconciler",
          input: { epoch: epoch(env.epoch), seat: seatKey(""), target: source, asks: null, seenDead: null },
        },
      ],
    });
  return actions;
}

function viewOf(env: RerouteEnv): RerouteView {
  return {
    seatGhosts: [
      {
        seat: seatKey(""),
        secondCreations: 0,
        interleavings: 0,
        heldDeletions: env.heldDeleted,
        unprovenDeletions: env.unproven,
        revenants: 0,
        falseDeaths: 0,
      },
    ],
    rerouting: [{ movesMax: Math.max(...env.entries.map(({ moves }) => moves)), untakenDeletions: env.untakenDeleted }],
  };
}
