/**
 * What the page knows: frames in order, and how everything stood at each of them.
 *
 * Owns: folding frames into a state, going back to an earlier one. Does not own: the connection, drawing.
 *
 * Invariants: at most `stepsMax` steps are kept; going to a step folds at most `keyEvery` frames.
 */
import type { NodeShown, TransitionShown } from "../charts.ts";
import type { ActorShown, Frame, MessageBody, TimerShown } from "../frames.ts";

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
  /** Transitions of the last microstep that took any. */
  readonly last: readonly TransitionShown[];
  readonly event: string;
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
  broken: readonly string[];
}

export interface Step {
  readonly number: number;
  readonly frame: Frame;
}

export const copyOf = (state: State): State => ({
  ...state,
  actors: new Map(state.actors),
  sources: new Map(state.sources),
});

const keyOf = (from: string | undefined, session: string): string => `${from ?? ""}/${session}`;

function put(state: State, frame: Frame, shown: ActorShown, changes: Partial<ActorState> = {}): void {
  const key = keyOf(frame.from, shown.actor.session);
  const before = state.actors.get(key);
  const value = shown.value ?? before?.value;
  const isMoved = before !== undefined && JSON.stringify(before.value) !== JSON.stringify(value);
  state.actors.set(key, {
    key,
    id: shown.actor.id,
    session: shown.actor.session,
    from: frame.from ?? "",
    chart: shown.chart === undefined ? (before?.chart ?? null) : keyOf(frame.from, shown.chart),
    status: shown.status,
    value,
    context: "context" in shown ? shown.context : before?.context,
    timers: shown.timers ?? [],
    last: before?.last ?? [],
    event: before?.event ?? "",
    sinceMs: isMoved ? (frame.atMs ?? null) : (before?.sinceMs ?? null),
    ...changes,
  });
}

function forgetEnded(state: State): void {
  const ended = [...state.actors.values()].filter((actor) => actor.status !== "active");
  for (const actor of ended.slice(0, Math.max(0, ended.length - endedMax))) state.actors.delete(actor.key);
}

export function fold(state: State, frame: Frame): void {
  switch (frame.kind) {
    case "welcome":
      for (const shown of frame.actors) put(state, frame, shown);
      return;
    case "actor":
      put(state, frame, { ...frame, status: "active" }, { sinceMs: frame.atMs ?? null, last: [] });
      return;
    case "transition": {
      // Made by the inspector's own `showTransition`.
      const taken = frame.transitions as readonly TransitionShown[];
      const known = state.actors.get(keyOf(frame.from, frame.actor.session));
      put(
        state,
        frame,
        { ...frame, status: known?.status ?? "active", timers: known?.timers ?? [] },
        taken.length > 0 ? { last: taken, event: frame.event } : {},
      );
      return;
    }
    case "snapshot":
      put(state, frame, frame);
      if (frame.status !== "active") forgetEnded(state);
      return;
    case "source":
      state.sources.set(frame.id, {
        id: frame.id,
        name: frame.name ?? null,
        pid: frame.pid ?? null,
        isGone: frame.state === "gone",
      });
      if (frame.state === "gone")
        for (const actor of [...state.actors.values()]) if (actor.from === frame.id) state.actors.delete(actor.key);
      return;
    case "line":
      state.line = frame.status as State["line"];
      return;
    case "verdict":
      state.broken = frame.broken;
      return;
    default:
      return;
  }
}

const emptyState = (): State => ({ actors: new Map(), sources: new Map(), line: null, broken: [] });

export class History {
  readonly charts = new Map<string, readonly NodeShown[]>();
  #steps: Step[] = [];
  #keys: { readonly number: number; readonly state: State }[] = [{ number: 0, state: emptyState() }];
  #head = emptyState();
  #next = 0;

  get first(): number {
    return this.#steps[0]?.number ?? 0;
  }

  get end(): number {
    return this.#next;
  }

  get head(): State {
    return this.#head;
  }

