import { Api } from "grammy";
import { describe, expect, test } from "vitest";
import { FORUM, GROUP, OWNER_CHAT, refusal, resultOf, start, TOKEN, updateIds } from "./harness.ts";

interface Sent {
  message_id: number;
  message_thread_id?: number;
  reply_to_message?: { message_id: number };
}

describe("the HTTP surface", () => {
  test("a wrong token is 401 and an unknown method 404, in exact words", async () => {
    const { call } = await start();
    expect(await call("getMe", {}, { token: "700001:wrong" })).toMatchObject(refusal(401, "Unauthorized"));
    expect(await call("noSuchMethod")).toMatchObject(refusal(404, "Not Found"));
  });

  test("arguments come as JSON, urlencoded, query string and multipart, methods in any letter case", async () => {
    const { emulator } = await start();
    const url = `${emulator.apiRoot}/bot${TOKEN}/sendMessage`;
    const args = { chat_id: String(OWNER_CHAT), text: "ä & b" };
    const form = new FormData();
    for (const [name, value] of Object.entries(args)) form.append(name, value);
    await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(args) });
    await fetch(url, { method: "POST", body: new URLSearchParams(args) });
    await fetch(`${url.replace("sendMessage", "sendmessage")}?${new URLSearchParams(args).toString()}`);
    await fetch(url, { method: "POST", body: form });
    expect(emulator.control.messages().map((message) => message.text)).toEqual(Array(4).fill("ä & b"));
  });

  test("an uploaded file is kept as name, size and SHA-256", async () => {
    const { emulator } = await start();
    const form = new FormData();
    form.append("chat_id", String(OWNER_CHAT));
    form.append("document", new Blob(["hello\r\n--x"]), "a.txt");
    const response = await fetch(`${emulator.apiRoot}/bot${TOKEN}/sendDocument`, { method: "POST", body: form });
    expect(response.status).toBe(200);
    const file = emulator.control.transcript()[0]?.files[0];
    expect(file).toMatchObject({ field: "document", name: "a.txt", size: 10 });
    expect(file?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(emulator.control.messages()[0]?.file).toMatchObject({ kind: "document", name: "a.txt", size: 10 });
  });

  test("the transcript never holds the token", async () => {
    const { call, emulator } = await start();
    await call("getMe");
    expect(JSON.stringify(emulator.control.transcript())).not.toContain(TOKEN.split(":")[1]);
  });
});

describe("sendMessage", () => {
  test.each([
    [{ text: "x" }, "chat_id is empty"],
    [{ chat_id: 1, text: "x" }, "chat not found"],
    [{ chat_id: OWNER_CHAT, text: "  " }, "message text is empty"],
    [{ chat_id: OWNER_CHAT, text: "x".repeat(4097) }, "message is too long"],
    [{ chat_id: OWNER_CHAT, text: "x", message_thread_id: 99 }, "message thread not found"],
    [{ chat_id: OWNER_CHAT, text: "x", reply_parameters: { message_id: 99 } }, "message to be replied not found"],
  ])("%j is refused: %s", async (payload, description) => {
    const { call, emulator } = await start();
    expect(await call("sendMessage", payload)).toMatchObject(refusal(400, `Bad Request: ${description}`));
    expect(emulator.control.messages()).toEqual([]);
  });

  test("sends without the replied-to message when that is allowed, in both spellings", async () => {
    const { call } = await start();
    const base = { chat_id: OWNER_CHAT, text: "x" };
    const now = { ...base, reply_parameters: { message_id: 99, allow_sending_without_reply: true } };
    const old = { ...base, reply_to_message_id: 99, allow_sending_without_reply: true };
    expect((await call("sendMessage", now)).status).toBe(200);
    expect((await call("sendMessage", old)).status).toBe(200);
  });

  test("message ids count per chat, and the bot gets no update for its own message", async () => {
    const { call } = await start({ firstMessageId: 500 });
    const ids = [];
    for (const chat_id of [OWNER_CHAT, OWNER_CHAT, GROUP]) {
      ids.push(resultOf<Sent>(await call("sendMessage", { chat_id, text: "x" })).message_id);
    }
    expect(ids).toEqual([500, 501, 500]);
    expect(updateIds(await call("getUpdates"))).toEqual([]);
  });
});

