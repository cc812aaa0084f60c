/**
 * Deleting a thread that its seat has given up. The instruction is on disk before this is called.
 */
import type { Epoch, SeatKey, ThreadTarget } from "../machines/ids.ts";
import { provesThreadGone } from "../machines/threads.rules.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { Runtime } from "./runtime.ts";

export interface CleanupRequest {
  readonly epoch: Epoch;
  readonly seat: SeatKey;
  readonly target: ThreadTarget;
}

/** Resolves only when the thread is confirmed gone; rejects with the reason otherwise, the instruction still on disk. */
export async function deleteBoundThread(
  runtime: Runtime,
  { epoch, seat, target }: CleanupRequest,
): Promise<{ readonly kind: "removed" | "superseded" | "fenced" }> {
  const outcome = await callAsLeader(runtime, "deleteForumTopic", {
    chat_id: target.chatId,
    message_thread_id: target.threadId,
  });
  const isGone = outcome.kind === "ok" || (outcome.kind === "rejected" && provesThreadGone(outcome.error.description));
  if (!isGone) throw new Error(`Telegram did not confirm the deletion of the thread: ${reasonOf(outcome)}`);
  return runtime.ports.store.threads.confirmCleanup({ epoch, seat, target });
}
