/**
 * World `registration`: one seat at the leaders of two epochs, and the two instances that come to it.
 *
 * Owns: the network, the store's registrations and threads (faithful to `RegistrationStore` and `ThreadStore`), Telegram's
 * threads, who lives. Does not own: what a seat decides (`registrationMachine`, with `provisioningMachine` as its child).
 *
 * A registers with a fresh generation for each attempt; once it is dead or has left, B does. A message is delivered at any
 * later moment, also when its sender has given up or is dead. The first leader is not told that it has lost.
 *
 * Bounds: attempts of A; heartbeats, farewells, deaths; answers not waited for; failed requests; Telegram's refusals.
 */
import type { AnyEventObject, AnyStateMachine } from "xstate";
import { chatId, epoch, generation, instanceId, seatKey, threadId } from "../../../machines/ids.ts";
import type { Epoch, ThreadId } from "../../../machines/ids.ts";
import { brokenIn } from "../../../machines/invariants.ts";
import type { LeaderWriteView, WorldView } from "../../../machines/invariants.ts";
import { provisioningMachine } from "../../../machines/provisioning.machine.ts";
import type { CreateAnswer, ProvisioningContext } from "../../../machines/provisioning.machine.ts";
import { defaultSeatTimings, registrationMachine } from "../../../machines/registration.machine.ts";
import type {
  Follower,
  RegistrationContext,
  RegistrationFact,
  RegistrationInput,
  SeatWrite,
  Sitter,
} from "../../../machines/registration.machine.ts";
import { ambiguousProvisionMs } from "../../../machines/threads.rules.ts";
import type { PendingProvision, ThreadView } from "../../../machines/threads.rules.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type {
  Action,
  CompanionFact,
  Order,
  Outcome,
  Reaction,
  Request,
  RequestFault,
  World,
} from "../../../testing/explorer/index.ts";

export interface RegistrationBudgets {
  readonly heartbeats: number;
  readonly farewells: number;
  readonly deaths: number;
  /** Attempts that their sender does not wait for any longer. */
  readonly impatience: number;
  /** Requests of the seat that fail their asker, other than commits of a registration. */
  readonly losses: number;
  /** Commits of a registration that fail their asker; they may have gone through. */
  readonly commitLosses: number;
  /** Answers of Telegram to a creation that are no success, and letters that another seat takes first. */
  readonly troubles: number;
  /** Connections of a live sitter that close, or cannot be watched. */
  readonly closings: number;
  /** Looks at a process that prove nothing. */
  readonly unprovable: number;
  /** The first leader dies. */
  readonly crashes: number;
  /** A quarter of an hour passes over a creation with an unknown outcome. */
  readonly waits: number;
}

export interface RegistrationBounds extends RegistrationBudgets {
  readonly attempts: number;
  /** Whether a registration still arrives after its sender has died or left. */
  readonly isLateOfTheGone: boolean;
  readonly leaders: 1 | 2;
}

type Name = "A" | "B";

interface Person {
  readonly is: "here" | "dead" | "left";
  /** Attempts so far. */
  readonly attempts: number;
  readonly waitsFor: string | null;
  readonly registered: string | null;
}

interface Message {
  readonly to: number;
  readonly type: "follower.register" | "follower.heartbeat" | "follower.heard" | "follower.disconnect";
  readonly generation: string;
}

interface SeatGhost {
  readonly isUp: boolean;
  /** Generation that sits, as the chart's own facts tell it. */
  readonly sits: string | null;
  /** Generation whose connection is watched. */
  readonly watched: string | null;
  /** A farewell is being carried out. */
  readonly isCleaning: boolean;
}

