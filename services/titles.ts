/**
 * Titles that agents set on their threads: cosmetic, so they come after everything a user waits for.
 *
 * Owns: looking up what is known of the thread's name, and the place behind messages (the pace of probes: one a second, none
 * while a message is under way, none while Telegram asked for a pause). Does not own: what is left of the wish
 * (`machines/titles.rules.ts`).
 */
import { canonicalInteger } from "../machines/calls.rules.ts";
import type { Body } from "../machines/calls.rules.ts";
import type { ThreadTarget } from "../machines/ids.ts";
import { titleCallAgainst } from "../machines/titles.rules.ts";
import type { KnownTitle } from "../machines/titles.rules.ts";
import type { CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

interface Asked {
  readonly method: string;
  readonly payload: Body;
}

async function knownTitle({ ports }: Runtime, payload: Body): Promise<KnownTitle> {
  const chatId = canonicalInteger(payload["chat_id"]);
  const threadId = canonicalInteger(payload["message_thread_id"]);
  const { bindings, observations } = await ports.store.cleanups.view();
  const isIt = (target: ThreadTarget): boolean => target.chatId === chatId && target.threadId === threadId;
  const bound = bindings.find(({ thread }) => isIt(thread.target));
  const seen = observations.find(({ target }) => isIt(target));
  return { name: bound?.thread.threadName ?? seen?.name ?? null, isNamedByPerson: seen?.isNamedByPerson ?? false };
}

const notLeading: CallOutcome = { kind: "notSent", reason: "this instance does not lead (any more)" };

/** Makes what is left of the call when its turn has come; nothing left is a success. */
export async function setTitle<Call extends Asked>(
  runtime: Runtime,
  asked: Call,
  make: (call: Call) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  let known: KnownTitle;
  try {
    known = await knownTitle(runtime, asked.payload);
  } catch (error) {
    return { kind: "notSent", reason: String(error) };
  }
  const left = titleCallAgainst({ method: asked.method, body: asked.payload }, known);
  if (left === null) return { kind: "ok", result: true };
  const permit = runtime.gate.permit();
  if (permit === null) return notLeading;
  const turn = async (): Promise<CallOutcome> => {
    const outcome = await make({ ...asked, payload: left.body });
    if (outcome.kind === "throttled") runtime.probes.pause(outcome.retryAfterMs);
    return outcome;
  };
  return runtime.probes.run(turn, notLeading, permit.signal);
}
