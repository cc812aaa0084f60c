/**
 * World `queue`: one instance's queue, its host, and whoever writes, reacts, gives commands and offers work away.
 *
 * Owns: what comes in and when, how a turn begins and ends, what becomes of an offer, where each entry stands by what the
 * chart has told. Does not own: any order or decision (`queueMachine`, the very chart).
 *
 * The services look at the chart's items before they offer, close or change one. Here facts that only this world adds to the
 * chart's own transitions ("taps") tell the environment as much; they change nothing.
 *
 * Bounds: entries; commands; offers; reactions; holds of the host; a store that does not answer; entries that are lost.
 */
import { emit } from "xstate";
import type { AnyEventObject, AnyStateMachine } from "xstate";
import { instanceId, journalSeq, messageId } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { Shown } from "../../../machines/invariants.ts";
import { queueMachine } from "../../../machines/queue.machine.ts";
import type { GivenCommand, QueueContext, QueueEvent, QueueFact } from "../../../machines/queue.machine.ts";
import { nextOf, seqsOf } from "../../../machines/queue.rules.ts";
import type { QueueItem } from "../../../machines/queue.rules.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, Outcome, Request, World } from "../../../testing/explorer/index.ts";
import { patched } from "./patched.ts";

export interface QueueBudgets {
  readonly commands: number;
  readonly offers: number;
  /** Reactions that skip an item or put it first, and parts that come later. */
  readonly reactions: number;
  /** Times that the host is busy by itself. */
  readonly holds: number;
  /** Takings up that fail their asker, in each of the three ways. */
  readonly losses: number;
  /** Takings up that find the entry somebody else's. */
  readonly stolen: number;
}

export interface QueueBounds extends QueueBudgets {
  /** Prompts that are written. */
  readonly prompts: number;
  /** Updates outside turns. */
  readonly asides: number;
}

type Place = "gathering" | "waiting" | "current" | "offered" | "recalled" | "folded" | "gone";

interface Entry {
  readonly seq: number;
  /** The item that it came into. */
  readonly item: number;
  readonly is: Place;
  /** Turns, settlements without a turn, losses, departures. */
  readonly ends: number;
  readonly isAside: boolean;
}

export interface QueueEnv {
  readonly entries: readonly Entry[];
  readonly isHeld: boolean;
  readonly isAttached: boolean;
  readonly asidesAtHost: number;
  readonly left: QueueBudgets;
}

interface QueueSeen {
  readonly items: readonly QueueItem[];
  readonly current: QueueItem | null;
  readonly asides: readonly number[];
  readonly turns: number;
  readonly isFolding: boolean;
}

export const queueParts = ["queues", "queueEntries"] as const;
type QueueView = Shown<(typeof queueParts)[number]>;
const judge = judgeOf(queueParts);

type Tap =
  | { readonly type: "tap.taken" | "tap.back"; readonly seqs: readonly number[] }
  | { readonly type: "tap.offered"; readonly item: number }
  | { readonly type: "tap.folded"; readonly items: readonly number[] };

const turns = "states/turns/states";
/** The same chart, telling where items go. `emit` is typed by the chart it is written for, and this one has no such fact. */
const tapped = (machine: AnyStateMachine): AnyStateMachine => {
  const tap = (tell: (context: QueueContext, event: QueueEvent) => Tap) =>
    emit(({ context, event }: { context: QueueContext; event: QueueEvent }) => tell(context, event)) as object;
  const also = (path: string, before: object | null, after: object | null) => (to: AnyStateMachine) =>
    patched(to, path, (actions: string | readonly string[]) =>
      [before, actions, after].flat().filter((each) => each !== null),
    );
  const headOf = (context: QueueContext): readonly number[] => {
    const { head } = nextOf(context);
    return head === null ? [] : seqsOf(head);
  };
  return [
    also(
      `${turns}/idle/always/2/actions`,
      tap((context) => ({ type: "tap.taken", seqs: headOf(context) })),
      null,
    ),
    also(
      `${turns}/dispatching/invoke/onError/1/actions`,
      tap(({ current }) => ({ type: "tap.back", seqs: current === null ? [] : seqsOf(current) })),
      null,
    ),
    also(
      "on/item.offered/0/actions",
      tap((_context, event) => ({ type: "tap.offered", item: event.type === "item.offered" ? event.id : 0 })),
      null,
    ),
    also(
      `${turns}/folding/on/item.opened/0/actions`,
      tap(({ items }) => ({
        type: "tap.folded",
        items: items.filter(({ kind, standing }) => kind === "prompt" && standing === "waiting").map(({ id }) => id),
      })),
      null,
    ),
  ].reduce((to, change) => change(to), machine);
};

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();
function queueChart(machine: AnyStateMachine) {
  const known = charts.get(machine) ?? chartOf(tapped(machine));
  charts.set(machine, known);
  return known;
}

