/** C60: only the chat was checked, or only messages were: any member of a group could drive the bot or approve. */
import { expect, test } from "vitest";
import {
  callbackUpdate,
  group,
  messageUpdate,
  owner,
  stranger,
  strangerUser,
  threads,
} from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();
const groupChat = { id: group, type: "supergroup", title: "Group", is_forum: true } as const;
const ownerChat = { id: owner, type: "private", first_name: "Owner" } as const;
const ownerUser = { id: owner, is_bot: false, first_name: "Owner" } as const;
const strangerChat = { id: stranger, type: "private", first_name: "Stranger" } as const;
type Chat = typeof groupChat | typeof ownerChat | typeof strangerChat;

/** One update of every kind that can do something, caused by `from` in `chat`. */
function updatesOf(from: object, chat: Chat, threadId: number): Record<string, unknown>[] {
  const message = { ...messageUpdate(1, threadId, "let me in").message, chat, from };
  const { callback_query: query } = callbackUpdate(1, threadId, 500);
  const reaction = {
    chat,
    message_id: 500,
    user: from,
    date: 1,
    old_reaction: [],
    new_reaction: [{ type: "emoji", emoji: "👍" }],
  };
  const member = { user: from, status: "member" };
  return [
    { message },
    { edited_message: { ...message, edit_date: 2 } },
    { callback_query: { ...query, id: `${Math.abs(chat.id)}${threadId}`, from, message: { ...query.message, chat } } },
    { message_reaction: reaction },
    { my_chat_member: { chat, from, date: 1, old_chat_member: member, new_chat_member: member } },
    { inline_query: { id: "1", from, query: "x", offset: "" } },
  ];
}

test("C60 updates/OP-44 nothing that a stranger does reaches a follower, in a group, in private or about the owner's messages", async () => {
  const line = await open({ chats: [{ id: group, type: "supergroup", title: "Group" }] });
  await line.startAll(["L"]);
  line.control.setNextMessageId({ next: threads.FB });
  const fb = await line.start({ name: "FB" }).whenReady();
  const before = (await line.status()).drops["unauthorized"] ?? 0;
  // A message of the owner that edits and reactions can be about.
  const { messageId } = line.control.userSends({ threadId: threads.FB, text: "mine" });
  await until("it arrives", () => fb.texts.includes("mine"));

  const updates = [
    ...updatesOf(strangerUser, groupChat, threads.FB),
    ...updatesOf(strangerUser, strangerChat, threads.FB),
    ...updatesOf(strangerUser, ownerChat, threads.FB),
    {
      edited_message: {
        ...messageUpdate(1, threads.FB, "changed").message,
        message_id: messageId,
        from: strangerUser,
        edit_date: 2,
      },
    },
    {
      message_reaction: {
        chat: ownerChat,
        message_id: messageId,
        user: strangerUser,
        date: 1,
        old_reaction: [],
        new_reaction: [],
      },
    },
    // Speaking as a chat, and an anonymous admin: not the owner, whatever `from` says.
    {
      message: {
        ...messageUpdate(1, threads.FB, "as a channel").message,
        sender_chat: { id: -1_001, type: "channel", title: "C" },
      },
    },
    {
      message: {
        ...messageUpdate(1, threads.FB, "anonymous").message,
        from: { id: 1_087_968_824, is_bot: true, first_name: "Group" },
        sender_chat: groupChat,
      },
    },
    {
      message_reaction: {
        chat: ownerChat,
        message_id: messageId,
        actor_chat: groupChat,
        date: 1,
        old_reaction: [],
        new_reaction: [],
      },
    },
    // The owner's name on a bot.
    { message: { ...messageUpdate(1, threads.FB, "a bot").message, from: { ...ownerUser, is_bot: true } } },
  ];
  for (const update of updates) line.control.rawUpdate({ update });
  line.say(threads.FB, "mine too");
  await until("what the owner writes afterwards arrives", () => fb.texts.includes("mine too"));
  await until("nothing waits", () => line.openUpdates().length === 0);

  expect(line.agents.flatMap((agent) => agent.updates.map(({ update }) => update.message?.text))).toEqual([
    "mine",
    "mine too",
  ]);
  expect(((await line.status()).drops["unauthorized"] ?? 0) - before).toBe(updates.length);
});

test("C60 what the owner does in a foreign chat has no effect either; in the right one every kind arrives", async () => {
  const line = await open({ chats: [{ id: group, type: "supergroup", title: "Group" }] });
  await line.startAll(["L"]);
  line.control.setNextMessageId({ next: threads.FB });
  const fb = await line.start({ name: "FB" }).whenReady();
  const { messageId } = line.control.userSends({ threadId: threads.FB, text: "mine" });
  for (const update of updatesOf(ownerUser, groupChat, threads.FB).slice(0, 4)) line.control.rawUpdate({ update });
  await until("it arrives", () => fb.texts.includes("mine"));
  line.control.userEdits({ messageId, text: "mine, edited" });
  line.control.userReacts({ messageId, emoji: "👍" });
  const { callback_query: query } = callbackUpdate(1, threads.FB, messageId);
  line.control.rawUpdate({ update: { callback_query: query } });
  const kinds = (): string[] =>
    fb.updates.map(({ update }) => Object.keys(update).find((key) => key !== "update_id") ?? "");
  await until("all kinds arrive", () => kinds().length >= 4);
  expect(kinds().sort()).toEqual(["callback_query", "edited_message", "message", "message_reaction"]);
  expect((await line.status()).drops["foreign-chat"]).toBe(4);
});
