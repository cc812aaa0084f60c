/**
 * The observer that actors are given.
 *
 * Owns: what happens on each inspection event, with and without clients; noticing actors that break; leaving frames out
 * when watching would cost more than its share, and showing afterwards how the actors concerned are.
 * Does not own: frames (`composer.ts`), clients (`audience.ts`), sockets (`server.ts`, `tap.ts`).
 *
 * Invariants:
 * 1. It never throws into an actor, never subscribes to one, and sends to one only on `send`.
 * 2. Without a client nothing is redacted or serialised: events are counted, and root actors remembered (weakly).
 * 3. What is left out is counted, told, and made up for by a snapshot.
 */
import type { AnyActor, InspectionEvent } from "xstate";
import { actorOf, pathOf, RootBook, snapshotOf } from "./actors.ts";
import type { Audience } from "./audience.ts";
import type { Budget } from "./budget.ts";
import type { Wish } from "./client.ts";
import { hasFrame } from "./composer.ts";
import type { Composer, FramedEvent } from "./composer.ts";
import type { FrameBody, MessageBody } from "./frames.ts";
import type { Outlet } from "./outlet.ts";

export interface WatchParts {
  readonly composer: Composer;
  readonly audience: Audience;
  readonly rootsMax: number;
  /** Null: watching takes what it takes. */
  readonly budget: Budget | null;
}

/** How long after leaving frames out it is tried again, in milliseconds. */
const catchUpAfterMs = 100;

const kindOf: Readonly<Record<FramedEvent["type"], FrameBody["kind"]>> = {
  "@xstate.actor": "actor",
  "@xstate.event": "event",
  "@xstate.microstep": "transition",
  "@xstate.snapshot": "snapshot",
};

export class Watch {
  readonly #composer: Composer;
  readonly #audience: Audience;
  readonly #roots: RootBook;
  readonly #budget: Budget | null;
  /** Actors that were sent something since the last look. */
  readonly #touched = new Set<AnyActor>();
  /** Actors of which frames were left out. */
  readonly #unshown = new Set<AnyActor>();
  #leftOut = 0;
  #dropsSeen = 0;
  #catchUp: NodeJS.Timeout | undefined;
  #observed = 0;
  #failures = 0;

  constructor({ composer, audience, rootsMax, budget }: WatchParts) {
    this.#composer = composer;
    this.#audience = audience;
    this.#roots = new RootBook(rootsMax);
    this.#budget = budget;
  }

  get observed(): number {
    return this.#observed;
  }

  get failures(): number {
    return this.#failures;
  }

  attach(outlet: Outlet, wish?: Wish): void {
    this.#guarded(() => {
      const welcome = this.#composer.welcome(this.#roots.alive(), this.#roots.forgotten);
      this.#audience.attach(outlet, welcome, wish);
    });
  }

  detach(outlet: Outlet): void {
    this.#audience.detach(outlet);
  }

  observe(event: InspectionEvent): void {
    this.#observed += 1;
    this.#guarded(() => this.#roots.see(event));
    if (this.#audience.size === 0 || !hasFrame(event)) return;
    this.#guarded(() => {
      if (!this.#audience.wants(kindOf[event.type], pathOf(actorOf(event.actorRef)))) return;
      if (this.#audience.isBehind) this.#audience.missed();
      else if (this.#budget?.isSpent === true) this.#leaveOut(actorOf(event.actorRef));
      else this.#spend(() => this.#show(event));
      this.#followUp(event);
    });
  }

  /** Something crossed the instance's border. Quick when nobody is attached. */
  message(message: Omit<MessageBody, "kind">): void {
    this.#observed += 1;
    if (this.#audience.size === 0) return;
    this.#guarded(() => {
      if (!this.#audience.wants("message", null)) return;
      // Few beside what charts tell, and a way with a piece missing tells little: left out last.
      if (this.#audience.isBehind || this.#budget?.isOverdrawn === true) this.#audience.missed();
      else
        this.#spend(() => {
          // Names of updates and seats pass the redactor like everything else.
          const body = this.#composer.value(message) as Omit<MessageBody, "kind">;
          this.#audience.broadcast({ body: { ...body, kind: "message" }, charts: [] });
        });
    });
  }

  /** A frame that is no actor's; whoever makes it has made it fit to be shown. */
  tell(body: Extract<FrameBody, { kind: "line" | "note" | "verdict" }>): void {
    if (this.#audience.size === 0) return;
    this.#guarded(() => this.#audience.broadcast({ body, charts: [] }));
  }

  /** Sends an event to an actor on behalf of a viewer, and records it; false = there is no such actor. */
  send(session: string, event: { readonly type: string }): boolean {
    const actor = this.#roots.find(session);
    if (actor === null) return false;
    const text = `a viewer sent ${this.#composer.text(JSON.stringify(event))} to ${this.#composer.text(pathOf(actor))}`;
    this.tell({ kind: "note", text, about: this.#composer.text(pathOf(actor)) });
    actor.send(event);
    return true;
  }

  #spend(work: () => void): void {
    if (this.#budget === null) work();
    else this.#budget.spend(work);
  }

  #show(event: FramedEvent): void {
    this.#audience.broadcast(this.#composer.live(event));
    if (this.#audience.dropped === this.#dropsSeen) return;
    this.#dropsSeen = this.#audience.dropped;
    this.#composer.forgetShown();
  }

  #leaveOut(actor: AnyActor): void {
    this.#leftOut += 1;
    this.#unshown.add(actor);
    this.#catchUp ??= setTimeout(() => this.#guarded(() => this.#showUnshown()), catchUpAfterMs).unref();
  }

  #showUnshown(): void {
    this.#catchUp = undefined;
    this.#audience.missed(this.#leftOut);
    this.#leftOut = 0;
    this.#composer.forgetShown();
    for (const actor of this.#unshown) {
      if (this.#audience.size === 0) this.#unshown.clear();
      if (this.#budget?.isSpent === true) {
        this.#catchUp = setTimeout(() => this.#guarded(() => this.#showUnshown()), catchUpAfterMs).unref();
        return;
      }
      this.#unshown.delete(actor);
      const snapshot = snapshotOf(actor);
      if (snapshot !== undefined) this.#spend(() => this.#audience.broadcast(this.#composer.snapshot(actor, snapshot)));
    }
  }

  /** XState tells nothing when an actor breaks while it handles an event. It has, or has not, by the next microtask. */
  #followUp(event: InspectionEvent): void {
    const actor = actorOf(event.actorRef);
    if (event.type === "@xstate.snapshot" && event.snapshot.status === "error") this.#touched.delete(actor);
    if (event.type !== "@xstate.event" || snapshotOf(actor)?.status !== "active") return;
    if (this.#touched.size === 0) queueMicrotask(() => this.#guarded(() => this.#showBroken()));
    this.#touched.add(actor);
  }

  #showBroken(): void {
    const touched = [...this.#touched];
    this.#touched.clear();
    if (this.#audience.size === 0) return;
    for (const actor of touched) {
      const snapshot = snapshotOf(actor);
      if (snapshot?.status === "error") this.#audience.broadcast(this.#composer.snapshot(actor, snapshot));
    }
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch {
      // Whatever it was, it may quote a secret and is no concern of the actor: counted, and clients told of a gap.
      this.#failures += 1;
      this.#audience.missed();
    }
  }
}