export function queueWorld(
  bounds: QueueBounds,
  machine: AnyStateMachine = queueMachine,
  name = "queue",
): World<QueueEnv, QueueSeen, QueueView> {
  const { prompts, asides, ...left } = bounds;
  return {
    ...worldDefaults,
    name,
    orphansMax: 2,
    places: [{ name: "queue", chart: queueChart(machine) }],
    start: {
      env: { entries: [], isHeld: false, isAttached: false, asidesAtHost: 0, left },
      orders: [{ kind: "start", place: "queue", as: "queue", input: { asidesMax: 1 } }],
    },
    actions: (env) => [...arrivals(env, { prompts, asides }), ...changes(env), ...hostActions(env, asides > 0)],
    commit: commitOf,
    faults: (env, { src, input }, phase) => {
      if (env.left.losses === 0) return [];
      const next = spend(env, "losses");
      // A turn whose handler breaks has ended all the same.
      if (src === "runTurn")
        return phase === "committed" ? [] : [{ kind: "notCommitted", env: end(next, seqsIn(input)) }];
      if (phase === "committed") return [{ kind: "answerLost", env: next }];
      return [
        { kind: "notCommitted", env: next },
        { kind: "unanswered", env: next },
      ];
    },
    // What was taken up for a turn that is not wanted any more settles nothing that is not settled besides.
    outlives: () => false,
    // Facts of the queue's chart, and the taps above.
    onFact: (env, _place, fact) => ({ env: heard(env, fact as QueueFact | Tap) }),
    observe: (_place, snapshot) => {
      const { items, current, asides: waiting } = snapshot.context as QueueContext;
      return {
        items,
        current,
        asides: waiting.map(({ seq }) => seq),
        turns: Number(snapshot.matches({ turns: "awaitingHost" })),
        isFolding: snapshot.matches({ turns: "folding" }),
      };
    },
    view: viewOf,
    check: judge,
    mayEnd: isAtRest,
    goal: isAtRest,
  };
}

/** Everything that came has ended; or the next prompt is to absorb it, and none comes. */
const isAtRest = (env: QueueEnv, [seen]: readonly (QueueSeen | null)[]): boolean =>
  env.entries.every(
    (each) => each.is === "gone" || (!each.isAside && seen?.isFolding === true && each.is !== "gathering"),
  );

const spend = (env: QueueEnv, what: keyof QueueBudgets): QueueEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});
const withEntries = (
  env: QueueEnv,
  isIt: (entry: Entry) => boolean,
  over: (entry: Entry) => Partial<Entry>,
): QueueEnv => ({
  ...env,
  entries: env.entries.map((each) => (isIt(each) ? { ...each, ...over(each) } : each)),
});
const move = (env: QueueEnv, seqs: readonly number[], is: Place): QueueEnv =>
  withEntries(
    env,
    ({ seq }) => seqs.includes(seq),
    () => ({ is }),
  );
const end = (env: QueueEnv, seqs: readonly number[]): QueueEnv =>
  withEntries(
    env,
    ({ seq }) => seqs.includes(seq),
    ({ ends }) => ({ is: "gone", ends: ends + 1 }),
  );
