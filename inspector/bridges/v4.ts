/**
 * Frames for viewers that speak the protocol of `@xstate/inspect` (0.8, for XState 4): `service.register`,
 * `service.state`, `service.event`, `service.stop`, with nested values as JSON texts.
 *
 * Owns: the translation, charts as XState 4 writes them. Does not own: the connection, redaction (frames are redacted
 * already). No XState 4 is needed for it; the test runs the real client.
 *
 * What is not the same there: guards are `cond`, transitions that do not reenter are `internal`, delays and answers have
 * other event names, and promises and callbacks are machines of one state.
 */
import type { NodeShown } from "../charts.ts";
import type { ActorShown, Frame } from "../frames.ts";
import type { Outlet } from "../outlet.ts";
import { definitionOf } from "./definition.ts";
import type { DefinitionNode, DefinitionTransition } from "./definition.ts";
import { FrameReader, sessionOf } from "./frame-reader.ts";
import type { KnownActor } from "./frame-reader.ts";

export class V4Outlet implements Outlet {
  readonly #inner: Outlet;
  readonly #reader = new FrameReader();
  #unsaid: { readonly from: string | undefined; readonly actor: KnownActor }[] = [];
  readonly #lastEvent = new Map<string, object>();

  constructor(inner: Outlet) {
    this.#inner = inner;
  }

  get isOpen(): boolean {
    return this.#inner.isOpen;
  }

  get bufferedBytes(): number {
    return this.#inner.bufferedBytes;
  }

  send(text: string, done: (error?: Error | null) => void): void {
    // Written by this program in exactly this form.
    const translated = this.#translate(JSON.parse(text) as Frame);
    const last = translated.pop();
    for (const each of translated) this.#inner.send(JSON.stringify(each), () => undefined);
    if (last === undefined) done();
    else this.#inner.send(JSON.stringify(last), done);
  }

  #translate(frame: Frame): object[] {
    this.#reader.learn(frame);
    switch (frame.kind) {
      case "welcome":
        for (const shown of frame.actors)
          this.#unsaid.push({ from: frame.from, actor: this.#reader.see(frame.from, shown).actor });
        return this.#said();
      case "chart":
        return this.#said();
      case "actor":
        return this.#introduce(frame, { ...frame, status: "active" });
      case "event": {
        const sessionId = sessionOf(frame.from, frame.actor.session);
        const event = asScxml(frame.event);
        this.#noteEvent(sessionId, event);
        return [
          ...this.#introduce(frame, { ...frame, status: "active" }),
          { type: "service.event", event: JSON.stringify(event), sessionId },
        ];
      }
      case "snapshot": {
        const said = this.#introduce(frame, frame);
        const { actor } = this.#reader.see(frame.from, frame);
        const state = { type: "service.state", state: JSON.stringify(this.#state(actor)), sessionId: actor.session };
        if (frame.status === "active") return [...said, state];
        this.#lastEvent.delete(actor.session);
        return [...said, state, { type: "service.stop", sessionId: actor.session }];
      }
      default:
        return [];
    }
  }

  #said(): object[] {
    const ready = this.#unsaid.filter(
      ({ from, actor }) => actor.chart === null || this.#reader.chart(from, actor.chart).length > 0,
    );
    this.#unsaid = this.#unsaid.filter((each) => !ready.includes(each));
    return ready.map(({ from, actor }) => this.#register(from, actor));
  }

