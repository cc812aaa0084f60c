/**
 * World `activation`: one leadership that is taken up, rolled back, tried again, fenced off and given up.
 *
 * Owns: what the store, Telegram and the companions say, and when a companion breaks; whether the bot has topics; who is paired.
 * Does not own: the order of the steps and the way back (`activationMachine`, the very chart). How a thread is had is one
 * request here (`registration/*` explores it).
 *
 * The store holds a newer epoch from some moment on; who leads is told of it by whatever it does next, never by this world.
 *
 * Bounds: lost requests; answers of Telegram that are no answer; threads that cannot be had, or are being deleted; companions
 * that break; doubts of the own thread; words of the poller; words about who is paired; one newer epoch; one stop.
 */
import type { AnyEventObject, AnyStateMachine } from "xstate";
import { activationMachine } from "../../../machines/activation.machine.ts";
import type {
  ActivationContext,
  ActivationEvent,
  ActivationInput,
  IdentifyAnswer,
  SeatOwnAnswer,
  SeatOwnInput,
} from "../../../machines/activation.machine.ts";
import { chatId as chatIdOf, epoch } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { Shown } from "../../../machines/invariants.ts";
import type { ProvisioningInput, ProvisioningOutput } from "../../../machines/provisioning.machine.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, CompanionFact, Outcome, Request, World } from "../../../testing/explorer/index.ts";
import { chat, me, mySeat, thread } from "../../support/charts/samples.ts";

export interface ActivationBudgets {
  readonly losses: number;
  readonly troubles: number;
  /** Threads that cannot be had. */
  readonly rejections: number;
  /** Own threads that are being deleted when the seat is written. */
  readonly deletions: number;
  readonly breaks: number;
  readonly doubts: number;
  /** Words of the poller about answers and conflicts. */
  readonly words: number;
  /** Words about who is paired. */
  readonly pairings: number;
  readonly fences: 0 | 1;
  readonly stops: number;
}

export interface ActivationBounds extends ActivationBudgets {
  readonly hadThread: boolean;
  /** Whether somebody is, at first. */
  readonly isPaired: boolean;
  /** `later`: the bot gets topics at some moment. */
  readonly topics: "always" | "later" | "never";
}

const breakable = ["endpoint", "dispatcher", "poller", "ownThread", "reconciliation", "capability"] as const;
const companions = [...breakable, "audience", "watchToken"] as const;
type Companion = (typeof companions)[number];

export interface ActivationEnv {
  readonly isCurrent: boolean;
  readonly hasTopics: boolean;
  readonly gotTopics: boolean;
  /** How many of each run. */
  readonly running: Readonly<Record<Companion, number>>;
  readonly endpoint: { readonly wasEarly: boolean; readonly isOpen: boolean; readonly closes: number } | null;
  readonly poller: "starting" | "polling" | "stopping" | null;
  /** The own seat is written for the endpoint that is there, or comes. */
  readonly isSeated: boolean;
  readonly isToStop: boolean;
  readonly left: ActivationBudgets;
}

const noneRuns: ActivationEnv["running"] = {
  endpoint: 0,
  dispatcher: 0,
  poller: 0,
  ownThread: 0,
  reconciliation: 0,
  capability: 0,
  audience: 0,
  watchToken: 0,
};

interface ActivationSeen {
  readonly leads: boolean;
  readonly rests: boolean;
}

export const activationParts = ["leaderSides"] as const;
type ActivationView = Shown<(typeof activationParts)[number]>;
const judge = judgeOf(activationParts);

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();
function activationChart(machine: AnyStateMachine) {
  const known =
    charts.get(machine) ??
    chartOf(machine, {
      project: ({ context }) => {
        // A seeded variant of the chart has its context. Delays say how long a pause is.
        const { thread: own, failures, rejections, doubt, hadThread, chatId } = context as ActivationContext;
        return { own, hasFailed: failures > 0, wasRejected: rejections > 0, doubt, hadThread, chatId };
      },
      projectInput: (src, input) =>
        src === "provisioning" ? { doubt: (input as ProvisioningInput).doubt } : src === "seatOwn" ? input : null,
      facts: [],
      companions,
    });
  charts.set(machine, known);
  return known;
}

