/**
 * An outlet that says the frames of this program in another protocol's words.
 *
 * Owns: reading frames, holding an actor back until its chart is known, introducing one before anything is told of it,
 * the last event of each. Does not own: the words (`stately.ts`, `v4.ts`), the connection.
 */
import type { ActorShown, Frame } from "../frames.ts";
import type { Outlet } from "../outlet.ts";
import { FrameReader } from "./frame-reader.ts";
import type { KnownActor } from "./frame-reader.ts";

/** Actors whose last event is remembered. */
const eventsMax = 5_000;

interface Unsaid {
  readonly from: string | undefined;
  readonly actor: KnownActor;
}

export abstract class TranslatingOutlet<Event> implements Outlet {
  protected readonly reader = new FrameReader();
  /** What the last event of an actor was: a snapshot names the event that it follows. */
  protected readonly lastEvent = new Map<string, Event>();
  readonly #inner: Outlet;
  /** Actors whose charts are still to come. */
  #unsaid: Unsaid[] = [];

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

  /** How the other protocol introduces an actor; `frame` is the one on whose occasion. */
  protected abstract introduction(frame: Frame, from: string | undefined, actor: KnownActor): object;

  protected abstract ofEvent(frame: Extract<Frame, { kind: "event" }>): object;

  /** The actor has been introduced, and knows of this snapshot. */
  protected abstract ofSnapshot(frame: Extract<Frame, { kind: "snapshot" }>, actor: KnownActor): object[];

  protected noteEvent(session: string, event: Event): void {
    this.lastEvent.set(session, event);
    const [oldest] = this.lastEvent.keys();
    if (this.lastEvent.size > eventsMax && oldest !== undefined) this.lastEvent.delete(oldest);
  }

  #translate(frame: Frame): object[] {
    this.reader.learn(frame);
    switch (frame.kind) {
      case "welcome":
        for (const shown of frame.actors)
          this.#unsaid.push({ from: frame.from, actor: this.reader.see(frame.from, shown).actor });
        return this.#said(frame);
      case "chart":
        return this.#said(frame);
      case "actor":
        return this.#introduce(frame, { ...frame, status: "active" });
      case "event": {
        const event = this.ofEvent(frame);
        return [...this.#introduce(frame, { ...frame, status: "active" }), event];
      }
      case "snapshot": {
        const said = this.#introduce(frame, frame);
        const { actor } = this.reader.see(frame.from, frame);
        return [...said, ...this.ofSnapshot(frame, actor)];
      }
      default:
        return [];
    }
  }

  /** Actors of a welcome, as soon as their chart is known. */
  #said(frame: Frame): object[] {
    const ready = this.#unsaid.filter(
      ({ from, actor }) => actor.chart === null || this.reader.chart(from, actor.chart).length > 0,
    );
    this.#unsaid = this.#unsaid.filter((each) => !ready.includes(each));
    return ready.map(({ from, actor }) => this.introduction(frame, from, actor));
  }

  #introduce(frame: Frame, shown: ActorShown): object[] {
    if (this.reader.known(frame.from, shown.actor.session) !== null) return [];
    const { isNew, actor } = this.reader.see(frame.from, shown);
    return isNew ? [this.introduction(frame, frame.from, actor)] : [];
  }
}
