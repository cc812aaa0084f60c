/**
 * Bot API methods about text messages, buttons and reactions.
 *
 * Owns: send, edit, delete, copy, forward, react, chat action, callback answers. Does not own: media (methods-media.ts),
 * the checks shared by all sends (targets.ts). Not emulated: entity parsing; text is kept as it came.
 */
import type { Message, ReactionType } from "@grammyjs/types";
import { badRequest, NOT_MODIFIED, QUERY_TOO_OLD } from "./errors.ts";
import type { Method, MethodCall } from "./method-call.ts";
import { isRecord, type Params } from "./params.ts";
import { chatOf, keyboardOf, messageOf, sendTarget } from "./targets.ts";
import type { StoredMessage } from "./views.ts";

export const TEXT_LENGTH_MAX = 4096;
const CHAT_ACTIONS: ReadonlySet<string> = new Set([
  "typing",
  "upload_photo",
  "record_video",
  "upload_video",
  "record_voice",
  "upload_voice",
  "upload_document",
  "choose_sticker",
  "find_location",
  "record_video_note",
  "upload_video_note",
]);

function textOf(params: Params): string {
  const text = params.text("text");
  if (text.trim() === "") throw badRequest("message text is empty");
  if (text.length > TEXT_LENGTH_MAX) throw badRequest("message is too long");
  return text;
}

const sendMessage: Method = ({ core, params }) => {
  const text = textOf(params);
  const target = sendTarget(core, params);
  return core.world.post({ ...target, from: core.botUser, content: { ...target.content, text } }).message;
};

/** Checks the chat only: like Telegram, it does not look whether the topic exists. */
const sendChatAction: Method = ({ core, params }) => {
  const chat = chatOf(core, params);
  const action = params.text("action");
  if (!CHAT_ACTIONS.has(action)) throw badRequest("wrong parameter action in request");
  const threadId = params.integer("message_thread_id") ?? null;
  core.hub.emit({ type: "chatAction", chatId: chat.id, threadId, action });
  return true;
};

/** A message of the bot's own that can be edited. */
function editable({ core, params }: MethodCall): StoredMessage {
  const stored = messageOf(core, chatOf(core, params), params, "message to edit not found");
  if (stored.message.from?.id !== core.settings.bot.id) throw badRequest("message can't be edited");
  return stored;
}

function edit(call: MethodCall, stored: StoredMessage, content: Partial<Message>): Message {
  const { reply_markup: oldMarkup, ...rest } = stored.message;
  const markup = keyboardOf(call.params);
  const hasKeyboard = markup !== undefined && markup.inline_keyboard.length > 0;
  const sameContent = Object.values({ ...rest, ...content }).every((value, at) => value === Object.values(rest)[at]);
  const sameMarkup = JSON.stringify(oldMarkup?.inline_keyboard ?? []) === JSON.stringify(markup?.inline_keyboard ?? []);
  if (sameContent && sameMarkup) throw badRequest(NOT_MODIFIED);
  const message: Message = {
    ...rest,
    ...content,
    ...(hasKeyboard ? { reply_markup: markup } : {}),
    edit_date: Math.floor(call.core.nowMs / 1000),
  };
  return call.core.world.replace({ ...stored, message }).message;
}

const editMessageText: Method = (call) => {
  const text = textOf(call.params);
  const stored = editable(call);
  if (stored.message.text === undefined) throw badRequest("there is no text in the message to edit");
  return edit(call, stored, { text });
};

const editMessageCaption: Method = (call) => {
  const stored = editable(call);
  if (stored.file === null) throw badRequest("there is no caption in the message to edit");
  return edit(call, stored, { caption: call.params.text("caption") });
};

const editMessageReplyMarkup: Method = (call) => edit(call, editable(call), {});

const deleteMessage: Method = ({ core, params }) => {
  const chat = chatOf(core, params);
  const stored = messageOf(core, chat, params, "message to delete not found");
  core.world.deleteMessage(chat.id, stored.message.message_id);
  return true;
};

const deleteMessages: Method = ({ core, params }) => {
  const chat = chatOf(core, params);
  const ids = params.list("message_ids");
  if (ids === undefined || ids.length === 0) throw badRequest("message identifiers are not specified");
  for (const id of ids) if (typeof id === "number") core.world.deleteMessage(chat.id, id);
  return true;
};

const setMessageReaction: Method = ({ core, params }) => {
  const stored = messageOf(core, chatOf(core, params), params, "message to react not found");
  const emoji = (params.list("reaction") ?? []).filter(isRecord).map((reaction) => reaction["emoji"]);
  if (emoji.length > 1) throw badRequest("REACTIONS_TOO_MANY");
  const reactions = new Map(stored.reactions);
  const set = emoji.filter((value) => typeof value === "string");
  if (set.length === 0) reactions.delete(core.settings.bot.id);
  else reactions.set(core.settings.bot.id, set);
  core.world.replace({ ...stored, reactions });
  return true;
};

const answerCallbackQuery: Method = ({ core, params }) => {
  const queryId = params.text("callback_query_id");
  if (!core.isCallbackOpen(queryId)) throw badRequest(QUERY_TOO_OLD);
  core.hub.emit({ type: "callbackAnswered", queryId, text: params.text("text") });
  return true;
};

/** The source message of a copy or forward, and the target to put it in. */
function transfer({ core, params }: MethodCall, missing: string): { source: StoredMessage; posted: () => Message } {
  const source = messageOf(core, chatOf(core, params, "from_chat_id"), params, missing);
  const target = sendTarget(core, params);
  const { text, caption, photo, document, video, audio, voice, animation, sticker } = source.message;
  const parts: Partial<Record<keyof Message, unknown>> = {
    text,
    caption,
    photo,
    document,
    video,
    audio,
    voice,
    animation,
    sticker,
  };
  const kept = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
  const file = source.file === null ? {} : { file: source.file };
  const content: Partial<Message> = { ...target.content, ...kept };
  return { source, posted: () => core.world.post({ ...target, ...file, from: core.botUser, content }).message };
}

const copyMessage: Method = (call) => ({ message_id: transfer(call, "message to copy not found").posted().message_id });

const forwardMessage: Method = (call) => transfer(call, "message to forward not found").posted();

export function reactionTypes(emoji: readonly string[]): ReactionType[] {
  // Telegram has a closed list of emoji; the emulator takes any, as custom clients of a test do.
  return emoji.map((value) => ({ type: "emoji", emoji: value }) as ReactionType);
}

export const messageMethods: Readonly<Record<string, Method>> = {
  sendMessage,
  sendChatAction,
  editMessageText,
  editMessageCaption,
  editMessageReplyMarkup,
  deleteMessage,
  deleteMessages,
  setMessageReaction,
  answerCallbackQuery,
  copyMessage,
  forwardMessage,
};
