/**
 * World `handoff`: one piece of waiting work, two instances that offer it to each other, die and come back.
 *
 * Owns: when offers are made and looked for, deaths, their proof, the next process of a seat, who begins the work.
 * Does not own: what donor and recipient decide (the very charts), the store's rules (`handoff.env.ts`).
 *
 * Both directions, so that work goes on, and comes back to where it was while the old item still stands there. A request
 * lives on when its asker does not. Handlers ack explicitly: nothing is asked of the store before one begins.
 *
 * Bounds: offers; recalls; deaths; lost requests; stale acceptances.
 */
import type { AnyEventObject } from "xstate";
import { handoffDonorMachine } from "../../../machines/handoffDonor.machine.ts";
import { handoffRecipientMachine } from "../../../machines/handoffRecipient.machine.ts";
import { instanceId, offerId } from "../../../machines/ids.ts";
import { judgeOf } from "../../../machines/invariants.ts";
import type { Shown } from "../../../machines/invariants.ts";
import { chartOf, worldDefaults } from "../../../testing/explorer/index.ts";
import type { Action, Outcome, Reaction, Request, World } from "../../../testing/explorer/index.ts";
import {
  beginning,
  endOf,
  endOffer,
  faithfulHandoff,
  isUnder,
  names,
  offerOf,
  otherOf,
  spend,
  withEntry,
  withOffer,
  withPerson,
} from "./handoff.env.ts";
import type { HandoffBounds, HandoffEnv, HandoffRules, Name } from "./handoff.env.ts";

export { faithfulHandoff } from "./handoff.env.ts";
export type { HandoffBounds, HandoffRules } from "./handoff.env.ts";

export const handoffParts = ["moving"] as const;
type HandoffView = Shown<(typeof handoffParts)[number]>;
const judge = judgeOf(handoffParts);

const donorAt = (name: Name): string => `donor${name}`;
const recipientAt = (name: Name): string => `recipient${name}`;

const donorChart = chartOf(handoffDonorMachine, {
  // Why an item comes back is told at its end.
  project: ({ context: { reason, output } }) => ({ reason, output }),
  projectInput: () => null,
  projectFact: ({ type }) => ({ type }),
});
const recipientChart = chartOf(handoffRecipientMachine, {
  project: ({ context: { tries, output } }) => ({ tries, output }),
  projectInput: () => null,
  projectFact: ({ type }) => ({ type }),
});

export function handoffWorld(
  bounds: HandoffBounds,
  rules: HandoffRules = faithfulHandoff,
  name = "handoff",
): World<HandoffEnv, null, HandoffView> {
  return {
    ...worldDefaults,
    name,
    orphansMax: 2,
    places: names.flatMap((each) => [
      { name: donorAt(each), chart: donorChart },
      { name: recipientAt(each), chart: recipientChart },
    ]),
    start: { env: beginning(bounds), orders: [] },
    actions: (env) => names.flatMap((each) => [...queueActions(env, each, rules), ...lifeActions(env, each, rules)]),
    commit: (env, request) => commitOf(env, request, rules),
    faults: (env, { src }, phase) => {
      if (env.left.losses === 0) return [];
      const next = spend(env, "losses");
      // Publication ends in our own process: it fails before that, or not at all.
      if (src === "publish") return phase === "committed" ? [] : [{ kind: "notCommitted", env: next }];
      if (phase === "committed") return [{ kind: "answerLost", env: next }];
      const fails = { kind: "notCommitted", env: next } as const;
      return src === "findStanding" ? [fails] : [fails, { kind: "unanswered", env: next }];
    },
    outlives: ({ src }) => src !== "findStanding" && src !== "publish",
    onFact: (env, place, fact) => reactTo(env, place, fact, rules),
    observe: () => null,
    view: viewOf,
    check: judge,
    mayEnd: (env) => !env.entry.isOpen,
    goal: (env) => !env.entry.isOpen,
  };
}

