/**
 * World `registration`: one seat at the leaders of two epochs, and the two instances that come to it.
 *
 * Owns: the network, the store's registrations and threads (faithful to `RegistrationStore` and `ThreadStore`), Telegram's
 * threads, who lives. Does not own: what a seat decides (`registrationMachine`, with `provisioningMachine` and `cleanupMachine` as its children).
 *
 * A registers with a fresh generation for each attempt; once it is dead or has left, B does. A message is delivered at any
 * later moment, also when its sender has given up or is dead. The first leader is not told that it has lost.
 *
 * Bounds: attempts of A; heartbeats, farewells, deaths; answers not waited for; failed requests; Telegram's refusals.
 */
import type { AnyEventObject, AnyStateMachine } from "xstate";
import { cleanupMachine } from "../../../machines/cleanup.machine.ts";
import { epoch, generation, instanceId } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { SeatChartView, Shown } from "../../../machines/invariants.ts";
import type { ProvisioningContext } from "../../../machines/provisioning.machine.ts";
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
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, CompanionFact, Order, Reaction, World } from "../../../testing/explorer/index.ts";
import {
  beginning,
  chat,
  faithfulRegistration,
  leaderOf,
  nameOf,
  seat,
  sent,
  spend,
  threadOf,
  withPerson,
  withSeat,
} from "./registration.env.ts";
import type { Name, RegistrationBounds, RegistrationEnv, RegistrationRules } from "./registration.env.ts";
import { commitOf, faultsOf } from "./registration.store.ts";

export { faithfulRegistration } from "./registration.env.ts";
export type { RegistrationBounds, RegistrationRules } from "./registration.env.ts";

interface RegistrationSeen {
  readonly isLive: boolean;
  readonly sitter: string | null;
}

/** The parts of the view that this world shows. */
export const registrationParts = ["lease", "seats", "seatCharts", "seatGhosts", "writes"] as const;
type RegistrationView = Shown<(typeof registrationParts)[number]>;
const judge = judgeOf(registrationParts);

const seatPlace = (leader: number): string => `seat${leader + 1}`;
const provisioningPlace = (leader: number): string => `provisioning${leader + 1}`;
const cleanupPlace = (leader: number): string => `cleanup${leader + 1}`;
const placesPerLeader = 3;

