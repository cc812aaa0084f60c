/**
 * Bot API methods about forum topics, in private chats and in supergroup forums.
 *
 * Owns: which topic calls are refused and with which text. Does not own: the threads themselves (world.ts).
 * Invariants: every edit really checks that the topic exists; close and reopen exist in supergroups only.
 */
import type { Chat, Message } from "@grammyjs/types";
import type { Core } from "./core.ts";
import { badRequest } from "./errors.ts";
import type { Method, MethodCall } from "./method-call.ts";
import type { Params } from "./params.ts";
import { chatOf } from "./targets.ts";
import type { Thread } from "./world.ts";

const ICON_COLORS = [7322096, 16766590, 13338331, 9367192, 16749490, 16478047];
const NAME_LENGTH_MAX = 128;

function forumOf(core: Core, params: Params): Chat {
  const chat = chatOf(core, params);
  if (!core.hasThreads(chat)) throw badRequest("the chat is not a forum");
  return chat;
}

function topicOf(core: Core, chat: Chat, params: Params): Thread {
  const threadId = params.integer("message_thread_id");
  const thread = threadId === undefined ? undefined : core.world.thread(chat.id, threadId);
  if (thread === undefined) throw badRequest("TOPIC_ID_INVALID");
  return thread;
}

/** The topic of a call that changes it; a deleted one is refused by name. */
function livingTopicOf(core: Core, chat: Chat, params: Params): Thread {
  const thread = topicOf(core, chat, params);
  if (thread.status === "deleted") throw badRequest("TOPIC_DELETED");
  return thread;
}

function checkName(name: string): string {
  if (name.trim() === "") throw badRequest("topic name is empty");
  if (name.length > NAME_LENGTH_MAX) throw badRequest("TOPIC_TITLE_INVALID");
  return name;
}

const createForumTopic: Method = ({ core, params }) => {
  const chat = forumOf(core, params);
  const name = checkName(params.text("name"));
  const iconColor = params.integer("icon_color") ?? ICON_COLORS[0] ?? 0;
  if (!ICON_COLORS.includes(iconColor)) throw badRequest("invalid icon color specified");
  const iconCustomEmojiId = params.has("icon_custom_emoji_id") ? params.text("icon_custom_emoji_id") : null;
  const { thread, created } = core.world.createThread({ chat, from: core.botUser, name, iconColor, iconCustomEmojiId });
  core.announceService(created);
  return {
    message_thread_id: thread.threadId,
    name: thread.name,
    icon_color: thread.iconColor,
    ...(iconCustomEmojiId === null ? {} : { icon_custom_emoji_id: iconCustomEmojiId }),
  };
};

const editForumTopic: Method = ({ core, params }) => {
  const chat = forumOf(core, params);
  const thread = livingTopicOf(core, chat, params);
  const name = params.has("name") ? checkName(params.text("name")) : undefined;
  const icon = params.record["icon_custom_emoji_id"] === undefined ? undefined : params.text("icon_custom_emoji_id");
  if (name === undefined && icon === undefined) return true;
  const newName = name === undefined || name === thread.name ? undefined : name;
  const newIcon = icon === undefined || icon === (thread.iconCustomEmojiId ?? "") ? undefined : icon;
  if (newName === undefined && newIcon === undefined) throw badRequest("TOPIC_NOT_MODIFIED");
  core.world.changeThread(thread, {
    ...(newName === undefined ? {} : { name: newName }),
    ...(newIcon === undefined ? {} : { iconCustomEmojiId: newIcon === "" ? null : newIcon }),
  });
  announce(core, chat, thread, {
    forum_topic_edited: {
      ...(newName === undefined ? {} : { name: newName }),
      ...(newIcon === undefined ? {} : { icon_custom_emoji_id: newIcon }),
    },
  });
  return true;
};

const deleteForumTopic: Method = ({ core, params }) => {
  const chat = forumOf(core, params);
  const thread = topicOf(core, chat, params);
  if (thread.status === "deleted") throw badRequest("TOPIC_ID_INVALID");
  core.world.deleteThread(thread);
  return true;
};

function setStatus({ core, params }: MethodCall, status: "open" | "closed", content: Partial<Message>): true {
  const chat = chatOf(core, params);
  if (chat.type !== "supergroup") throw badRequest("the chat is not a supergroup forum");
  if (!core.hasThreads(chat)) throw badRequest("the chat is not a forum");
  const thread = livingTopicOf(core, chat, params);
  if (thread.status === status) throw badRequest("TOPIC_NOT_MODIFIED");
  core.world.changeThread(thread, { status });
  announce(core, chat, thread, content);
  return true;
}

function announce(core: Core, chat: Chat, thread: Thread, content: Partial<Message>): void {
  core.postService({ chat, threadId: thread.threadId, from: core.botUser, content });
}

export const topicMethods: Readonly<Record<string, Method>> = {
  createForumTopic,
  editForumTopic,
  deleteForumTopic,
  closeForumTopic: (call) => setStatus(call, "closed", { forum_topic_closed: {} }),
  reopenForumTopic: (call) => setStatus(call, "open", { forum_topic_reopened: {} }),
};
