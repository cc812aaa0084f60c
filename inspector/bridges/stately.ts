/**
 * Frames for viewers that speak the event protocol of `@statelyai/inspect` (0.7): `@xstate.actor`, `@xstate.event`,
 * `@xstate.snapshot`, one JSON object a message.
 *
 * Owns: the translation. Does not own: the connection, redaction (frames are redacted already).
 *
 * Not carried over: microsteps, messages between instances, the state of the line; that protocol has no words for them.
 */
import type { Frame } from "../frames.ts";
import { definitionOf } from "./definition.ts";
import { sessionOf } from "./frame-reader.ts";
import type { KnownActor } from "./frame-reader.ts";
import { TranslatingOutlet } from "./translating-outlet.ts";

/** The version of the package whose frames these are; its receivers look for a text here. */
const version = "0.7.2";

export class StatelyOutlet extends TranslatingOutlet<unknown> {
  protected override introduction(frame: Frame, from: string | undefined, actor: KnownActor): object {
    const definition = definitionOf(this.reader.chart(from, actor.chart)) ?? { id: actor.name.id };
    return {
      type: "@xstate.actor",
      name: actor.name.id,
      definition: JSON.stringify(definition),
      ...(actor.name.parent === undefined ? {} : { parentId: sessionOf(from, actor.name.parent) }),
      snapshot: snapshotOf(actor),
      ...head(frame, actor.session),
    };
  }

  protected override ofEvent(frame: Extract<Frame, { kind: "event" }>): object {
    const session = sessionOf(frame.from, frame.actor.session);
    this.noteEvent(session, frame.event);
    return {
      type: "@xstate.event",
      event: frame.event,
      ...(frame.source === undefined ? {} : { sourceId: sessionOf(frame.from, frame.source.session) }),
      ...head(frame, session),
    };
  }

  protected override ofSnapshot(frame: Extract<Frame, { kind: "snapshot" }>, actor: KnownActor): object[] {
    const event = this.lastEvent.get(actor.session) ?? { type: "" };
    if (frame.status !== "active") this.lastEvent.delete(actor.session);
    const { output, error } = frame;
    const snapshot = { ...snapshotOf(actor), output, error };
    return [{ type: "@xstate.snapshot", event, snapshot, ...head(frame, actor.session) }];
  }
}

const head = (frame: Frame, session: string): object => ({
  _version: version,
  createdAt: String(frame.atMs ?? 0),
  id: null,
  rootId: session,
  sessionId: session,
});

const snapshotOf = ({ status, value, context }: KnownActor): object => ({ status, value, context });
