/**
 * What the page knows: frames in order, and how everything stood at each of them.
 *
 * Owns: folding frames into a state, going back to an earlier one. Does not own: the connection, drawing, judging.
 *
 * Invariants: at most about `stepsMax` steps are kept; going to a step folds at most `keyEvery` frames.
 */
import type { NodeShown, TransitionShown } from "../charts.ts";
import type { ActorShown, Frame, TimerShown } from "../frames.ts";
import { frameText, nameOf, typeOf } from "./words.ts";

const stepsMax = 30_000;
const keyEvery = 500;
const endedMax = 100;

export interface ActorState {
  readonly key: string;
  readonly id: string;
  readonly session: string;
  readonly from: string;
  readonly chart: string | null;
  readonly status: string;
  readonly value: unknown;
  readonly context: unknown;
  readonly timers: readonly TimerShown[];
  /** Transitions of the last microstep that took any, the event they were for, and the state value that they left. */
  readonly last: readonly TransitionShown[];
  readonly event: string;
  readonly leftValue: unknown;
  /** An event that came after that and has moved nothing (yet). */
  readonly unanswered: string | null;
  /** When its state value last changed; null = before we looked. */
  readonly sinceMs: number | null;
}

export interface SourceState {
  readonly id: string;
  readonly name: string | null;
  readonly pid: number | null;
  readonly isGone: boolean;
}

export interface State {
  readonly actors: Map<string, ActorState>;
  readonly sources: Map<string, SourceState>;
  line: Readonly<Record<string, unknown>> | null;
  /** When the line was looked at. */
  lineAtMs: number | null;
  /** What whoever recorded this says of it. */
  broken: readonly string[];
}

export interface Step {
  readonly number: number;
  readonly frame: Frame;
  readonly text: string;
}

export const copyOf = (state: State): State => ({
  ...state,
  actors: new Map(state.actors),
  sources: new Map(state.sources),
});

export const keyOf = (from: string | undefined, session: string): string => `${from ?? ""}/${session}`;

const unseen: Pick<ActorState, "last" | "event" | "leftValue" | "unanswered" | "sinceMs"> = {
  last: [],
  event: "",
  leftValue: undefined,
  unanswered: null,
  sinceMs: null,
};

function put(state: State, frame: Frame, shown: ActorShown, changes: Partial<ActorState> = {}): void {
  const key = keyOf(frame.from, shown.actor.session);
  const before = state.actors.get(key);
  const value = shown.value ?? before?.value;
  const isMoved = before !== undefined && JSON.stringify(before.value) !== JSON.stringify(value);
  state.actors.set(key, {
    ...(before ?? unseen),
    key,
    id: shown.actor.id,
    session: shown.actor.session,
    from: frame.from ?? "",
    chart: shown.chart === undefined ? (before?.chart ?? null) : keyOf(frame.from, shown.chart),
    status: shown.status,
    value,
    context: "context" in shown ? shown.context : before?.context,
    timers: shown.timers ?? [],
    ...(isMoved ? { sinceMs: frame.atMs ?? null } : {}),
    ...changes,
  });
}

function forgetEnded(state: State): void {
  const ended = [...state.actors.values()].filter((actor) => actor.status !== "active");
  for (const actor of ended.slice(0, Math.max(0, ended.length - endedMax))) state.actors.delete(actor.key);
}

function foldTransition(state: State, frame: Extract<Frame, { kind: "transition" }>): void {
  // Made by the inspector's own `showTransition`.
  const taken = frame.transitions as readonly TransitionShown[];
  const known = state.actors.get(keyOf(frame.from, frame.actor.session));
  const moved = { last: taken, event: frame.event, leftValue: known?.value, unanswered: null };
  const shown = { ...frame, status: known?.status ?? "active", timers: known?.timers ?? [] };
  put(state, frame, shown, taken.length > 0 ? moved : {});
}

function foldSource(state: State, frame: Extract<Frame, { kind: "source" }>): void {
  const { id } = frame;
  // Of one that went it may be told only that it did.
  const known = state.sources.get(id);
  const [name, pid] = [frame.name ?? known?.name ?? null, frame.pid ?? known?.pid ?? null];
  const isGone = frame.state === "gone";
  state.sources.set(id, { id, name, pid, isGone });
  if (isGone) for (const actor of [...state.actors.values()]) if (actor.from === id) state.actors.delete(actor.key);
}

