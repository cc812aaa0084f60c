/**
 * A follower's Bot API call, carried out by the leader.
 *
 * Owns: the checks in the wire's order, the call, writing down which messages the follower made.
 * Does not own: the tables of what is allowed (`machines/calls.rules.ts`).
 *
 * Beyond the wire, for our own peers, a refusal says whose it is: Telegram's own error whole (`result: { telegram }`), ours
 * by the tables (`result: { refused: true }`), or nobody's, because nothing was sent (`result: { notSent: true, isLeading }`:
 * false = another leader may do better).
 */
import { chatId, messageId } from "../machines/ids.ts";
import type { SeatKey, ThreadTarget } from "../machines/ids.ts";
import {
  asBody,
  confineOwnCall,
  mayV1FollowerCall,
  messagesOf,
  messagesMade,
  withoutMarkers,
} from "../machines/calls.rules.ts";
import type { ApiCall, CallVerdict } from "../machines/calls.rules.ts";
import type { Sitter } from "../machines/registration.machine.ts";
import { capability } from "../machines/wire/constants.ts";
import type { Ack, CallApiRequest } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

export interface Caller {
  readonly seat: SeatKey;
  readonly sitter: Sitter;
}

/** Whether every message that a call names was sent by this seat, or to it. True when it names none. */
export async function ownsMessages(
  runtime: Runtime,
  seat: SeatKey,
  target: { readonly chatId: number },
  call: ApiCall,
): Promise<boolean> {
  const { ownership } = runtime.ports.store;
  const named = messagesOf(call.body);
  if (named === null) return false;
  const owners = await Promise.all(named.map((id) => ownership.ownerOf(chatId(target.chatId), messageId(id))));
  return owners.every((owner) => owner === seat);
}

/** Writes down whose the new messages are. A failure is logged: the call has happened. */
export async function recordMessages(
  runtime: Runtime,
  seat: SeatKey,
  call: ApiCall,
  outcome: CallOutcome,
): Promise<void> {
  if (outcome.kind !== "ok") return;
  const chat = Number(call.body["chat_id"]);
  const made = messagesMade(call.method, outcome.result);
  if (made.length === 0 || !Number.isSafeInteger(chat)) return;
  try {
    await runtime.ports.store.ownership.record(
      made.map((id) => ({ chatId: chatId(chat), messageId: messageId(id), seat })),
    );
  } catch (error) {
    runtime.ports.stage.log.event("warn", "ownership-not-recorded", { reason: String(error) });
  }
}

interface Asked {
  readonly requestId: string;
  readonly method: string;
  readonly sitter: Sitter;
}

async function judge(runtime: Runtime, { seat, sitter }: Caller, call: ApiCall): Promise<CallVerdict> {
  const target: ThreadTarget = sitter.thread.target;
  const owns = await ownsMessages(runtime, seat, target, call);
  if (sitter.capabilities.includes(capability.sharedStore))
    return confineOwnCall(call, { chatId: target.chatId, threadId: target.threadId }, owns);
  return mayV1FollowerCall(call, target, owns)
    ? { kind: "allowed", call: { method: call.method, body: withoutMarkers(call.body) } }
    : { kind: "refused", reason: wireText.callNotAllowed };
}

/** A refusal as its caller's kind reads it: the wire's own knows only the text. */
function refusal({ capabilities }: Sitter, requestId: string, message: string, detail: object): Ack {
  const said: Ack = { kind: "bus.ack", requestId, ok: false, message };
  return capabilities.includes(capability.sharedStore) ? { ...said, result: detail } : said;
}

function answerOf({ gate }: Runtime, { requestId, method, sitter }: Asked, outcome: CallOutcome): Ack {
  switch (outcome.kind) {
    case "ok":
      return { kind: "bus.ack", requestId, ok: true, result: outcome.result };
    case "ambiguous":
      return {
        kind: "bus.ack",
        requestId,
        ok: false,
        message: wireText.callCommitUnknown(method),
        error: { code: "commit-unknown", method },
      };
    case "rejected":
    case "throttled":
      return refusal(sitter, requestId, outcome.error.description, { telegram: outcome.error });
    case "notSent":
      return refusal(sitter, requestId, reasonOf(outcome) || wireText.callFailed, {
        notSent: true,
        isLeading: gate.permit() !== null,
      });
  }
}

export async function callForFollower(runtime: Runtime, request: CallApiRequest, caller: Caller): Promise<Ack> {
  const { requestId, method, args } = request;
  const { sitter } = caller;
  const refuse = (message: string): Ack => ({ kind: "bus.ack", requestId, ok: false, message });
  if (method !== "call") return refuse(wireText.callMethodUnsupported(method));
  const [apiMethod, body] = args;
  if (typeof apiMethod !== "string") return refuse(wireText.callNotAllowed);
  const verdict = await judge(runtime, caller, { method: apiMethod, body: asBody(body) ?? {} });
  if (verdict.kind === "refused") return refusal(sitter, requestId, verdict.reason, { refused: true });
  const outcome = await callAsLeader(runtime, {
    method: verdict.call.method,
    payload: verdict.call.body,
    epoch: null,
  });
  await recordMessages(runtime, caller.seat, verdict.call, outcome);
  return answerOf(runtime, { requestId, method: verdict.call.method, sitter }, outcome);
}