const ofItem = (env: QueueEnv, item: number): readonly number[] =>
  env.entries.filter((each) => each.item === item).map(({ seq }) => seq);

const send = (event: QueueEvent) => ({ kind: "send", place: "queue", event: event satisfies AnyEventObject }) as const;

/** A prompt that is whole, one that more may come of, and `/continue`. */
const kinds = [
  { what: "prompt", lane: "default", standing: "waiting" },
  { what: "part of a prompt", lane: "default", standing: "gathering" },
  { what: "/continue", lane: "control", standing: "waiting" },
] as const;

function arrivals(env: QueueEnv, bounds: Pick<QueueBounds, "prompts" | "asides">): Action<QueueEnv>[] {
  const seq = env.entries.length + 1;
  const written = env.entries.filter((each) => !each.isAside && each.seq === each.item).length;
  const beside = env.entries.filter((each) => each.isAside).length;
  const actions: Action<QueueEnv>[] = [];
  const comes = (entry: Omit<Entry, "seq" | "item" | "ends">, what: string, event: QueueEvent): void => {
    const entries = [...env.entries, { ...entry, seq, item: seq, ends: 0 }];
    actions.push({ name: `${what} ${seq} comes`, kind: "free", env: { ...env, entries }, orders: [send(event)] });
  };
  const member = { seq: journalSeq(seq), role: "message", message: messageId(seq) } as const;
  if (written < bounds.prompts)
    for (const { what, lane, standing } of kinds) {
      const item = { id: journalSeq(seq), kind: "prompt", lane, standing, members: [member] } as const;
      comes({ is: standing, isAside: false }, what, { type: "item.opened", item });
    }
  if (beside < bounds.asides)
    for (const isUrgent of [false, true])
      comes({ is: "waiting", isAside: true }, isUrgent ? "urgent aside" : "aside", {
        type: "aside.arrived",
        aside: { seq: journalSeq(seq), isUrgent },
      });
  return actions;
}

/** What is done to items that wait. */
function changes(env: QueueEnv): Action<QueueEnv>[] {
  return env.entries
    .filter((each) => !each.isAside && each.seq === each.item)
    .flatMap(({ item, is }): Action<QueueEnv>[] => {
      const id = journalSeq(item);
      const actions: Action<QueueEnv>[] = [];
      if (is === "gathering")
        actions.push({
          name: `prompt ${item} is complete`,
          kind: "fair",
          env: move(env, ofItem(env, item), "waiting"),
          orders: [send({ type: "item.closed", id })],
        });
      if (is === "waiting" && env.left.offers > 0)
        actions.push({
          name: `prompt ${item} is offered`,
          kind: "fault",
          env: spend(env, "offers"),
          orders: [send({ type: "item.offered", id })],
        });
      if (is === "offered" || is === "recalled")
        for (const how of ["transferred", "returned"] as const)
          actions.push({
            name: `the offer of ${item} ends: ${how}`,
            kind: "fair",
            env: how === "transferred" ? end(env, ofItem(env, item)) : move(env, ofItem(env, item), "waiting"),
            orders: [send({ type: "offer.ended", id, how })],
          });
      if ((is === "waiting" || is === "gathering") && env.left.reactions > 0) actions.push(...reactions(env, item, is));
      return actions;
    });
}

function reactions(env: QueueEnv, item: number, is: Place): Action<QueueEnv>[] {
  const seq = env.entries.length + 1;
  const entries = [...env.entries, { seq, item, is, ends: 0, isAside: false }];
  const member = { seq: journalSeq(seq), role: "change", message: null } as const;
  const emojis = [
    ["👎", { before: [], after: ["👎"] }],
    ["👍", { before: ["👎"], after: ["👍"] }],
  ] as const;
  const next = { ...spend(env, "reactions"), entries };
  const grown: Action<QueueEnv> = {
    name: `${item} grows`,
    kind: "fault",
    env: next,
    orders: [send({ type: "item.grown", id: journalSeq(item), member: { ...member, role: "message" } })],
  };
  return [
    ...(is === "gathering" ? [grown] : []),
    ...emojis.map(([emoji, change]): Action<QueueEnv> => ({
      name: `${emoji} on ${item}`,
      kind: "fault",
      env: next,
      orders: [send({ type: "item.reacted", id: journalSeq(item), member, change })],
    })),
  ];
}

