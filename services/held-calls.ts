/**
 * Calls of this instance into its own thread while the user has that closed.
 *
 * Owns: keeping them in the order in which they were made, and making them, each once, when the thread is open again.
 * Does not own: making a call (`calls.ts`), how the thread stands (the store, by Telegram's service messages).
 *
 * "Closed" is Telegram's refusal: nothing was sent, so trying again sends nothing twice. While the store says closed nothing
 * is tried; where it does not know, or never learns that the thread was opened, it is tried again less and less often.
 */
import type { ApiCall } from "../machines/calls.rules.ts";
import type { CallOutcome, Clock, Log } from "./ports.ts";
import { chatOf } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { threadWordIn } from "./thread-word.ts";

/** Calls that wait; what exceeds it is made at once, and refused as Telegram refuses it. */
export const heldCallsMax = 1_000;
const lookEveryMs = 1_000;
const tryEveryMaxMs = 30_000;
/** Where the thread is closed by the store's word, this often, in case its opening was never told. */
const tryClosedEveryMs = 10 * 60_000;

interface Held {
  readonly order: number;
  readonly make: () => Promise<CallOutcome>;
  readonly end: (outcome: CallOutcome) => void;
}

/** Calls that put something into the thread; edits and button answers work in a closed one, too. */
const isHeld = ({ method }: ApiCall): boolean => /^(send(?!ChatAction)|copyMessage|forwardMessage)/i.test(method);

export interface ThreadSight {
  readonly clock: Clock;
  readonly log: Log;
  readonly isOver: () => boolean;
  /** Whether the store says that our thread is closed. */
  readonly isClosed: () => Promise<boolean>;
}

export class HeldCalls {
  private readonly sight: ThreadSight;
  private readonly held: Held[] = [];
  private made = 0;

  constructor(sight: ThreadSight) {
    this.sight = sight;
  }

  /** Makes the call now, or when the thread is open again. */
  async run(call: ApiCall, make: () => Promise<CallOutcome>): Promise<CallOutcome> {
    if (!isHeld(call)) return make();
    this.made += 1;
    const order = this.made;
    if (this.held.length >= heldCallsMax) return make();
    if (this.held.length === 0) {
      const outcome = await make();
      if (threadWordIn(outcome) !== "closed") return outcome;
    }
    return new Promise((resolve) => {
      this.keep({ order, make, end: resolve });
    });
  }

  private keep(call: Held): void {
    // Of two that were under way at once the later one may have heard first.
    const place = this.held.findIndex(({ order }) => order > call.order);
    this.held.splice(place < 0 ? this.held.length : place, 0, call);
    if (this.held.length > 1) return;
    this.sight.log.event("warn", "thread-closed", {
      reason: "what goes there waits until it is open again",
    });
    void this.drain();
  }

  private async drain(): Promise<void> {
    let pauseMs = lookEveryMs;
    while (this.held.length > 0) {
      await this.untilOpen(pauseMs);
      const [first] = this.held;
      if (first === undefined) return;
      const outcome = this.sight.isOver() ? over : await first.make();
      if (threadWordIn(outcome) === "closed") {
        pauseMs = Math.min(tryEveryMaxMs, pauseMs * 2);
        continue;
      }
      pauseMs = lookEveryMs;
      this.held.splice(this.held.indexOf(first), 1);
      first.end(outcome);
    }
  }

  /** Until the thread is said to be open, or so long has passed that it may be worth a try. */
  private async untilOpen(pauseMs: number): Promise<void> {
    const { clock } = this.sight;
    const sinceMs = clock.elapsedMs();
    let wasClosed = false;
    while (!this.sight.isOver()) {
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, lookEveryMs));
      const isClosed = await this.sight.isClosed();
      const waitedMs = clock.elapsedMs() - sinceMs;
      if (wasClosed && !isClosed) return;
      if (waitedMs >= (isClosed ? tryClosedEveryMs : pauseMs)) return;
      wasClosed ||= isClosed;
    }
  }
}

const over: CallOutcome = { kind: "notSent", reason: "the instance has stopped while its thread was closed" };

async function isOwnThreadClosed(runtime: Runtime): Promise<boolean> {
  const { ports, board } = runtime;
  if (board.place === null) return false;
  try {
    const binding = await ports.store.threads.bindingOf({ seat: board.place.seat, chatId: chatOf(runtime) });
    return binding?.standing === "closed";
  } catch (error) {
    // Not observed: looked at again in its time.
    ports.stage.log.event("debug", "thread-not-seen", { reason: String(error) });
    return false;
  }
}

export const heldCallsOf = (runtime: Runtime): HeldCalls =>
  new HeldCalls({
    clock: runtime.ports.stage.clock,
    log: runtime.ports.stage.log,
    isOver: () => runtime.board.isOver,
    isClosed: () => isOwnThreadClosed(runtime),
  });