describe("topics", () => {
  test("the id is that of the service message, which the bot gets, from itself", async () => {
    const { call } = await start();
    const topic = resultOf(await call("createForumTopic", { chat_id: OWNER_CHAT, name: "alpha" }));
    expect(topic).toEqual({ message_thread_id: 1, name: "alpha", icon_color: 7322096 });
    expect(resultOf(await call("getUpdates"))).toMatchObject([
      {
        message: {
          message_id: 1,
          message_thread_id: 1,
          is_topic_message: true,
          from: { id: 700001, is_bot: true },
          forum_topic_created: { name: "alpha", icon_color: 7322096 },
        },
      },
    ]);
  });

  test("the bot is not told of its own topics when serviceMessagesToBot is off", async () => {
    const { call } = await start({ serviceMessagesToBot: false });
    await call("createForumTopic", { chat_id: OWNER_CHAT, name: "alpha" });
    expect(updateIds(await call("getUpdates"))).toEqual([]);
  });

  test("a deleted topic refuses sends and edits, and is not deleted twice", async () => {
    const { call, emulator } = await start({ threads: [{ threadId: 41, name: "A" }] });
    const topic = { chat_id: OWNER_CHAT, message_thread_id: 41 };
    await call("sendMessage", { ...topic, text: "gone soon" });
    expect((await call("deleteForumTopic", topic)).body).toEqual({ ok: true, result: true });
    expect(emulator.control.messages()).toEqual([]);
    const refusedAs = async (method: string, more: object) =>
      (await call(method, { ...topic, ...more })).body.description;
    expect(await refusedAs("sendMessage", { text: "x" })).toBe("Bad Request: message thread not found");
    expect(await refusedAs("editForumTopic", { name: "x" })).toBe("Bad Request: TOPIC_DELETED");
    expect(await refusedAs("deleteForumTopic", {})).toBe("Bad Request: TOPIC_ID_INVALID");
    expect(await refusedAs("editForumTopic", { message_thread_id: 77 })).toBe("Bad Request: TOPIC_ID_INVALID");
    expect((await call("sendChatAction", { ...topic, action: "typing" })).status).toBe(200);
  });

  test("C24: a cached deleted topic takes a message into the main chat", async () => {
    const { call, clock, emulator } = await start({ threads: [{ threadId: 41, name: "A" }], topicCacheMs: 60_000 });
    emulator.control.userDeletesThread({ threadId: 41 });
    const secret = { chat_id: OWNER_CHAT, message_thread_id: 41, text: "secret" };
    expect(resultOf<Sent>(await call("sendMessage", secret))).not.toHaveProperty("message_thread_id");
    clock.advance(60_000);
    expect(await call("sendMessage", secret)).toMatchObject(refusal(400, "Bad Request: message thread not found"));
  });

  test("editing without a change proves that a topic exists", async () => {
    const { call } = await start({ threads: [{ threadId: 41, name: "A" }] });
    const topic = { chat_id: OWNER_CHAT, message_thread_id: 41 };
    expect((await call("editForumTopic", topic)).status).toBe(200);
    const same = await call("editForumTopic", { ...topic, name: "A" });
    expect(same).toMatchObject(refusal(400, "Bad Request: TOPIC_NOT_MODIFIED"));
  });

  test("close and reopen are for supergroups only", async () => {
    const { call } = await start({
      threads: [
        { threadId: 41, name: "A" },
        { chatId: GROUP, threadId: 42, name: "B" },
      ],
    });
    const inPrivate = await call("closeForumTopic", { chat_id: OWNER_CHAT, message_thread_id: 41 });
    expect(inPrivate).toMatchObject(refusal(400, "Bad Request: the chat is not a supergroup forum"));
    const topic = { chat_id: GROUP, message_thread_id: 42 };
    expect((await call("closeForumTopic", topic)).status).toBe(200);
    expect((await call("sendMessage", { ...topic, text: "x" })).body.description).toBe("Bad Request: TOPIC_CLOSED");
    expect((await call("closeForumTopic", topic)).body.description).toBe("Bad Request: TOPIC_NOT_MODIFIED");
    expect((await call("reopenForumTopic", topic)).status).toBe(200);
    expect((await call("sendMessage", { ...topic, text: "x" })).status).toBe(200);
  });

  test("C28: with topics off getMe says so and topic calls are refused", async () => {
    const { call, emulator } = await start({ threads: [{ threadId: 41, name: "A" }] });
    emulator.control.setTopicsEnabled({ enabled: false });
    expect((await call("getMe")).body.result).toMatchObject({ id: 700001, has_topics_enabled: false });
    const created = await call("createForumTopic", { chat_id: OWNER_CHAT, name: "x" });
    expect(created).toMatchObject(refusal(400, "Bad Request: the chat is not a forum"));
    const sent = await call("sendMessage", { chat_id: OWNER_CHAT, message_thread_id: 41, text: "x" });
    expect(sent).toMatchObject(refusal(400, "Bad Request: message thread not found"));
  });
});