function hostActions(env: QueueEnv, hasAsides: boolean): Action<QueueEnv>[] {
  const actions: Action<QueueEnv>[] = [];
  const add = (what: string, kind: Action<QueueEnv>["kind"], next: QueueEnv, event: QueueEvent): void =>
    void actions.push({ name: what, kind, env: next, orders: [send(event)] });
  if (env.isHeld) add("the host is free", "fair", { ...env, isHeld: false }, { type: "host.released" });
  else if (env.left.holds > 0)
    add("the host is busy", "fault", { ...spend(env, "holds"), isHeld: true }, { type: "host.held" });
  if (hasAsides && !env.isAttached)
    add("somebody listens", "fair", { ...env, isAttached: true }, { type: "host.attached" });
  if (hasAsides && env.isAttached && env.left.holds > 0)
    add("nobody listens", "fault", { ...spend(env, "holds"), isAttached: false }, { type: "host.detached" });
  if (env.asidesAtHost > 0)
    add("a handler ends", "fair", { ...env, asidesAtHost: env.asidesAtHost - 1 }, { type: "aside.ended" });
  if (env.left.commands > 0)
    for (const command of ["stop", "abort", "next"] satisfies GivenCommand[])
      add(`/${command}`, "fault", spend(env, "commands"), { type: "command.given", command, by: null });
  return actions;
}

/** Both slots are asked with the item that is to have its turn. */
const seqsIn = (input: unknown): readonly number[] => seqsOf((input as { readonly item: QueueItem }).item);

function commitOf(env: QueueEnv, { src, input }: Request): readonly Outcome<QueueEnv>[] {
  if (src === "runTurn") return [{ env: end(env, seqsIn(input)), answer: { output: undefined } }];
  const taken = { env, answer: { output: { kind: "taken" } } };
  return env.left.stolen === 0
    ? [taken]
    : [taken, { env: spend(env, "stolen"), answer: { output: { kind: "notOurs" } } }];
}

function heard(env: QueueEnv, fact: QueueFact | Tap): QueueEnv {
  switch (fact.type) {
    case "items.discarded":
    case "item.lost":
      return end(env, fact.seqs);
    case "aside.dispatched":
      return { ...end(env, [fact.seq]), asidesAtHost: env.asidesAtHost + 1 };
    case "offers.recalled":
      return move(
        env,
        fact.ids.flatMap((id) => ofItem(env, id)),
        "recalled",
      );
    case "tap.taken":
      return withEntries(
        env,
        (each) => each.is === "waiting" && fact.seqs.includes(each.seq),
        () => ({ is: "current" }),
      );
    case "tap.back":
      return withEntries(
        env,
        (each) => each.is === "current" && fact.seqs.includes(each.seq),
        () => ({ is: "waiting" }),
      );
    case "tap.offered":
      return move(env, ofItem(env, fact.item), "offered");
    case "tap.folded":
      return move(
        env,
        fact.items.flatMap((id) => ofItem(env, id)),
        "folded",
      );
    case "turn.aborted":
    case "command.done":
      return env;
  }
}

function viewOf(env: QueueEnv, [seen]: readonly (QueueSeen | null)[]): QueueView {
  const { items, current, asides, turns: running } = seen ?? { items: [], current: null, asides: [], turns: 0 };
  const waiting: readonly number[] = [...items.flatMap(seqsOf), ...asides];
  const begun: readonly number[] = current === null ? [] : seqsOf(current);
  return {
    queues: [{ id: instanceId("1:1"), items, current, turns: running }],
    queueEntries: env.entries.map(({ seq, ends }) => ({
      seq: journalSeq(seq),
      ends,
      isWaiting: waiting.includes(seq),
      isCurrent: begun.includes(seq),
    })),
  };
}
