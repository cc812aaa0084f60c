/**
 * World `polling`: the pollers of two leaderships, Telegram's queue, and the journal.
 *
 * Owns: the queue (an update is forgotten when a poll asks beyond it), the journal's admission under an epoch, who leads.
 * Does not own: what a poller decides (`pollingMachine`, the very chart).
 *
 * The first leader is not told that it has lost: its poller goes on until the journal refuses it, it is told to stop, or
 * its process dies. A poll confirms at the moment it takes effect, which may be long after its sender is gone.
 *
 * Bounds: updates; answers of Telegram other than a batch; lost or failed requests; full journals; restarts of a poller.
 */
import type { AnyEventObject, AnyStateMachine } from "xstate";
import { epoch, instanceId, updateId } from "../../../machines/ids.ts";
import type { Epoch, UpdateId } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { LeaderWriteView, Shown } from "../../../machines/invariants.ts";
import { pollingMachine } from "../../../machines/polling.machine.ts";
import type { AdmitRequest, FetchAnswer, FetchRequest, PollingContext } from "../../../machines/polling.machine.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, Outcome, Request, World } from "../../../testing/explorer/index.ts";

export interface PollingBudgets {
  /** Answers to a poll that are no batch: 409 of a foreign poller or a webhook, 429, 401, 5xx, a spent lease, a batch out of order. */
  readonly troubles: number;
  /** Requests that fail their asker, in each of the three ways. */
  readonly losses: number;
  /** Admissions refused because the journal is full. */
  readonly fulls: number;
  /** Processes of a leader that die, their requests living on. */
  readonly crashes: number;
}

export interface PollingBounds extends PollingBudgets {
  readonly updates: number;
  readonly leaders: 1 | 2;
}

export interface PollingEnv {
  readonly epoch: number;
  /** Updates 1 … `arrived` were sent to the bot. */
  readonly arrived: number;
  /** Telegram gives nothing below this any more. */
  readonly confirmedBelow: number;
  readonly journal: readonly number[];
  readonly cursor: number | null;
  readonly left: PollingBudgets;
  readonly wrongWrites: readonly LeaderWriteView[];
}

/** What the journal does, replaceable to seed faults. */
export interface PollingRules {
  readonly machine: AnyStateMachine;
  readonly mayAdmit: (env: PollingEnv, asked: Admission) => boolean;
  readonly admitted: (env: PollingEnv, asked: Admission) => PollingEnv;
}

/** An admission as the chart asks for it, its bodies left out. */
export interface Admission {
  readonly epoch: Epoch;
  readonly ids: readonly number[];
  readonly cursor: UpdateId;
}

export const faithfulPolling: PollingRules = {
  machine: pollingMachine,
  mayAdmit: (env, asked) => asked.epoch === env.epoch,
  admitted: (env, { ids, cursor }) => ({
    ...env,
    cursor,
    journal: [...new Set([...env.journal, ...ids])].sort((a, b) => a - b),
  }),
};

interface PollingSeen {
  readonly cursor: number | null;
}

/** The parts of the view that this world shows. */
export const pollingParts = ["fetched", "cursors", "writes"] as const;
type PollingView = Shown<(typeof pollingParts)[number]>;
const judge = judgeOf(pollingParts);

const placeOf = (leader: number): string => `poller${leader}`;
const leaderOf = (name: string): number => Number(name.slice(-1));