export function fold(state: State, frame: Frame): void {
  switch (frame.kind) {
    case "welcome":
      for (const shown of frame.actors) put(state, frame, shown);
      return;
    case "actor":
      put(state, frame, { ...frame, status: "active" }, { ...unseen, sinceMs: frame.atMs ?? null });
      return;
    case "event": {
      const key = keyOf(frame.from, frame.actor.session);
      const known = state.actors.get(key);
      const type = typeOf(frame.event);
      // Being started asks nothing of a chart.
      if (known !== undefined && type !== "xstate.init") state.actors.set(key, { ...known, unanswered: type });
      return;
    }
    case "transition":
      foldTransition(state, frame);
      return;
    case "snapshot":
      put(state, frame, frame);
      if (frame.status !== "active") forgetEnded(state);
      return;
    case "source":
      foldSource(state, frame);
      return;
    case "line":
      state.line = frame.status as State["line"];
      state.lineAtMs = frame.atMs ?? null;
      return;
    case "verdict":
      state.broken = frame.broken;
      return;
    default:
      return;
  }
}

export const emptyState = (): State => ({
  actors: new Map(),
  sources: new Map(),
  line: null,
  lineAtMs: null,
  broken: [],
});

export class History {
  /** By `keyOf` of source and name; the frame is kept for those who save a part of the history. */
  readonly charts = new Map<string, readonly NodeShown[]>();
  readonly chartFrames = new Map<string, Frame>();
  readonly names = new Map<string, string>();
  #steps: Step[] = [];
  #keys: { readonly number: number; readonly state: State }[] = [{ number: 0, state: emptyState() }];
  #head = emptyState();
  #next = 0;
  #asked: { readonly number: number; readonly state: State } | null = null;

  get first(): number {
    return this.#steps[0]?.number ?? 0;
  }

  get end(): number {
    return this.#next;
  }

  get head(): State {
    return this.#head;
  }

  /** Null for a chart: it is no step. */
  add(frame: Frame): Step | null {
    if (frame.kind === "chart") {
      const key = keyOf(frame.from, frame.chart);
      // Made by the inspector's own `showChart`.
      this.charts.set(key, frame.nodes as readonly NodeShown[]);
      this.chartFrames.set(key, frame);
      return null;
    }
    if (frame.kind === "source") this.names.set(frame.id, frame.name ?? nameOf(this.names, frame.id));
    const step = { number: this.#next, frame, text: frameText(frame, this.names) };
    this.#steps.push(step);
    this.#next += 1;
    fold(this.#head, frame);
    if (this.#next % keyEvery === 0) this.#keys.push({ number: this.#next, state: copyOf(this.#head) });
    if (this.#steps.length > stepsMax + keyEvery) this.#trim();
    return step;
  }

  /** How everything stood after the step. */
  at(number: number): State {
    if (number >= this.end - 1) return this.#head;
    if (this.#asked?.number === number) return this.#asked.state;
    const key = this.#keys.findLast((each) => each.number <= number + 1);
    const state = copyOf(key?.state ?? emptyState());
    const from = key?.number ?? 0;
    for (const step of this.#steps.slice(Math.max(0, from - this.first), number + 1 - this.first))
      fold(state, step.frame);
    this.#asked = { number, state };
    return state;
  }

  step(number: number): Step | undefined {
    return this.#steps[number - this.first];
  }

  /** The first step from `number` on, within `limit` steps, that is wanted. */
  next(number: number, isWanted: (step: Step) => boolean, limit = 500): Step | undefined {
    for (let at = number; at < Math.min(this.end, number + limit); at += 1) {
      const step = this.step(at);
      if (step !== undefined && isWanted(step)) return step;
    }
    return undefined;
  }

  #trim(): void {
    this.#steps = this.#steps.slice(keyEvery);
    this.#keys = this.#keys.filter((each) => each.number >= this.first);
  }
}
