/**
 * Bot API methods about the bot itself, its updates and its chats.
 *
 * Owns: getMe, getUpdates, webhook methods, commands, getChat. Does not own: the rules of polling (polls.ts).
 */
import type { Chat } from "@grammyjs/types";
import { badRequest } from "./errors.ts";
import type { Method } from "./method-call.ts";
import type { Params } from "./params.ts";
import { chatOf } from "./targets.ts";

const getMe: Method = ({ core }) => ({ ...core.settings.bot, has_topics_enabled: core.topicsEnabled });

const getUpdates: Method = async ({ core, params, signal }) => {
  const updates = await core.polls.poll(
    {
      offset: params.integer("offset") ?? 0,
      limit: params.integer("limit"),
      timeoutS: params.integer("timeout") ?? 0,
      allowedUpdates: allowedUpdates(params),
    },
    signal,
  );
  return updates.map(({ id, body }) => ({ update_id: id, ...body }));
};

/** Undefined when not named or not a list: the previous setting stays. */
function allowedUpdates(params: Params): string[] | undefined {
  return params.list("allowed_updates")?.filter((type) => typeof type === "string");
}

const setWebhook: Method = ({ core, params }) => {
  const url = params.text("url");
  if (url !== "" && !url.startsWith("https://")) {
    throw badRequest("bad webhook: An HTTPS URL must be provided for webhook");
  }
  const types = allowedUpdates(params);
  if (types !== undefined) core.queue.setAllowed(types);
  dropPending(core, params);
  core.polls.setWebhook(url);
  return true;
};

const deleteWebhook: Method = ({ core, params }) => {
  dropPending(core, params);
  core.polls.setWebhook("");
  return true;
};

function dropPending(core: Parameters<Method>[0]["core"], params: Params): void {
  if (params.flag("drop_pending_updates")) core.droppedPendingUpdates += core.queue.drop();
}

const getWebhookInfo: Method = ({ core }) => ({
  url: core.polls.webhookUrl,
  has_custom_certificate: false,
  pending_update_count: core.queue.pending.length,
  ...(core.queue.allowed === null ? {} : { allowed_updates: core.queue.allowed }),
});

const setMyCommands: Method = ({ core, params }) => {
  const commands = params.list("commands");
  if (commands === undefined) throw badRequest("can't parse commands JSON object");
  core.commands = commands;
  return true;
};

const deleteMyCommands: Method = ({ core }) => {
  core.commands = [];
  return true;
};

const getMyCommands: Method = ({ core }) => core.commands;

const getChat: Method = ({ core, params }) => fullInfo(chatOf(core, params));

function fullInfo(chat: Chat): object {
  return { ...chat, accent_color_id: 0, max_reaction_count: 11, accepted_gift_types: {} };
}

const getChatMember: Method = ({ core, params }) => {
  const chat = chatOf(core, params);
  const userId = params.integer("user_id");
  if (userId === core.settings.bot.id) {
    return { status: "administrator", user: core.botUser, can_manage_topics: chat.type === "supergroup" };
  }
  if (userId === core.settings.owner.id) return { status: "creator", user: core.settings.owner, is_anonymous: false };
  throw badRequest("PARTICIPANT_ID_INVALID");
};

/** `logOut` and `close` of the Bot API server do nothing here. */
const acknowledge: Method = () => true;

export const accountMethods: Readonly<Record<string, Method>> = {
  getMe,
  getUpdates,
  setWebhook,
  deleteWebhook,
  getWebhookInfo,
  setMyCommands,
  deleteMyCommands,
  getMyCommands,
  getChat,
  getChatMember,
  logOut: acknowledge,
  close: acknowledge,
};