export function activationWorld(
  bounds: ActivationBounds,
  machine: AnyStateMachine = activationMachine,
  name = "activation",
): World<ActivationEnv, ActivationSeen, ActivationView> {
  const { hadThread, isPaired, topics, ...left } = bounds;
  const input: ActivationInput = {
    epoch: epoch(1),
    seat: mySeat,
    me,
    chatId: isPaired ? chat : null,
    threadName: null,
    carried: null,
    capabilityMs: 2_500,
    hadThread,
  };
  return {
    ...worldDefaults,
    name,
    orphansMax: 2,
    places: [{ name: "activation", chart: activationChart(machine) }],
    start: {
      env: {
        isCurrent: true,
        hasTopics: topics === "always",
        gotTopics: topics !== "later",
        running: noneRuns,
        endpoint: null,
        poller: null,
        isSeated: false,
        isToStop: false,
        left,
      },
      orders: [{ kind: "start", place: "activation", as: "activation", input }],
    },
    actions: actionsOf,
    commit: commitOf,
    faults: (env, { src }, phase) => {
      if (env.left.losses === 0) return [];
      const next = spend(env, "losses");
      if (phase === "committed") return [{ kind: "answerLost", env: next }];
      return [{ kind: src === "seatOwn" ? "unanswered" : "notCommitted", env: next }];
    },
    outlives: ({ src }) => src === "seatOwn",
    // Only words of companions come here: facts of the chart decide nothing in this world.
    onFact: (env, _place, fact) => ({ env: heard(env, fact as CompanionFact) }),
    observe: (_place, snapshot) => ({
      leads: snapshot.status === "active",
      rests:
        snapshot.status === "done" ||
        snapshot.matches("fencedOff") ||
        snapshot.matches("pairing") ||
        snapshot.matches({ serving: { polled: "active" } }) ||
        snapshot.matches({ dormant: "polled" }),
    }),
    view: viewOf,
    check: judge,
    mayEnd: isAtRest,
    goal: isAtRest,
  };
}

const isAtRest = ({ isToStop }: ActivationEnv, [seen]: readonly (ActivationSeen | null)[]): boolean =>
  isToStop ? seen?.leads !== true : seen?.rests === true;

const spend = (env: ActivationEnv, what: keyof ActivationBudgets): ActivationEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});

const anotherChat = chatIdOf(43);

/** Perhaps what stood between us and a thread is gone. */
const carriedOut: ActivationEvent = {
  type: "reconciliation.acted",
  outcome: "done",
  action: {
    kind: "carryOut",
    request: { id: "1", wish: { kind: "forgetCreation", seat: mySeat }, atMs: 0 },
    order: { kind: "abandon", provisionId: "p" },
  },
};

function actionsOf(env: ActivationEnv): Action<ActivationEnv>[] {
  const { running, left, endpoint, poller } = env;
  const actions: Action<ActivationEnv>[] = [];
  const add = (
    what: string,
    kind: Action<ActivationEnv>["kind"],
    next: ActivationEnv,
    ...events: ActivationEvent[]
  ) => {
    const orders = events.map((event: AnyEventObject) => ({ kind: "send", place: "activation", event }) as const);
    actions.push({ name: what, kind, env: next, orders });
  };
  if (!env.gotTopics) add("the bot gets topics", "free", { ...env, hasTopics: true, gotTopics: true });
  if (left.fences > 0) add("another leads", "fault", { ...spend(env, "fences"), isCurrent: false });
  if (left.stops > 0)
    add("it is to stop", "fault", { ...spend(env, "stops"), isToStop: true }, { type: "activation.stop" });
  if (endpoint !== null && running.endpoint > 0 && !endpoint.isOpen) {
    add("the endpoint opens", "fair", { ...env, endpoint: { ...endpoint, isOpen: true } }, { type: "endpoint.open" });
  }
  if (running.endpoint > 0 && left.breaks > 0)
    add("the endpoint fails", "fault", spend(env, "breaks"), { type: "endpoint.failed", reason: "" });
  if (poller === "starting")
    add("the poller polls", "fair", { ...env, poller: "polling" }, { type: "polling.started" });
  if (poller === "stopping")
    add("the poller has stopped", "fair", { ...env, poller: null }, { type: "polling.stopped" });
  if (poller === "polling" && left.words > 0) {
    add("updates come", "fault", spend(env, "words"), { type: "polling.answered", added: 1 });
    add("the chat has threads", "fault", spend(env, "words"), { type: "capability.judged", verdict: "on" });
    add("the operator's word was carried out", "fault", spend(env, "words"), carriedOut);
    add("another polls", "fault", spend(env, "words"), { type: "polling.troubled", trouble: "conflict", reason: "" });
  }
  if (running.watchToken > 0 && left.words > 0)
    add("there is another token", "fault", spend(env, "words"), { type: "token.renewed" });
  if (running.audience > 0 && left.pairings > 0) {
    const next = spend(env, "pairings");
    add("nobody is paired", "fault", next, { type: "pairing.missing" });
    for (const chatId of [chat, anotherChat])
      add(`chat ${chatId} is paired`, "fault", next, { type: "pairing.known", chatId });
  }
  if (!env.isCurrent) {
    if (poller === "polling") add("the poller is fenced", "fair", env, { type: "polling.fenced" });
    if (running.dispatcher > 0) add("the dispatcher is fenced", "fair", env, { type: "dispatcher.fenced" });
    if (running.reconciliation > 0) add("reconciliation is fenced", "fair", env, { type: "reconciliation.fenced" });
  }
  if (running.ownThread > 0 && left.doubts > 0)
    for (const id of [1, 2, 3]) {
      const doubt = { target: thread(id).target, kind: "gone", reason: "" } as const;
      add(`thread ${id} is doubted`, "fault", spend(env, "doubts"), { type: "thread.doubted", doubt });
    }
  if (left.breaks > 0)
    for (const companion of breakable)
      if (running[companion] > 0)
        add(`${companion} breaks`, "fault", spend(env, "breaks"), { type: "companion.failed", companion, reason: "" });
  return actions;
}

