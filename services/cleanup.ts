/**
 * Effects of the cleanup chart: the instruction and its proof in the store, closing and deleting at Telegram.
 *
 * Owns: what Telegram's answers mean to a deletion. Does not own: when a thread is to be deleted.
 */
import { fromPromise } from "xstate";
import { cleanupMachine } from "../machines/cleanup.machine.ts";
import type {
  BeginCleanupAnswer,
  BeginOrder,
  ConfirmCleanupAnswer,
  DeleteAnswer,
  IntendCleanupAnswer,
  IntendOrder,
  PostponeAnswer,
  PostponeOrder,
  ThreadOrder,
} from "../machines/cleanup.machine.ts";
import { provesThreadGone } from "../machines/threads.rules.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

const callOnThread = (runtime: Runtime, method: string, { epoch, target }: ThreadOrder): Promise<CallOutcome> =>
  callAsLeader(runtime, {
    method,
    payload: { chat_id: target.chatId, message_thread_id: target.threadId },
    epoch,
  });

/** Only a yes that says `true`, or the thread's absence told by this very call, confirms. */
function readDeletion(outcome: CallOutcome): DeleteAnswer {
  const kept = (reason: string, isCertain: boolean, retryAfterMs = 0): DeleteAnswer => ({
    kind: "kept",
    reason: `Telegram did not confirm the deletion of the thread: ${reason}`,
    isCertain,
    retryAfterMs,
  });
  switch (outcome.kind) {
    case "ok":
      return outcome.result === true ? { kind: "gone" } : kept("it answered neither yes nor no", false);
    case "rejected":
      return provesThreadGone(outcome.error.description) ? { kind: "gone" } : kept(reasonOf(outcome), true);
    case "throttled":
      return kept(reasonOf(outcome), true, outcome.retryAfterMs);
    case "notSent":
      return kept(reasonOf(outcome), true);
    case "ambiguous":
      return kept(reasonOf(outcome), false);
  }
}

export function provideCleanup(runtime: Runtime) {
  const { store, stage } = runtime.ports;
  const { cleanups } = store;
  return cleanupMachine.provide({
    actors: {
      intendCleanup: fromPromise<IntendCleanupAnswer, IntendOrder>(({ input }) => {
        const atMs = stage.clock.nowMs();
        return cleanups.intend({ ...input, atMs, dueAtMs: atMs });
      }),
      beginCleanup: fromPromise<BeginCleanupAnswer, BeginOrder>(({ input }) => cleanups.begin(input)),
      closeThread: fromPromise<undefined, ThreadOrder>(async ({ input }) => {
        const outcome = await callOnThread(runtime, "closeForumTopic", input);
        if (outcome.kind !== "ok")
          stage.log.event("info", "thread-not-closed", { thread: input.target.threadId, reason: reasonOf(outcome) });
        return undefined;
      }),
      deleteThread: fromPromise<DeleteAnswer, ThreadOrder>(async ({ input }) => {
        const outcome = await callOnThread(runtime, "deleteForumTopic", input);
        if (outcome.kind === "throttled") runtime.probes.pause(outcome.retryAfterMs);
        const answer = readDeletion(outcome);
        const reason = answer.kind === "kept" ? { reason: answer.reason } : {};
        stage.log.event("info", `thread-${answer.kind === "gone" ? "deleted" : "not-deleted"}`, {
          thread: input.target.threadId,
          ...reason,
        });
        return answer;
      }),
      confirmCleanup: fromPromise<ConfirmCleanupAnswer, ThreadOrder>(({ input }) =>
        cleanups.confirm({ ...input, atMs: stage.clock.nowMs() }),
      ),
      postponeCleanup: fromPromise<PostponeAnswer, PostponeOrder>(({ input: { delayMs, ...order } }) =>
        cleanups.postpone({ ...order, dueAtMs: stage.clock.nowMs() + delayMs }),
      ),
    },
  });
}