/** Offering, looking for offers, beginning the work, taking it from the journal. */
function queueActions(env: HandoffEnv, name: Name, rules: HandoffRules): Action<HandoffEnv>[] {
  const me = env.people[name];
  const { copy } = me;
  const { entry } = env;
  if (!me.isAlive) return [];
  const actions: Action<HandoffEnv>[] = [];
  if (copy?.is === "waiting") actions.push(begins(env, name, rules));
  if (copy?.is === "waiting" && env.left.offers > 0) actions.push(offers(env, name, copy.acquisition));
  if (me.donates !== null && env.left.recalls > 0)
    actions.push({
      name: `${name} wants its offer back`,
      kind: "fault",
      env: spend(env, "recalls"),
      orders: [{ kind: "send", place: donorAt(name), event: { type: "offer.recall" } }],
    });
  const isForUs = me.isSitting && entry.isOpen && entry.holder === null && entry.seat === name;
  if (isForUs && (copy === null || (copy.is === "offered" && copy.again === null))) actions.push(takes(env, name));
  env.offers.forEach((offer, id) => {
    const isMine = offer.is === "open" && otherOf(offer.from) === name && offer.toNumber === me.number;
    if (isMine && me.stages === null && (copy === null || rules.stagesBeside))
      actions.push({
        name: `${name} looks and finds offer ${id}`,
        kind: "fair",
        env: withPerson(env, name, { stages: id }),
        orders: [
          {
            kind: "start",
            place: recipientAt(name),
            as: String(id),
            input: { id: offerId(`handoff-${id}`), triesMax: 2 },
          },
        ],
      });
  });
  return actions;
}

function begins(env: HandoffEnv, name: Name, rules: HandoffRules): Action<HandoffEnv> {
  const acquisition = env.people[name].copy?.acquisition ?? 0;
  const isOurs = rules.isSettled && isUnder(env, acquisition) && env.entry.offer === null;
  const begun = withEntry(env, { runs: env.entry.runs + 1 });
  const ended = isOurs ? withEntry(begun, { isOpen: false, holder: null }) : begun;
  return { name: `${name} begins the work and acks it`, kind: "fair", env: withPerson(ended, name, { copy: null }) };
}

function offers(env: HandoffEnv, name: Name, acquisition: number): Action<HandoffEnv> {
  const id = env.offers.length;
  const { number } = env.people[name];
  const asked = { is: "asked", from: name, fromNumber: number, acquisition, toNumber: null } as const;
  const held = withPerson(env, name, { donates: id, copy: { is: "offered", acquisition, again: null } });
  return {
    name: `${name} offers the work to ${otherOf(name)}`,
    kind: "free",
    env: { ...spend(held, "offers"), offers: [...env.offers, asked] },
    orders: [
      {
        kind: "start",
        place: donorAt(name),
        as: String(id),
        input: { id: offerId(`handoff-${id}`), budgetMs: 30_000 },
      },
    ],
  };
}

/** The leader gives it to the seat where it belongs; an old item that is still frozen there waits for its offer's end. */
function takes(env: HandoffEnv, name: Name): Action<HandoffEnv> {
  const { number, copy } = env.people[name];
  const acquisition = env.acquisitions + 1;
  const claimed = withEntry({ ...env, acquisitions: acquisition }, { holder: { name, number, acquisition } });
  const next =
    copy === null ? ({ is: "waiting", acquisition, again: null } as const) : ({ ...copy, again: acquisition } as const);
  return {
    name: `${name} takes the work from the journal`,
    kind: "fair",
    env: withPerson(claimed, name, { copy: next }),
  };
}

function lifeActions(env: HandoffEnv, name: Name, rules: HandoffRules): Action<HandoffEnv>[] {
  const { isAlive, isSitting, number } = env.people[name];
  if (isAlive) {
    if (env.left.deaths === 0) return [];
    const gone = { isAlive: false, copy: null, donates: null, stages: null };
    return [
      {
        name: `${name} dies`,
        kind: "fault",
        env: withPerson(spend(env, "deaths"), name, gone),
        orders: [
          { kind: "remove", place: donorAt(name) },
          { kind: "remove", place: recipientAt(name) },
        ],
      },
    ];
  }
  const ended = isSitting ? endOf(env, name, rules) : env;
  const actions: Action<HandoffEnv>[] = [
    {
      name: `the next process of ${name}'s seat registers`,
      kind: "fair",
      env: withPerson(ended, name, { isAlive: true, isSitting: true, number: number + 1 }),
    },
  ];
  if (isSitting) actions.push({ name: `${name} is proven dead`, kind: "fair", env: ended });
  return actions;
}

const answered = (env: HandoffEnv, output: unknown): Outcome<HandoffEnv> => ({ env, answer: { output } });

