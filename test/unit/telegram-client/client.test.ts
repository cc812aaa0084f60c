import { getEventListeners, once } from "node:events";
import { Agent as HttpAgent } from "node:http";
import { createServer as createHttpsServer, Agent as HttpsAgent } from "node:https";
import { InputFile } from "grammy";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTelegramClient, type TelegramClient } from "../../../adapters/telegram/client/index.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { json, page, startStub, startTcp, token, unusedPort, type Answer } from "./bot-api-stub.ts";

const patient = (): { timeoutMs: number; signal: AbortSignal } => ({
  timeoutMs: 20_000,
  signal: new AbortController().signal,
});

function clientOf(apiRoot: string, agent?: HttpAgent): TelegramClient {
  const client = createTelegramClient({ token, apiRoot, ...(agent === undefined ? {} : { agent }) });
  onTestFinished(() => client.close());
  return client;
}

/** One call against a scripted answer. No outcome of any kind may hold the token. */
async function outcomeOf(answer: Answer, method = "sendMessage"): Promise<CallOutcome> {
  const stub = await startStub([answer]);
  const outcome = await clientOf(stub.root).call(method, { chat_id: 1, text: "hi" }, patient());
  expect(JSON.stringify(outcome)).not.toContain(token);
  expect(stub.seen).toHaveLength(1);
  return outcome;
}

describe("an answer", () => {
  it("is ok with its result, and the request carried token, method and payload", async () => {
    const stub = await startStub([json({ ok: true, result: { message_id: 7 } })]);
    const outcome = await clientOf(`${stub.root}/`).call("sendMessage", { chat_id: 1, text: "hi" }, patient());
    expect(outcome).toEqual({ kind: "ok", result: { message_id: 7 } });
    expect(stub.seen[0]).toMatchObject({ path: `/bot${token}/sendMessage`, body: '{"chat_id":1,"text":"hi"}' });
  });

  it("is ok without a result when Telegram gave none", async () => {
    expect(await outcomeOf(json({ ok: true }))).toEqual({ kind: "ok", result: undefined });
  });

  it("reaches methods that grammY calls without a payload, and methods it does not know", async () => {
    const stub = await startStub([json({ ok: true, result: true })]);
    const client = clientOf(stub.root);
    for (const method of ["getMe", "logOut", "someNewMethod"]) {
      expect(await client.call(method, { a: 1 }, patient())).toEqual({ kind: "ok", result: true });
    }
    expect(stub.seen.map(({ path }) => path.split("/").at(-1))).toEqual(["getMe", "logOut", "someNewMethod"]);
    expect(stub.seen[0]?.body).toBe('{"a":1}');
  });

  it("uploads files", async () => {
    const stub = await startStub([json({ ok: true, result: true })]);
    const payload = { chat_id: 1, document: new InputFile(Buffer.from("content"), "a.txt") };
    expect(await clientOf(stub.root).call("sendDocument", payload, patient())).toMatchObject({ kind: "ok" });
    expect(stub.seen[0]?.body).toContain("content");
  });

  it.each([400, 401, 403, 404, 409])("with error %d is a rejection in Telegram's words", async (code) => {
    const error = { error_code: code, description: "Bad Request: no", parameters: { migrate_to_chat_id: -5 } };
    expect(await outcomeOf(json({ ok: false, ...error, extra: 1 }, code))).toEqual({ kind: "rejected", error });
  });

  it("threads/OP-28: loses the token where a server echoes it, so that nobody who passes the words on tells it", async () => {
    const echo = json({ ok: false, error_code: 404, description: `no bot${token}` }, 404);
    expect(await outcomeOf(echo)).toMatchObject({ error: { description: "no bot<redacted-token>" } });
    const local = json({ ok: true, result: { file_id: "f", file_path: `/var/lib/${token}/a.jpg` } });
    expect(await outcomeOf(local, "getFile")).toMatchObject({
      result: { file_path: "/var/lib/<redacted-token>/a.jpg" },
    });
    const page500 = json({ ok: false, error_code: 500, description: token }, 500);
    expect(await outcomeOf(page500)).toEqual({ kind: "ambiguous", reason: "500: <redacted-token>" });
  });

  it("429 is throttled for as long as Telegram says, else the header, else a second", async () => {
    const error = { error_code: 429, description: "Too Many Requests: retry after 7", parameters: { retry_after: 7 } };
    const bare = { error_code: 429, description: "slow down" };
    expect(await outcomeOf(json({ ok: false, ...error }, 429))).toEqual({
      kind: "throttled",
      retryAfterMs: 7000,
      error,
    });
    expect(await outcomeOf(json({ ok: false, ...bare }, 429, { "retry-after": "3" }))).toEqual({
      kind: "throttled",
      retryAfterMs: 3000,
      error: bare,
    });
    expect(await outcomeOf(json({ ok: false, ...bare }, 429))).toMatchObject({ retryAfterMs: 1000 });
    expect(await outcomeOf(page(429, { "retry-after": "2" }))).toMatchObject({ kind: "throttled", retryAfterMs: 2000 });
  });

  it.each([500, 502, 503])(
    "with Telegram's own error %d is ambiguous: it may have acted before it failed",
    async (code) => {
      const outcome = await outcomeOf(
        json({ ok: false, error_code: code, description: "Internal Server Error" }, code),
      );
      expect(outcome).toEqual({ kind: "ambiguous", reason: `${code}: Internal Server Error` });
    },
  );

  it.each([200, 302, 500, 502, 504])("that is a page with status %d is ambiguous", async (status) => {
    const outcome = await outcomeOf(page(status, { location: "/elsewhere" }));
    expect(outcome).toEqual({
      kind: "ambiguous",
      reason: `the answer (HTTP ${status}) is not what the Bot API answers`,
    });
  });

  it("that is a page with a 4xx status is a rejection", async () => {
    expect(await outcomeOf(page(413))).toEqual({
      kind: "rejected",
      error: { error_code: 413, description: "HTTP 413 without a JSON answer" },
    });
  });

  it.each([[null], ["text"], [[]], [{}], [{ ok: "yes" }], [{ ok: false }], [{ ok: false, error_code: "400" }]])(
    "of another shape, %j, is ambiguous",
    async (body) => {
      expect(await outcomeOf(json(body))).toMatchObject({ kind: "ambiguous" });
    },
  );
});

