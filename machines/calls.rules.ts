/**
 * Which Bot API calls an instance may make through the leader, and how they are confined to its thread.
 *
 * Owns: the authorisation table of the wire for v1 followers (protocol §4.9), the wider rule for our own instances
 * (every method whose chat and thread are their own), filling in chat and thread.
 * Does not own: looking up who owns a message (the caller brings the answer), the call.
 *
 * Judged on what the leader knows of the seat, never on what the request claims.
 */
import { aggregateDeliveryMarker, crossTargetDeliveryMarker } from "./wire/constants.ts";
import type { ThreadTarget } from "./ids.ts";

export type Body = Readonly<Record<string, unknown>>;

/** A call as it would go to Telegram. */
export interface ApiCall {
  readonly method: string;
  readonly body: Body;
}

export const asBody = (value: unknown): Body | null =>
  // After this check a body's fields may be read by name; what they hold stays unknown.
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Body) : null;

/** Equal as a number or as its canonical decimal text. */
const isId = (value: unknown, id: number): boolean => value === id || value === String(id);

/** An integer or its canonical decimal text; null for everything else (protocol O-37). */
export function canonicalInteger(value: unknown): number | null {
  if (Number.isSafeInteger(value)) return Number(value);
  if (typeof value !== "string" || !/^(0|-?[1-9][0-9]*)$/.test(value)) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : null;
}

/**
 * The messages that a call is about when it edits, deletes, copies or reacts: who owns them decides. `null` = it names
 * messages in a way that cannot be read, and so none that anybody owns.
 */
export function messagesOf(body: Body): readonly number[] | null {
  const named: readonly unknown[] = [
    ...(body["message_id"] === undefined ? [] : [body["message_id"]]),
    ...(Array.isArray(body["message_ids"]) ? (body["message_ids"] as readonly unknown[]) : []),
  ];
  if (body["message_ids"] !== undefined && !Array.isArray(body["message_ids"])) return null;
  const ids = named.map(canonicalInteger);
  return ids.every((id) => id !== null) ? ids : null;
}

const isOwnChat = (body: Body, own: ThreadTarget): boolean => isId(body["chat_id"], own.chatId);
const isOwnTarget = (body: Body, own: ThreadTarget): boolean =>
  isOwnChat(body, own) && isId(body["message_thread_id"], own.threadId);

const always = new Set(["answerCallbackQuery", "answerGuestQuery", "getMe"]);
const ownMessage = new Set(["deleteMessage", "editMessageReplyMarkup", "editMessageText"]);
const ownTarget = new Set([
  "closeForumTopic",
  "deleteForumTopic",
  "editForumTopic",
  "sendMessage",
  "sendMessageDraft",
  "sendRichMessage",
  "sendRichMessageDraft",
]);

function isCommandList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((each) => {
      const command = asBody(each);
      return typeof command?.["command"] === "string" && typeof command["description"] === "string";
    })
  );
}

function isOtherThread(body: Body, own: OwnThread): boolean {
  if (!isId(body["chat_id"], own.chatId)) return false;
  if (!("message_thread_id" in body)) return true;
  const thread = canonicalInteger(body["message_thread_id"]);
  return thread !== null && thread !== own.threadId;
}

/** The wire's own table: first matching row decides, anything else is refused. */
export function mayV1FollowerCall(call: ApiCall, own: ThreadTarget, ownsMessage: boolean): boolean {
  const { method, body } = call;
  if (always.has(method)) return true;
  if (method === "setMyCommands") return isCommandList(body["commands"]);
  if (method === "sendChatAction") return isOwnChat(body, own);
  if (method === "sendMessage" && body[aggregateDeliveryMarker] === true)
    return !("message_thread_id" in body) && isOwnChat(body, own);
  if ((method === "sendMessage" || method === "sendRichMessage") && body[crossTargetDeliveryMarker] === true)
    return isOtherThread(body, own);
  if (ownMessage.has(method))
    return isOwnChat(body, own) && canonicalInteger(body["message_id"]) !== null && ownsMessage;
  return ownTarget.has(method) && isOwnTarget(body, own);
}