  add(frame: Frame): void {
    if (frame.kind === "chart") {
      // Made by the inspector's own `showChart`.
      this.charts.set(keyOf(frame.from, frame.chart), frame.nodes as readonly NodeShown[]);
      return;
    }
    this.#steps.push({ number: this.#next, frame });
    this.#next += 1;
    fold(this.#head, frame);
    if (this.#next % keyEvery === 0) this.#keys.push({ number: this.#next, state: copyOf(this.#head) });
    if (this.#steps.length > stepsMax + keyEvery) this.#trim();
  }

  /** How everything stood after the step. */
  at(number: number): State {
    const key = this.#keys.findLast((each) => each.number <= number + 1);
    const state = copyOf(key?.state ?? emptyState());
    const from = key?.number ?? 0;
    for (const step of this.#steps.slice(Math.max(0, from - this.first), number + 1 - this.first))
      fold(state, step.frame);
    return state;
  }

  /** The newest steps up to `number` that are wanted, newest first. */
  back(number: number, limit: number, isWanted: (frame: Frame) => boolean): Step[] {
    const found: Step[] = [];
    for (let index = number - this.first; index >= 0 && found.length < limit; index -= 1) {
      const step = this.#steps[index];
      if (step !== undefined && isWanted(step.frame)) found.push(step);
    }
    return found;
  }

  step(number: number): Step | undefined {
    return this.#steps[number - this.first];
  }

  #trim(): void {
    this.#steps = this.#steps.slice(keyEvery);
    this.#keys = this.#keys.filter((each) => each.number >= this.first);
  }
}

/** Ids of the states that an actor is in, with all states around them. */
export function activeStates(nodes: readonly NodeShown[], value: unknown): ReadonlySet<string> {
  const active = new Set<string>();
  const walk = (node: NodeShown, inside: unknown): void => {
    active.add(node.id);
    const inner: Readonly<Record<string, unknown>> =
      typeof inside === "string"
        ? { [inside]: {} }
        : typeof inside === "object" && inside !== null
          ? (inside as Readonly<Record<string, unknown>>)
          : {};
    for (const child of nodes) if (child.parent === node.id && child.key in inner) walk(child, inner[child.key]);
  };
  const [root] = nodes;
  if (root !== undefined) walk(root, value);
  return active;
}

export const valueText = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .map(([key, inner]) => (valueText(inner) === "" ? key : `${key}.${valueText(inner)}`))
    .join(", ");
};

/** A transition's event in words. */
export function eventText(event: string): string {
  if (event === "") return "at once";
  if (event.startsWith("xstate.after.")) return `after ${event.slice(13).split(".")[0] ?? ""}`;
  if (event.startsWith("xstate.done.actor.")) return `${event.slice(18).split(".").at(-1) ?? ""} done`;
  if (event.startsWith("xstate.error.actor.")) return `${event.slice(19).split(".").at(-1) ?? ""} failed`;
  return event;
}

export const isAbout = (frame: Frame): frame is Frame & MessageBody => frame.kind === "message";

export function frameText(frame: Frame): string {
  switch (frame.kind) {
    case "event": {
      const { event } = frame;
      const type = typeof event === "object" && event !== null && "type" in event ? String(event.type) : "";
      return `${frame.actor.id} ← ${eventText(type)}`;
    }
    case "transition":
      return `${frame.actor.id} → ${valueText(frame.value)} (${eventText(frame.event)})`;
    case "snapshot":
      return `${frame.actor.id} is ${valueText(frame.value)}${frame.status === "active" ? "" : ` [${frame.status}]`}`;
    case "actor":
      return `${frame.actor.id} was made`;
    case "message":
      return `${frame.by} ${frame.way} ${frame.name}${frame.outcome === undefined ? "" : `: ${frame.outcome}`}`;
    case "note":
      return frame.text;
    case "source":
      return `${frame.name ?? frame.id} ${frame.state}`;
    case "verdict":
      return `broken: ${frame.broken.join(", ")}`;
    case "dropped":
      return `${frame.dropped} frames were left out`;
    default:
      return frame.kind;
  }
}
