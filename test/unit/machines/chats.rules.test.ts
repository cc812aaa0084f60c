/** Where a chat is that became another, what tells of it, and what becomes of a call that named the old one. */
import { describe, expect, it } from "vitest";
import {
  canBecomeAnother,
  chatAfter,
  formerChats,
  inNewChat,
  isNewMove,
  moveToldBy,
} from "../../../machines/chats.rules.ts";
import { chatId } from "../../../machines/ids.ts";

const move = (from: number, to: number) => ({ from: chatId(from), to: chatId(to) });
const group = chatId(-5);
const supergroup = chatId(-1_005);

describe("where a chat is by now", () => {
  const moves = [move(-5, -1_005), move(-6, -1_006), move(-1_005, -1_007)];

  it("is itself, or what it became, step by step", () => {
    expect(chatAfter(chatId(-9), moves)).toBe(-9);
    expect(chatAfter(chatId(-6), moves)).toBe(-1_006);
    expect(chatAfter(group, moves)).toBe(-1_007);
  });

  it("has its former ids, whichever of them is configured", () => {
    expect(formerChats(chatId(-1_007), moves)).toEqual([-5, -1_005]);
    expect(formerChats(chatId(-9), moves)).toEqual([]);
  });

  it("is what it was where it is no group", () => {
    expect([chatId(7), group].map(canBecomeAnother)).toEqual([false, true]);
  });

  it("is found even among moves that go round, which are not kept", () => {
    expect([-5, -6]).toContain(chatAfter(group, [move(-5, -6), move(-6, -5)]));
    expect(isNewMove(move(-1_007, -5), moves)).toBe(false);
    expect(isNewMove(move(-5, -5), [])).toBe(false);
    expect(isNewMove(move(-5, -1_008), moves)).toBe(false);
    expect(isNewMove(move(-9, -1_005), moves)).toBe(true);
  });
});

describe("what tells of a move", () => {
  const message = (chat: number, content: object) => ({
    update_id: 1,
    message: { message_id: 1, chat: { id: chat }, ...content },
  });

  it("is a service message in either chat", () => {
    expect(moveToldBy(message(group, { migrate_to_chat_id: supergroup }))).toEqual(move(group, supergroup));
    expect(moveToldBy(message(supergroup, { migrate_from_chat_id: group }))).toEqual(move(group, supergroup));
  });

  it.each([
    ["an ordinary message", message(group, { text: "migrate_to_chat_id" })],
    ["an id that is none", message(group, { migrate_to_chat_id: "-1005" })],
    ["a message without a chat", { message: { migrate_to_chat_id: supergroup } }],
    ["no message", { poll: {} }],
    ["nothing", null],
  ])("is not %s", (_, update) => {
    expect(moveToldBy(update)).toBeNull();
  });
});

describe("a call that named the old chat", () => {
  it("makes in the new one what is new, without what is only in the old one", () => {
    const body = {
      chat_id: group,
      text: "hi",
      message_thread_id: 7,
      reply_to_message_id: 3,
      reply_parameters: { message_id: 3 },
    };
    expect(inNewChat({ method: "sendMessage", body }, supergroup)).toEqual({
      method: "sendMessage",
      body: { chat_id: supergroup, text: "hi" },
    });
    expect(
      inNewChat({ method: "copyMessage", body: { chat_id: group, from_chat_id: 9, message_id: 1 } }, supergroup),
    ).toEqual({
      method: "copyMessage",
      body: { chat_id: supergroup, from_chat_id: 9, message_id: 1 },
    });
  });

  it.each(["editMessageText", "deleteMessage", "setMessageReaction", "pinChatMessage", "createForumTopic", "getChat"])(
    "%s means nothing there",
    (method) => {
      expect(inNewChat({ method, body: { chat_id: group, message_id: 3 } }, supergroup)).toBeNull();
    },
  );
});