const answered = (env: ActivationEnv, output: unknown): Outcome<ActivationEnv> => ({ env, answer: { output } });

function commitOf(env: ActivationEnv, { src, input }: Request): readonly Outcome<ActivationEnv>[] {
  switch (src) {
    case "identify":
      return identified(env);
    case "provisioning":
      // What the chart asks for, after the projection above.
      return provisioned(env, (input as Pick<ProvisioningInput, "doubt">).doubt !== null);
    case "seatOwn":
      return seated(env, input as SeatOwnInput);
    case "renewToken":
      return [answered(env, undefined)];
    default:
      throw new Error(`the activation world answers no ${src}`);
  }
}

function identified(env: ActivationEnv): readonly Outcome<ActivationEnv>[] {
  const says = (answer: IdentifyAnswer, next: ActivationEnv) => answered(next, answer);
  const plain = says({ kind: env.hasTopics ? "topics" : "noTopics" }, env);
  if (env.left.troubles === 0) return [plain];
  const next = spend(env, "troubles");
  return [
    plain,
    says({ kind: "unauthorized", reason: "" }, next),
    says({ kind: "unavailable", reason: "", afterMs: 1 }, next),
  ];
}

function provisioned(env: ActivationEnv, isDoubted: boolean): readonly Outcome<ActivationEnv>[] {
  const says = (output: ProvisioningOutput, next: ActivationEnv) => answered(next, output);
  if (!env.isCurrent) return [says({ kind: "fenced" }, env)];
  const bound = (id: number) => says({ kind: "bound", thread: thread(id), origin: "reused" }, env);
  const reasons = env.left.rejections === 0 ? [] : ["no rights", "the chat is not a forum"];
  const rejected = reasons.map((reason) => says({ kind: "rejected", reason }, spend(env, "rejections")));
  // A doubted thread is there after all, or is replaced.
  return [bound(1), ...(isDoubted ? [bound(2)] : []), ...rejected];
}

function seated(env: ActivationEnv, { isClassic, thread: own }: SeatOwnInput): readonly Outcome<ActivationEnv>[] {
  const says = (kind: SeatOwnAnswer["kind"], next: ActivationEnv) => answered(next, { kind });
  if (!env.isCurrent) return [says("fenced", env)];
  const committed = says("committed", { ...env, isSeated: env.isSeated || !isClassic });
  return own === null || env.left.deletions === 0
    ? [committed]
    : [committed, says("threadGone", spend(env, "deletions"))];
}

function heard(env: ActivationEnv, fact: CompanionFact): ActivationEnv {
  // The slots of the activation chart that live beside it.
  const companion = fact.companion as Companion;
  const count = (by: number): ActivationEnv => ({
    ...env,
    running: { ...env.running, [companion]: env.running[companion] + by },
  });
  if (fact.type === "companion.told")
    return companion === "poller" && fact.event.type === "polling.stop" ? { ...env, poller: "stopping" } : env;
  const isStart = fact.type === "companion.started";
  const next = count(isStart ? 1 : -1);
  if (companion === "poller") return { ...next, poller: isStart ? "starting" : null };
  if (companion !== "endpoint") return next;
  if (isStart) return { ...next, endpoint: { wasEarly: !env.isSeated, isOpen: false, closes: 0 } };
  const { endpoint } = env;
  return {
    ...next,
    isSeated: false,
    endpoint: endpoint === null ? null : { ...endpoint, isOpen: false, closes: endpoint.closes + 1 },
  };
}

function viewOf({ running, endpoint }: ActivationEnv, [seen]: readonly (ActivationSeen | null)[]): ActivationView {
  return {
    leaderSides: [
      {
        id: me,
        leadsUnder: seen?.leads === true ? epoch(1) : null,
        polls: running.poller,
        endpoints: endpoint === null ? [] : [endpoint],
        seatCharts: 0,
        entries: [],
      },
    ],
  };
}
