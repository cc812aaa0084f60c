/**
 * Effects of the provisioning chart: the store's thread tables, the look at a thread and the create call.
 *
 * Owns: what Telegram's answers mean to both. Does not own: when a thread may be looked at (`probes.ts`).
 */
import { fromPromise } from "xstate";
import type { Epoch } from "../machines/ids.ts";
import { threadId } from "../machines/ids.ts";
import { provisioningMachine } from "../machines/provisioning.machine.ts";
import type {
  BindAnswer,
  BindRequest,
  CreateAnswer,
  GiveUpAnswer,
  GiveUpRequest,
  IntendAnswer,
  IntendRequest,
  KeepAnswer,
  KeepRequest,
  LoseAnswer,
  LoseRequest,
  ProbeAnswer,
  ProbeRequest,
} from "../machines/provisioning.machine.ts";
import { wordOnThread } from "../machines/threads.rules.ts";
import type { BegunProvision } from "../machines/threads.rules.ts";
import { asBody, canonicalInteger } from "../machines/calls.rules.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

const retryAfterNotSentMs = 500;

function readCreated(outcome: CallOutcome): CreateAnswer {
  switch (outcome.kind) {
    case "ok": {
      const id = canonicalInteger(asBody(outcome.result)?.["message_thread_id"]);
      return id !== null && id > 0
        ? { kind: "created", threadId: threadId(id) }
        : { kind: "ambiguous", reason: "Telegram said yes without the id of the thread" };
    }
    case "rejected":
      return { kind: "rejected", reason: reasonOf(outcome) };
    case "throttled":
      return { kind: "later", afterMs: outcome.retryAfterMs, reason: reasonOf(outcome) };
    case "notSent":
      return { kind: "later", afterMs: retryAfterNotSentMs, reason: reasonOf(outcome) };
    case "ambiguous":
      return { kind: "ambiguous", reason: reasonOf(outcome) };
  }
}

/** Only Telegram's own words prove anything; a thread that is closed exists. */
function readProbe(outcome: CallOutcome): ProbeAnswer {
  switch (outcome.kind) {
    case "ok":
      return outcome.result === true
        ? { kind: "exists" }
        : { kind: "unclear", reason: "it answered neither yes nor no" };
    case "throttled":
      return { kind: "later", afterMs: outcome.retryAfterMs, reason: reasonOf(outcome) };
    case "notSent":
      return { kind: "later", afterMs: retryAfterNotSentMs, reason: reasonOf(outcome) };
    case "ambiguous":
      return { kind: "unclear", reason: reasonOf(outcome) };
    case "rejected": {
      const reason = reasonOf(outcome);
      const word = wordOnThread(reason);
      if (word === "gone") return { kind: "gone", reason };
      if (word === "closed") return { kind: "closed" };
      return word === "unchanged" ? { kind: "exists" } : { kind: "unclear", reason };
    }
  }
}

/** Changes nothing: a title that the user gave stays (threads §1.9). */
async function probe(
  runtime: Runtime,
  { input: { epoch, target }, signal }: { readonly input: ProbeRequest; readonly signal: AbortSignal },
): Promise<ProbeAnswer> {
  const { probes } = runtime;
  const payload = { chat_id: target.chatId, message_thread_id: target.threadId };
  const answer = await probes.run<ProbeAnswer>(
    async () => readProbe(await callAsLeader(runtime, { method: "editForumTopic", payload, epoch })),
    { kind: "unclear", reason: "no longer wanted" },
    signal,
  );
  if (answer.kind === "later") probes.pause(answer.afterMs);
  return answer;
}

async function create(
  runtime: Runtime,
  { epoch, provision }: { readonly epoch: Epoch; readonly provision: BegunProvision },
): Promise<CreateAnswer> {
  const { store, stage } = runtime.ports;
  const { chatId, threadName } = provision;
  const payload = { chat_id: chatId, name: threadName };
  const outcome = await callAsLeader(runtime, { method: "createForumTopic", payload, epoch });
  if (outcome.kind === "rejected") runtime.board.topics?.hear(outcome.error.description);
  const answer = readCreated(outcome);
  if (answer.kind !== "created") return answer;
  const made = { provisionId: provision.id, target: { chatId, threadId: answer.threadId }, threadName };
  try {
    // Whoever asked may be gone by now, or its epoch over: the thread is not forgotten (threads T-12).
    await store.threads.noteCreated({ ...made, atMs: stage.clock.nowMs() });
  } catch (error) {
    stage.log.event("warn", "created-thread-not-noted", { thread: answer.threadId, reason: String(error) });
  }
  return answer;
}

export function provideProvisioning(runtime: Runtime) {
  const { store, stage } = runtime.ports;
  return provisioningMachine.provide({
    actors: {
      viewThreads: fromPromise(async () => ({ view: await store.threads.view(), nowMs: stage.clock.nowMs() })),
      intendThread: fromPromise<IntendAnswer, IntendRequest>(({ input }) => store.threads.intend(input)),
      probeThread: fromPromise<ProbeAnswer, ProbeRequest>((asked) => probe(runtime, asked)),
      keepThread: fromPromise<KeepAnswer, KeepRequest>(async ({ input: { epoch, binding, from } }) => {
        const { standing, reason, thread } = binding;
        const atMs = stage.clock.nowMs();
        if (from !== "own") {
          const { kind } = await store.threads.bind({ epoch, provisionId: null, binding });
          return { kind: kind === "fenced" ? kind : "kept" };
        }
        const { kind } = await store.threads.mark({ epoch, target: thread.target, standing, reason, atMs });
        return { kind: kind === "marked" ? "kept" : kind };
      }),
      loseThread: fromPromise<LoseAnswer, LoseRequest>(({ input }) =>
        store.threads.lose({ ...input, atMs: stage.clock.nowMs() }),
      ),
      createThread: fromPromise(
        ({ input }: { readonly input: { readonly epoch: Epoch; readonly provision: BegunProvision } }) =>
          create(runtime, input),
      ),
      bindThread: fromPromise<BindAnswer, BindRequest>(({ input }) => {
        const { provision } = input;
        return store.threads.bind({
          epoch: input.epoch,
          provisionId: provision.id,
          binding: {
            seat: provision.seat,
            thread: {
              target: { chatId: provision.chatId, threadId: input.threadId },
              slot: provision.slot,
              threadName: provision.threadName,
            },
            createdAtMs: stage.clock.nowMs(),
            standing: "open",
            reason: input.reason,
            provenAtMs: stage.clock.nowMs(),
          },
        });
      }),
      giveUpThread: fromPromise<GiveUpAnswer, GiveUpRequest>(({ input }) => store.threads.giveUp(input)),
    },
  });
}