export interface RegistrationEnv {
  readonly epoch: number;
  readonly seats: readonly SeatGhost[];
  readonly people: Readonly<Record<Name, Person>>;
  readonly net: readonly Message[];
  /** The store's current registration. */
  readonly registration: string | null;
  readonly binding: number | null;
  readonly provision: PendingProvision | null;
  readonly isCleanupIntended: boolean;
  /** Threads of this seat at Telegram. */
  readonly threads: readonly number[];
  readonly nowMs: number;
  readonly left: RegistrationBudgets;
  // What the properties speak of:
  readonly committed: readonly string[];
  readonly farewells: readonly string[];
  readonly staleEffects: number;
  readonly isDoubled: boolean;
  readonly isInterleaved: boolean;
  readonly isLivingReplaced: boolean;
  readonly wrongWrites: readonly LeaderWriteView[];
}

/** What the store does, replaceable one by one to seed faults. */
export interface RegistrationRules {
  readonly machine: AnyStateMachine;
  readonly provisioning: AnyStateMachine;
  readonly mayWrite: (env: RegistrationEnv, under: Epoch) => boolean;
  readonly mayIntend: (env: RegistrationEnv, abandons: string | null) => boolean;
  /** Whether a registration is committed only for whoever holds the claim on the seat. */
  readonly comparesClaim: boolean;
}

export const faithfulRegistration: RegistrationRules = {
  machine: registrationMachine,
  provisioning: provisioningMachine,
  mayWrite: (env, under) => under === env.epoch,
  mayIntend: (env, abandons) => env.binding === null && (env.provision === null || env.provision.id === abandons),
  comparesClaim: false,
};

interface RegistrationSeen {
  readonly isLive: boolean;
  readonly sitter: string | null;
}

interface RegistrationView extends WorldView {
  readonly own: readonly string[];
}

const seatPlace = (leader: number): string => `seat${leader + 1}`;
const childPlace = (leader: number): string => `provisioning${leader + 1}`;
const leaderOf = (token: string): number => Number(token.slice(-1)) - 1;
const nameOf = (token: string): Name => (token.startsWith("A") ? "A" : "B");
const seat = seatKey("seat");
const chat = chatId(-1);

export function registrationWorld(
  bounds: RegistrationBounds,
  rules: RegistrationRules = faithfulRegistration,
  name = "registration",
): World<RegistrationEnv, RegistrationSeen, RegistrationView> {
  const leaders = [0, 1].slice(0, bounds.leaders);
  const charts = chartsOf(rules);
  return {
    ...worldDefaults,
    name,
    orphansMax: 2,
    places: leaders.flatMap((leader) => [
      { name: seatPlace(leader), chart: charts.seat, hosts: { provisioning: childPlace(leader) } },
      { name: childPlace(leader), chart: charts.child },
    ]),
    start: { env: beginning(bounds), orders: [openSeat(0)] },
    actions: (env) => [
      ...personActions(env, "A", bounds),
      ...(env.people.A.is === "here" ? [] : personActions(env, "B", bounds)),
      ...env.net.map((_each, index) => delivery(env, index, bounds)),
      ...linkActions(env),
      ...leadershipActions(env, bounds),
    ],
    commit: (env, request) => commitOf(env, request, rules),
    faults: (env, { src }, phase) => faultsOf(env, src, phase),
    outlives: ({ src }) => src !== "viewThreads" && src !== "proveDeath",
    onFact: (env, place, fact) => reactTo(env, leaderOf(place), fact),
    observe: (_place, snapshot) => {
      if (snapshot.machine.id !== registrationMachine.id) return { isLive: false, sitter: null };
      // A seeded variant of the registration chart has its context.
      const { sitter } = snapshot.context as RegistrationContext;
      return { isLive: snapshot.matches("live"), sitter: sitter?.generation ?? null };
    },
    view: viewOf,
    check: (view) => [...brokenIn(view), ...view.own],
    // Suspects are looked at again and again, everybody else may be at rest.
    mayEnd: () => true,
  };
}

