/**
 * World `delivery`: updates of one lane, the dispatchers of two leaderships, and one seat that changes hands.
 *
 * Owns: the journal with its claims (faithful to `JournalStore` and `WorkStore`), the recipients' inboxes, what each leader
 * believes of the seat, who leads. Does not own: what a delivery decides (`deliveryMachine`, the very chart).
 *
 * The seat is held by A and, once A is dead, by B. A dispatcher reads the lane's head and begins with it later, so what it
 * read may be old. The first leader is not told that it has lost: only the store refuses it. Handlers ack explicitly.
 *
 * Bounds: updates; handler failures; lost requests; lost claims; silences; deaths; one change of leader.
 */
import type { AnyEventObject, AnyStateMachine } from "xstate";
import type { DeliveryContext, DeliveryInput, ForwardAnswer, Recipient } from "../../../machines/delivery.machine.ts";
import {
  chatId,
  epoch,
  generation,
  instanceId,
  journalSeq,
  seatKey,
  threadId,
  updateId,
} from "../../../machines/ids.ts";
import type { Epoch } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { Shown } from "../../../machines/invariants.ts";
import type { UpdateFacts } from "../../../machines/updates.rules.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, Order, Outcome, Reaction, Request, World } from "../../../testing/explorer/index.ts";
import { beginning, entryOf, faithfulDelivery, spend, withEntry, withLeader } from "./delivery.env.ts";
import type { DeliveryBounds, DeliveryEnv, DeliveryRules, Name, Sitting } from "./delivery.env.ts";

export { faithfulDelivery } from "./delivery.env.ts";
export type { DeliveryBounds, DeliveryRules } from "./delivery.env.ts";

/** The parts of the view that this world shows. */
export const deliveryParts = ["updates", "strangers", "writes"] as const;
type DeliveryView = Shown<(typeof deliveryParts)[number]>;
const judge = judgeOf(deliveryParts);

const placeOf = (leader: number): string => `delivery${leader + 1}`;
const seat = seatKey("seat");
const mine = { former: [], user: 1, chat: chatId(-1) };

export function deliveryWorld(
  bounds: DeliveryBounds,
  rules: DeliveryRules = faithfulDelivery,
  name = "delivery",
): World<DeliveryEnv, null, DeliveryView> {
  const leaders = [0, 1].slice(0, bounds.leaders);
  return {
    ...worldDefaults,
    name,
    orphansMax: 3,
    places: leaders.map((leader) => ({ name: placeOf(leader), chart: deliveryChart(rules.machine) })),
    start: { env: beginning(bounds), orders: [] },
    actions: (env) => [
      ...env.leaders.flatMap((_each, leader) => dispatcherActions(env, leader, bounds)),
      ...leadershipActions(env, bounds),
      ...seatActions(env, rules),
      ...handlerActions(env),
    ],
    commit: (env, request) => commitOf(env, request, rules),
    faults: (env, { src }, phase) => {
      if (env.left.losses === 0) return [];
      const next = spend(env, "losses");
      // A lost forward answers so by itself.
      if (src === "forwardUpdate") return phase === "committed" ? [] : [{ kind: "unanswered", env: next }];
      if (phase === "committed") return [{ kind: "answerLost", env: next }];
      const fails = { kind: "notCommitted", env: next } as const;
      return src === "findOwner" ? [fails] : [fails, { kind: "unanswered", env: next }];
    },
    outlives: ({ src }) => src !== "findOwner",
    mayFire: (_env, _place, timer) => bounds.isPatienceFinite || !timer.includes("patience"),
    onFact: (env, place, fact) =>
      reactTo(
        env,
        leaders.findIndex((leader) => placeOf(leader) === place),
        fact,
      ),
    observe: () => null,
    view: (env) => viewOf(env, bounds),
    check: judge,
    mayEnd: (env) => env.entries.every((each) => each.is !== "open"),
    goal: (env) => env.entries.every((each) => each.is !== "open"),
  };
}

const factsOf = (update: number, isForeign: boolean): UpdateFacts => ({
  updateId: updateId(update),
  kind: "message",
  routed: "message",
  chat: mine.chat,
  thread: threadId(1),
  message: null,
  user: isForeign ? 2 : mine.user,
  isTopicService: false,
  isChatMove: false,
});

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();

