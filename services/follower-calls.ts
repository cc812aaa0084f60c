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
import { chatId, messageId, threadId } from "../machines/ids.ts";
import type { SeatKey, ThreadTarget } from "../machines/ids.ts";
import {
  asBody,
  canonicalInteger,
  confineOwnCall,
  mayV1FollowerCall,
  mayV1FollowerUpload,
  messagesOf,
  messagesMade,
  withoutMarkers,
} from "../machines/calls.rules.ts";
import type { ApiCall, CallVerdict } from "../machines/calls.rules.ts";
import type { Sitter } from "../machines/registration.machine.ts";
import { capability, crossTargetDeliveryMarker } from "../machines/wire/constants.ts";
import type { Ack, CallApiRequest } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { chatIsAnother, inChatOfNow } from "./chats.ts";
import { sendAsLeader, downloadAsLeader, reasonOf, uploadAsLeader } from "./leader-calls.ts";
import type { CallOutcome, UploadFile } from "./ports.ts";
import { chatOf } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { ThreadKeeper } from "./thread-sends.ts";

export interface Caller {
  readonly seat: SeatKey;
  readonly sitter: Sitter;
  readonly keeper: ThreadKeeper;
}

const placeOf = ({ keeper, sitter }: Caller) => ({ keeper, own: sitter.thread.target });

/**
 * A call that names a thread which its seat had and lost means the one that it has now: whoever answers a message of the lost
 * thread knows no other.
 */
export async function inItsThread(
  { ports }: Runtime,
  { seat, target }: { readonly seat: SeatKey; readonly target: ThreadTarget },
  call: ApiCall,
): Promise<ApiCall> {
  const named = canonicalInteger(call.body["message_thread_id"]);
  // What ends a thread ends the one that it names, or none.
  if (/^(close|delete)ForumTopic$/i.test(call.method)) return call;
  if (named === null || named === target.threadId || call.body[crossTargetDeliveryMarker] === true) return call;
  const owner = await ports.store.threads.seatOf({ chatId: target.chatId, threadId: threadId(named) });
  return owner === seat ? { ...call, body: { ...call.body, message_thread_id: target.threadId } } : call;
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
  const made = messagesMade(call.method, outcome.result);
  if (made.length === 0) return;
  // What the message says of itself goes before what was asked for, and that before where the seat is (protocol MO-2).
  const asked = canonicalInteger(call.body["chat_id"]) ?? chatOf(runtime);
  try {
    await runtime.ports.store.ownership.record(
      made.map((each) => ({
        chatId: chatId(each.chatId ?? asked),
        messageId: messageId(each.messageId),
        seat,
      })),
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

type V1Table = (call: ApiCall, own: ThreadTarget, ownsMessage: boolean) => boolean;

/** By the wire's table for a v1 follower; one of ours is confined to what is its own. */
async function judge(runtime: Runtime, caller: Caller, named: ApiCall, mayV1Follower: V1Table): Promise<CallVerdict> {
  const { seat, sitter } = caller;
  const target: ThreadTarget = sitter.thread.target;
  const asked = inChatOfNow(runtime, named);
  const isOwn = sitter.capabilities.includes(capability.sharedStore);
  if (asked === null) return { kind: "refused", reason: isOwn ? chatIsAnother : wireText.callNotAllowed };
  const owns = await ownsMessages(runtime, seat, target, asked);
  const call = await inItsThread(runtime, { seat, target }, asked);
  if (isOwn) return confineOwnCall(call, { chatId: target.chatId, threadId: target.threadId }, owns);
  return mayV1Follower(call, target, owns)
    ? { kind: "allowed", call }
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

/** What a follower asks for, once it is known to be one: the three operations of `follower.callApi`. */
export function callForFollower(runtime: Runtime, request: CallApiRequest, caller: Caller): Promise<Ack> {
  switch (request.method) {
    case "call":
      return plainCall(runtime, request, caller);
    case "callMultipart":
      return uploadCall(runtime, request, caller);
    case "downloadFile":
      return download(runtime, request, caller);
    default:
      return Promise.resolve(notAllowed(request, caller, wireText.callNotAllowed));
  }
}

const notAllowed = ({ requestId }: CallApiRequest, { sitter }: Caller, reason: string): Ack =>
  refusal(sitter, requestId, reason, { refused: true });

async function plainCall(runtime: Runtime, request: CallApiRequest, caller: Caller): Promise<Ack> {
  const [apiMethod, body] = request.args;
  if (typeof apiMethod !== "string") return notAllowed(request, caller, wireText.callNotAllowed);
  const asked = { method: apiMethod, body: asBody(body) ?? {} };
  const verdict = await judge(runtime, caller, asked, mayV1FollowerCall);
  if (verdict.kind === "refused") return notAllowed(request, caller, verdict.reason);
  const call = { method: apiMethod, body: withoutMarkers(verdict.call.body) };
  const outcome = await runtime.sends.send(placeOf(caller), call, ({ method, body: payload }) =>
    sendAsLeader(runtime, { method, payload, epoch: null }),
  );
  await recordMessages(runtime, caller.seat, call, outcome);
  return answerOf(runtime, { requestId: request.requestId, method: apiMethod, sitter: caller.sitter }, outcome);
}

/** The file is named by its path: leader and followers are processes of one user on one host (protocol O-38). */
async function uploadCall(runtime: Runtime, request: CallApiRequest, caller: Caller): Promise<Ack> {
  const { requestId, args } = request;
  const [apiMethod, fields, field, path, name] = args;
  if (typeof apiMethod !== "string") return notAllowed(request, caller, wireText.callNotAllowed);
  const verdict = await judge(runtime, caller, { method: apiMethod, body: asBody(fields) ?? {} }, mayV1FollowerUpload);
  if (verdict.kind === "refused") return notAllowed(request, caller, verdict.reason);
  const asked = { requestId, method: apiMethod, sitter: caller.sitter };
  if (typeof field !== "string" || typeof path !== "string" || typeof name !== "string")
    return answerOf(runtime, asked, { kind: "notSent", reason: wireText.callFailed });
  const call = { method: apiMethod, body: withoutMarkers(verdict.call.body) };
  const file: UploadFile = { field, path, name };
  const outcome = await runtime.sends.send(placeOf(caller), call, ({ method, body: payload }) =>
    uploadAsLeader(runtime, { method, payload, epoch: null }, file),
  );
  await recordMessages(runtime, caller.seat, call, outcome);
  return answerOf(runtime, asked, outcome);
}

/** Whoever knows a file's id may have it; the suggested name is a name, never a folder. */
async function download(runtime: Runtime, request: CallApiRequest, caller: Caller): Promise<Ack> {
  const [fileId, name] = request.args;
  const outcome: CallOutcome =
    typeof fileId === "string"
      ? await downloadAsLeader(runtime, fileId, typeof name === "string" ? name : "")
      : { kind: "notSent", reason: wireText.callFailed };
  const asked = { requestId: request.requestId, method: "getFile", sitter: caller.sitter };
  // Nothing is committed by a download: whatever became of it, it may be asked for again (protocol O-12).
  if (outcome.kind === "ambiguous") return answerOf(runtime, asked, { kind: "notSent", reason: outcome.reason });
  return answerOf(runtime, asked, outcome);
}