function beginning(bounds: RegistrationBounds): RegistrationEnv {
  const { attempts: _attempts, isLateOfTheGone: _isLate, leaders, ...left } = bounds;
  const person = { is: "here", attempts: 0, waitsFor: null, registered: null } as const;
  const ghost = { sits: null, watched: null, isCleaning: false };
  return {
    epoch: 1,
    seats: [0, 1].slice(0, leaders).map((each) => ({ ...ghost, isUp: each === 0 })),
    people: { A: person, B: person },
    net: [],
    registration: null,
    binding: null,
    provision: null,
    isCleanupIntended: false,
    threads: [],
    nowMs: 0,
    left,
    committed: [],
    farewells: [],
    staleEffects: 0,
    isDoubled: false,
    isInterleaved: false,
    isLivingReplaced: false,
    wrongWrites: [],
  };
}

const spend = (env: RegistrationEnv, what: keyof RegistrationBudgets): RegistrationEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});
const withPerson = (env: RegistrationEnv, name: Name, over: Partial<Person>): RegistrationEnv => ({
  ...env,
  people: { ...env.people, [name]: { ...env.people[name], ...over } },
});
const withSeat = (env: RegistrationEnv, leader: number, over: Partial<SeatGhost>): RegistrationEnv => ({
  ...env,
  seats: env.seats.map((each, index) => (index === leader ? { ...each, ...over } : each)),
});
const sent = (env: RegistrationEnv, message: Message): RegistrationEnv => {
  const order = (each: Message): string => JSON.stringify(each);
  return { ...env, net: [...env.net, message].sort((a, b) => (order(a) < order(b) ? -1 : 1)) };
};

function openSeat(leader: number): Order {
  const input: RegistrationInput = {
    seat,
    epoch: epoch(leader + 1),
    chatId: chat,
    timings: { ...defaultSeatTimings, proofLooksMax: 2 },
  };
  return { kind: "start", place: seatPlace(leader), as: `leader${leader + 1}`, input };
}

const followerOf = (token: string): Follower => ({
  instanceId: instanceId(nameOf(token)),
  generation: generation(token),
  incarnation: null,
  endpoint: "",
  threadName: null,
  capabilities: [],
});

// ----------------------------------------------------------------------------------------------------- the charts

const known = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();

function chartsOf({ machine, provisioning }: RegistrationRules) {
  const once = (which: AnyStateMachine, make: () => ReturnType<typeof chartOf>) => {
    const chart = known.get(which) ?? make();
    known.set(which, chart);
    return chart;
  };
  return {
    seat: once(machine, () => seatChart(machine)),
    child: once(provisioning, () => provisioningChart(provisioning)),
  };
}

const seatChart = (machine: AnyStateMachine) =>
  chartOf(machine, {
    companions: ["watchFollower"],
    children: ["provisioning"],
    project: (snapshot) => {
      // A seeded variant of the registration chart has its context.
      const { epoch: under, sitter, deferred, ...rest } = snapshot.context as RegistrationContext;
      // What a finished registration, farewell or look at a process leaves behind decides nothing.
      const isIn = (...states: readonly string[]): boolean => states.some((each) => snapshot.matches(each));
      const isLeaving = isIn("disconnecting", "cleaning");
      const isAtRest = isLeaving || isIn("vacant", "live", "suspect", "preserved", "ending", "confirmingDeath");
      const { candidate, candidateThread } = rest;
      return {
        under,
        sitter,
        deferred,
        asked: isAtRest ? null : { candidate, candidateThread },
        leaving: isLeaving ? rest.leaving : null,
        looks: isIn("confirmingDeath") ? rest.looks : 0,
      };
    },
    facts: ["seat.answered", "seat.live", "seat.gone"],
  });

const provisioningChart = (machine: AnyStateMachine) =>
  chartOf(machine, {
    project: (snapshot) => {
      // A seeded variant of the provisioning chart has its context.
      const { epoch: under, wish, decision, created, tries, output } = snapshot.context as ProvisioningContext;
      return { under, wish, decision, created, tries, output };
    },
  });

// ------------------------------------------------------------------------------------------------ what may happen

