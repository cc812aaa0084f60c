/**
 * What is true in world `delivery`, apart from the charts: the journal, leaders, the people of the seat, and what is
 * remembered for the properties.
 *
 * Owns: the environment's shape and small changes to it, the bounds, the rules that a seeded fault replaces.
 * Does not own: what may happen (`delivery.world.ts`).
 */
import type { AnyStateMachine } from "xstate";
import { deliveryMachine } from "../../../machines/delivery.machine.ts";
import type { Epoch } from "../../../machines/ids.ts";
import type { LeaderWriteView } from "../../../machines/invariants.ts";

export interface DeliveryBudgets {
  /** Handler failures. */
  readonly failures: number;
  /** Requests that fail their asker, in each of the three ways. */
  readonly losses: number;
  /** Claims that stand although the store's answer did not reach the inbox, which asks again. */
  readonly claimLosses: number;
  /** A leader takes a live sitter for silent. */
  readonly silences: number;
  /** A dies. */
  readonly deaths: number;
  /** The first leader dies, instead of going on without knowing. */
  readonly crashes: number;
  /** Look-ups that find no owner: for good, or until the user has chosen one. */
  readonly unowned: number;
}

export interface DeliveryBounds extends DeliveryBudgets {
  readonly updates: number;
  readonly leaders: 1 | 2;
  /** Whether an update that nobody takes may be set aside. */
  readonly isPatienceFinite: boolean;
  /** Numbers of the updates that a stranger wrote. */
  readonly foreign: readonly number[];
  /** Handler failures that each update comes with. */
  readonly attempts: number;
}

export type Name = "A" | "B";
export interface Sitting {
  readonly name: Name;
  /** Number of the registration. */
  readonly number: number;
}

export interface Entry {
  readonly is: "open" | "settled" | "dropped" | "deadLettered";
  readonly claim: Name | null;
  /** A handler of the claimant has it. */
  readonly isGiven: boolean;
  readonly attempts: number;
  // What the properties speak of:
  readonly ends: number;
  readonly handedOut: number;
  readonly overtook: boolean;
  readonly wasEverGiven: boolean;
}

export interface Leader {
  readonly is: "none" | "up" | "fenced" | "gone";
  /** The head that the dispatcher has read and not begun with. */
  readonly read: { readonly update: number; readonly attempts: number } | null;
  readonly inHand: number | null;
  /** Whom it believes to sit. */
  readonly sitter: Sitting | null;
}

export interface Person {
  readonly isAlive: boolean;
  /** The registration that a leader acknowledged last. */
  readonly number: number;
}

export interface DeliveryEnv {
  readonly epoch: number;
  readonly leaders: readonly Leader[];
  readonly entries: readonly Entry[];
  /** The store's current registration of the seat. */
  readonly current: Sitting | null;
  readonly people: Readonly<Record<Name, Person>>;
  readonly registrations: number;
  readonly left: DeliveryBudgets;
  readonly wrongWrites: readonly LeaderWriteView[];
}

/** What store and inboxes do, replaceable one by one to seed faults. */
export interface DeliveryRules {
  readonly machine: AnyStateMachine;
  readonly mayEnd: (env: DeliveryEnv, under: Epoch) => boolean;
  readonly mayBeEnded: (env: DeliveryEnv, entry: Entry) => boolean;
  /** An earlier entry of the lane lies unclaimed. */
  readonly isOvertaking: (env: DeliveryEnv, update: number) => boolean;
  readonly isCurrent: (env: DeliveryEnv, who: Sitting) => boolean;
  readonly isRepeated: (entry: Entry, by: Name) => boolean;
  readonly isTaken: (entry: Entry) => boolean;
  /**
   * Whether an inbox holds back the next update while an earlier claim of its own is in doubt. The real one claims it and
   * holds it back; here it is claimed when the doubt is over.
   */
  readonly waitsForDoubt: boolean;
  /** Whose claims go back to the journal when this instance registers. */
  readonly losesClaim: (claimant: Name, registered: Name) => boolean;
}

export const faithfulDelivery: DeliveryRules = {
  machine: deliveryMachine,
  mayEnd: (env, under) => under === env.epoch,
  mayBeEnded: (env, { is, claim }) => is === "open" && (claim === null || env.current?.name !== claim),
  isOvertaking: (env, update) => env.entries.slice(0, update).some((each) => each.is === "open" && each.claim === null),
  isCurrent: (env, who) => env.current?.name === who.name && env.current.number === who.number,
  isRepeated: (entry, by) => entry.claim === by,
  isTaken: (entry) => entry.claim !== null,
  waitsForDoubt: true,
  losesClaim: (claimant, registered) => claimant !== registered,
};

export function beginning(bounds: DeliveryBounds): DeliveryEnv {
  const entry = { is: "open", claim: null, isGiven: false, attempts: bounds.attempts } as const;
  const ghost = { ends: 0, handedOut: 0, overtook: false, wasEverGiven: false };
  const leader = { is: "none", read: null, inHand: null, sitter: null } as const;
  const { failures, losses, claimLosses, silences, deaths, crashes, unowned } = bounds;
  return {
    epoch: 1,
    leaders: [0, 1].slice(0, bounds.leaders).map((each) => (each === 0 ? { ...leader, is: "up" } : leader)),
    entries: Array.from({ length: bounds.updates }, () => ({ ...entry, ...ghost })),
    current: null,
    people: { A: { isAlive: true, number: 0 }, B: { isAlive: true, number: 0 } },
    registrations: 0,
    left: { failures, losses, claimLosses, silences, deaths, crashes, unowned },
    wrongWrites: [],
  };
}

export const spend = (env: DeliveryEnv, what: keyof DeliveryBudgets): DeliveryEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});
export const withEntry = (env: DeliveryEnv, update: number, over: Partial<Entry>): DeliveryEnv => ({
  ...env,
  entries: env.entries.map((each, index) => (index === update ? { ...each, ...over } : each)),
});
export const withLeader = (env: DeliveryEnv, leader: number, over: Partial<Leader>): DeliveryEnv => ({
  ...env,
  leaders: env.leaders.map((each, index) => (index === leader ? { ...each, ...over } : each)),
});
export const entryOf = (env: DeliveryEnv, update: number): Entry => {
  const entry = env.entries[update];
  if (entry === undefined) throw new Error(`the delivery world has no update ${update}`);
  return entry;
};
