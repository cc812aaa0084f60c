/**
 * Taking back what came to stand outside its thread.
 *
 * Owns: deleting it, and when that is certain. Does not own: what is to be taken back (`thread-sends.ts`).
 */
import { callAsLeader } from "./leader-calls.ts";
import type { Runtime } from "./runtime.ts";
import type { Stray } from "./thread-sends.ts";

/** Deletes our own messages; only Telegram's yes is certain. */
export async function takeBackAsLeader(runtime: Runtime, messages: readonly Stray[]): Promise<boolean> {
  for (const { chatId, messageId } of messages) {
    const payload = { chat_id: chatId, message_id: messageId };
    const outcome = await callAsLeader(runtime, { method: "deleteMessage", payload, epoch: null });
    if (outcome.kind !== "ok" || outcome.result !== true) return false;
  }
  return true;
}