describe("editing, buttons, reactions", () => {
  const keyboard = { inline_keyboard: [[{ text: "OK", callback_data: "ok" }]] };

  test("an edit without a change is refused; one that drops the keyboard is not", async () => {
    const { call } = await start();
    const sent = resultOf<Sent>(await call("sendMessage", { chat_id: OWNER_CHAT, text: "x", reply_markup: keyboard }));
    const edit = { chat_id: OWNER_CHAT, message_id: sent.message_id, text: "x" };
    const same = await call("editMessageText", { ...edit, reply_markup: keyboard });
    expect(same.body.description).toMatch(/^Bad Request: message is not modified: specified new message content/);
    expect((await call("editMessageText", edit)).body.result).not.toHaveProperty("reply_markup");
    const missing = await call("editMessageText", { ...edit, message_id: 99 });
    expect(missing).toMatchObject(refusal(400, "Bad Request: message to edit not found"));
  });

  test("a pressed button makes a query that can be answered; an unknown or old one cannot", async () => {
    const { call, clock, emulator } = await start();
    const sent = resultOf<Sent>(await call("sendMessage", { chat_id: OWNER_CHAT, text: "x", reply_markup: keyboard }));
    const { queryId } = emulator.control.userPressesButton({ messageId: sent.message_id, data: "ok" });
    expect((await call("getUpdates")).body.result).toMatchObject([
      { callback_query: { id: queryId, data: "ok", message: { message_id: sent.message_id } } },
    ]);
    expect((await call("answerCallbackQuery", { callback_query_id: queryId })).status).toBe(200);
    clock.advance(15 * 60_000);
    const description = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    for (const callback_query_id of [queryId, "1"]) {
      expect(await call("answerCallbackQuery", { callback_query_id })).toMatchObject(refusal(400, description));
    }
  });

  test("a button that is not there cannot be pressed", async () => {
    const { call, emulator } = await start();
    await call("sendMessage", { chat_id: OWNER_CHAT, text: "x" });
    expect(() => emulator.control.userPressesButton({ messageId: 1, data: "ok" })).toThrow(/no button with data "ok"/);
  });

  test("a reaction has no thread id and carries old and new", async () => {
    const { call, emulator } = await start({ threads: [{ threadId: 41, name: "A" }] });
    await call("getUpdates", { allowed_updates: ["message_reaction"] });
    const sent = resultOf<Sent>(await call("sendMessage", { chat_id: OWNER_CHAT, message_thread_id: 41, text: "x" }));
    emulator.control.userReacts({ messageId: sent.message_id, emoji: "👍" });
    emulator.control.userReacts({ messageId: sent.message_id, emoji: null });
    const [first, second] = resultOf<{ message_reaction: object }[]>(await call("getUpdates", { offset: 1 }));
    expect(first?.message_reaction).toMatchObject({ old_reaction: [], new_reaction: [{ type: "emoji", emoji: "👍" }] });
    expect(first?.message_reaction).not.toHaveProperty("message_thread_id");
    expect(second?.message_reaction).toMatchObject({ old_reaction: [{ emoji: "👍" }], new_reaction: [] });
  });
});

describe("a stock grammY client", () => {
  test("works through apiRoot: topic, message, file, updates, refusal", async () => {
    const { emulator } = await start();
    const api = new Api(TOKEN, { apiRoot: emulator.apiRoot });
    expect((await api.getMe()).username).toBe("bus_test_bot");
    const topic = await api.createForumTopic(OWNER_CHAT, "alpha");
    const sent = await api.sendMessage(OWNER_CHAT, "hi", { message_thread_id: topic.message_thread_id });
    expect(sent.message_thread_id).toBe(topic.message_thread_id);
    const { InputFile } = await import("grammy");
    const file = new InputFile(Buffer.from("hello"), "hello.txt");
    expect((await api.sendDocument(OWNER_CHAT, file)).document).toMatchObject({ file_name: "hello.txt", file_size: 5 });
    const album = [
      { type: "photo" as const, media: new InputFile(Buffer.from("one"), "1.jpg") },
      { type: "photo" as const, media: new InputFile(Buffer.from("two"), "2.jpg") },
    ];
    expect(await api.sendMediaGroup(OWNER_CHAT, album)).toHaveLength(2);
    emulator.control.userSends({ threadId: topic.message_thread_id, text: "yo" });
    const updates = await api.getUpdates({ timeout: 1 });
    expect(updates.at(-1)?.message).toMatchObject({ text: "yo", message_thread_id: topic.message_thread_id });
    await expect(api.sendMessage(1, "x")).rejects.toMatchObject({
      error_code: 400,
      description: "Bad Request: chat not found",
    });
  });
});

test("a forum is a supergroup with threads, and getChat says so", async () => {
  const { call } = await start();
  expect((await call("getChat", { chat_id: FORUM.id })).body.result).toMatchObject({
    type: "supergroup",
    is_forum: true,
  });
  expect((await call("createForumTopic", { chat_id: GROUP, name: "B" })).status).toBe(200);
});