function personActions(env: RegistrationEnv, name: Name, bounds: RegistrationBounds): Action<RegistrationEnv>[] {
  const person = env.people[name];
  const { left } = env;
  if (person.is !== "here") return [];
  const actions: Action<RegistrationEnv>[] = [];
  const add = (what: string, next: RegistrationEnv, kind: Action<RegistrationEnv>["kind"] = "fault") =>
    actions.push({ name: `${name} ${what}`, env: next, kind });

  const attemptsMax = name === "A" ? bounds.attempts : 1;
  if (person.waitsFor === null && person.registered === null && person.attempts < attemptsMax)
    env.seats.forEach(({ isUp }, to) => {
      if (!isUp) return;
      const token = `${name}${person.attempts + 1}`;
      const asked = withPerson(env, name, { attempts: person.attempts + 1, waitsFor: token });
      add(
        `registers as ${token} at leader ${to + 1}`,
        sent(asked, { to, type: "follower.register", generation: token }),
      );
    });
  if (person.waitsFor !== null && left.impatience > 0)
    add("waits no longer", withPerson(spend(env, "impatience"), name, { waitsFor: null }));
  if (left.deaths > 0 && name === "A")
    add("dies", withPerson(spend(env, "deaths"), name, { is: "dead", waitsFor: null, registered: null }));
  if (person.registered === null) return actions;

  const token = person.registered;
  if (left.closings > 0)
    add("loses its leader from sight", withPerson(spend(env, "closings"), name, { registered: null }));
  env.seats.forEach(({ isUp }, to) => {
    if (!isUp) return;
    if (left.heartbeats > 0) {
      const beaten = spend(env, "heartbeats");
      add(`sends a heartbeat to leader ${to + 1}`, sent(beaten, { to, type: "follower.heartbeat", generation: token }));
      add(`is heard by leader ${to + 1}`, sent(beaten, { to, type: "follower.heard", generation: token }));
    }
    if (left.farewells > 0) {
      const parting = { ...spend(env, "farewells"), farewells: [...new Set([...env.farewells, token])].sort() };
      add(`takes its leave of leader ${to + 1}`, sent(parting, { to, type: "follower.disconnect", generation: token }));
    }
  });
  return actions;
}

function delivery(env: RegistrationEnv, index: number, bounds: RegistrationBounds): Action<RegistrationEnv> {
  const message = env.net[index];
  if (message === undefined) throw new Error(`the network has no message ${index}`);
  const { to, type, generation: token } = message;
  const isLost = type === "follower.register" && env.people[nameOf(token)].is !== "here" && !bounds.isLateOfTheGone;
  const requestId = `${type}/${token}`;
  const event: AnyEventObject =
    type === "follower.register"
      ? { type, requestId, follower: followerOf(token) }
      : type === "follower.heard"
        ? { type, generation: token }
        : { type, requestId, generation: token };
  return {
    name: `${type} of ${token} reaches leader ${to + 1}`,
    kind: "fair",
    env: { ...env, net: env.net.filter((_each, at) => at !== index) },
    orders: env.seats[to]?.isUp === true && !isLost ? [{ kind: "send", place: seatPlace(to), event }] : [],
  };
}

function linkActions(env: RegistrationEnv): Action<RegistrationEnv>[] {
  return env.seats.flatMap(({ isUp, watched }, leader) => {
    const actions: Action<RegistrationEnv>[] = [];
    const add = (what: string, next: RegistrationEnv, kind: "fault" | "fair", event: AnyEventObject) =>
      actions.push({ name: what, kind, env: next, orders: [{ kind: "send", place: seatPlace(leader), event }] });
    if (!isUp) return actions;
    const closed = (token: string) => ({ type: "link.closed", generation: token });
    if (watched !== null && env.people[nameOf(watched)].is !== "here")
      add(`leader ${leader + 1} sees the connection of ${watched} close`, env, "fair", closed(watched));
    if (env.left.closings === 0) return actions;
    const less = spend(env, "closings");
    if (watched !== null) {
      add(`the connection of ${watched} to leader ${leader + 1} breaks`, less, "fault", closed(watched));
      const failed = { type: "companion.failed", companion: "watchFollower", reason: "" };
      add(`leader ${leader + 1} cannot watch ${watched}`, less, "fault", failed);
    }
    add(`leader ${leader + 1} sees a connection of A1 close`, less, "fault", closed("A1"));
    return actions;
  });
}

