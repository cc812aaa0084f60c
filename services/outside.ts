/**
 * Words to the user who writes outside every thread: nobody hears that, so they are told where to write.
 *
 * Owns: that they are told at most once a minute by one leadership, however much is written. Does not own: the update, which
 * is dropped and counted. Not guaranteed: words that Telegram refuses or that are lost are not repeated.
 */
import type { BoundThread, Epoch } from "../machines/ids.ts";
import { nameOfThread, outsideText, outsideToldEveryMs } from "../machines/reroute.rules.ts";
import type { UpdateFacts } from "../machines/updates.rules.ts";
import { callInBackground } from "./leader-calls.ts";
import type { Runtime } from "./runtime.ts";
import type { Seats } from "./seats.ts";

/** The threads of everybody who hears what is written there right now, the leader's own first. */
export function threadsHeard(runtime: Runtime, seats: Seats): readonly BoundThread[] {
  const own = runtime.board.place?.thread ?? null;
  return [...(own === null ? [] : [own]), ...seats.sitting().map(({ sitter }) => sitter.thread)];
}

export class OutsideNotices {
  private readonly runtime: Runtime;
  private readonly seats: Seats;
  private readonly epoch: Epoch;
  private toldAtMs = -Infinity;

  constructor(runtime: Runtime, { seats }: { readonly seats: Seats }, epoch: Epoch) {
    this.runtime = runtime;
    this.seats = seats;
    this.epoch = epoch;
  }

  /** An update is dropped because it was written outside every thread; returns at once. */
  tell({ routed, chat, message }: UpdateFacts): void {
    const nowMs = this.runtime.ports.stage.clock.elapsedMs();
    if (routed !== "message" || chat === null || nowMs - this.toldAtMs < outsideToldEveryMs) return;
    this.toldAtMs = nowMs;
    const names = threadsHeard(this.runtime, this.seats).map(nameOfThread);
    const reply = { message_id: message, allow_sending_without_reply: true };
    const payload = {
      chat_id: chat,
      text: outsideText(names),
      ...(message === null ? {} : { reply_parameters: reply }),
    };
    callInBackground(
      this.runtime,
      { method: "sendMessage", payload, epoch: this.epoch },
      { phase: "outside-not-told" },
    );
  }
}
