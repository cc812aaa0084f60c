/**
 * Effects of the provisioning chart: the store's thread tables and the create call.
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
} from "../machines/provisioning.machine.ts";
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

export function provideProvisioning(runtime: Runtime) {
  const { store, stage } = runtime.ports;
  return provisioningMachine.provide({
    actors: {
      viewThreads: fromPromise(async () => ({ view: await store.threads.view(), nowMs: stage.clock.nowMs() })),
      intendThread: fromPromise<IntendAnswer, IntendRequest>(({ input }) => store.threads.intend(input)),
      createThread: fromPromise(
        async ({ input }: { readonly input: { readonly epoch: Epoch; readonly provision: BegunProvision } }) =>
          readCreated(
            await callAsLeader(runtime, {
              method: "createForumTopic",
              payload: { chat_id: input.provision.chatId, name: input.provision.threadName },
              epoch: input.epoch,
            }),
          ),
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
            reason: "",
            provenAtMs: stage.clock.nowMs(),
          },
        });
      }),
      giveUpThread: fromPromise<GiveUpAnswer, GiveUpRequest>(({ input }) => store.threads.giveUp(input)),
    },
  });
}