function leadershipActions(env: RegistrationEnv, bounds: RegistrationBounds): Action<RegistrationEnv>[] {
  const actions: Action<RegistrationEnv>[] = [];
  if (env.epoch < bounds.leaders)
    actions.push({
      name: "a second leader is granted the next epoch",
      kind: "fault",
      env: withSeat({ ...env, epoch: env.epoch + 1 }, env.epoch, { isUp: true }),
      orders: [openSeat(env.epoch)],
    });
  if (env.left.crashes > 0 && env.epoch === 2 && env.seats[0]?.isUp === true)
    actions.push({
      name: "the first leader dies",
      kind: "fault",
      env: withSeat(spend(env, "crashes"), 0, { isUp: false, sits: null, watched: null, isCleaning: false }),
      orders: [
        { kind: "remove", place: seatPlace(0) },
        { kind: "remove", place: childPlace(0) },
      ],
    });
  if (env.left.waits > 0 && env.provision !== null)
    actions.push({
      name: "a quarter of an hour passes",
      kind: "fault",
      env: { ...spend(env, "waits"), nowMs: env.nowMs + ambiguousProvisionMs },
    });
  return actions;
}

// -------------------------------------------------------------------------------------------- what requests come to

function faultsOf(env: RegistrationEnv, src: string, phase: "issued" | "committed"): RequestFault<RegistrationEnv>[] {
  const budget = src === "commitRegistration" ? "commitLosses" : "losses";
  if (env.left[budget] === 0) return [];
  const next = spend(env, budget);
  if (phase === "committed") return [{ kind: "answerLost", env: next }];
  const fails = { kind: "notCommitted", env: next } as const;
  return src === "deleteThread" ? [fails, { kind: "unanswered", env: next }] : [fails];
}

function commitOf(
  env: RegistrationEnv,
  request: Request,
  rules: RegistrationRules,
): readonly Outcome<RegistrationEnv>[] {
  const answered = (next: RegistrationEnv, output: unknown): Outcome<RegistrationEnv> => ({
    env: next,
    answer: { output },
  });
  const { src, input } = request;
  // Inputs are what the charts pass to the slots of these names.
  switch (src) {
    case "viewThreads":
      return [answered(env, { view: threadsOf(env), nowMs: env.nowMs })];
    case "createThread":
      return created(env).map(({ env: next, answer }) => answered(next, answer));
    case "proveDeath": {
      const { sitter } = input as SeatWrite;
      const looks = [answered(env, env.people[nameOf(sitter.generation)].is === "here" ? "alive" : "dead")];
      return env.left.unprovable === 0 ? looks : [...looks, answered(spend(env, "unprovable"), "unverifiable")];
    }
    default: {
      const { epoch: under } = input as { readonly epoch: Epoch };
      if (!rules.mayWrite(env, under)) return [answered(env, { kind: "fenced" })];
      const { env: next, kind } = written(env, request, rules);
      const outcome = answered(noted(next, under), { kind });
      if (src !== "intendThread" || env.left.troubles === 0) return [outcome];
      // Another seat was faster with the letter.
      return [outcome, answered(spend(env, "troubles"), { kind: "conflict" })];
    }
  }
}

function noted(env: RegistrationEnv, presented: Epoch): RegistrationEnv {
  const current = epoch(env.epoch);
  if (presented === current) return env;
  return { ...env, wrongWrites: [{ by: instanceId("leader"), presented, current, accepted: true }] };
}

interface Written {
  readonly env: RegistrationEnv;
  readonly kind: string;
}

