/**
 * What the inspector sends: frames of the protocol `partyline-inspect`, version 1, one JSON object per WebSocket message.
 *
 * Owns: the shape and the order of frames. Does not own: how they come to be (`composer.ts`), who gets them (`client.ts`).
 *
 * Order: `welcome` first, then the `chart`s of the actors it names, then live frames. A `chart` comes before the first
 * other frame that names it. `message`, `line`, `note` and `verdict` tell what is no chart's. Fields typed `unknown` have passed the redactor, and are whatever it made of them.
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
  /**
   * Which process told it, when several are shown together: the id of its `source` frame. `session` and `seq` are unique
   * within one source only.
   */
  readonly from?: string;
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
  /** Present in `welcome` and in a `snapshot` whose context differs from the one that this actor's last frame showed. */
  readonly context?: unknown;
  /** Delays that run. In a `snapshot`, absent means none. */
  readonly timers?: readonly TimerShown[];
}

/** A delayed transition that waits for its time. */
export interface TimerShown {
  /** The event descriptor of its transitions, `xstate.after.<delay>.<state id>`. */
  readonly event: string;
  readonly delayMs: number;
  readonly startedAtMs: number;
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
  readonly output?: unknown;
  readonly error?: unknown;
}

/**
 * This client did not get `dropped` frames: it reads too slowly, they could not be written as JSON of bounded size, or
 * showing everything would have cost the runtime more than its share. Snapshots of the actors concerned follow.
 */
export interface DroppedBody {
  readonly kind: "dropped";
  readonly dropped: number;
}

/** Something crossed the border of an instance: a frame of the bus, a Bot API call, a write to the journal. */
export interface MessageBody {
  readonly kind: "message";
  /** Instance whose border it crossed. */
  readonly by: string;
  /** `out` and `in` are frames of the bus, seen by the one who sends and by the one who serves. */
  readonly way: "out" | "in" | "telegram" | "journal" | "host";
  /** The other instance, when it is known; `leader` when only the role is. */
  readonly peer?: string;
  /** `follower.register`, `getUpdates`, `claim`, … */
  readonly name: string;
  /** The same for begin and end; unique for `by` and `way`. */
  readonly id: string;
  readonly phase: "begin" | "end";
  /** Of an end: `ok`, or what it came to. */
  readonly outcome?: string;
  /** Ids of the updates it is about. */
  readonly updates?: readonly number[];
  readonly seat?: string;
  readonly thread?: number;
  readonly generation?: string;
}

/** How the line stands in the store: what `partyline status --json` prints. */
export interface LineBody {
  readonly kind: "line";
  readonly status: unknown;
}

/** A process that is watched came, or went. */
export interface SourceBody {
  readonly kind: "source";
  readonly id: string;
  readonly state: "attached" | "gone";
  readonly instance?: string;
  readonly name?: string | null;
  readonly pid?: number;
  /** Of one that went: what is known. */
  readonly reason?: string;
}

/** A sentence at this point: of a checker's step, of somebody who sent an event from the page. */
export interface NoteBody {
  readonly kind: "note";
  readonly text: string;
  /** Whom it is about, when it is about one. */
  readonly about?: string;
}

/** What whoever recorded this knows about the properties at this point; without it a viewer judges for itself. */
export interface VerdictBody {
  readonly kind: "verdict";
  readonly broken: readonly string[];
  readonly detail?: string;
}

/** The first frame to a client that asked for batches: what it is connected to. */
export interface ServerBody {
  readonly kind: "server";
  readonly mode: "live" | "recording";
  /** `send` requests are carried out. */
  readonly maySend: boolean;
  readonly title: string;
}

export type LiveBody =
  ActorBody | EventBody | TransitionBody | SnapshotBody | MessageBody | LineBody | NoteBody | VerdictBody;
export type FrameBody = ServerBody | WelcomeBody | ChartBody | LiveBody | SourceBody | DroppedBody;
export type Frame = FrameHead & FrameBody;

/** What a client says first. */
export interface Hello {
  readonly type: "hello";
  readonly token: string;
  /** Several frames in one WebSocket message, one a line. */
  readonly batch?: boolean;
  /** Kinds of live frames that are wanted; absent = all. `dropped` always comes. */
  readonly kinds?: readonly string[];
  /** Only actors whose id begins so. */
  readonly actors?: string;
}

/** A client's wish to send an event to an actor. Carried out only where sending was allowed; `note` frames record it. */
export interface SendRequest {
  readonly type: "send";
  readonly from?: string;
  readonly session: string;
  readonly event: { readonly type: string };
}
