/**
 * Effects of the cleanup chart: the instruction in the store, and the deletion.
 */
import { fromPromise } from "xstate";
import { cleanupMachine } from "../machines/cleanup.machine.ts";
import type { CleanupInput, DeleteAnswer, IntendCleanupAnswer } from "../machines/cleanup.machine.ts";
import { provesThreadGone } from "../machines/threads.rules.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { Runtime } from "./runtime.ts";

/** Resolves only when the thread is confirmed gone; rejects with the reason otherwise. */
async function deleteThread(runtime: Runtime, { epoch, seat, target }: CleanupInput): Promise<DeleteAnswer> {
  const outcome = await callAsLeader(runtime, {
    method: "deleteForumTopic",
    payload: { chat_id: target.chatId, message_thread_id: target.threadId },
    epoch,
  });
  const isGone = outcome.kind === "ok" || (outcome.kind === "rejected" && provesThreadGone(outcome.error.description));
  if (!isGone) throw new Error(`Telegram did not confirm the deletion of the thread: ${reasonOf(outcome)}`);
  return runtime.ports.store.threads.confirmCleanup({ epoch, seat, target });
}

export function provideCleanup(runtime: Runtime) {
  const { store, stage } = runtime.ports;
  return cleanupMachine.provide({
    actors: {
      intendCleanup: fromPromise<IntendCleanupAnswer, CleanupInput>(({ input }) =>
        store.threads.intendCleanup({ ...input, atMs: stage.clock.nowMs() }),
      ),
      deleteThread: fromPromise<DeleteAnswer, CleanupInput>(({ input }) => deleteThread(runtime, input)),
    },
  });
}
