import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import type { Fault } from "../../../adapters/telegram/emulator/index.ts";
import { OWNER_CHAT, refusal, start, TOKEN, updateIds, GROUP } from "./harness.ts";

const pay = { chat_id: OWNER_CHAT, text: "pay" };

async function withFault(fault: Fault) {
  const started = await start();
  started.emulator.control.fault(fault);
  return started;
}

describe("faults", () => {
  test("lost performs the call and closes without a reply", async () => {
    const { call, emulator } = await withFault({ method: "sendMessage", kind: "lost" });
    await expect(call("sendMessage", pay)).rejects.toThrow();
    expect(emulator.control.messages().map((message) => message.text)).toEqual(["pay"]);
    expect(emulator.control.transcript()[0]).toMatchObject({
      fault: "lost",
      outcome: { kind: "lost", performed: true },
    });
  });

  test("lostBefore closes without performing", async () => {
    const { call, emulator } = await withFault({ method: "sendMessage", kind: "lostBefore" });
    await expect(call("sendMessage", pay)).rejects.toThrow();
    expect(emulator.control.messages()).toEqual([]);
  });

  test("hang never answers, until the client closes", async () => {
    const { call, emulator } = await withFault({ method: "getUpdates", kind: "hang" });
    const gone = new AbortController();
    const hanging = call("getUpdates", {}, { signal: gone.signal });
    await expect.poll(() => emulator.control.transcript()[0]?.outcome.kind).toBe("hang");
    expect((await call("getMe")).status).toBe(200);
    gone.abort();
    await expect(hanging).rejects.toThrow();
  });

  test("retryAfter answers 429 with the parameter and the header", async () => {
    const { call } = await withFault({ method: "sendMessage", kind: "retryAfter", seconds: 7 });
    const answer = await call("sendMessage", pay);
    expect(answer).toMatchObject(refusal(429, "Too Many Requests: retry after 7"));
    expect(answer.body.parameters).toEqual({ retry_after: 7 });
    expect(answer.headers.get("Retry-After")).toBe("7");
  });

  test("error answers any refusal, with parameters", async () => {
    const parameters = { migrate_to_chat_id: -1009990002 };
    const description = "Bad Request: group chat was upgraded to a supergroup chat";
    const { call } = await withFault({
      method: "sendMessage",
      kind: "error",
      error_code: 400,
      description,
      parameters,
    });
    expect(await call("sendMessage", pay)).toMatchObject({ status: 400, body: { description, parameters } });
  });

  test("http answers anything", async () => {
    const { emulator } = await withFault({
      method: "getMe",
      kind: "http",
      status: 502,
      body: "<html>Bad Gateway</html>",
    });
    const response = await fetch(`${emulator.apiRoot}/bot${TOKEN}/getMe`);
    expect(response.status).toBe(502);
    expect(response.headers.get("Content-Type")).toBe("text/html");
    expect(await response.text()).toBe("<html>Bad Gateway</html>");
  });

  test("truncatedJson performs and sends half an answer", async () => {
    const { call, emulator } = await withFault({ method: "sendMessage", kind: "truncatedJson" });
    await expect(call("sendMessage", pay)).rejects.toThrow(SyntaxError);
    expect(emulator.control.messages()).toHaveLength(1);
  });

  test("emptyOk and result replace the answer; the call is performed unless told otherwise", async () => {
    const { call, emulator } = await withFault({ method: "sendMessage", kind: "emptyOk", shape: "emptyObject" });
    expect((await call("sendMessage", pay)).body).toEqual({ ok: true, result: {} });
    emulator.control.fault({ method: "getUpdates", kind: "emptyOk" });
    expect((await call("getUpdates")).body).toEqual({ ok: true });
    emulator.control.fault({
      method: "createForumTopic",
      kind: "result",
      result: { message_thread_id: 61 },
      perform: false,
    });
    expect((await call("createForumTopic", pay)).body.result).toEqual({ message_thread_id: 61 });
    expect(emulator.control.messages()).toHaveLength(1);
    expect(emulator.control.state().threads).toEqual([]);
  });

  test("latencyMs performs at once and answers later", async () => {
    const { call, clock, emulator } = await withFault({ method: "sendMessage", kind: "latencyMs", ms: 5000 });
    const late = call("sendMessage", pay);
    await expect.poll(() => emulator.control.messages().length).toBe(1);
    expect(emulator.control.transcript()[0]?.outcome.kind).toBe("pending");
    clock.advance(5000);
    expect((await late).status).toBe(200);
  });

  test("latencyMs before performing", async () => {
    const fault = { method: "sendMessage", kind: "latencyMs", ms: 5000, when: "before" } as const;
    const { call, clock, emulator } = await withFault(fault);
    const late = call("sendMessage", pay);
    await expect.poll(() => clock.timers).toBe(1);
    expect(emulator.control.messages()).toEqual([]);
    clock.advance(5000);
    expect((await late).status).toBe(200);
  });

  test("play in order, so many times each, for their method and arguments only", async () => {
    const { call, emulator } = await withFault({ method: "*", kind: "retryAfter", seconds: 1, times: 2 });
    emulator.control.fault({
      method: "sendMessage",
      kind: "retryAfter",
      seconds: 2,
      times: "forever",
      where: { text: "pay" },
    });
    const seconds = async (text: string) => (await call("sendMessage", { ...pay, text })).body.parameters?.retry_after;
    expect([await seconds("pay"), await seconds("pay"), await seconds("pay"), await seconds("other")]).toEqual([
      1,
      1,
      2,
      undefined,
    ]);
    expect(emulator.control.state().faults).toEqual({
      pending: [{ method: "sendMessage", kind: "retryAfter", left: "forever" }],
      applied: 3,
    });
    expect(emulator.control.clearFaults()).toEqual({ cleared: 1 });
    expect(await seconds("pay")).toBeUndefined();
  });

  test("connections are refused for a while, then taken again on the same port", async () => {
    const { call, clock, emulator } = await start();
    await call("getMe");
    emulator.control.refuseConnections({ ms: 1000 });
    await expect(call("getMe")).rejects.toThrow();
    clock.advance(1000);
    await expect.poll(async () => (await call("getMe")).status).toBe(200);
  });
});

