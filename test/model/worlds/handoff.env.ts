/**
 * The environment of world `handoff`: one journal entry, two seats, offers, what each instance has in its queue.
 *
 * Owns: the data, and the store's side of it (faithful to `OfferStore`, `WorkStore` and the end of registrations).
 * Does not own: when anything happens (`handoff.world.ts`), what the charts decide.
 */
export type Name = "A" | "B";
export const names = ["A", "B"] as const;
export const otherOf = (name: Name): Name => (name === "A" ? "B" : "A");

export interface HandoffBudgets {
  readonly offers: number;
  readonly recalls: number;
  readonly deaths: number;
  /** Requests that fail their asker, in each of the three ways. */
  readonly losses: number;
  /** Acceptances under a registration that is another one by now. */
  readonly stales: number;
}

export type HandoffBounds = HandoffBudgets;

/** The work in an instance's queue. `again`: taken from the journal anew while the old item is still frozen. */
export interface Copy {
  readonly is: "waiting" | "offered";
  readonly acquisition: number;
  readonly again: number | null;
}

export interface Person {
  readonly isAlive: boolean;
  /** Its registration is current by the store. */
  readonly isSitting: boolean;
  /** Which process of the seat. */
  readonly number: number;
  readonly copy: Copy | null;
  /** The offers that its charts are at work on. */
  readonly donates: number | null;
  readonly stages: number | null;
}

export interface Entry {
  readonly isOpen: boolean;
  readonly holder: { readonly name: Name; readonly number: number; readonly acquisition: number } | null;
  readonly offer: number | null;
  /** Where it belongs while it is in nobody's hand. */
  readonly seat: Name;
  /** Ghost: handlers that began it. */
  readonly runs: number;
}

export interface Offered {
  readonly is: "asked" | "open" | "accepted" | "ended";
  readonly from: Name;
  readonly fromNumber: number;
  readonly acquisition: number;
  /** The recipient's process, once it is made. */
  readonly toNumber: number | null;
}

export interface HandoffEnv {
  readonly entry: Entry;
  readonly people: Readonly<Record<Name, Person>>;
  readonly offers: readonly Offered[];
  readonly acquisitions: number;
  readonly left: HandoffBudgets;
}

export const beginning = (bounds: HandoffBounds): HandoffEnv => {
  const person = { isAlive: true, isSitting: true, number: 1, copy: null, donates: null, stages: null };
  return {
    entry: { isOpen: true, holder: { name: "A", number: 1, acquisition: 1 }, offer: null, seat: "A", runs: 0 },
    people: { A: { ...person, copy: { is: "waiting", acquisition: 1, again: null } }, B: person },
    offers: [],
    acquisitions: 1,
    left: { ...bounds },
  };
};

export const spend = (env: HandoffEnv, what: keyof HandoffBudgets): HandoffEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});
export const withPerson = (env: HandoffEnv, name: Name, over: Partial<Person>): HandoffEnv => ({
  ...env,
  people: { ...env.people, [name]: { ...env.people[name], ...over } },
});
export const withEntry = (env: HandoffEnv, over: Partial<Entry>): HandoffEnv => ({
  ...env,
  entry: { ...env.entry, ...over },
});
export const withOffer = (env: HandoffEnv, id: number, over: Partial<Offered>): HandoffEnv => ({
  ...env,
  offers: env.offers.map((each, index) => (index === id ? { ...each, ...over } : each)),
});
export const offerOf = (env: HandoffEnv, id: number): Offered => {
  const offer = env.offers[id];
  if (offer === undefined) throw new Error(`the handoff world has no offer ${id}`);
  return offer;
};

/** What store and services do, replaceable one by one to seed faults. */
export interface HandoffRules {
  /** Whether a request to make this offer may make it. */
  readonly mayMake: (offer: Offered) => boolean;
  readonly mayAccept: (env: HandoffEnv, offer: Offered) => boolean;
  readonly mayCancel: (offer: Offered) => boolean;
  /** What ends with the proof that this process is dead. */
  readonly voids: (offer: Offered, name: Name, number: number) => boolean;
  /** Whether the recipient begins with an offer although its own old item is there. */
  readonly stagesBeside: boolean;
  /** What the donor keeps of an item that has gone, and was taken from the journal anew meanwhile. */
  readonly keepsAgain: boolean;
  /** Whether an ack ends the entry. */
  readonly isSettled: boolean;
}

export const faithfulHandoff: HandoffRules = {
  mayMake: ({ is }) => is === "asked",
  mayAccept: (env, { is, from, toNumber }) => {
    const to = env.people[otherOf(from)];
    return is === "open" && to.isSitting && to.number === toNumber;
  },
  mayCancel: ({ is }) => is === "open",
  voids: ({ is, from, fromNumber, toNumber }, name, number) =>
    is === "open" && (from === name ? fromNumber === number : toNumber === number),
  stagesBeside: false,
  keepsAgain: true,
  isSettled: true,
};

/** Under this acquisition, whoever asks, and whatever is offered. */
export const isUnder = ({ entry }: HandoffEnv, acquisition: number): boolean =>
  entry.isOpen && entry.holder?.acquisition === acquisition;

export function endOffer(env: HandoffEnv, id: number): HandoffEnv {
  const ended = withOffer(env, id, { is: "ended" });
  return ended.entry.offer === id ? withEntry(ended, { offer: null }) : ended;
}

/** A process is gone for certain: what it held goes back, offers by and to it end, all in one transaction. */
export function endOf(env: HandoffEnv, name: Name, rules: HandoffRules): HandoffEnv {
  const { number } = env.people[name];
  const { holder } = env.entry;
  const isHolder = holder?.name === name && holder.number === number;
  const back = isHolder ? withEntry(env, { holder: null, offer: null }) : env;
  const ended = back.offers.reduce((so, offer, id) => (rules.voids(offer, name, number) ? endOffer(so, id) : so), back);
  return withPerson(ended, name, { isSitting: false });
}
