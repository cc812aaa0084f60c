/**
 * Frames for viewers that speak the event protocol of `@statelyai/inspect` (0.7): `@xstate.actor`, `@xstate.event`,
 * `@xstate.snapshot`, one JSON object a message.
 *
 * Owns: the translation. Does not own: the connection, redaction (frames are redacted already).
 *
 * Not carried over: microsteps, messages between instances, the state of the line; that protocol has no words for them.
 */
import type { ActorShown, Frame } from "../frames.ts";
import type { Outlet } from "../outlet.ts";
import { definitionOf } from "./definition.ts";
import { FrameReader, sessionOf } from "./frame-reader.ts";
import type { KnownActor } from "./frame-reader.ts";

/** The version of the package whose frames these are; its receivers look for a text here. */
const version = "0.7.2";

export class StatelyOutlet implements Outlet {
  readonly #inner: Outlet;
  readonly #reader = new FrameReader();
  /** Actors whose charts are still to come. */
  #unsaid: { readonly from: string | undefined; readonly actor: KnownActor }[] = [];
  /** What the last event of an actor was: a snapshot names the event it follows. */
  readonly #lastEvent = new Map<string, unknown>();

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
        return this.#said(frame);
      case "chart":
        return this.#said(frame);
      case "actor":
        return this.#introduce(frame, { ...frame, status: "active" });
      case "event":
        this.#noteEvent(sessionOf(frame.from, frame.actor.session), frame.event);
        return [
          ...this.#introduce(frame, { ...frame, status: "active" }),
          {
            type: "@xstate.event",
            event: frame.event,
            ...(frame.source === undefined ? {} : { sourceId: sessionOf(frame.from, frame.source.session) }),
            ...this.#head(frame, sessionOf(frame.from, frame.actor.session)),
          },
        ];
      case "snapshot": {
        const said = this.#introduce(frame, frame);
        const { actor } = this.#reader.see(frame.from, frame);
        const event = this.#lastEvent.get(actor.session) ?? { type: "" };
        if (frame.status !== "active") this.#lastEvent.delete(actor.session);
        const { output, error } = frame;
        const snapshot = { ...snapshotOf(actor), output, error };
        return [...said, { type: "@xstate.snapshot", event, snapshot, ...this.#head(frame, actor.session) }];
      }
      default:
        return [];
    }
  }

  /** Actors of a welcome, as soon as their chart is known. */
  #said(frame: Frame): object[] {
    const ready = this.#unsaid.filter(
      ({ from, actor }) => actor.chart === null || this.#reader.chart(from, actor.chart).length > 0,
    );
    this.#unsaid = this.#unsaid.filter((each) => !ready.includes(each));
    return ready.map(({ from, actor }) =>
      this.#actorEvent({ ...frame, ...(from === undefined ? {} : { from }) }, actor),
    );
  }

  #introduce(frame: Frame, shown: ActorShown): object[] {
    if (this.#reader.known(frame.from, shown.actor.session) !== null) return [];
    const { isNew, actor } = this.#reader.see(frame.from, shown);
    return isNew ? [this.#actorEvent(frame, actor)] : [];
  }

  #actorEvent(frame: Frame, actor: KnownActor): object {
    const definition = definitionOf(this.#reader.chart(frame.from, actor.chart)) ?? { id: actor.name.id };
    return {
      type: "@xstate.actor",
      name: actor.name.id,
      definition: JSON.stringify(definition),
      ...(actor.name.parent === undefined ? {} : { parentId: sessionOf(frame.from, actor.name.parent) }),
      snapshot: snapshotOf(actor),
      ...this.#head(frame, actor.session),
    };
  }

  #head(frame: Frame, session: string): object {
    return { _version: version, createdAt: String(frame.atMs ?? 0), id: null, rootId: session, sessionId: session };
  }

  #noteEvent(session: string, event: unknown): void {
    this.#lastEvent.set(session, event);
    const [oldest] = this.#lastEvent.keys();
    if (this.#lastEvent.size > 5_000 && oldest !== undefined) this.#lastEvent.delete(oldest);
  }
}

const snapshotOf = ({ status, value, context }: KnownActor): object => ({ status, value, context });