describe("what users do", () => {
  test("a private thread's life: the bot hears of creation and renaming, not of deletion", async () => {
    const { call, emulator } = await start();
    const { threadId } = emulator.control.userCreatesThread({ name: "alpha" });
    emulator.control.userRenamesThread({ threadId, name: "beta" });
    emulator.control.userSends({ threadId, text: "hi" });
    emulator.control.userDeletesThread({ threadId });
    expect((await call("getUpdates")).body.result).toMatchObject([
      { message: { message_id: threadId, forum_topic_created: { name: "alpha" }, from: { id: OWNER_CHAT } } },
      { message: { message_thread_id: threadId, forum_topic_edited: { name: "beta" } } },
      { message: { message_thread_id: threadId, is_topic_message: true, text: "hi" } },
    ]);
    expect(emulator.control.state().threads).toMatchObject([{ threadId, name: "beta", status: "deleted" }]);
    expect(() => emulator.control.userSends({ threadId, text: "hi" })).toThrow(/no thread/);
    expect(() => emulator.control.userClosesThread({ threadId })).toThrow(/no thread/);
  });

  test("a supergroup thread is closed and reopened with service messages", async () => {
    const { call, emulator } = await start({ threads: [{ chatId: GROUP, threadId: 42, name: "B" }] });
    emulator.control.userClosesThread({ chatId: GROUP, threadId: 42 });
    emulator.control.userReopensThread({ chatId: GROUP, threadId: 42 });
    expect((await call("getUpdates")).body.result).toMatchObject([
      { message: { forum_topic_closed: {} } },
      { message: { forum_topic_reopened: {} } },
    ]);
  });

  test("a stranger's first message opens their private chat", async () => {
    const { call, emulator } = await start();
    emulator.control.userSends({ text: "hello", from: { id: 5559999, first_name: "Stranger" } });
    expect((await call("getUpdates")).body.result).toMatchObject([
      { message: { chat: { id: 5559999, type: "private" }, from: { id: 5559999 } } },
    ]);
  });

  test("an edit comes as edited_message; deleting a message makes replies to it fail", async () => {
    const { call, emulator } = await start();
    const { messageId } = emulator.control.userSends({ text: "a" });
    emulator.control.userEdits({ messageId, text: "b" });
    emulator.control.userDeletesMessage({ messageId });
    expect((await call("getUpdates")).body.result).toMatchObject([{ message: {} }, { edited_message: { text: "b" } }]);
    const reply = await call("sendMessage", { ...pay, reply_parameters: { message_id: messageId } });
    expect(reply).toMatchObject(refusal(400, "Bad Request: message to be replied not found"));
  });
});

