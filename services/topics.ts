/**
 * What becomes of calls while the chat may have no threads.
 *
 * Owns: waiting for a judgement, sending to the main chat meanwhile. Does not own: the judgement
 * (`machines/capability.machine.ts`), what a message looks like there (`machines/capability.rules.ts`).
 *
 * A refusal is the only outcome that is tried again elsewhere: nothing was sent.
 */
import { canonicalInteger } from "../machines/calls.rules.ts";
import type { Body } from "../machines/calls.rules.ts";
import type { CapabilityFact } from "../machines/capability.machine.ts";
import { inMainChat, mayMeanNoThreads, raisesDoubt } from "../machines/capability.rules.ts";
import type { CallOutcome, Clock } from "./ports.ts";
import { createSignal } from "./runtime.ts";
import type { Runtime, TopicsJudge } from "./runtime.ts";

/** How long a call waits for a judgement: two looks and the interval between them, with room for slow answers. */
const judgementMaxMs = 10_000;

/** What a leadership knows of threads in its chat. */
export class Topics implements TopicsJudge {
  readonly doubts = createSignal();
  private readonly judgements = createSignal<CapabilityFact["verdict"]>();
  private readonly clock: Clock;
  private verdict: CapabilityFact["verdict"] = "on";

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get areOff(): boolean {
    return this.verdict === "off";
  }

  /** Whether threads were turned off, or on again, by it. */
  onFact({ verdict }: CapabilityFact): boolean {
    const wereOff = this.areOff;
    this.verdict = verdict;
    this.judgements.fire(verdict);
    return wereOff !== this.areOff;
  }

  hear(refusal: string): void {
    if (mayMeanNoThreads(refusal)) this.doubts.fire();
  }

  judge(): Promise<"on" | "off"> {
    if (this.areOff) return Promise.resolve("off");
    return new Promise((resolve) => {
      const end = (verdict: "on" | "off"): void => {
        this.clock.clearTimeout(timer);
        unlisten();
        resolve(verdict);
      };
      const unlisten = this.judgements.listen((verdict) => {
        if (verdict !== "doubted") end(verdict);
      });
      const timer = this.clock.setTimeout(() => {
        end("on");
      }, judgementMaxMs);
      this.doubts.fire();
    });
  }
}

/** What is asked of Telegram in the name of a leadership. */
interface Asked {
  readonly method: string;
  readonly payload: Body;
}

const chatHasNoThreads: CallOutcome = {
  kind: "rejected",
  error: { error_code: 400, description: "Bad Request: the chat has no threads at the moment" },
};

/** The name that stands before a message of this thread while it goes to the main chat. */
export async function senderOf(runtime: Runtime, payload: Body): Promise<string> {
  const threadId = canonicalInteger(payload["message_thread_id"]);
  const { bindings } = await runtime.ports.store.threads.view();
  const bound = bindings.find(
    ({ thread: { target } }) => target.chatId === canonicalInteger(payload["chat_id"]) && target.threadId === threadId,
  );
  return bound?.thread.threadName ?? `thread ${String(threadId)}`;
}

/** Makes a call as it is, or, while the chat has no threads, as one of the main chat. */
export async function withTopics<Call extends Asked>(
  runtime: Runtime,
  call: Call,
  make: (call: Call) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const { topics } = runtime.board;
  const plain = { method: call.method, body: call.payload };
  if (topics === null) return make(call);
  if (!topics.areOff) {
    const outcome = await make(call);
    if (outcome.kind !== "rejected" || !raisesDoubt(outcome.error.description, plain)) return outcome;
    if ((await topics.judge()) === "on") return outcome;
  }
  if (call.payload["message_thread_id"] === undefined) return make(call);
  const elsewhere = inMainChat(plain, await senderOf(runtime, call.payload));
  return elsewhere === null ? chatHasNoThreads : make({ ...call, payload: elsewhere.body });
}
