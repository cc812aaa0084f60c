/** The confinement of our own instances' calls: own chat, own thread, own messages, however the method is written. */
import { describe, expect, it } from "vitest";
import { confineOwnCall } from "../../../machines/calls.rules.ts";
import type { Body } from "../../../machines/calls.rules.ts";

const ownChat = { chat_id: -1001 };
const ownTarget = { ...ownChat, message_thread_id: 5 };
const otherChat = { chat_id: -1002 };
const otherThread = { ...ownChat, message_thread_id: 6 };

const confine = (method: string, body: Body, ownsMessages = false) =>
  confineOwnCall({ method, body }, { chatId: -1001, threadId: 5 }, ownsMessages);
const allowed = (method: string, body: Body) => ({ kind: "allowed", call: { method, body } });
/** The Bot API reads method names without regard to case. */
const spellings = (method: string): readonly string[] => [
  method,
  method.toLowerCase(),
  method.toUpperCase(),
  `${method.slice(0, 1).toUpperCase()}${method.slice(1)}`,
];

describe("calls of our own instances", () => {
  it.each(
    [
      "sendMessage",
      "sendPhoto",
      "copyMessage",
      "copyMessages",
      "forwardMessage",
      "forwardMessages",
      "editForumTopic",
      "closeForumTopic",
      "deleteForumTopic",
      "unpinAllForumTopicMessages",
    ].flatMap(spellings),
  )("%s gets the instance's own chat and thread filled in", (method) => {
    expect(confine(method, { text: "x" })).toEqual(allowed(method, { text: "x", ...ownTarget }));
    expect(confine(method, ownTarget)).toEqual(allowed(method, ownTarget));
    expect(confine(method, { chat_id: "-1001", message_thread_id: "5" })).toEqual(allowed(method, ownTarget));
  });

  it("are refused into another chat and another thread, with the reason", () => {
    expect(confine("sendMessage", otherChat)).toEqual({
      kind: "refused",
      reason: "chat -1002 is not this instance's chat",
    });
    expect(confine("sendMessage", otherThread)).toEqual({
      kind: "refused",
      reason: "thread 6 is not this instance's thread",
    });
    expect(confine("getChat", otherChat)).toMatchObject({ kind: "refused" });
  });

  it("touch only the instance's own messages; the chat is filled in", () => {
    expect(confine("editMessageText", { message_id: 7 }, true)).toEqual(
      allowed("editMessageText", { message_id: 7, ...ownChat }),
    );
    expect(confine("editMessageText", { message_id: 7 })).toEqual({
      kind: "refused",
      reason: "message 7 is not this instance's message",
    });
    expect(confine("deleteMessage", { ...ownChat, message_id: 7 })).toMatchObject({ kind: "refused" });
    expect(confine("setMessageReaction", { ...ownChat, message_id: 7 }, true)).toMatchObject({ kind: "allowed" });
  });

  it("pass as they are when they name neither chat nor message", () => {
    expect(confine("getMe", {})).toEqual(allowed("getMe", {}));
    expect(confine("answerCallbackQuery", { callback_query_id: "1" })).toMatchObject({ kind: "allowed" });
    const inline = { inline_message_id: "1", text: "x" };
    expect(confine("editMessageText", inline)).toEqual(allowed("editMessageText", inline));
  });

  it.each(
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
    ].flatMap(spellings),
  )("%s concerns the line, and is refused", (method) => {
    for (const body of [{}, ownTarget, { ...ownTarget, message_id: 7, inline_message_id: "1" }])
      expect(confine(method, body, true)).toEqual({
        kind: "refused",
        reason: `${method} concerns the whole line and is not an instance's to call`,
      });
  });

  it("have the whole chat while the bot has no topics, and get no thread", () => {
    const whole = (body: Body) =>
      confineOwnCall({ method: "sendMessage", body }, { chatId: -1001, threadId: null }, false);
    expect(whole({ text: "x" })).toEqual(allowed("sendMessage", { text: "x", ...ownChat }));
    expect(whole(otherThread)).toEqual(allowed("sendMessage", otherThread));
    expect(whole(otherChat)).toMatchObject({ kind: "refused" });
  });
});

