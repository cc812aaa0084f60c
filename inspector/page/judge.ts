/**
 * The invariants, judged as frames come.
 *
 * Owns: the view of the world that frames allow, and where each property broke. Does not own: the properties
 * (`machines/invariants.ts`).
 *
 * Properties of a moment are judged with patience: frames of several processes and of several charts of one process come one
 * after the other, so a moment counts as broken only when it still is `patienceMs` later, and then from where it began.
 * Properties of what has happened are judged at once, and what broke stays broken. After frames were left out, what only
 * they could have told is taken to be in order. The rest no frame tells: a recording's own verdict says it.
 */
import { epoch, generation, instanceId, seatKey, updateId, type Epoch } from "../../machines/ids.ts";
import { judgeOf } from "../../machines/invariants.ts";
import type { FetchedView, InstanceView, SeatView, UpdateView, WorldView } from "../../machines/invariants.ts";
import type { Frame, MessageBody } from "../frames.ts";
import { Asked } from "./asked.ts";
import type { ActorState, State, Step } from "./model.ts";
import { keyOf } from "./model.ts";
import { fieldOf, rowsOf, valueText } from "./words.ts";

const patienceMs = 400;
/** How long it may take until what was left out is made up for. */
const blindMs = 1_500;
const updatesMax = 5_000;
const breaksMax = 200;

/** Judged of each moment. */
const ofMoments: ReadonlySet<string> = new Set([
  "lease/oneHolderPerEpoch",
  "instance/leadsOnlyWhatItHolds",
  "instance/pollsOnlyAsLeader",
  "registration/oneSeatOneHolder",
  "polling/oneAtATime",
  "membership/oneQuestionAtATime",
]);
/** Judged of what has happened. */
const ofHistory: ReadonlySet<string> = new Set([
  "lease/epochIncreases",
  "polling/neverTwo",
  "polling/confirmedIsDurable",
  "delivery/settledOnce",
  "delivery/handedOutOnce",
]);
export const isJudged = (name: string): boolean => ofMoments.has(name) || ofHistory.has(name);

export interface Break {
  readonly name: string;
  readonly step: number;
  /** The first step that has to do with it. */
  readonly fromStep: number;
  readonly detail: string;
  /** Null: still. */
  untilStep: number | null;
}

/** What frames tell of an instance and of an update. */
interface InstanceFacts extends InstanceView {
  readonly leadsUnder: Epoch | null;
  readonly polls: boolean;
}
type UpdateSeen = FetchedView & UpdateView;

const brokenInMoment = judgeOf(["lease", "instances", "roles", "leaderSides", "followerSides", "seats"]);
const brokenInUpdates = judgeOf(["fetched", "updates"]);

interface UpdateFacts {
  readonly firstStep: number;
  readonly by: string;
  view: UpdateSeen;
}

const nobodys: WorldView["lease"] = { epoch: epoch(0), holder: null };

export class Judge {
  readonly breaks: Break[] = [];
  readonly #instances = new Map<string, { view: InstanceFacts; parts: Map<string, ActorState> }>();
  readonly #suspects = new Map<string, { readonly step: number; readonly atMs: number }>();
  readonly #updates = new Map<number, UpdateFacts>();
  readonly #asked = new Asked();
  readonly #grants: { readonly epoch: number; readonly to: string; readonly step: number }[] = [];
  #moment: ReadonlySet<string> = new Set();
  #blindUntilMs = 0;
  #lease: WorldView["lease"] = nobodys;
  #seats: readonly SeatView[] = [];
  #verdict: readonly string[] = [];

  /** Names of what is broken at the step. */
  brokenAt(step: number): ReadonlySet<string> {
    return new Set(this.breaks.filter((each) => isIn(each, step)).map((each) => each.name));
  }

  breakOf(name: string, step: number): Break | undefined {
    return this.breaks.find((each) => each.name === name && isIn(each, step));
  }

  /** `state` is how everything stands after the step. */
  add(step: Step, state: State): void {
    const { frame } = step;
    if (frame.kind === "dropped") this.#miss(frame);
    else if (frame.kind === "verdict") this.#hearVerdict(frame.broken, step);
    const isAsking = frame.kind === "message" && this.#asked.hear(frame);
    if (frame.kind === "message") this.#hearMessage(frame, step);
    if (this.#look(frame, state, step) || isAsking) this.#judgeMoment();
    this.#decide(frame.atMs ?? 0, step);
  }

  /** True when something that moments are judged by may have changed. */
  #look(frame: Frame, state: State, step: Step): boolean {
    switch (frame.kind) {
      case "source":
        if (frame.state === "gone") this.#lose(frame.id);
        else if (!this.#instances.has(frame.id))
          this.#instances.set(frame.id, { view: viewOf(frame.id, new Map()), parts: new Map() });
        return true;
      case "line":
        this.#lease = leaseOf(state.line);
        this.#seats = seatsOf(state.line);
        return true;
      case "welcome":
        for (const { actor } of frame.actors) this.#lookAt(actor.id, keyOf(frame.from, actor.session), state, step);
        return true;
      // A transition shows a new state beside the old context: the moment is over only when the actor is at rest.
      case "snapshot":
        return this.#lookAt(frame.actor.id, keyOf(frame.from, frame.actor.session), state, step);
      default:
        return false;
    }
  }

  #lookAt(id: string, key: string, state: State, step: Step): boolean {
    const [owner = "", part = "", ...deeper] = id.split("/");
    const instance = this.#instances.get(owner);
    if (instance === undefined || deeper.length > 0 || !parts.has(part)) return false;
    const actor = state.actors.get(key);
    // Whoever keeps a chart as a companion goes by the same name.
    if (actor?.chart === null) return false;
    if (actor === undefined || actor.status !== "active") instance.parts.delete(part);
    else instance.parts.set(part, actor);
    const before = instance.view.holds;
    instance.view = viewOf(owner, instance.parts);
    if (instance.view.holds !== null && instance.view.holds !== before) this.#grant(instance.view.holds, owner, step);
    return true;
  }

