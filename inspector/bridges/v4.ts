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
import type { Frame } from "../frames.ts";
import { definitionOf } from "./definition.ts";
import type { DefinitionNode, DefinitionTransition } from "./definition.ts";
import { sessionOf } from "./frame-reader.ts";
import type { KnownActor } from "./frame-reader.ts";
import { TranslatingOutlet } from "./translating-outlet.ts";

export class V4Outlet extends TranslatingOutlet<object> {
  protected override introduction(_frame: Frame, from: string | undefined, actor: KnownActor): object {
    const parent = actor.name.parent === undefined ? null : sessionOf(from, actor.name.parent);
    return {
      type: "service.register",
      machine: JSON.stringify(machineOf(this.reader.chart(from, actor.chart), actor.name.id)),
      state: JSON.stringify(this.#state(actor)),
      sessionId: actor.session,
      id: actor.name.id,
      ...(parent === null ? {} : { parent }),
    };
  }

  protected override ofEvent(frame: Extract<Frame, { kind: "event" }>): object {
    const sessionId = sessionOf(frame.from, frame.actor.session);
    const event = asScxml(frame.event);
    this.noteEvent(sessionId, event);
    return { type: "service.event", event: JSON.stringify(event), sessionId };
  }

  protected override ofSnapshot(frame: Extract<Frame, { kind: "snapshot" }>, actor: KnownActor): object[] {
    const state = { type: "service.state", state: JSON.stringify(this.#state(actor)), sessionId: actor.session };
    if (frame.status === "active") return [state];
    this.lastEvent.delete(actor.session);
    return [state, { type: "service.stop", sessionId: actor.session }];
  }

  /** What `State.create` of XState 4 needs of a state. */
  #state(actor: KnownActor): object {
    const event = this.lastEvent.get(actor.session) ?? asScxml({ type: "xstate.init" });
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
