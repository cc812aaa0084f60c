/**
 * Actors as the inspector sees them, and the book of root actors it has seen.
 *
 * Owns: reading an actor's name, chart and children; which root actors are known.
 * Does not own: the actors. They are held weakly: being inspected keeps nobody alive, and nothing here is serialised.
 *
 * Invariants:
 * 1. At most `rootsMax` root actors are remembered; the oldest is forgotten when a new one is made.
 * 2. An actor that has ended is never listed.
 */
import type { AnyActor, AnyStateMachine, InspectionEvent, Snapshot } from "xstate";
import type { TimerShown } from "./frames.ts";

/** Parents above this many levels are cut: XState cannot make a cycle of them, a stand-in could. */
const depthMax = 32;

/** Every actor that XState hands to an observer is an `Actor`; its declaration shows a narrower one. */
export const actorOf = (ref: InspectionEvent["actorRef"]): AnyActor => ref as AnyActor;

/** The chart that an actor runs; null for promises, callbacks and the like. */
export function chartOf(actor: AnyActor): AnyStateMachine | null {
  const logic: unknown = actor.logic;
  if (typeof logic !== "object" || logic === null || !("root" in logic) || !("config" in logic)) return null;
  // Only state machines have both.
  return logic as AnyStateMachine;
}

/** Undefined while the actor is being made: XState's development build throws then, the other one answers undefined. */
export function snapshotOf(actor: AnyActor): Snapshot<unknown> | undefined {
  try {
    return actor.getSnapshot() as Snapshot<unknown> | undefined;
  } catch {
    // "Snapshot can't be read while the actor initializes itself".
    return undefined;
  }
}

/** The state value of a chart's snapshot, the context, …: undefined for actors that have none. */
export const fieldOf = (snapshot: object | undefined, field: "value" | "context" | "children"): unknown =>
  snapshot === undefined ? undefined : Reflect.get(snapshot, field);

export const parentOf = (actor: AnyActor): AnyActor | undefined =>
  // A parent's own type says less than this one's; it is an `Actor` as well.
  actor._parent as AnyActor | undefined;

/** An actor is named when it is made, and so are those above it. */
const paths = new WeakMap<AnyActor, string>();

export function pathOf(actor: AnyActor): string {
  const known = paths.get(actor);
  if (known !== undefined) return known;
  const path = [actor.id];
  for (let above = parentOf(actor); above !== undefined && path.length < depthMax; above = parentOf(above))
    path.unshift(above.id);
  const text = path.join("/");
  paths.set(actor, text);
  return text;
}

/** Delayed events that an actor waits for. The system's snapshot is a copy, as long as the system's timers are many. */
export function timersOf(actor: AnyActor): readonly TimerShown[] {
  const scheduled = Object.values(actor.system.getSnapshot()._scheduledEvents);
  return scheduled.flatMap(({ source, target, event, delay, startedAt }) =>
    // The declaration shows narrower references than the actors that they are.
    (source as object) === actor && (target as object) === actor && event.type.startsWith("xstate.after.")
      ? [{ event: event.type, delayMs: delay, startedAtMs: startedAt }]
      : [],
  );
}

export function childrenOf(actor: AnyActor): readonly AnyActor[] {
  const children = fieldOf(snapshotOf(actor), "children");
  if (typeof children !== "object" || children === null) return [];
  return Object.values(children).filter(isActor);
}

function isActor(value: unknown): value is AnyActor {
  return typeof value === "object" && value !== null && "sessionId" in value && "getSnapshot" in value && "id" in value;
}

function rootOf(actor: AnyActor): AnyActor {
  let root = actor;
  for (let level = 0; level < depthMax; level += 1) {
    const parent = parentOf(root);
    if (parent === undefined) break;
    root = parent;
  }
  return root;
}

const hasEnded = (actor: AnyActor): boolean => (snapshotOf(actor)?.status ?? "active") !== "active";

export class RootBook {
  readonly #rootsMax: number;
  /** By session id, the longest known first. */
  readonly #roots = new Map<string, WeakRef<AnyActor>>();
  #forgotten = 0;

  constructor(rootsMax: number) {
    this.#rootsMax = rootsMax;
  }

  /** Root actors forgotten for newer ones. Some may have ended since. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Remembers whose event this is, and forgets a root that ended. An observer may join late: any event will do. */
  see(event: InspectionEvent): void {
    if (this.#roots.has(event.rootId)) {
      const isEnd = event.type === "@xstate.snapshot" && event.snapshot.status !== "active";
      if (isEnd && actorOf(event.actorRef).sessionId === event.rootId) this.#roots.delete(event.rootId);
      return;
    }
    // Only a new actor pushes out an old one: two busy ones must not take each other's place at every event.
    const isFull = this.#roots.size >= this.#rootsMax;
    if (isFull && event.type !== "@xstate.actor") return;
    const root = rootOf(actorOf(event.actorRef));
    const isOwn = root.sessionId === actorOf(event.actorRef).sessionId;
    // One that is just being made has not ended, and asking it would make it throw.
    const isMade = isOwn && event.type === "@xstate.actor";
    if ((!isMade && hasEnded(root)) || (isFull && !isOwn)) return;
    if (isFull) this.#makeRoom();
    this.#roots.set(root.sessionId, new WeakRef(root));
  }

  /** A root actor, or one below it; null when none known has this session. */
  find(session: string): AnyActor | null {
    const found: AnyActor[] = [...this.alive()];
    for (const actor of found) {
      if (actor.sessionId === session) return actor;
      found.push(...childrenOf(actor));
    }
    return null;
  }

  alive(): readonly AnyActor[] {
    this.#sweep();
    return [...this.#roots.values()].map((weak) => weak.deref()).filter((root) => root !== undefined);
  }

  #makeRoom(): void {
    this.#sweep();
    for (const session of this.#roots.keys()) {
      if (this.#roots.size < this.#rootsMax) return;
      this.#roots.delete(session);
      this.#forgotten += 1;
    }
  }

  #sweep(): void {
    for (const [session, weak] of this.#roots) {
      const root = weak.deref();
      if (root === undefined || hasEnded(root)) this.#roots.delete(session);
    }
  }
}
