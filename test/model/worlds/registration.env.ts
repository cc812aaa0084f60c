/**
 * What is true in world `registration`, apart from the charts: people, messages, the store, Telegram, and what is remembered
 * for the properties.
 *
 * Owns: the environment's shape and small changes to it, the bounds, the rules that a seeded fault replaces.
 * Does not own: what may happen (`registration.world.ts`), what the store does (`registration.store.ts`).
 */
import type { AnyStateMachine } from "xstate";
import { chatId, seatKey, threadId } from "../../../machines/ids.ts";
import type { BoundThread, Epoch } from "../../../machines/ids.ts";
import type { LeaderWriteView } from "../../../machines/invariants.ts";
import { provisioningMachine } from "../../../machines/provisioning.machine.ts";
import { registrationMachine } from "../../../machines/registration.machine.ts";
import type { BegunProvision } from "../../../machines/threads.rules.ts";

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
  /** The user deletes the seat's thread. */
  readonly deletions: number;
  /** Something that was sent speaks against the sitter's thread. */
  readonly doubts: number;
  /** A service message tells which thread a creation has made. */
  readonly evidence: number;
  /** A quarter of an hour passes over a creation with an unknown outcome. */
  readonly waits: number;
}

export interface RegistrationBounds extends RegistrationBudgets {
  readonly attempts: number;
  readonly leaders: 1 | 2;
}

export type Name = "A" | "B";

export interface Person {
  readonly is: "here" | "dead" | "left";
  /** Attempts so far. */
  readonly attempts: number;
  readonly waitsFor: string | null;
  readonly registered: string | null;
}

export interface Message {
  readonly to: number;
  readonly type: "follower.register" | "follower.heartbeat" | "follower.heard" | "follower.disconnect";
  readonly generation: string;
}

export interface SeatGhost {
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
  readonly provision: BegunProvision | null;
  /** The thread that the begun creation is known to have made. */
  readonly made: number | null;
  /** The instructions to delete threads, by thread: a seat whose thread was replaced can have an old one. */
  readonly cleanups: Readonly<Record<number, "waiting" | "deleting">>;
  /** Threads whose deletion was confirmed to the store. */
  readonly confirmed: readonly number[];
  /** Threads of this seat at Telegram. */
  readonly threads: readonly number[];
  /** The last id that Telegram gave: none is given twice. */
  readonly lastThread: number;
  readonly nowMs: number;
  readonly left: RegistrationBudgets;
  // What the properties speak of:
  readonly committed: readonly string[];
  readonly farewells: readonly string[];
  readonly staleEffects: number;
  readonly isDoubled: boolean;
  readonly isInterleaved: boolean;
  /** A thread was deleted that a registration had got after its clean-up was asked for. */
  readonly isHeldDeleted: boolean;
  /** A thread was deleted without an instruction under way. */
  readonly isUnproven: boolean;
  readonly isLivingReplaced: boolean;
  /** A registration was ended as that of a dead process, which runs. */
  readonly isFalselyDead: boolean;
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
  /** Whether a registration is committed only for a thread that is not being deleted, and has not been. */
  readonly heedsCleanup: boolean;
}

export const faithfulRegistration: RegistrationRules = {
  machine: registrationMachine,
  provisioning: provisioningMachine,
  mayWrite: (env, under) => under === env.epoch,
  mayIntend: (env, abandons) =>
    env.binding === null && (env.provision === null || (env.provision.id === abandons && env.made === null)),
  comparesClaim: true,
  heedsCleanup: true,
};

export const nameOf = (token: string): Name => (token.startsWith("A") ? "A" : "B");
export const seat = seatKey("seat");
/** A private chat: nothing is closed in it. */
export const chat = chatId(1);
export const threadOf = (id: number): BoundThread => ({
  target: { chatId: chat, threadId: threadId(id) },
  slot: "A",
  threadName: "a",
});
export const leaderOf = (token: string): number => Number(token.slice(-1)) - 1;

export function beginning(bounds: RegistrationBounds): RegistrationEnv {
  const { attempts: _attempts, leaders, ...left } = bounds;
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
    made: null,
    cleanups: {},
    confirmed: [],
    threads: [],
    lastThread: 0,
    nowMs: 0,
    left,
    committed: [],
    farewells: [],
    staleEffects: 0,
    isDoubled: false,
    isInterleaved: false,
    isHeldDeleted: false,
    isUnproven: false,
    isLivingReplaced: false,
    isFalselyDead: false,
    wrongWrites: [],
  };
}

export const spend = (env: RegistrationEnv, what: keyof RegistrationBudgets): RegistrationEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});
export const withPerson = (env: RegistrationEnv, name: Name, over: Partial<Person>): RegistrationEnv => ({
  ...env,
  people: { ...env.people, [name]: { ...env.people[name], ...over } },
});
export const withSeat = (env: RegistrationEnv, leader: number, over: Partial<SeatGhost>): RegistrationEnv => ({
  ...env,
  seats: env.seats.map((each, index) => (index === leader ? { ...each, ...over } : each)),
});
export const sent = (env: RegistrationEnv, message: Message): RegistrationEnv => {
  const order = (each: Message): string => JSON.stringify(each);
  return { ...env, net: [...env.net, message].sort((a, b) => (order(a) < order(b) ? -1 : 1)) };
};