function written(env: RegistrationEnv, { by, src, input, orphan }: Request, rules: RegistrationRules): Written {
  const leader = leaderOf(by);
  switch (src) {
    case "intendThread": {
      const { provision, abandons } = input as { provision: PendingProvision; abandons: string | null };
      return rules.mayIntend(env, abandons)
        ? { env: { ...env, provision }, kind: "intended" }
        : { env, kind: "conflict" };
    }
    case "bindThread": {
      const { threadId: binding } = input as { threadId: ThreadId };
      return { env: { ...env, binding, provision: null }, kind: "bound" };
    }
    case "giveUpThread": {
      const { provisionId, as } = input as { provisionId: string; as: "abandoned" | "ambiguous" };
      if (env.provision?.id !== provisionId) return { env, kind: "noted" };
      const provision: PendingProvision | null = as === "abandoned" ? null : { ...env.provision, status: "ambiguous" };
      return { env: { ...env, provision }, kind: "noted" };
    }
    case "commitRegistration":
      return registered(env, (input as SeatWrite).sitter, { leader, orphan, comparesClaim: rules.comparesClaim });
    case "endRegistration": {
      const { generation: token } = (input as SeatWrite).sitter;
      if (env.registration !== null && env.registration !== token) return { env, kind: "superseded" };
      return { env: { ...env, registration: null }, kind: "ended" };
    }
    case "intendCleanup": {
      const { generation: token } = (input as SeatWrite).sitter;
      // A farewell of another generation must not come to this.
      const staleEffects = env.staleEffects + (env.farewells.includes(token) ? 0 : 1);
      const intended = { ...env, isCleanupIntended: true, staleEffects };
      return { env: orphan ? intended : withSeat(intended, leader, { isCleaning: true }), kind: "intended" };
    }
    case "deleteThread": {
      const { threadId: gone } = (input as SeatWrite).sitter.thread.target;
      const done = orphan ? env : withSeat(env, leader, { isCleaning: false });
      const deleted = { ...done, threads: env.threads.filter((each) => each !== gone) };
      if (!env.isCleanupIntended || env.binding !== gone) return { env: deleted, kind: "superseded" };
      return { env: { ...deleted, binding: null, isCleanupIntended: false }, kind: "removed" };
    }
    default:
      throw new Error(`the registration world answers no ${src}`);
  }
}

function registered(
  env: RegistrationEnv,
  sitter: Sitter,
  {
    leader,
    orphan,
    comparesClaim,
  }: { readonly leader: number; readonly orphan: boolean; readonly comparesClaim: boolean },
): Written {
  const token: string = sitter.generation;
  const isClaimant = nameOf(token) === (env.people.A.is === "here" ? "A" : "B");
  // The store has no such answer today: to the chart it is as if the epoch were over.
  if (comparesClaim && !isClaimant) return { env, kind: "fenced" };
  const before = env.registration;
  return {
    kind: "committed",
    env: {
      ...env,
      registration: token,
      isCleanupIntended: false,
      committed: [...new Set([...env.committed, token])].sort(),
      isInterleaved: env.isInterleaved || (!orphan && env.seats[leader]?.isCleaning === true),
      isLivingReplaced: env.isLivingReplaced || (before !== null && nameOf(before) === "B" && !isClaimant),
    },
  };
}

const threadsOf = (env: RegistrationEnv): ThreadView => ({
  bindings:
    env.binding === null
      ? []
      : [
          {
            seat,
            thread: { target: { chatId: chat, threadId: threadId(env.binding) }, slot: "A", threadName: "a" },
            createdAtMs: 0,
          },
        ],
  provisions: env.provision === null ? [] : [env.provision],
});

