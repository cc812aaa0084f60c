/**
 * Words to whoever pressed a button whose instance is not there.
 *
 * Owns: that each press is answered once by this leadership, or Telegram's clients keep spinning. Does not own: the update,
 * which waits for its instance. Not guaranteed: an answer that Telegram refuses (the press is too old) or that is lost is
 * not repeated; an instance that comes back answers by itself, and Telegram ignores the later of two answers.
 */
import type { Epoch, JournalSeq } from "../machines/ids.ts";
import { fieldsOf } from "../machines/fields.rules.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { Work } from "./hand.ts";
import { Remembered } from "./remembered.ts";
import type { Runtime } from "./runtime.ts";

/** Presses that are remembered as answered; one of them comes again only when its seat changed hands. */
const rememberedMax = 1_000;

export const awayText = "This agent is away. It gets your choice when it is back.";

export class AwayNotices {
  private readonly runtime: Runtime;
  private readonly epoch: Epoch;
  private readonly answered = new Remembered<JournalSeq>(rememberedMax);

  constructor(runtime: Runtime, epoch: Epoch) {
    this.runtime = runtime;
    this.epoch = epoch;
  }

  /** An update waits for its seat: if it is a press of a button, it is answered. */
  tell({ entry, facts, update }: Pick<Work, "entry" | "facts" | "update">): void {
    if (facts.routed !== "callback_query") return;
    const queryId = fieldsOf(fieldsOf(update)?.["callback_query"])?.["id"];
    if (typeof queryId !== "string" || !this.answered.add(entry.seq)) return;
    void this.answer(queryId);
  }

  private async answer(queryId: string): Promise<void> {
    const { log } = this.runtime.ports.stage;
    try {
      const payload = { callback_query_id: queryId, text: awayText };
      const outcome = await callAsLeader(this.runtime, { method: "answerCallbackQuery", payload, epoch: this.epoch });
      if (outcome.kind !== "ok") log.event("info", "press-not-answered", { reason: reasonOf(outcome) });
    } catch (error) {
      log.event("warn", "press-not-answered", { reason: String(error) });
    }
  }
}
