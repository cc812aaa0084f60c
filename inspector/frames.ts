/**
 * What the inspector sends: frames of the protocol `partyline-inspect`, version 1, one JSON object per WebSocket message.
 *
 * Owns: the shape and the order of frames. Does not own: how they come to be (`composer.ts`), who gets them (`client.ts`).
 *
 * Order: `welcome` first, then the `chart`s of the actors it names, then live frames. A `chart` comes before the first
 * other frame that names it. Fields typed `unknown` have passed the redactor, and are whatever it made of them.
 * A client ignores kinds and fields it does not know; a change that breaks it raises `version`.
 */

export const protocolName = "partyline-inspect";
export const protocolVersion = 1;

export interface FrameHead {
  readonly protocol: typeof protocolName;
  readonly version: typeof protocolVersion;
  /**
   * Live frames count up by one: a gap means frames that this client did not get. `welcome`, `chart` and `dropped` go to
   * one client, and repeat the number of the last live frame made before them.
   */
  readonly seq: number;
  /** Wall clock, milliseconds since the Unix epoch. Absent when the inspector was given no clock. */
  readonly atMs?: number;
}

/** Which actor. An invoked actor keeps its id each time it is invoked, and `session` (unique in the process) changes. */
export interface ActorName {
  /** A root actor's own id (`<instance>/lease`); a child's is `<id of its parent>/<its own id>`. */
  readonly id: string;
  readonly session: string;
  /** `session` of the parent; absent for a root actor. */
  readonly parent?: string;
}

/** How an actor is. Only charts have a `value` and a `chart`. */
export interface ActorShown {
  readonly actor: ActorName;
  /** Which `chart` frame describes it. */
  readonly chart?: string;
  /** `active`, `done`, `error` or `stopped`. */
  readonly status: string;
  /** XState's state value: `"idle"`, or `{ "holding": "held" }`. */
  readonly value?: unknown;
}

/** The first frame: every known actor, parents before their children. */
export interface WelcomeBody {
  readonly kind: "welcome";
  readonly actors: readonly ActorShown[];
  /** At most so many actors are left out: the inspector remembers, and lists, a bounded number. Their live frames come. */
  readonly omitted: number;
}

/** A chart, sent once to each client. */
export interface ChartBody {
  readonly kind: "chart";
  /** The machine's id, with `#2`, `#3`… when several different machines use that id. */
  readonly chart: string;
  /** Each a `NodeShown` (see `charts.ts`), in document order, the root first. */
  readonly nodes: readonly unknown[];
}

/** An actor was made. It has no state yet. */
export interface ActorBody {
  readonly kind: "actor";
  readonly actor: ActorName;
  readonly chart?: string;
}

/** An event was put into an actor's mailbox. It may have no effect. */
export interface EventBody {
  readonly kind: "event";
  readonly actor: ActorName;
  readonly chart?: string;
  /** Who sent it, when that was an actor. */
  readonly source?: ActorName;
  readonly event: unknown;
}

/** One microstep was taken. `transitions` is empty for the step into the initial state and for being stopped. */
export interface TransitionBody {
  readonly kind: "transition";
  readonly actor: ActorName;
  readonly chart?: string;
  /** Type of the event that it was taken for. */
  readonly event: string;
  /** Each a `TransitionShown` (see `charts.ts`). */
  readonly transitions: unknown;
  /** The state value after it; the chart may take further steps at once. */
  readonly value?: unknown;
}

/** An actor came to rest after an event; also its last frame, when it has ended or broken. */
export interface SnapshotBody extends ActorShown {
  readonly kind: "snapshot";
  readonly context?: unknown;
  readonly output?: unknown;
  readonly error?: unknown;
}

/** This client did not get `dropped` frames: it reads too slowly, or they could not be written as JSON of bounded size. */
export interface DroppedBody {
  readonly kind: "dropped";
  readonly dropped: number;
}

export type LiveBody = ActorBody | EventBody | TransitionBody | SnapshotBody;
export type FrameBody = WelcomeBody | ChartBody | LiveBody | DroppedBody;
export type Frame = FrameHead & FrameBody;