const ownTargetUploads = new Set([
  "sendAudio",
  "sendDocument",
  "sendMediaGroup",
  "sendPhoto",
  "sendRichMessage",
  "sendVoice",
]);

/** The wire's table for calls that carry a file. Markers mean nothing there. */
export const mayV1FollowerUpload = ({ method, body }: ApiCall, own: ThreadTarget): boolean =>
  ownTargetUploads.has(method) && isOwnTarget(body, own);

/** Methods that concern the line as a whole: the leader's alone, or nobody's. In lower case, as the Bot API reads them. */
const lineMethods = new Set(
  [
    "getUpdates",
    "setWebhook",
    "deleteWebhook",
    "getWebhookInfo",
    "logOut",
    "close",
    "createForumTopic",
    "reopenForumTopic",
    "closeGeneralForumTopic",
    "editGeneralForumTopic",
    "hideGeneralForumTopic",
    "unhideGeneralForumTopic",
    "reopenGeneralForumTopic",
    "unpinAllGeneralForumTopicMessages",
    "unpinAllChatMessages",
    "leaveChat",
  ].map((method) => method.toLowerCase()),
);

/** Why no instance may make this call, whatever it holds; null when some call of the method may be made. */
export const faultOfMethod = (method: string): string | null =>
  lineMethods.has(method.toLowerCase()) ? `${method} concerns the whole line and is not an instance's to call` : null;

/** Calls that put something into a thread, and so take its id. */
export const isThreadScoped = (method: string): boolean => /^(send|copyMessage|forwardMessage)/i.test(method);
/** Calls on the thread itself. */
const isTopicMethod = (method: string): boolean => /ForumTopic/i.test(method);

export type CallVerdict =
  { readonly kind: "allowed"; readonly call: ApiCall } | { readonly kind: "refused"; readonly reason: string };

const shown = (value: unknown): string => JSON.stringify({ value }).slice(9, -1);
const refused = (reason: string): CallVerdict => ({ kind: "refused", reason });

/** What an instance may call its own. `threadId` null (classic): the whole chat. */
export interface OwnThread {
  readonly chatId: number;
  readonly threadId: number | null;
}

/** Why a call reaches beyond the instance's own thread; null when it does not. */
function reachesBeyond({ method, body }: ApiCall, own: OwnThread, ownsMessages: boolean): string | null {
  for (const field of ["chat_id", "from_chat_id"])
    if (body[field] !== undefined && !isId(body[field], own.chatId))
      return `chat ${shown(body[field])} is not this instance's chat`;
  const thread = body["message_thread_id"];
  if (thread !== undefined && own.threadId !== null && !isId(thread, own.threadId))
    return `thread ${shown(thread)} is not this instance's thread`;
  const namesMessages = body["message_id"] !== undefined || body["message_ids"] !== undefined;
  if (namesMessages && !ownsMessages)
    return `message ${shown(body["message_id"] ?? body["message_ids"])} is not this instance's message`;
  if (method.toLowerCase() === "unpinchatmessage" && !namesMessages)
    return "unpinning without a message may unpin another instance's";
  return null;
}

/** A message to another agent: into another thread of the same chat, named canonically (protocol O-37). */
function confineToAnotherThread({ method, body }: ApiCall, own: OwnThread, ownsMessages: boolean): CallVerdict {
  const { message_thread_id: thread, ...rest } = withoutMarkers(body);
  const beyond = reachesBeyond({ method, body: rest }, own, ownsMessages);
  if (beyond !== null) return refused(beyond);
  if (method !== "sendMessage" || own.threadId === null || thread === undefined || !isOtherThread(body, own))
    return refused(`${method} may not go to thread ${shown(thread)}`);
  return { kind: "allowed", call: { method, body: { ...rest, message_thread_id: thread } } };
}