describe("several messages at once", () => {
  it.each(["deleteMessages", "DELETEMESSAGES"])("%s is refused unless all of them are the instance's", (method) => {
    const body = { ...ownChat, message_ids: [7, 8] };
    expect(confine(method, body)).toEqual({
      kind: "refused",
      reason: "message [7,8] is not this instance's message",
    });
    expect(confine(method, body, true)).toEqual(allowed(method, body));
  });

  it("get the instance's own chat filled in", () => {
    expect(confine("deleteMessages", { message_ids: [7] }, true)).toEqual(
      allowed("deleteMessages", { message_ids: [7], ...ownChat }),
    );
  });

  it("are asked about however they are written: an unreadable list is no empty one", () => {
    for (const named of [null, "[7]", []])
      expect(confine("deleteMessages", { ...ownChat, message_ids: named })).toMatchObject({ kind: "refused" });
  });
});

describe("forwarding and copying", () => {
  const methods = ["forwardMessage", "forwardMessages", "copyMessage", "copyMessages", "FORWARDMESSAGE"];

  it.each(methods)("%s takes nothing out of another chat", (method) => {
    for (const from of [-1002, "-1002", "@elsewhere", null, "-01001"])
      expect(confine(method, { ...ownTarget, from_chat_id: from, message_id: 7 }, true)).toMatchObject({
        kind: "refused",
        reason: expect.stringContaining("is not this instance's chat") as string,
      });
  });

  it.each(methods)("%s takes the instance's own messages out of its own chat, into its own thread", (method) => {
    for (const from of [-1001, "-1001"]) {
      const body = { from_chat_id: from, message_id: 7 };
      expect(confine(method, body, true)).toEqual(allowed(method, { ...body, ...ownTarget }));
      expect(confine(method, body)).toMatchObject({ kind: "refused" });
    }
  });
});

describe("unpinning", () => {
  it.each(spellings("unpinChatMessage"))("%s needs a message: the latest may be another instance's", (method) => {
    for (const body of [ownChat, {}, { ...ownChat, inline_message_id: "1" }])
      expect(confine(method, body, true)).toEqual({
        kind: "refused",
        reason: "unpinning without a message may unpin another instance's",
      });
  });

  it("of the instance's own message is allowed, of another's is not", () => {
    const body = { ...ownChat, message_id: 7 };
    expect(confine("unpinChatMessage", body, true)).toEqual(allowed("unpinChatMessage", body));
    expect(confine("unpinChatMessage", body)).toMatchObject({ kind: "refused" });
    expect(confine("pinChatMessage", body)).toMatchObject({ kind: "refused" });
  });
});

describe("an inline message's id", () => {
  it("names no chat and no message: the call passes as it is", () => {
    for (const method of spellings("editMessageReplyMarkup"))
      expect(confine(method, { inline_message_id: "1" })).toEqual(allowed(method, { inline_message_id: "1" }));
  });

  it("does not take the call into another chat or thread", () => {
    expect(confine("editMessageText", { inline_message_id: "1", ...otherChat })).toMatchObject({ kind: "refused" });
    expect(confine("sendMessage", { inline_message_id: "1", ...otherThread })).toMatchObject({ kind: "refused" });
  });

  // Telegram reads it only where neither chat nor message is given, and only in methods that edit.
  it.each(["deleteMessage", "editMessageText", "unpinChatMessage", "setMessageReaction"])(
    "beside a message that is another instance's does not let %s touch that one",
    (method) => {
      const body = { ...ownChat, message_id: 7, inline_message_id: "1" };
      expect(confine(method, body)).toMatchObject({ kind: "refused" });
    },
  );

  it("beside several messages of others does not let them be deleted", () => {
    const body = { ...ownChat, message_ids: [7, 8], inline_message_id: "1" };
    expect(confine("deleteMessages", body)).toMatchObject({ kind: "refused" });
  });

  it("in a call that sends does not keep it out of the instance's own thread", () => {
    expect(confine("sendMessage", { ...ownChat, text: "x", inline_message_id: "1" })).toMatchObject({
      call: { body: { message_thread_id: 5 } },
    });
  });
});