function created(env: RegistrationEnv): readonly { readonly env: RegistrationEnv; readonly answer: CreateAnswer }[] {
  const thread = Math.max(0, ...env.threads) + 1;
  // After a quarter of an hour a second one is the rule's own choice.
  const isDoubled = env.isDoubled || (env.threads.length > 0 && env.nowMs === 0);
  const done = { ...env, threads: [...env.threads, thread], isDoubled };
  const fine = { env: done, answer: { kind: "created", threadId: threadId(thread) } } as const;
  if (env.left.troubles === 0) return [fine];
  const trouble = (next: RegistrationEnv, kind: "rejected" | "ambiguous") =>
    ({ env: spend(next, "troubles"), answer: { kind, reason: "" } }) as const;
  return [
    fine,
    trouble(env, "rejected"),
    trouble(env, "ambiguous"),
    trouble(done, "ambiguous"),
    { env: spend(env, "troubles"), answer: { kind: "later", afterMs: 1, reason: "" } },
  ];
}

// --------------------------------------------------------------------------------------------------- what comes of it

function reactTo(env: RegistrationEnv, leader: number, said: AnyEventObject): Reaction<RegistrationEnv> {
  // The seat's chart and its companion report these and nothing else.
  const fact = said as RegistrationFact | CompanionFact;
  switch (fact.type) {
    case "companion.started":
      return { env: withSeat(env, leader, { watched: (fact.input as SeatWrite).sitter.generation }) };
    case "companion.stopped":
      return { env: withSeat(env, leader, { watched: null }) };
    case "seat.live":
      return { env: withSeat(env, leader, { sits: fact.sitter.generation }) };
    case "seat.gone":
      return { env: fact.why === "died" || fact.why === "left" ? withSeat(env, leader, { sits: null }) : env };
    case "seat.answered":
      return { env: answeredTo(env, leader, fact) };
    default:
      return { env };
  }
}

function answeredTo(
  env: RegistrationEnv,
  leader: number,
  { requestId, reply }: Extract<RegistrationFact, { type: "seat.answered" }>,
): RegistrationEnv {
  const [type = "", token = ""] = requestId.split("/");
  const name = nameOf(token);
  const person = env.people[name];
  const isCurrent = person.registered === token;
  if (type === "follower.register") {
    if (person.waitsFor !== token) return env;
    return withPerson(env, name, { waitsFor: null, registered: reply.kind === "registered" ? token : null });
  }
  if (reply.kind === "alive")
    return env.seats[leader]?.sits === token ? env : { ...env, staleEffects: env.staleEffects + 1 };
  if (reply.kind === "left")
    return isCurrent && person.is === "here" ? withPerson(env, name, { is: "left", registered: null }) : env;
  if (reply.kind === "unknown" || reply.kind === "stale")
    return isCurrent && type === "follower.heartbeat" ? withPerson(env, name, { registered: null }) : env;
  // The farewell failed.
  return withSeat(env, leader, { isCleaning: false });
}

function viewOf(env: RegistrationEnv, seen: readonly (RegistrationSeen | null)[]): RegistrationView {
  const own = new Set<string>();
  env.seats.forEach(({ sits }, leader) => {
    const here = seen[leader * 2] ?? null;
    if (here === null) return;
    if (here.sitter !== sits) own.add("registration/sitterOnlyByCommit");
    if (!here.isLive || here.sitter === null) return;
    if (!env.committed.includes(here.sitter)) own.add("registration/liveIsCommitted");
    if (leader + 1 === env.epoch && env.registration !== here.sitter) own.add("registration/liveIsCurrent");
  });
  if (env.isDoubled) own.add("provisioning/neverTwoThreads");
  if (env.isInterleaved) own.add("registration/neverInterleaved");
  if (env.isLivingReplaced) own.add("registration/deadNeverReplacesLiving");
  return {
    lease: { epoch: epoch(env.epoch), holder: null },
    instances: [],
    seats:
      env.registration === null
        ? []
        : [
            {
              seat,
              instanceId: instanceId(nameOf(env.registration)),
              generation: generation(env.registration),
              staleEffects: env.staleEffects,
            },
          ],
    updates: [],
    ghost: { grants: [], writes: env.wrongWrites, ownConflicts: 0 },
    own: [...own],
  };
}