export function pollingWorld(
  bounds: PollingBounds,
  rules: PollingRules = faithfulPolling,
  name = "polling",
): World<PollingEnv, PollingSeen, PollingView> {
  const leaders = [1, 2].slice(0, bounds.leaders);
  return {
    ...worldDefaults,
    name,
    orphansMax: 3,
    places: leaders.map((leader) => ({ name: placeOf(leader), chart: pollingChart(rules.machine) })),
    start: {
      env: {
        epoch: 1,
        arrived: 0,
        confirmedBelow: 1,
        journal: [],
        cursor: null,
        left: budgetsOf(bounds),
        wrongWrites: [],
      },
      orders: [startOf(1)],
    },
    actions: (env) => actionsOf(env, bounds),
    commit: (env, request) => commitOf(env, request, rules),
    faults: (env, { src }, phase) => {
      if (env.left.losses === 0) return [];
      const next = spend(env, "losses");
      if (phase === "committed") return [{ kind: "answerLost", env: next }];
      return src === "readCursor" || src === "clearWebhook"
        ? [{ kind: "notCommitted", env: next }]
        : [
            { kind: "notCommitted", env: next },
            { kind: "unanswered", env: next },
          ];
    },
    outlives: ({ src }) => src === "fetchUpdates" || src === "admitUpdates",
    onFact: (env) => ({ env }),
    // Only snapshots of the polling chart come here.
    observe: (_place, snapshot) => ({ cursor: (snapshot.context as PollingContext).cursor }),
    view: viewOf,
    check: judge,
    goal: (env) => env.arrived === bounds.updates && env.journal.length === bounds.updates,
  };
}

const budgetsOf = ({ troubles, losses, fulls, crashes }: PollingBounds): PollingBudgets => ({
  troubles,
  losses,
  fulls,
  crashes,
});

const spend = (env: PollingEnv, what: keyof PollingBudgets): PollingEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});

const startOf = (leader: number) =>
  ({
    kind: "start",
    place: placeOf(leader),
    as: `leader.${leader}`,
    input: { epoch: epoch(leader), pollSeconds: 30 },
  }) as const;

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();

function pollingChart(machine: AnyStateMachine) {
  const known = charts.get(machine);
  if (known !== undefined) return known;
  const chart = chartOf(machine, {
    project: ({ value, context }) => {
      // A seeded variant of the polling chart has its context.
      const { epoch: mine, cursor, refusals, batch, verdict } = context as PollingContext;
      // A batch and its verdict are used up in `journaling`; failures, delays and chance only say how long a pause is.
      return value === "journaling"
        ? { mine, cursor, refusals, ids: idsOf(batch), verdict }
        : { mine, cursor, refusals };
    },
    projectInput: (src, input) => {
      if (src !== "admitUpdates") return input;
      const { epoch: under, cursor, updates } = input as AdmitRequest;
      return { epoch: under, cursor, ids: idsOf(updates) };
    },
    facts: [],
  });
  charts.set(machine, chart);
  return chart;
}

const idsOf = (updates: readonly { readonly id: UpdateId | null }[]) => updates.map((each) => each.id);

function actionsOf(env: PollingEnv, bounds: PollingBounds): Action<PollingEnv>[] {
  const actions: Action<PollingEnv>[] = [];
  const orderTo = (leader: number) =>
    ({ kind: "send", place: placeOf(leader), event: { type: "polling.stop" } satisfies AnyEventObject }) as const;
  if (env.arrived < bounds.updates)
    actions.push({ name: "an update arrives", kind: "fair", env: { ...env, arrived: env.arrived + 1 } });
  if (env.epoch < bounds.leaders)
    actions.push({
      name: `a leader is granted epoch ${env.epoch + 1}`,
      kind: "fault",
      env: { ...env, epoch: env.epoch + 1 },
      orders: [startOf(env.epoch + 1)],
    });
  if (env.epoch > 1)
    actions.push({ name: "the first leader learns that it lost", kind: "fault", env, orders: [orderTo(1)] });
  if (env.left.crashes > 0)
    for (let leader = 1; leader <= env.epoch; leader += 1)
      actions.push({
        name: `the poller of epoch ${leader} dies, and begins anew while its lease is good`,
        kind: "fault",
        env: spend(env, "crashes"),
        orders: leader === env.epoch ? [startOf(leader)].flatMap((each) => [removal(leader), each]) : [removal(leader)],
      });
  return actions;
}

