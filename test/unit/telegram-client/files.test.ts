/** Files both ways, against the emulated Bot API and a server that misbehaves. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTelegramClient } from "../../../adapters/telegram/client/index.ts";
import { startEmulator } from "../../../adapters/telegram/emulator/index.ts";
import { json, startStub, token, type Answer } from "./bot-api-stub.ts";

const owner = 5550001;
const patient = (): { timeoutMs: number; signal: AbortSignal } => ({
  timeoutMs: 20_000,
  signal: new AbortController().signal,
});

function tempFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "plf-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function clientOf(apiRoot: string) {
  const folder = tempFolder();
  const filesFolder = path.join(folder, "files");
  const client = createTelegramClient({ token, apiRoot, filesFolder });
  onTestFinished(() => client.close());
  const source = path.join(folder, "report.txt");
  writeFileSync(source, "the content");
  return { client, folder, filesFolder, source };
}

async function withEmulator() {
  const emulator = await startEmulator({ token });
  onTestFinished(() => emulator.close());
  return clientOf(emulator.apiRoot);
}

describe("an upload", () => {
  it("is the field that it is named after, under its own name", async () => {
    const { client, source } = await withEmulator();
    const file = { field: "document", path: source, name: "a b.txt" };
    const outcome = await client.upload("sendDocument", { chat_id: String(owner), caption: "hi" }, file, patient());
    expect(outcome).toMatchObject({
      kind: "ok",
      result: { caption: "hi", document: { file_name: "a b.txt", file_size: "the content".length } },
    });
  });

  it("stands wherever the fields' JSON refers to it, and is not sent besides", async () => {
    const { client, source } = await withEmulator();
    const media = JSON.stringify([
      { type: "document", media: "attach://one", caption: "first" },
      { type: "document", media: "attach://one" },
    ]);
    const file = { field: "one", path: source, name: "x.txt" };
    const outcome = await client.upload("sendMediaGroup", { chat_id: String(owner), media }, file, patient());
    expect(outcome).toMatchObject({
      kind: "ok",
      result: [{ caption: "first", document: { file_name: "x.txt" } }, { document: { file_name: "x.txt" } }],
    });

    const stub = await startStub([json({ ok: true, result: true })]);
    await clientOf(stub.root).client.upload("sendMediaGroup", { chat_id: "1", media }, file, patient());
    expect(stub.seen[0]?.body).not.toContain('name="one"');
    expect(stub.seen[0]?.body.match(/the content/g)).toHaveLength(2);
  });

  it("leaves a text alone that only speaks of a reference", async () => {
    const stub = await startStub([json({ ok: true, result: true })]);
    const { client, source } = clientOf(stub.root);
    const fields = { chat_id: "1", caption: "[see attach://document]" };
    await client.upload("sendDocument", fields, { field: "document", path: source, name: "x" }, patient());
    expect(stub.seen[0]?.body).toContain("[see attach://document]");
    expect(stub.seen[0]?.body).toContain('name="document"');
  });

  it.each([
    ["is not there", "nowhere", "ENOENT"],
    ["is a folder", ".", "not a file"],
  ])("of what %s is not sent", async (_, name, reason) => {
    const stub = await startStub([json({ ok: true, result: true })]);
    const { client, folder } = clientOf(stub.root);
    const file = { field: "document", path: path.join(folder, name), name: "x" };
    const outcome = await client.upload("sendDocument", { chat_id: "1" }, file, patient());
    expect(outcome).toEqual({ kind: "notSent", reason: expect.stringContaining(reason) as string });
    expect(stub.seen).toEqual([]);
  });

  it("with a name that breaks the form is not sent", async () => {
    const stub = await startStub([json({ ok: true, result: true })]);
    const { client, source } = clientOf(stub.root);
    const file = { field: "document", path: source, name: "a\r\nb" };
    expect(await client.upload("sendDocument", {}, file, patient())).toMatchObject({ kind: "notSent" });
    expect(stub.seen).toEqual([]);
  });
});

describe("a download", () => {
  async function sent() {
    const world = await withEmulator();
    const file = { field: "document", path: world.source, name: "report.txt" };
    const outcome = await world.client.upload("sendDocument", { chat_id: String(owner) }, file, patient());
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const { document } = outcome.result as { document: { file_id: string } }; // it was sent as a document
    return { ...world, fileId: document.file_id };
  }

  it("protocol/O-38: comes whole, under the suggested name, where only this user can enter", async () => {
    const { client, fileId, filesFolder } = await sent();
    const outcome = await client.download(fileId, "copy.txt", patient());
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const at = outcome.result as string; // a path, by the port's contract
    expect(path.basename(at)).toBe("copy.txt");
    expect(at.startsWith(filesFolder + path.sep)).toBe(true);
    expect(readFileSync(at, "utf8")).toBe("the content");
    expect(statSync(path.dirname(at)).mode & 0o777).toBe(0o700);
    expect(statSync(at).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["../../evil", "evil"],
    ["/etc/passwd", "passwd"],
    ["..\\..\\win.ini", "win.ini"],
    ["..", /^emulated-/],
    ["a\u0000b", "a_b"],
    [".profile", "profile"],
    ["", /^emulated-/],
  ])(
    "protocol/O-38: of the suggested name %j lies in the leader's own folder and leads nowhere else",
    async (name, expected) => {
      const { client, fileId, filesFolder } = await sent();
      const outcome = await client.download(fileId, name, patient());
      const at = outcome.kind === "ok" ? String(outcome.result) : "";
      expect(path.dirname(path.dirname(at))).toBe(filesFolder);
      expect(path.basename(at)).toMatch(expected);
    },
  );

  it("of a file that Telegram does not know is refused in Telegram's words", async () => {
    const { client } = await withEmulator();
    expect(await client.download("nothing", "x", patient())).toEqual({
      kind: "rejected",
      error: { error_code: 400, description: "Bad Request: wrong file_id or the file is temporarily unavailable" },
    });
  });

  it("removes what was fetched more than a day ago", async () => {
    const { client, fileId, filesFolder } = await sent();
    await client.download(fileId, "old", patient());
    const [old = ""] = readdirSync(filesFolder);
    const longAgo = Date.now() / 1000 - 25 * 3600;
    utimesSync(path.join(filesFolder, old), longAgo, longAgo);
    await client.download(fileId, "new", patient());
    expect(readdirSync(filesFolder)).toHaveLength(1);
    expect(readdirSync(filesFolder)).not.toContain(old);
  });

  const found = json({ ok: true, result: { file_id: "f", file_path: `documents/of ${token}/a.txt` } });
  const cutShort: Answer = (res) => {
    res.writeHead(200, { "content-length": "100" }).write("half");
    setImmediate(() => res.destroy());
  };
  it.each([
    ["breaks off", [found, cutShort], "notSent"],
    ["is gone at its address", [found, json({}, 404)], "rejected"],
    ["has no address", [json({ ok: true, result: { file_id: "f" } })], "notSent"],
    ["cannot be asked for", [json({ ok: false, error_code: 502, description: "Bad Gateway" }, 502)], "notSent"],
  ] as const)("that %s leaves nothing behind and does not tell the token", async (_, answers, kind) => {
    const stub = await startStub(answers);
    const { client, filesFolder } = clientOf(stub.root);
    const outcome = await client.download("f", "x", patient());
    expect(outcome.kind).toBe(kind);
    expect(JSON.stringify(outcome)).not.toContain(token);
    expect(entriesOf(filesFolder)).toEqual([]);
  });

  it("ends with its time, and at once when it is cut", async () => {
    const silent: Answer = () => undefined;
    const stub = await startStub([found, silent]);
    const { client, filesFolder } = clientOf(stub.root);
    const controller = new AbortController();
    const pending = client.download("f", "x", { timeoutMs: 20_000, signal: controller.signal });
    await stub.request(2);
    controller.abort();
    expect(await pending).toMatchObject({ kind: "notSent" });
    const again = await startStub([found, silent]);
    const late = clientOf(again.root);
    expect(await late.client.download("f", "x", { ...patient(), timeoutMs: 50 })).toMatchObject({ kind: "notSent" });
    expect([...entriesOf(filesFolder), ...entriesOf(late.filesFolder)]).toEqual([]);
  });

  it("from a server on this host is a copy of its file", async () => {
    const folder = tempFolder();
    const there = path.join(folder, "kept.bin");
    writeFileSync(there, "local");
    const stub = await startStub([json({ ok: true, result: { file_path: there } })]);
    const outcome = await clientOf(stub.root).client.download("f", "x", patient());
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    expect(outcome.result).not.toBe(there);
    expect(readFileSync(String(outcome.result), "utf8")).toBe("local");
  });
});

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