describe("an answer that does not arrive whole", () => {
  it("is ambiguous when the connection is reset after the request was read", async () => {
    expect(await outcomeOf((_res, { socket }) => socket.resetAndDestroy())).toEqual({
      kind: "ambiguous",
      reason: "ECONNRESET",
    });
  });

  it("is ambiguous when its JSON is cut short", async () => {
    expect(await outcomeOf((res) => res.writeHead(200).end('{"ok":true,"resu'))).toMatchObject({ kind: "ambiguous" });
  });

  it("is ambiguous, and known at once, when the connection ends inside a body of known length", async () => {
    const outcome = await outcomeOf((res) => {
      res.writeHead(200, { "content-length": "500" }).write('{"ok":true,', () => res.destroy());
    });
    expect(outcome).toEqual({ kind: "ambiguous", reason: "the connection broke in the middle of the answer" });
  });

  it("is ambiguous when a chunked body is not finished", async () => {
    expect(await outcomeOf((res) => void res.write('{"ok":true,', () => res.destroy()))).toMatchObject({
      kind: "ambiguous",
    });
  });
});

describe("a request that cannot have been sent", () => {
  it("is notSent when the connection is refused", async () => {
    const client = clientOf(`http://127.0.0.1:${await unusedPort()}`);
    expect(await client.call("sendMessage", {}, patient())).toEqual({ kind: "notSent", reason: "ECONNREFUSED" });
  });

  it.each([
    ["at once", (fail: () => void) => fail()],
    ["after a while", (fail: () => void) => void setImmediate(fail)],
  ])("is notSent when the name is not found, %s", async (_when, run) => {
    const lookup: NonNullable<ConstructorParameters<typeof HttpAgent>[0]>["lookup"] = (name, _options, done) =>
      run(() => done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND" }), []));
    const client = clientOf("http://bot.invalid", new HttpAgent({ lookup }));
    expect(await client.call("sendMessage", {}, patient())).toEqual({ kind: "notSent", reason: "ENOTFOUND" });
  });

  it("is notSent when the TLS handshake fails", async () => {
    const port = await startTcp((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const outcome = await clientOf(`https://127.0.0.1:${port}`).call("sendMessage", {}, patient());
    expect(outcome.kind).toBe("notSent");
    expect(JSON.stringify(outcome)).not.toContain(token);
  });

  it("is notSent when it is aborted, or its time is up, during the TLS handshake", async () => {
    const abort = new AbortController();
    const port = await startTcp((socket) => socket.once("data", () => abort.abort()));
    const client = clientOf(`https://127.0.0.1:${port}`);
    const aborted = await client.call("sendMessage", {}, { timeoutMs: 20_000, signal: abort.signal });
    expect(aborted).toEqual({ kind: "notSent", reason: "aborted" });
    const late = await client.call("sendMessage", {}, { timeoutMs: 20, signal: new AbortController().signal });
    expect(late).toEqual({ kind: "notSent", reason: "no answer within 20 ms" });
  });

  it("is notSent when it was aborted before, or cannot be written as JSON", async () => {
    const stub = await startStub([json({ ok: true })]);
    const client = clientOf(stub.root);
    expect(await client.call("sendMessage", {}, { timeoutMs: 1, signal: AbortSignal.abort() })).toMatchObject({
      kind: "notSent",
    });
    expect(await client.call("sendMessage", { n: 1n }, patient())).toMatchObject({ kind: "notSent" });
    expect(stub.seen).toHaveLength(0);
  });
});

describe("a request that is cut", () => {
  const hang: Answer = () => undefined;

  it("threads/OP-25: is ambiguous when aborted after it was sent; the connection is closed and the next call uses another", async () => {
    const stub = await startStub([hang, json({ ok: true, result: [] })]);
    const client = clientOf(stub.root);
    const abort = new AbortController();
    const hanging = client.call("getUpdates", { timeout: 50 }, { timeoutMs: 20_000, signal: abort.signal });
    const first = await stub.request(1);
    const closed = once(first.socket, "close");
    abort.abort();
    expect(await hanging).toEqual({ kind: "ambiguous", reason: "aborted" });
    await closed;
    expect(await client.call("getUpdates", {}, patient())).toEqual({ kind: "ok", result: [] });
    expect(stub.seen[1]?.socket).not.toBe(first.socket);
  });

  it("is ambiguous when its time is up while the server is silent, or in the middle of a slow body", async () => {
    const stub = await startStub([hang, (res) => void res.writeHead(200).write('{"ok":true,')]);
    const client = clientOf(stub.root);
    for (const method of ["sendMessage", "getUpdates"]) {
      const outcome = await client.call(method, {}, { timeoutMs: 60, signal: new AbortController().signal });
      expect(outcome).toEqual({ kind: "ambiguous", reason: "no answer within 60 ms" });
    }
    expect(stub.seen).toHaveLength(2);
  });

  it("leaves nothing on the caller's signal, and many calls may share one", async () => {
    const stub = await startStub([json({ ok: true })]);
    const client = clientOf(stub.root);
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warn);
    onTestFinished(() => void process.off("warning", warn));
    await Promise.all(Array.from({ length: 30 }, () => client.call("getMe", {}, { timeoutMs: 20_000, signal })));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(warnings.filter(({ name }) => name === "MaxListenersExceededWarning")).toEqual([]);
  });
});

describe("connections", () => {
  it("are kept between calls; a reset of a kept one is ambiguous, not notSent", async () => {
    const stub = await startStub([json({ ok: true }), (_res, { socket }) => socket.resetAndDestroy()]);
    const client = clientOf(stub.root);
    await client.call("getMe", {}, patient());
    expect(await client.call("sendMessage", {}, patient())).toMatchObject({ kind: "ambiguous" });
    expect(stub.seen[1]?.socket).toBe(stub.seen[0]?.socket);
  });

  it("over TLS count as sent once the handshake is done", async () => {
    // A pre-shared key spares the test a certificate.
    const psk = Buffer.from("0123456789abcdef");
    const tls = { ciphers: "PSK-AES128-GCM-SHA256", minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const;
    const agent = new HttpsAgent({
      ...tls,
      keepAlive: true,
      pskCallback: () => ({ psk, identity: "test" }),
      checkServerIdentity: () => undefined,
    });
    const stub = await startStub(
      [(_res, { socket }) => void socket.destroy(), json({ ok: true, result: 1 })],
      (listener) => createHttpsServer({ ...tls, pskCallback: () => psk }, listener),
    );
    const client = clientOf(stub.root.replace("http:", "https:"), agent);
    expect(await client.call("sendMessage", {}, patient())).toMatchObject({ kind: "ambiguous" });
    expect(await client.call("sendMessage", {}, patient())).toEqual({ kind: "ok", result: 1 });
  });
});

describe("options", () => {
  it("refuse an API root that is no address, without showing it", () => {
    expect(() => createTelegramClient({ token, apiRoot: `ftp://x/${token}` })).toThrow(/http:\/\/ or https:\/\//);
    expect(() => createTelegramClient({ token, apiRoot: token })).toThrow(/^(?!.*987654321)/);
  });
});
