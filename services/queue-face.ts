/**
 * The queue and its turns as an instance shows them to its host.
 *
 * Owns: that face. Does not own: the queue (`queue.ts`).
 */
import { journalSeq } from "../machines/ids.ts";
import type { AgentSelector } from "./agents-api.ts";
import { selectorOf } from "./agents-api.ts";
import type { HandoffOutcome } from "./handoff.ts";
import type { ComposedInstance } from "./instance.ts";
import type { QueuedItem } from "./queue.ts";

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
  readonly ack: () => Promise<boolean>;
}

/** The queue of this instance: what was given to it and waits for its turn. Empty with `host: "updates"`. */
export interface InstanceQueue {
  /** The running turn first, then what waits, in the order in which it will run. */
  list(): readonly QueuedItem[];
  /** Like the commands of the same names. */
  stop(): void;
  abort(): void;
  next(): void;
  /**
   * Offers a waiting turn, by the `id` of `list`, to another agent of the line: that one runs it, in its own thread, and this
   * one never does. Resolves when that is certain, at the latest after about 30 s while the store answers: `transferred`, or
   * `kept` with the reason, and then the turn waits here as before. While it is on offer its standing is `offered`: nothing
   * here begins or changes it, and nothing behind it in its lane begins. Not offered are: what runs, what still gathers, what
   * has history, what continues a turn, more than 8 MiB or 256 updates, and anything under a v1 leader.
   */
  offer(id: string, to: AgentSelector): Promise<HandoffOutcome>;
  /** No turn begins until the returned function is called: the host is busy by itself. Holds add up. */
  hold(): () => void;
}

export const queueOf = ({ queue, handoffs }: Pick<ComposedInstance, "queue" | "handoffs">): InstanceQueue => ({
  offer: (id, to) => handoffs.offerTo(journalSeq(Number(id)), selectorOf(to)),
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
