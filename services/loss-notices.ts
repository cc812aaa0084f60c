/**
 * The policy `notify`: a thread that is gone is not replaced while its agent works; the user is told in the main chat, and what
 * the agent says goes there under its name until the seat is taken anew, which makes a new thread.
 *
 * Owns: the words, telling once, writing the loss down. Does not own: noticing it (`thread-sends.ts`).
 * General is the main chat of a supergroup: both are spoken to without a thread id.
 */
import type { ApiCall } from "../machines/calls.rules.ts";
import { inMainChat } from "../machines/capability.rules.ts";
import type { ThreadTarget } from "../machines/ids.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import { htmlOf } from "./notices.ts";
import type { CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";
import type { Loss, LossTeller } from "./thread-sends.ts";
import { senderOf } from "./topics.ts";

export const lossText = (name: string): string =>
  `⚠️ The thread of <b>${htmlOf(name)}</b> is gone. What it says comes here until it is started again.`;

class LossNotices implements LossTeller {
  private readonly look: () => Runtime;
  /** By thread: whose it was. */
  private readonly names = new Map<number, string>();

  constructor(look: () => Runtime) {
    this.look = look;
  }

  private get runtime(): Runtime {
    return this.look();
  }

  knows({ threadId }: ThreadTarget): boolean {
    return this.names.has(threadId);
  }

  async tell({ target, reason, call, make }: Loss): Promise<CallOutcome> {
    const known = this.names.get(target.threadId);
    const name = known ?? (await senderOf(this.runtime, call.body));
    if (!this.names.has(target.threadId)) {
      this.names.set(target.threadId, name);
      await this.writeDown(target, reason);
      await this.announce(target, name);
    }
    return make(elsewhere(call, name));
  }

  private async writeDown(target: ThreadTarget, reason: string): Promise<void> {
    const { ports, gate } = this.runtime;
    const permit = gate.permit();
    if (permit === null) return;
    try {
      const atMs = ports.stage.clock.nowMs();
      await ports.store.threads.lose({ epoch: permit.epoch, target, reason, atMs });
    } catch (error) {
      // The next leader meets the loss again.
      ports.stage.log.event("warn", "thread-loss-not-noted", { thread: target.threadId, reason: String(error) });
    }
  }

  private async announce({ chatId, threadId }: ThreadTarget, name: string): Promise<void> {
    const payload = { chat_id: chatId, text: lossText(name), parse_mode: "HTML" };
    const outcome = await callAsLeader(this.runtime, { method: "sendMessage", payload, epoch: null });
    if (outcome.kind !== "ok")
      this.runtime.ports.stage.log.event("info", "thread-not-announced", {
        thread: threadId,
        reason: reasonOf(outcome),
      });
  }
}

const elsewhere = (call: ApiCall, name: string): ApiCall => inMainChat(call, name) ?? call;

/** `runtime` is asked for when it is needed: the teller is a part of it. */
export const lossTellerOf = (runtime: () => Runtime): LossTeller => new LossNotices(runtime);