function deliveryChart(machine: AnyStateMachine) {
  const known = charts.get(machine);
  if (known !== undefined) return known;
  const chart = chartOf(machine, {
    project: (snapshot) => {
      // A seeded variant of the delivery chart has its context. Reasons and refusals decide nothing but lengths of pauses.
      const { epoch: under, facts, attempts, notBeforeMs, route } = snapshot.context as DeliveryContext;
      return { under, facts, attempts, notBeforeMs, route: snapshot.matches({ trying: "forwarding" }) ? route : null };
    },
    projectInput: (src, input) => {
      if (src === "findOwner") return null;
      return src === "forwardUpdate" ? input : { epoch: (input as { readonly epoch: Epoch }).epoch };
    },
    projectFact: ({ type }) => ({ type }),
    facts: ["delivery.accepted", "delivery.dropped", "delivery.deadLettered", "delivery.returned", "delivery.fenced"],
  });
  charts.set(machine, chart);
  return chart;
}

/** Reading the lane's head, and beginning with what was read. */
function dispatcherActions(env: DeliveryEnv, leader: number, bounds: DeliveryBounds): Action<DeliveryEnv>[] {
  const { is, read, inHand } = env.leaders[leader] ?? { is: "none", read: null, inHand: null };
  if (is !== "up" || inHand !== null) return [];
  const who = `the dispatcher of epoch ${leader + 1}`;
  if (read !== null) {
    const { update, attempts } = read;
    const input: DeliveryInput = {
      epoch: epoch(leader + 1),
      seq: journalSeq(update + 1),
      facts: factsOf(update, bounds.foreign.includes(update)),
      audience: mine,
      attempts,
      notBeforeMs: attempts === 0 ? 0 : 1,
      patienceMs: 1,
      refusals: 0,
    };
    const start = { kind: "start", place: placeOf(leader), as: `${leader}.${update}`, input } as const;
    const next = withLeader(env, leader, { read: null, inHand: update });
    return [{ name: `${who} begins with update ${update}`, kind: "fair", env: next, orders: [start] }];
  }
  const head = env.entries.findIndex((each) => each.is === "open" && each.claim === null);
  if (head < 0) return [];
  const found = { update: head, attempts: entryOf(env, head).attempts };
  return [{ name: `${who} reads the head ${head}`, kind: "fair", env: withLeader(env, leader, { read: found }) }];
}

function leadershipActions(env: DeliveryEnv, bounds: DeliveryBounds): Action<DeliveryEnv>[] {
  const actions: Action<DeliveryEnv>[] = [];
  if (env.epoch < bounds.leaders)
    actions.push({
      name: "a second leader is granted the next epoch",
      kind: "fault",
      env: withLeader({ ...env, epoch: env.epoch + 1 }, env.epoch, { is: "up" }),
    });
  if (env.left.crashes > 0 && env.epoch === 2 && env.leaders[0]?.is !== "gone")
    actions.push({
      name: "the first leader dies",
      kind: "fault",
      env: withLeader(spend(env, "crashes"), 0, { is: "gone", read: null, inHand: null, sitter: null }),
      orders: [{ kind: "remove", place: placeOf(0) }],
    });
  return actions;
}

const seatsChanged = (leader: number): Order => ({
  kind: "send",
  place: placeOf(leader),
  event: { type: "seats.changed" },
});

/** Claims of these go back to the journal, marked redelivered. What a dead holder had may be handed out again. */
function reclaimed(env: DeliveryEnv, isLost: (claimant: Name) => boolean): DeliveryEnv {
  const entries = env.entries.map((each) => {
    if (each.is !== "open" || each.claim === null || !isLost(each.claim)) return each;
    return {
      ...each,
      claim: null,
      isGiven: false,
      handedOut: env.people[each.claim].isAlive ? each.handedOut : 0,
    };
  });
  return { ...env, entries };
}

function registered(env: DeliveryEnv, name: Name, rules: DeliveryRules): DeliveryEnv {
  const sitting = { name, number: env.registrations + 1 };
  const back = reclaimed(env, (claimant) => rules.losesClaim(claimant, name));
  return withLeader(
    {
      ...back,
      current: sitting,
      registrations: sitting.number,
      people: { ...back.people, [name]: { isAlive: true, number: sitting.number } },
    },
    env.epoch - 1,
    { sitter: sitting },
  );
}