describe("the control API over HTTP", () => {
  async function control() {
    const started = await start();
    const send = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${started.emulator.controlUrl}/${path}`, init);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const post = (path: string, body: unknown, headers = {}) =>
      send(path, { method: "POST", headers, body: JSON.stringify(body) });
    return { ...started, send, post };
  }

  test("acts as the in-process handle does", async () => {
    const { call, post, send } = await control();
    const created = await post("user-creates-thread", { name: "alpha" });
    expect(created).toMatchObject({ status: 200, body: { ok: true, threadId: 1 } });
    await post("user-text", { threadId: 1, text: "hi" });
    expect(updateIds(await call("getUpdates"))).toHaveLength(2);
    expect((await send("messages")).body["messages"]).toMatchObject([{ service: true }, { text: "hi", threadId: 1 }]);
    expect((await send("transcript?since=0")).body["calls"]).toMatchObject([{ seq: 1, method: "getUpdates" }]);
    expect((await send("state")).body).toMatchObject({ ok: true, queue: { length: 2 }, polls: { calls: 1 } });
  });

  test.each([
    ["user-text", {}, '"text" is missing'],
    ["user-text", [], "send a JSON object"],
    ["user-text", { text: 5 }, '"text" must be a string'],
    ["user-text", { text: "x", threadId: 9 }, "there is no thread 9"],
    ["fault", { method: "getMe", kind: "odd" }, '"kind" must be'],
    ["fault", { method: "getMe", kind: "hang", times: 0 }, '"times" must be at least 1'],
    ["topics-enabled", { enabled: "no" }, '"enabled" must be true or false'],
    ["raw-update", { update: {} }, "update has no content"],
  ])("%s with %j is a 400 that says what to do", async (path, body, error) => {
    const { post } = await control();
    const answer = await post(path, body);
    expect(answer).toMatchObject({ status: 400, body: { ok: false } });
    expect(answer.body["error"]).toContain(error);
  });

  test("an unknown operation is a 404, a wrong verb a 405", async () => {
    const { post, send } = await control();
    expect((await post("nothing", {})).status).toBe(404);
    expect((await send("toString")).status).toBe(404);
    expect((await send("user-text")).status).toBe(405);
  });

  test.each([
    ["origin", "https://evil.example"],
    ["origin", "null"],
    ["sec-fetch-site", "cross-site"],
  ])("a foreign page (%s: %s) gets nothing and changes nothing", async (name, value) => {
    const { emulator, post, send } = await control();
    expect((await post("user-text", { text: "x" }, { [name]: value })).status).toBe(403);
    expect((await send("messages", { headers: { [name]: value } })).body).not.toHaveProperty("messages");
    expect(emulator.control.messages()).toEqual([]);
  });

  test("another Host than loopback (a rebound name) is refused", async () => {
    const { emulator } = await control();
    const reply = await new Promise<string>((resolve, reject) => {
      const socket = connect(emulator.port, "127.0.0.1");
      socket.on("error", reject);
      socket.once("data", (data) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.write("GET /control/state HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    });
    expect(reply).toMatch(/^HTTP\/1\.1 403/);
  });

  test("the event stream carries messages as they come", async () => {
    const { emulator } = await control();
    const response = await fetch(`${emulator.controlUrl}/events`);
    const reader = response.body!.getReader();
    await reader.read();
    emulator.control.userSends({ text: "hello" });
    const chunk = (await reader.read()) as { value: Uint8Array };
    expect(new TextDecoder().decode(chunk.value)).toMatch(/^data: {"type":"message","message":{.*"text":"hello"/);
    await reader.cancel();
  });

  test("the page is served with a policy that lets nothing in from elsewhere", async () => {
    const { emulator } = await control();
    for (const file of ["", "base.css", "messages.css", "chat.css", "chat.js", "model.js", "view.js"]) {
      const response = await fetch(emulator.pageUrl + file);
      expect(response.status).toBe(200);
      expect(response.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
    }
    expect((await fetch(`${emulator.pageUrl}page-files.ts`)).status).toBe(404);
  });
});