const removal = (leader: number) => ({ kind: "remove", place: placeOf(leader) }) as const;

function commitOf(env: PollingEnv, request: Request, rules: PollingRules): readonly Outcome<PollingEnv>[] {
  const answered = (next: PollingEnv, output: unknown): Outcome<PollingEnv> => ({ env: next, answer: { output } });
  // Inputs are what the polling chart passes to the slot of this name, after the projection above.
  switch (request.src) {
    case "clearWebhook":
      return [answered(env, undefined)];
    case "readCursor":
      return [answered(env, env.cursor)];
    case "fetchUpdates":
      return fetched(env, request);
    case "admitUpdates": {
      const asked = request.input as Admission;
      if (!rules.mayAdmit(env, asked)) return [answered(env, { kind: "fenced" })];
      const added = asked.ids.filter((each) => !env.journal.includes(each)).length;
      const written = noted(rules.admitted(env, asked), asked.epoch);
      const admitted = answered(written, { kind: "admitted", added, duplicates: asked.ids.length - added });
      return env.left.fulls === 0 ? [admitted] : [admitted, answered(spend(env, "fulls"), { kind: "full" })];
    }
    default:
      throw new Error(`the polling world answers no ${request.src}`);
  }
}

function noted(env: PollingEnv, presented: Epoch): PollingEnv {
  const current = epoch(env.epoch);
  if (presented === current) return env;
  return { ...env, wrongWrites: [{ by: instanceId("leader"), presented, current, accepted: true }] };
}

const jitter = 1;

function fetched(env: PollingEnv, { by, input }: Request): readonly Outcome<PollingEnv>[] {
  const { cursor } = input as FetchRequest;
  const asked = (answer: FetchAnswer, next: PollingEnv): Outcome<PollingEnv> => ({
    env: next,
    answer: { output: answer },
  });
  // Whatever it answers, a poll that reached Telegram has confirmed what is below its offset.
  const confirmed = { ...env, confirmedBelow: Math.max(env.confirmedBelow, cursor ?? 0) };
  const batchOf = (ids: readonly number[]): FetchAnswer => ({
    kind: "batch",
    jitter,
    updates: ids.map((each) => ({ id: updateId(each), update: null })),
  });
  const open: number[] = [];
  for (let id = confirmed.confirmedBelow; id <= env.arrived; id += 1) open.push(id);
  const batches = open.length > 1 ? [open, open.slice(0, 1)] : [open];
  const outcomes = batches.map((ids) => asked(batchOf(ids), confirmed));
  // The lease gate knows nothing of a grant elsewhere; it is by the loser's own clock that it closes.
  if (leaderOf(by) !== env.epoch) outcomes.push(asked({ kind: "unpermitted", jitter, reason: "" }, env));
  if (env.left.troubles === 0) return outcomes;
  const troubled = spend(env, "troubles");
  return [
    ...outcomes,
    asked({ kind: "conflict", jitter, reason: "" }, troubled),
    asked({ kind: "webhook", jitter, reason: "" }, troubled),
    asked({ kind: "throttled", jitter, retryAfterMs: 1, reason: "" }, troubled),
    ...(open.length > 1 ? [asked(batchOf([...open].reverse()), spend(confirmed, "troubles"))] : []),
  ];
}

function viewOf(env: PollingEnv, seen: readonly (PollingSeen | null)[]): PollingView {
  const cursors = [env.cursor, ...seen.map((each) => each?.cursor ?? null)];
  return {
    fetched: Array.from({ length: env.arrived }, (_each, index) => ({
      updateId: updateId(index + 1),
      confirmed: index + 1 < env.confirmedBelow,
      inJournal: env.journal.includes(index + 1),
      settled: 0,
    })),
    writes: env.wrongWrites,
    cursors: cursors.flatMap((each) => (each === null ? [] : [updateId(each)])),
  };
}