/** Of an offer whose requests are told by their asker, which is its number. */
function commitOf(env: HandoffEnv, request: Request, rules: HandoffRules): readonly Outcome<HandoffEnv>[] {
  const id = Number(request.by);
  const offer = offerOf(env, id);
  const { entry } = env;
  switch (request.src) {
    case "makeOffer":
      return [makes(env, id, rules)];
    case "cancelOffer":
      if (offer.is === "asked") return [answered(withOffer(env, id, { is: "ended" }), { kind: "cancelled" })];
      return rules.mayCancel(offer)
        ? [answered(endOffer(env, id), { kind: "cancelled" })]
        : [answered(env, { kind: "conflict" })];
    case "findStanding": {
      const isHeld = isUnder(env, offer.acquisition);
      if (isHeld && entry.offer === null) return [answered(env, { kind: "returned" })];
      return [answered(env, { kind: isHeld && entry.offer === id ? "open" : "gone" })];
    }
    case "acceptOffer":
      return accepts(env, id, rules);
    case "publish": {
      const copy = { is: "waiting", acquisition: acceptedBy(id), again: null } as const;
      return [answered(withPerson(env, otherOf(offer.from), { copy }), undefined)];
    }
    case "giveBack":
      return [
        answered(
          isUnder(env, acceptedBy(id)) && entry.offer === null ? withEntry(env, { holder: null, seat: "A" }) : env,
          undefined,
        ),
      ];
    default:
      throw new Error(`the handoff world answers no ${request.src}`);
  }
}

/** The acquisition that the recipient of an offer has minted for it. */
const acceptedBy = (id: number): number => 1_000 + id;

function makes(env: HandoffEnv, id: number, rules: HandoffRules): Outcome<HandoffEnv> {
  const offer = offerOf(env, id);
  if (!rules.mayMake(offer))
    return answered(env, offer.is === "ended" ? { kind: "refused", reason: "ended" } : { kind: "offered" });
  const to = env.people[otherOf(offer.from)];
  if (!to.isSitting) return answered(env, { kind: "refused", reason: "nobody" });
  if (!isUnder(env, offer.acquisition) || env.entry.offer !== null)
    return answered(env, { kind: "refused", reason: "notHeld" });
  const made = withOffer(env, id, { is: "open", toNumber: to.number });
  return answered(withEntry(made, { offer: id }), { kind: "offered" });
}

function accepts(env: HandoffEnv, id: number, rules: HandoffRules): readonly Outcome<HandoffEnv>[] {
  const offer = offerOf(env, id);
  const name = otherOf(offer.from);
  if (offer.is === "accepted") {
    const kind = isUnder(env, acceptedBy(id)) ? "accepted" : "conflict";
    return [answered(env, { kind })];
  }
  if (!rules.mayAccept(env, offer)) return [answered(env, { kind: "conflict" })];
  const holder = { name, number: env.people[name].number, acquisition: acceptedBy(id) };
  const moved = withEntry(withOffer(env, id, { is: "accepted" }), { holder, offer: null, seat: name });
  const stale = answered(spend(env, "stales"), { kind: "stale" });
  return [answered(moved, { kind: "accepted" }), ...(env.left.stales > 0 ? [stale] : [])];
}

function reactTo(env: HandoffEnv, place: string, { type }: AnyEventObject, rules: HandoffRules): Reaction<HandoffEnv> {
  const name: Name = place.endsWith("A") ? "A" : "B";
  const orders = [{ kind: "remove", place } as const];
  if (place !== donorAt(name)) return { env: withPerson(env, name, { stages: null }), orders };
  const { copy } = env.people[name];
  if (copy === null) throw new Error(`the donor ${name} has lost its frozen item`);
  if (type === "handoff.returned")
    return { env: withPerson(env, name, { donates: null, copy: { ...copy, is: "waiting" } }), orders };
  const again = rules.keepsAgain ? copy.again : null;
  const next = again === null ? null : ({ is: "waiting", acquisition: again, again: null } as const);
  return { env: withPerson(env, name, { donates: null, copy: next }), orders };
}

function viewOf({ entry, people }: HandoffEnv): HandoffView {
  const runnableAt = names
    .filter((name) => people[name].isAlive && people[name].copy?.is === "waiting")
    .map(instanceId);
  const { holder, offer } = entry;
  const heldBy = holder === null || offer !== null ? null : instanceId(holder.name);
  return { moving: [{ runnableAt, heldBy, runs: entry.runs }] };
}