/**
 * What our own instance's call becomes: chat and thread filled in, or a refusal. `ownsMessages` = every message that the
 * call names belongs to this instance's seat.
 */
export function confineOwnCall(call: ApiCall, own: OwnThread, ownsMessages: boolean): CallVerdict {
  const { method, body } = call;
  if (body[crossTargetDeliveryMarker] === true) return confineToAnotherThread(call, own, ownsMessages);
  const fault = faultOfMethod(method);
  if (fault !== null) return refused(fault);
  const beyond = reachesBeyond(call, own, ownsMessages);
  if (beyond !== null) return refused(beyond);

  const takesThread = isThreadScoped(method) || isTopicMethod(method);
  const takesChat = takesThread || body["message_id"] !== undefined || body["message_ids"] !== undefined;
  if (!takesChat) return { kind: "allowed", call: { method, body: withoutMarkers(body) } };
  const thread = takesThread && own.threadId !== null ? { message_thread_id: own.threadId } : {};
  return { kind: "allowed", call: { method, body: { ...withoutMarkers(body), chat_id: own.chatId, ...thread } } };
}

/** General, where something has to name it: in updates of old clients and in chat actions. */
const generalThread = 1;
/** Supergroups have ids below this; only they have a General beside their topics. */
const supergroupIdsBelow = -1_000_000_000_000;

/**
 * A call on a supergroup's General as the Bot API takes it: a message names no thread, for 1 is refused; a chat action names 1,
 * for otherwise it is shown nowhere. `hasTopics` false: the chat has no General, only itself. Source: Bot API, `sendChatAction`.
 */
export function toGeneral(call: ApiCall, hasTopics: boolean): ApiCall {
  const { method, body } = call;
  const chat = canonicalInteger(body["chat_id"]);
  if (!hasTopics || chat === null || chat > supergroupIdsBelow || !isThreadScoped(method)) return call;
  const { message_thread_id: thread, ...rest } = body;
  const isGeneral = thread === undefined || canonicalInteger(thread) === generalThread;
  if (!isGeneral) return call;
  const isAction = method.toLowerCase() === "sendchataction";
  return { method, body: isAction ? { ...rest, message_thread_id: generalThread } : rest };
}

/** Markers steer the authorisation only; they never reach Telegram. */
export function withoutMarkers(body: Body): Body {
  const marked = new Set<string>([aggregateDeliveryMarker, crossTargetDeliveryMarker]);
  return Object.fromEntries(Object.entries(body).filter(([key]) => !marked.has(key)));
}

/** Methods that may be repeated after an unknown outcome: doing them twice is doing them once (protocol §6.11). */
const retrySafe = new Set<string>([
  "answerCallbackQuery",
  "closeForumTopic",
  "deleteForumTopic",
  "deleteMessage",
  // An operation of the bus, not a method (protocol O-12).
  "downloadFile",
  "editForumTopic",
  "editMessageCaption",
  "editMessageReplyMarkup",
  "editMessageText",
  "setMessageReaction",
  "getChat",
  "getFile",
  "getMe",
  "sendChatAction",
  "sendMessageDraft",
  "sendRichMessageDraft",
  "setMyCommands",
]);
export const isRetrySafe = (method: string): boolean => retrySafe.has(method) || /^get/i.test(method);

/** A message that a call made. `chatId` is the one that the message itself names; null when it names none. */
export interface MadeMessage {
  readonly chatId: number | null;
  readonly messageId: number;
}

/** The messages that a successful call made, for the ownership table. */
export function messagesMade(method: string, result: unknown): readonly MadeMessage[] {
  if (!isThreadScoped(method) || method === "sendChatAction") return [];
  const items: readonly unknown[] = Array.isArray(result) ? result : [result];
  return items.flatMap((item) => {
    const message = asBody(item);
    const messageId = canonicalInteger(message?.["message_id"]);
    return messageId === null ? [] : [{ chatId: canonicalInteger(asBody(message?.["chat"])?.["id"]), messageId }];
  });
}