function seatActions(env: DeliveryEnv, rules: DeliveryRules): Action<DeliveryEnv>[] {
  const actions: Action<DeliveryEnv>[] = [];
  const add = (name: string, kind: Action<DeliveryEnv>["kind"], next: DeliveryEnv, leader: number | null) =>
    actions.push({ name, kind, env: next, orders: leader === null ? [] : [seatsChanged(leader)] });
  const leading = env.epoch - 1;
  const { A } = env.people;
  const believed = env.leaders[leading]?.sitter ?? null;

  // It registers whenever the leader does not know it: nothing that is known for good is registered again.
  const next: Name = A.isAlive ? "A" : "B";
  if (believed?.name !== next && (A.isAlive || believed === null))
    add(`${next} registers at the leader of epoch ${env.epoch}`, "fair", registered(env, next, rules), leading);
  if (A.isAlive && env.left.deaths > 0)
    add("A dies", "fault", { ...spend(env, "deaths"), people: { ...env.people, A: { ...A, isAlive: false } } }, null);

  env.leaders.forEach(({ sitter, is }, leader) => {
    if (sitter === null || is !== "up") return;
    const blind = withLeader(env, leader, { sitter: null });
    if (env.left.silences > 0)
      add(`the leader of epoch ${leader + 1} takes its sitter for silent`, "fault", spend(blind, "silences"), leader);
    if (env.people[sitter.name].isAlive) return;
    const isWritten = leader === leading && env.current?.number === sitter.number;
    const ended = isWritten ? { ...reclaimed(blind, () => true), current: null } : blind;
    add(`the leader of epoch ${leader + 1} has proof that A is dead`, "fair", ended, leader);
  });
  return actions;
}

function handlerActions(env: DeliveryEnv): Action<DeliveryEnv>[] {
  return env.entries.flatMap((entry, update) => {
    const { is, claim, isGiven } = entry;
    if (is !== "open" || claim === null || !env.people[claim].isAlive) return [];
    if (!isGiven)
      return [
        {
          name: `${claim} asks again and learns that it holds update ${update}`,
          kind: "fair" as const,
          env: handedOut(env, update),
        },
      ];
    const actions: Action<DeliveryEnv>[] = [
      {
        name: `${claim} acks update ${update}`,
        kind: "fair",
        env: withEntry(env, update, { is: "settled", claim: null, isGiven: false, ends: entry.ends + 1 }),
      },
    ];
    const back = { claim: null, isGiven: false, attempts: entry.attempts + 1, handedOut: 0 };
    if (env.left.failures > 0)
      actions.push({
        name: `the handler of ${claim} fails at update ${update}`,
        kind: "fault",
        env: withEntry(spend(env, "failures"), update, back),
      });
    return actions;
  });
}

function handedOut(env: DeliveryEnv, update: number): DeliveryEnv {
  const entry = entryOf(env, update);
  // Those claimed before it must be ended, or in a handler's hand.
  const overtook = env.entries.slice(0, update).some((each) => each.claim !== null && !each.isGiven);
  return withEntry(env, update, {
    isGiven: true,
    wasEverGiven: true,
    handedOut: entry.handedOut + 1,
    overtook: entry.overtook || overtook,
  });
}

