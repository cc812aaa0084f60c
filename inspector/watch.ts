/**
 * The observer that actors are given.
 *
 * Owns: what happens on each inspection event, with and without clients; noticing actors that break.
 * Does not own: frames (`composer.ts`), clients (`audience.ts`), sockets (`server.ts`).
 *
 * Invariants:
 * 1. It never throws into an actor, never sends to one, never subscribes to one.
 * 2. Without a client nothing is redacted or serialised: events are counted, and root actors remembered (weakly).
 */
import type { AnyActor, InspectionEvent } from "xstate";
import type { WebSocket } from "ws";
import { actorOf, RootBook, snapshotOf } from "./actors.ts";
import type { Audience } from "./audience.ts";
import { hasFrame } from "./composer.ts";
import type { Composer } from "./composer.ts";

export interface WatchParts {
  readonly composer: Composer;
  readonly audience: Audience;
  readonly rootsMax: number;
}

export class Watch {
  readonly #composer: Composer;
  readonly #audience: Audience;
  readonly #roots: RootBook;
  /** Actors that were sent something since the last look. */
  readonly #touched = new Set<AnyActor>();
  #observed = 0;
  #failures = 0;

  constructor({ composer, audience, rootsMax }: WatchParts) {
    this.#composer = composer;
    this.#audience = audience;
    this.#roots = new RootBook(rootsMax);
  }

  get observed(): number {
    return this.#observed;
  }

  get failures(): number {
    return this.#failures;
  }

  attach(socket: WebSocket): void {
    this.#guarded(() =>
      this.#audience.attach(socket, this.#composer.welcome(this.#roots.alive(), this.#roots.forgotten)),
    );
  }

  observe(event: InspectionEvent): void {
    this.#observed += 1;
    this.#guarded(() => this.#roots.see(event));
    if (this.#audience.size === 0 || !hasFrame(event)) return;
    this.#guarded(() => {
      if (this.#audience.isBehind) this.#audience.missed();
      else this.#audience.broadcast(this.#composer.live(event));
      this.#followUp(event);
    });
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