  #grant(granted: number, to: string, step: Step): void {
    const last = this.#grants.at(-1);
    // What was held when we came to look, and what is told again.
    if (this.#grants.some((each) => each.epoch === granted && each.to === to)) return;
    this.#grants.push({ epoch: granted, to, step: step.number });
    if (last === undefined || granted > last.epoch) return;
    const detail = `epoch ${granted} to ${to} after epoch ${last.epoch} to ${last.to}`;
    this.#break("lease/epochIncreases", { step: step.number, fromStep: last.step, detail });
  }

  #lose(id: string): void {
    this.#instances.delete(id);
    this.#asked.forget(id);
    // Its handler may have had it; who gets it next gets it again, and rightly.
    for (const facts of this.#updates.values())
      if (facts.by === id && facts.view.settled === 0) facts.view = { ...facts.view, handedOut: 0 };
  }

  #judgeMoment(): void {
    const instances = [...this.#instances.values()].map((each) => each.view);
    const broken = brokenInMoment({
      lease: this.#lease,
      instances,
      roles: instances,
      leaderSides: instances.map(({ id, leadsUnder, polls }) => ({
        id,
        leadsUnder,
        polls: Math.max(Number(polls), this.#asked.count(id, "getUpdates")),
        ...untold,
      })),
      followerSides: instances.map(({ id }) => ({
        id,
        registered: null,
        heartbeatsInFlight: this.#asked.count(id, "follower.heartbeat"),
        registrationsInFlight: this.#asked.count(id, "follower.register"),
      })),
      seats: this.#seats,
    });
    this.#moment = new Set(broken.filter((name) => ofMoments.has(name)));
  }

  #decide(atMs: number, { number }: Step): void {
    for (const [name, suspect] of this.#suspects) {
      if (!this.#moment.has(name)) this.#suspects.delete(name);
      else if (atMs - suspect.atMs >= patienceMs && this.breakOf(name, number) === undefined)
        this.#break(name, { step: suspect.step, fromStep: suspect.step, detail: "" });
    }
    if (atMs < this.#blindUntilMs) this.#suspects.clear();
    else
      for (const name of this.#moment) if (!this.#suspects.has(name)) this.#suspects.set(name, { step: number, atMs });
    for (const each of this.breaks)
      if (
        each.untilStep === null &&
        ofMoments.has(each.name) &&
        !this.#moment.has(each.name) &&
        !this.#verdict.includes(each.name)
      )
        each.untilStep = number;
  }

  #hearVerdict(broken: readonly string[], { number }: Step): void {
    for (const name of broken)
      if (!this.#verdict.includes(name) && this.breakOf(name, number) === undefined)
        this.#break(name, { step: number, fromStep: 0, detail: "as whoever recorded this found" });
    for (const each of this.breaks)
      if (this.#verdict.includes(each.name) && !broken.includes(each.name)) each.untilStep ??= number;
    this.#verdict = broken;
  }

  #hearMessage(frame: Frame & MessageBody, step: Step): void {
    if (frame.name === "getUpdates") this.#hearPoll(frame, step);
    const isOk = frame.phase === "end" && (frame.outcome ?? "ok").startsWith("ok");
    for (const id of frame.updates ?? []) this.#hearOf(id, { frame, isOk }, step);
  }

  #hearPoll(frame: Frame & MessageBody, step: Step): void {
    if (frame.phase === "begin") {
      // What was fetched and is not known to be written must be, now that the next batch is asked for.
      this.#confirm(frame.by, step);
      return;
    }
    const other = this.#asked.otherPoller(frame.by);
    if (other === undefined || !/\bconflict\b|409/i.test(frame.outcome ?? "")) return;
    const detail = `${frame.by} was told of another poll while ${other} polled`;
    this.#break("polling/neverTwo", { step: step.number, fromStep: Math.max(0, step.number - 200), detail });
  }

  #confirm(by: string, step: Step): void {
    const cursor = fieldOf(this.#instances.get(by)?.parts.get("poller")?.context, "cursor");
    if (typeof cursor !== "number") return;
    for (const [id, facts] of this.#updates)
      if (facts.by === by && id < cursor && !facts.view.confirmed)
        this.#change(id, facts, { confirmed: true, inJournal: facts.view.inJournal }, step);
  }

  #hearOf(id: number, { frame, isOk }: { readonly frame: MessageBody; readonly isOk: boolean }, step: Step): void {
    const isFetch = frame.name === "getUpdates";
    const known = this.#updates.get(id) ?? newFacts(id, { firstStep: step.number, by: frame.by, isFetch });
    const facts = isFetch ? { ...known, by: frame.by } : known;
    this.#updates.set(id, facts);
    const { view } = facts;
    if (frame.way === "host") this.#change(id, { ...facts, by: frame.by }, { handedOut: view.handedOut + 1 }, step);
    else if (frame.way === "journal" && frame.phase === "end")
      switch (frame.name) {
        case "admit":
          if (isOk) this.#change(id, facts, { inJournal: true }, step);
          return;
        case "return":
          this.#change(id, facts, { handedOut: 0 }, step);
          return;
        case "settle":
        case "drop":
        case "dead letter":
          if (isOk || /^(settled|dropped|deadLettered|ok)/.test(frame.outcome ?? ""))
            this.#change(id, facts, { settled: view.settled + 1 }, step);
          return;
        default:
          return;
      }
    if (this.#updates.size <= updatesMax) return;
    const [oldest] = this.#updates.keys();
    if (oldest !== undefined) this.#updates.delete(oldest);
  }

  #change(id: number, facts: UpdateFacts, changes: Partial<UpdateSeen>, step: Step): void {
    const next = { ...facts, view: { ...facts.view, ...changes } };
    this.#updates.set(id, next);
    const brokenBefore = brokenInUpdates({ fetched: [facts.view], updates: [facts.view] });
    for (const name of brokenInUpdates({ fetched: [next.view], updates: [next.view] }))
      if (ofHistory.has(name) && !brokenBefore.includes(name))
        this.#break(name, { step: step.number, fromStep: facts.firstStep, detail: `update ${id}` });
  }

  /** Frames are missing: what they alone could have told is taken as told, and moments are judged again when all is shown. */
  #miss({ from, atMs = 0 }: Frame): void {
    this.#blindUntilMs = atMs + blindMs;
    this.#suspects.clear();
    for (const [id, facts] of this.#updates)
      if (from === undefined || facts.by === from)
        this.#updates.set(id, { ...facts, view: { ...facts.view, inJournal: true } });
    this.#asked.forget(from);
  }

  #break(name: string, it: Omit<Break, "name" | "untilStep">): void {
    this.breaks.push({ name, ...it, untilStep: null });
    if (this.breaks.length > breaksMax) this.breaks.shift();
  }
}

/** Of a leader’s endpoint and registry no frame tells; what is judged by them is not judged here. */
const untold = { endpoints: [], seatCharts: 0, entries: [] };

const isIn = (each: Break, step: number): boolean =>
  each.step <= step && (each.untilStep === null || step < each.untilStep);

/** Actors of an instance by which moments are judged; the instance itself is `""`. */
const parts: ReadonlySet<string> = new Set(["", "lease", "activation", "poller"]);

function viewOf(id: string, parts: ReadonlyMap<string, ActorState>): InstanceFacts {
  const [own, lease, activation, poller] = ["", "lease", "activation", "poller"].map((part) => parts.get(part));
  const epochIn = (actor: ActorState | undefined) => epoch(Number(fieldOf(actor?.context, "epoch") ?? 0));
  return {
    id: instanceId(id),
    alive: own !== undefined,
    holds: valueText(lease?.value).startsWith("holding") ? epochIn(lease) : null,
    leadsUnder: activation === undefined ? null : epochIn(activation),
    polls: valueText(poller?.value).startsWith("fetching"),
  };
}

function leaseOf(line: State["line"]): WorldView["lease"] {
  const holder = fieldOf(fieldOf(line, "leader"), "instanceId");
  return {
    epoch: epoch(Number(fieldOf(line, "epoch") ?? 0)),
    holder: typeof holder === "string" ? instanceId(holder) : null,
  };
}

const seatsOf = (line: State["line"]): readonly SeatView[] =>
  rowsOf(fieldOf(line, "seats"))
    .filter((seat) => fieldOf(seat, "ended") === null)
    .map((seat) => ({
      seat: seatKey(String(fieldOf(seat, "seat"))),
      instanceId: instanceId(String(fieldOf(seat, "instanceId"))),
      generation: generation(""),
      staleEffects: 0,
    }));

const newFacts = (
  id: number,
  { firstStep, by, isFetch }: { readonly firstStep: number; readonly by: string; readonly isFetch: boolean },
): UpdateFacts => ({
  firstStep,
  by,
  view: {
    updateId: updateId(id),
    confirmed: false,
    // Only what was seen being fetched can be missed in the journal.
    inJournal: !isFetch,
    settled: 0,
    handedOut: 0,
    overtook: false,
  },
});
