/**
 * Opening a thread that the user has closed (policy `reopen`).
 *
 * Owns: the call, and writing down that it is open. Does not own: when it is made (`thread-sends.ts`).
 */
import type { ThreadTarget } from "../machines/ids.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { Runtime } from "./runtime.ts";
import { threadWordIn } from "./thread-word.ts";

/** Whether the thread is open now. Private chats have no closed threads and refuse the call: it is not made there. */
export async function reopenAsLeader(runtime: Runtime, target: ThreadTarget): Promise<boolean> {
  const { stage, store } = runtime.ports;
  const permit = runtime.gate.permit();
  if (target.chatId > 0 || permit === null) return false;
  const { epoch } = permit;
  const payload = { chat_id: target.chatId, message_thread_id: target.threadId };
  const outcome = await callAsLeader(runtime, { method: "reopenForumTopic", payload, epoch });
  if (outcome.kind !== "ok" && threadWordIn(outcome) !== "unchanged") {
    stage.log.event("warn", "thread-not-reopened", { thread: target.threadId, reason: reasonOf(outcome) });
    return false;
  }
  stage.log.event("info", "thread-reopened", { thread: target.threadId });
  try {
    // Telegram tells a bot nothing of its own doing.
    const evidence = { target, what: "reopened", name: null, by: "bot", atMs: stage.clock.nowMs() } as const;
    await store.cleanups.observe({ epoch, evidence });
  } catch (error) {
    stage.log.event("debug", "observation-not-kept", { reason: String(error) });
  }
  return true;
}