export function registrationWorld(
  bounds: RegistrationBounds,
  rules: RegistrationRules = faithfulRegistration,
  name = "registration",
): World<RegistrationEnv, RegistrationSeen, RegistrationView> {
  const leaders = [0, 1].slice(0, bounds.leaders);
  const chart = chartsOf(rules);
  return {
    ...worldDefaults,
    name,
    orphansMax: 2,
    places: leaders.flatMap((leader) => [
      {
        name: seatPlace(leader),
        chart: chart.seat,
        hosts: { provisioning: provisioningPlace(leader), cleanup: cleanupPlace(leader) },
      },
      { name: provisioningPlace(leader), chart: chart.provisioning },
      { name: cleanupPlace(leader), chart: chart.cleanup },
    ]),
    start: { env: beginning(bounds), orders: [openSeat(0, null)] },
    actions: (env) => [
      ...personActions(env, "A", bounds),
      ...(env.people.A.is === "here" ? [] : personActions(env, "B", bounds)),
      ...env.net.map((_each, index) => delivery(env, index)),
      ...linkActions(env),
      ...doubtActions(env),
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
    check: judge,
    // Suspects are looked at again and again, everybody else may be at rest.
    mayEnd: () => true,
  };
}

function openSeat(leader: number, sitter: Sitter | null): Order {
  const input: RegistrationInput = {
    seat,
    epoch: epoch(leader + 1),
    chatId: chat,
    timings: { ...defaultSeatTimings, proofLooksMax: 2, lostThreadsMax: 1 },
    sitter,
  };
  return { kind: "start", place: seatPlace(leader), as: `leader${leader + 1}`, input };
}

/** Whom a new leader finds in the store. Nothing asks a suspect for its thread. */
const known = ({ registration, binding }: RegistrationEnv): Sitter | null =>
  registration === null ? null : { ...followerOf(registration), thread: threadOf(binding ?? 0) };

const followerOf = (token: string): Follower => ({
  instanceId: instanceId(nameOf(token)),
  generation: generation(token),
  incarnation: null,
  endpoint: "",
  threadName: null,
  carried: null,
  previous: null,
  capabilities: [],
});

// ----------------------------------------------------------------------------------------------------- the charts

const charts = new Map<AnyStateMachine, ReturnType<typeof chartOf>>();

function chartsOf({ machine, provisioning }: RegistrationRules) {
  const once = (which: AnyStateMachine, make: () => ReturnType<typeof chartOf>) => {
    const chart = charts.get(which) ?? make();
    charts.set(which, chart);
    return chart;
  };
  return {
    seat: once(machine, () => seatChart(machine)),
    provisioning: once(provisioning, () => provisioningChart(provisioning)),
    cleanup: once(cleanupMachine, () => chartOf(cleanupMachine)),
  };
}

const seatChart = (machine: AnyStateMachine) =>
  chartOf(machine, {
    companions: ["watchFollower"],
    children: ["provisioning", "cleanup"],
    project: (snapshot) => {
      // A seeded variant of the registration chart has its context.
      const { epoch: under, sitter, deferred, ...rest } = snapshot.context as RegistrationContext;
      // What a finished registration, farewell or look at a process leaves behind decides nothing.
      const isIn = (...states: readonly string[]): boolean => states.some((each) => snapshot.matches(each));
      const isLeaving = isIn("disconnecting");
      const isAtRest = isLeaving || isIn("vacant", "live", "suspect", "preserved", "ending", "confirmingDeath");
      const isReplacing = snapshot.matches({ live: "replacing" });
      const { candidate, candidateThread } = rest;
      return {
        under,
        sitter,
        deferred,
        asked: isAtRest ? null : { candidate, candidateThread },
        leaving: isLeaving ? rest.leaving : null,
        doubt: isReplacing ? rest.doubt : null,
        moving: isReplacing && !snapshot.matches({ live: { replacing: "provisioning" } }) ? candidateThread : null,
        looks: isIn("confirmingDeath") ? rest.looks : 0,
        lostThreads: isAtRest ? 0 : rest.lostThreads,
      };
    },
    facts: ["seat.answered", "seat.live", "seat.gone"],
  });

const provisioningChart = (machine: AnyStateMachine) =>
  chartOf(machine, {
    project: (snapshot) => {
      // A seeded variant of the provisioning chart has its context.
      const { epoch: under, delayMs: _delayMs, ...rest } = snapshot.context as ProvisioningContext;
      return { under, ...rest };
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

function delivery(env: RegistrationEnv, index: number): Action<RegistrationEnv> {
  const message = env.net[index];
  if (message === undefined) throw new Error(`the network has no message ${index}`);
  const { to, type, generation: token } = message;
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
    orders: env.seats[to]?.isUp === true ? [{ kind: "send", place: seatPlace(to), event }] : [],
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

/**
 * What was sent into a thread comes back with an error. It may be late: of a thread that has been replaced since, or of a
 * registration that has. Only what is gone is said to be gone; of any other it is at most not known.
 */
function doubtActions(env: RegistrationEnv): Action<RegistrationEnv>[] {
  if (env.left.doubts === 0) return [];
  const less = spend(env, "doubts");
  const everMade = Array.from({ length: env.lastThread }, (_each, index) => index + 1);
  return env.seats.flatMap(({ isUp }, leader) =>
    isUp
      ? env.committed.flatMap((token) =>
          everMade.flatMap((thread) =>
            (env.threads.includes(thread) ? (["suspect"] as const) : (["gone", "suspect"] as const)).map(
              (kind): Action<RegistrationEnv> => ({
                name: `a call of ${token} finds thread ${thread} ${kind} at leader ${leader + 1}`,
                kind: "fault",
                env: less,
                orders: [
                  {
                    kind: "send",
                    place: seatPlace(leader),
                    event: {
                      type: "thread.doubted",
                      generation: generation(token),
                      doubt: { target: threadOf(thread).target, kind, reason: "" },
                    },
                  },
                ],
              }),
            ),
          ),
        )
      : [],
  );
}

function leadershipActions(env: RegistrationEnv, bounds: RegistrationBounds): Action<RegistrationEnv>[] {
  const actions: Action<RegistrationEnv>[] = [];
  if (env.epoch < bounds.leaders) {
    const sitter = known(env);
    actions.push({
      name: "a second leader is granted the next epoch",
      kind: "fault",
      env: withSeat({ ...env, epoch: env.epoch + 1 }, env.epoch, { isUp: true, sits: sitter?.generation ?? null }),
      orders: [openSeat(env.epoch, sitter)],
    });
  }
  if (env.left.crashes > 0 && env.epoch === 2 && env.seats[0]?.isUp === true)
    actions.push({
      name: "the first leader dies",
      kind: "fault",
      env: withSeat(spend(env, "crashes"), 0, { isUp: false, sits: null, watched: null, isCleaning: false }),
      orders: [
        { kind: "remove", place: seatPlace(0) },
        { kind: "remove", place: provisioningPlace(0) },
        { kind: "remove", place: cleanupPlace(0) },
      ],
    });
  const [last] = env.threads.slice(-1);
  if (env.left.deletions > 0 && last !== undefined)
    actions.push({
      name: "the user deletes the thread",
      kind: "fault",
      env: { ...spend(env, "deletions"), threads: env.threads.filter((each) => each !== last) },
    });
  if (
    env.left.evidence > 0 &&
    env.provision !== null &&
    env.made === null &&
    last !== undefined &&
    last !== env.binding
  )
    actions.push({
      name: "a service message tells of the thread that was made",
      kind: "fault",
      env: { ...spend(env, "evidence"), made: last },
    });
  if (env.left.waits > 0 && env.provision !== null)
    actions.push({
      name: "a quarter of an hour passes",
      kind: "fault",
      env: { ...spend(env, "waits"), nowMs: env.nowMs + ambiguousProvisionMs },
    });
  return actions;
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
  return {
    lease: { epoch: epoch(env.epoch), holder: null },
    seatCharts: env.seats.flatMap(({ sits }, leader): SeatChartView[] => {
      const here = seen[leader * placesPerLeader] ?? null;
      if (here === null) return [];
      const { isLive, sitter } = here;
      return [
        {
          seat,
          epoch: epoch(leader + 1),
          isLive,
          sitter: generationOf(sitter),
          told: generationOf(sits),
          wasCommitted: sitter !== null && env.committed.includes(sitter),
          inStore: generationOf(env.registration),
        },
      ];
    }),
    seatGhosts: [
      {
        seat,
        secondCreations: Number(env.isDoubled),
        interleavings: Number(env.isInterleaved),
        heldDeletions: Number(env.isHeldDeleted),
        unprovenDeletions: Number(env.isUnproven),
        revenants: Number(env.isLivingReplaced),
        falseDeaths: Number(env.isFalselyDead),
      },
    ],
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
    writes: env.wrongWrites,
  };
}

const generationOf = (token: string | null) => (token === null ? null : generation(token));