  #introduce(frame: Frame, shown: ActorShown): object[] {
    if (this.#reader.known(frame.from, shown.actor.session) !== null) return [];
    const { isNew, actor } = this.#reader.see(frame.from, shown);
    return isNew ? [this.#register(frame.from, actor)] : [];
  }

  #register(from: string | undefined, actor: KnownActor): object {
    const parent = actor.name.parent === undefined ? null : sessionOf(from, actor.name.parent);
    return {
      type: "service.register",
      machine: JSON.stringify(machineOf(this.#reader.chart(from, actor.chart), actor.name.id)),
      state: JSON.stringify(this.#state(actor)),
      sessionId: actor.session,
      id: actor.name.id,
      ...(parent === null ? {} : { parent }),
    };
  }

  /** What `State.create` of XState 4 needs of a state. */
  #state(actor: KnownActor): object {
    const event = this.#lastEvent.get(actor.session) ?? asScxml({ type: "xstate.init" });
    return {
      value: actor.value ?? (actor.status === "active" ? "active" : actor.status),
      context: actor.context ?? {},
      event: "data" in event ? event.data : event,
      _event: event,
      _sessionid: actor.session,
      actions: [],
      activities: {},
      meta: {},
      events: [],
      configuration: [],
      transitions: [],
      children: {},
      done: actor.status === "done",
      tags: [],
      historyValue: undefined,
    };
  }

  #noteEvent(session: string, event: object): void {
    this.#lastEvent.set(session, event);
    const [oldest] = this.#lastEvent.keys();
    if (this.#lastEvent.size > 5_000 && oldest !== undefined) this.#lastEvent.delete(oldest);
  }
}

function asScxml(event: unknown): object {
  const data = typeof event === "object" && event !== null ? event : { type: String(event) };
  const name = "type" in data && typeof data.type === "string" ? eventName(data.type) : "(unknown)";
  return { name, data: { ...data, type: name }, $$type: "scxml", type: "external" };
}

/** Names of the events that XState makes by itself. */
function eventName(type: string): string {
  if (type.startsWith("xstate.done.actor.")) return `done.invoke.${type.slice("xstate.done.actor.".length)}`;
  if (type.startsWith("xstate.error.actor.")) return `error.platform.${type.slice("xstate.error.actor.".length)}`;
  if (type.startsWith("xstate.done.state.")) return `done.state.${type.slice("xstate.done.state.".length)}`;
  return type;
}

/** The definition of a chart as a machine of XState 4 serialises itself. */
function machineOf(nodes: readonly NodeShown[], id: string): object {
  const definition = definitionOf(nodes);
  if (definition !== null) return stateOf(definition);
  // A promise, a callback: no chart of its own.
  return { id, key: id, initial: "active", states: { active: {}, done: {}, error: {}, stopped: {} } };
}

function stateOf(node: DefinitionNode): object {
  const { id, key, type, initial, states = {}, on = {}, after = {}, always = [], invoke = [], entry, exit } = node;
  return {
    id,
    key,
    ...(type === undefined ? {} : { type }),
    ...(initial === undefined ? {} : { initial }),
    on: Object.fromEntries(Object.entries(on).map(([event, each]) => [eventName(event), each.map(transitionOf)])),
    after: Object.fromEntries(Object.entries(after).map(([delay, each]) => [delay, each.map(transitionOf)])),
    ...(always.length === 0 ? {} : { always: always.map(transitionOf) }),
    invoke: invoke.map((each) => ({
      type: "xstate.invoke",
      id: each.id,
      src: each.src,
      onDone: (each.onDone ?? []).map(transitionOf),
      onError: (each.onError ?? []).map(transitionOf),
    })),
    entry: (entry ?? []).map(actionOf),
    exit: (exit ?? []).map(actionOf),
    states: Object.fromEntries(Object.entries(states).map(([name, state]) => [name, stateOf(state)])),
  };
}

const transitionOf = ({ target, guard, actions = [], reenter }: DefinitionTransition): object => ({
  ...(target === undefined ? {} : { target }),
  ...(guard === undefined ? {} : { cond: { type: guard, name: guard, predicate: undefined } }),
  actions: actions.map(actionOf),
  internal: reenter !== true,
});

const actionOf = (action: unknown): object =>
  typeof action === "string" ? { type: action } : typeof action === "object" && action !== null ? action : {};
