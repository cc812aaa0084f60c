/**
 * The queue and its turns as an instance shows them to its host.
 *
 * Owns: that face. Does not own: the queue (`queue.ts`).
 */
import type { Queue, QueuedItem } from "./queue.ts";

/** One prompt, or one command between prompts, of a host that works in turns. */
export interface TurnOf<Update> {
  /** The same for every delivery. */
  readonly id: string;
  /** `control`: a command that must not run beside a prompt, such as `/compact`. */
  readonly kind: "prompt" | "control";
  /** Its messages, in order: more than one for an album, a split text, a comment with its forward. */
  readonly updates: readonly { readonly id: string; readonly update: Update }[];
  /** Texts and captions of its messages, joined by line breaks. */
  readonly text: string;
  /** Texts of the prompts that waited when the user aborted a turn, oldest first: this turn answers them too. */
  readonly history: readonly string[];
  readonly redelivered: boolean;
  /** Aborted by `/stop`, `/abort` and `/next`. The turn is over only when its handlers have ended. */
  readonly signal: AbortSignal;
  /** Settles all its updates, as `InstanceUpdate.ack` does one. */
  ack(): Promise<boolean>;
}

/** The queue of this instance: what was given to it and waits for its turn. Empty with `host: "updates"`. */
export interface InstanceQueue {
  /** The running turn first, then what waits, in the order in which it will run. */
  list(): readonly QueuedItem[];
  /** Like the commands of the same names. */
  stop(): void;
  abort(): void;
  next(): void;
  /** No turn begins until the returned function is called: the host is busy by itself. Holds add up. */
  hold(): () => void;
}

export const queueOf = (queue: Queue): InstanceQueue => ({
  list: () => queue.list(),
  stop: () => {
    queue.give("stop");
  },
  abort: () => {
    queue.give("abort");
  },
  next: () => {
    queue.give("next");
  },
  hold: () => queue.hold(),
});