function commitOf(env: DeliveryEnv, request: Request, rules: DeliveryRules): readonly Outcome<DeliveryEnv>[] {
  const answered = (next: DeliveryEnv, output: unknown): Outcome<DeliveryEnv> => ({ env: next, answer: { output } });
  const [leader = 0, update = 0] = request.by.split(".").map(Number);
  // Inputs are what the delivery chart passes to the slot of this name, after the projection above.
  switch (request.src) {
    case "findOwner": {
      const sitter = env.leaders[leader]?.sitter ?? null;
      const route = answered(env, { kind: "seat", seat, recipient: recipientOf(sitter) });
      return env.left.unowned === 0
        ? [route]
        : [
            route,
            answered(spend(env, "unowned"), { kind: "nobody", reason: "" }),
            answered(spend(env, "unowned"), { kind: "nowhere", reason: "" }),
            // Somebody has the thread when it is looked up again.
            answered(spend(env, "unowned"), { kind: "unowned", isAsked: true, reason: "" }),
          ];
    }
    case "forwardUpdate": {
      const { recipient } = request.input as { readonly recipient: Recipient };
      const arrived = forwarded(env, update, recipient, rules);
      const isLost = env.left.losses > 0 && !request.orphan;
      const lost = isLost
        ? [env, ...arrived.filter(({ answer }) => answer.kind === "accepted").map((each) => each.env)]
        : [];
      return [
        ...arrived.map(({ env: next, answer }) => answered(next, answer)),
        ...lost.map((next) => answered(spend(next, "losses"), { kind: "unknown", reason: "" })),
      ];
    }
    case "dropUpdate":
    case "deadLetterUpdate": {
      const { epoch: under } = request.input as { readonly epoch: Epoch };
      if (!rules.mayEnd(env, under)) return [answered(env, { kind: "fenced" })];
      const entry = entryOf(env, update);
      if (!rules.mayBeEnded(env, entry)) return [answered(env, { kind: "gone" })];
      const is = request.src === "dropUpdate" ? "dropped" : "deadLettered";
      const ended = withEntry(env, update, { is, claim: null, isGiven: false, ends: entry.ends + 1 });
      return [answered(noted(ended, under), { kind: "ended" })];
    }
    default:
      throw new Error(`the delivery world answers no ${request.src}`);
  }
}

function noted(env: DeliveryEnv, presented: Epoch): DeliveryEnv {
  const current = epoch(env.epoch);
  if (presented === current) return env;
  return { ...env, wrongWrites: [{ by: instanceId("leader"), presented, current, accepted: true }] };
}

const recipientOf = (sitter: Sitting | null): Recipient =>
  sitter === null
    ? { kind: "absent" }
    : {
        kind: "follower",
        instanceId: instanceId(sitter.name),
        generation: generation(String(sitter.number)),
      };

interface Forwarded {
  readonly env: DeliveryEnv;
  readonly answer: ForwardAnswer;
}

/** The follower's endpoint and inbox: the wire's own checks, the claim, and the hand-out. */
function forwarded(env: DeliveryEnv, update: number, recipient: Recipient, rules: DeliveryRules): readonly Forwarded[] {
  const refused = { env, answer: { kind: "refused", reason: "" } } as const;
  if (recipient.kind !== "follower") return [refused];
  const name: Name = recipient.instanceId === "A" ? "A" : "B";
  const person = env.people[name];
  const who = { name, number: Number(recipient.generation) };
  if (!person.isAlive || person.number !== who.number) return [refused];

  const entry = entryOf(env, update);
  const accepted = { kind: "accepted" } as const;
  if (rules.isRepeated(entry, name)) return [{ env: entry.isGiven ? env : handedOut(env, update), answer: accepted }];
  if (!rules.isCurrent(env, who)) return [refused];
  if (entry.is !== "open") return [{ env, answer: accepted }];
  if (rules.isTaken(entry) || rules.isOvertaking(env, update)) return [refused];
  const isInDoubt = env.entries.some((each) => each.is === "open" && each.claim === name && !each.isGiven);
  if (rules.waitsForDoubt && isInDoubt) return [];
  const overtook = env.entries.slice(0, update).some((each) => each.is === "open" && each.claim === null);
  const claimed = withEntry(env, update, { claim: name, overtook: entry.overtook || overtook });
  const taken = { env: handedOut(claimed, update), answer: accepted };
  if (env.left.claimLosses === 0) return [taken];
  // The leader's patience ends first, while the inbox asks on.
  return [taken, { env: spend(claimed, "claimLosses"), answer: { kind: "unknown", reason: "" } }];
}

function reactTo(env: DeliveryEnv, leader: number, fact: AnyEventObject): Reaction<DeliveryEnv> {
  const isFenced = fact.type === "delivery.fenced";
  return {
    env: withLeader(env, leader, isFenced ? { is: "fenced", inHand: null, sitter: null } : { inHand: null }),
    orders: [{ kind: "remove", place: placeOf(leader) }],
  };
}

function viewOf(env: DeliveryEnv, { foreign }: DeliveryBounds): DeliveryView {
  return {
    updates: env.entries.map((each, index) => ({
      updateId: updateId(index),
      settled: each.ends,
      handedOut: each.handedOut,
      overtook: each.overtook,
    })),
    writes: env.wrongWrites,
    strangers: foreign.map((index) => ({
      updateId: updateId(index),
      wasGiven: env.entries[index]?.wasEverGiven ?? false,
    })),
  };
}
