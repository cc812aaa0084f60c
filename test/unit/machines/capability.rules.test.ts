/** What raises the question whether the chat has threads, and what messages look like while it has none. */
import { describe, expect, it } from "vitest";
import { inMainChat, raisesDoubt } from "../../../machines/capability.rules.ts";

const send = { method: "sendMessage", body: { chat_id: 1, message_thread_id: 41, text: "done" } };

describe("threads/OP-27: which refusals raise the question", () => {
  it.each([
    ["Bad Request: the chat is not a forum", true],
    ["Bad Request: message thread not found", true],
    ["Bad Request: TOPIC_ID_INVALID", true],
    ["Bad Request: topics are disabled", true],
    ["Bad Request: TOPIC_CLOSED", false],
    ["Bad Request: forum topic closed", false],
    ["Bad Request: message text is empty", false],
  ])("%s: %s", (description, expected) => {
    expect(raisesDoubt(description, send)).toBe(expected);
  });

  it("a call that names no thread says nothing about threads", () => {
    expect(raisesDoubt("Bad Request: the chat is not a forum", { method: "sendMessage", body: { chat_id: 1 } })).toBe(
      false,
    );
  });
});

describe("a thread's message in the main chat", () => {
  const bodyOf = (body: object) =>
    inMainChat({ method: "sendMessage", body: { message_thread_id: 41, ...body } }, "a_b.c")?.body;

  it("names its sender before the words, in the words' own dialect", () => {
    expect(bodyOf({ text: "hi" })).toEqual({ text: "a_b.c: hi" });
    expect(bodyOf({ caption: "hi" })).toEqual({ caption: "a_b.c: hi" });
    expect(bodyOf({ text: "*hi*", parse_mode: "MarkdownV2" })).toMatchObject({ text: "a\\_b\\.c: *hi*" });
    expect(bodyOf({ text: "*hi*", parse_mode: "Markdown" })).toMatchObject({ text: "a\\_b.c: *hi*" });
    expect(
      inMainChat({ method: "sendMessage", body: { message_thread_id: 4, text: "<b>x</b>", parse_mode: "HTML" } }, "a<b")
        ?.body,
    ).toMatchObject({ text: "a&lt;b: <b>x</b>" });
  });

  it("moves the entities with the words, as many as the name is long", () => {
    expect(bodyOf({ text: "hi", entities: [{ type: "bold", offset: 0, length: 2 }, "odd"] })).toEqual({
      text: "a_b.c: hi",
      entities: [{ type: "bold", offset: 7, length: 2 }, "odd"],
    });
    expect(bodyOf({ text: "hi", entities: "odd" })).toEqual({ text: "a_b.c: hi", entities: "odd" });
  });

  it("goes without a thread where there are no words, and not at all where it is about the thread", () => {
    expect(inMainChat({ method: "sendChatAction", body: { message_thread_id: 4, action: "typing" } }, "x")).toEqual({
      method: "sendChatAction",
      body: { action: "typing" },
    });
    expect(inMainChat({ method: "editForumTopic", body: { message_thread_id: 4, name: "n" } }, "x")).toBeNull();
    expect(inMainChat({ method: "getMe", body: {} }, "x")).toEqual({ method: "getMe", body: {} });
  });
});
