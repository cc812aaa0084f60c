/**
 * Ours in a fleet of v1 processes: a stand-in v1 leader, written from the protocol alone, whose process is another one.
 *
 * It publishes a record in the owner store, answers on the leader endpoint, one request a connection or many, and forwards
 * with a journal of its own.
 */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import { createInstance } from "../../index.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { until } from "../support/line/waiting.ts";

type Json = Readonly<Record<string, unknown>>;
const protocol = {
  protocolVersion: 1,
  runtimeBuild: "0.36.10",
  capabilities: ["durable-follower-admission-v1", "queue-handoff-v1"],
};
const secret = "v1-secret";

/** One exchange on a connection of its own, as v1 peers do. */
const exchange = (socketPath: string, request: Json): Promise<Json> =>
  new Promise((resolve, reject) => {
    const socket = net.connect(socketPath, () => socket.write(`${JSON.stringify(request)}\n`));
    let text = "";
    socket.on("error", reject);
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.includes("\n")) return;
      socket.destroy();
      resolve(JSON.parse(text) as Json); // our own answer
    });
  });

/** A process that stands for the v1 leader's; its death is what frees the record. */
function startV1Leader(agentDir: string) {
  const folder = path.join(agentDir, "tmp", "telegram");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const body = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const record = {
    pid: body.pid,
    cwd: "/srv/v1",
    instanceId: `${String(body.pid)}:1`,
    leaderEpoch: randomUUID(),
    runtimeGeneration: 1,
    busSecret: secret,
  };
  const publish = (): void =>
    writeFileSync(
      path.join(folder, "owners.json"),
      JSON.stringify({ default: { ...record, heartbeatMs: Date.now() } }),
    );
  const seen: Json[] = [];
  const moods = { refusals: 0 };
  const sockets = new Set<net.Socket>();
  const answer = (request: Json): Json => {
    const ack = { kind: "bus.ack", requestId: request["requestId"] };
    if (request["auth"] !== secret) return { ...ack, ok: false, message: "Unauthorized Telegram bus envelope." };
    seen.push(request);
    if (request["kind"] === "follower.register" && moods.refusals > 0) {
      moods.refusals -= 1;
      return { ...ack, ok: false, protocol, message: "not now" };
    }
    if (request["kind"] === "follower.register")
      return { ...ack, ok: true, protocol, result: { chatId: owner, threadId: 42, slot: "B", threadName: "Beryl" } };
    if (request["kind"] === "follower.heartbeat") return { ...ack, ok: true, result: { eligibleElectionSlots: ["B"] } };
    if (request["kind"] === "follower.callApi") return { ...ack, ok: true, result: { message_id: 7, text: "hi" } };
    return { ...ack, ok: true };
  };
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) socket.write(`${JSON.stringify(answer(JSON.parse(line) as Json))}\n`); // our own request
    });
  });
  publish();
  server.listen(path.join(folder, "bus.sock"));
  const beat = setInterval(publish, 1_000);
  const die = async (): Promise<void> => {
    clearInterval(beat);
    if (body.exitCode !== null || body.signalCode !== null) return;
    const gone = new Promise((resolve) => body.once("exit", resolve));
    body.kill("SIGKILL");
    for (const socket of sockets) socket.destroy();
    server.close();
    await gone;
  };
  onTestFinished(die);
  /** Ends every connection, and refuses so many registrations after. */
  const drop = (refusals: number): void => {
    moods.refusals = refusals;
    for (const socket of sockets) socket.destroy();
  };
  return {
    drop,
    seen,
    die,
    record,
    folder,
    of: (kind: string) => seen.filter((each) => each["kind"] === kind),
  };
}

const deliveryId = (key: string, sourceUpdateId: number): string =>
  `telegram-follower-v1-${createHash("sha256")
    .update(JSON.stringify({ version: 1, kind: "leader.forwardMessage", recipientBindingKey: key, sourceUpdateId }))
    .digest("hex")}`;

test("protocol/S-52 a host that throws when it is told of trouble is recorded, and recovery completes", async () => {
  const home = mkdtempSync(path.join(os.tmpdir(), "pl-fleet-"));
  const agentDir = path.join(home, "agent");
  onTestFinished(() => {
    rmSync(home, { recursive: true, force: true });
  });
  const emulator = await startEmulator({ token });
  onTestFinished(() => emulator.close());
  const v1 = startV1Leader(agentDir);
  const recorded: string[] = [];
  const ours = await createInstance({
    token,
    user: owner,
    home,
    apiRoot: emulator.apiRoot,
    name: "ours",
    compat: { agentDir },
    log: {
      event: (_level, phase, fields) => {
        if (phase === "handler-threw") recorded.push(String(fields["reason"]));
      },
    },
  });
  onTestFinished(() => ours.stop());
  await ours.ready;
  ours.on("error", () => {
    throw new Error("a dead context");
  });
  v1.drop(2);
  await until("it is registered again", () => v1.of("follower.register").length === 4);
  await until("it beats again", () => v1.seen.at(-1)?.["kind"] === "follower.heartbeat");
  expect(recorded).toEqual(["Error: a dead context", "Error: a dead context"]);
  expect(await ours.call("sendMessage", { text: "hi" })).toMatchObject({ message_id: 7 });
}, 30_000);

test("protocol/S-73, S-80, S-47 ours joins a v1 leader, admits its forwards once, and takes over when it dies", async () => {
  const home = mkdtempSync(path.join(os.tmpdir(), "pl-fleet-"));
  const agentDir = path.join(home, "agent");
  onTestFinished(() => {
    rmSync(home, { recursive: true, force: true });
  });
  const emulator = await startEmulator({ token });
  onTestFinished(() => emulator.close());
  const v1 = startV1Leader(agentDir);
  const ours = await createInstance({
    token,
    user: owner,
    home,
    apiRoot: emulator.apiRoot,
    name: "ours",
    compat: { agentDir },
  });
  onTestFinished(() => ours.stop());
  const got: unknown[] = [];
  ours.on("update", ({ update }) => {
    got.push(update.message?.text);
  });

  expect(await ours.ready).toMatchObject({ role: "follower", thread: { target: { threadId: 42 }, slot: "B" } });
  const registration = v1.of("follower.register")[0]?.["registration"] as Json; // what our stand-in was sent
  expect(registration["protocol"]).toMatchObject({
    capabilities: expect.not.arrayContaining(["queue-handoff-v1"]) as [],
  });

  const sent = await ours.call("sendMessage", { text: "hi" });
  expect(sent).toMatchObject({ message_id: 7 });
  expect(v1.of("follower.callApi")[0]?.["args"]).toEqual([
    "sendMessage",
    { chat_id: owner, message_thread_id: 42, text: "hi" },
  ]);

  const address = String(registration["busSocketPath"]);
  const key = String(registration["profileKey"]);
  const forward = (requestId: string, differs: Json = {}): Promise<Json> =>
    exchange(address, {
      kind: "leader.forwardMessage",
      requestId,
      auth: secret,
      recipientInstanceId: registration["instanceId"],
      recipientRegistrationGeneration: registration["registrationGeneration"],
      delivery: { deliveryId: deliveryId(key, 900), sourceUpdateId: 900, recipientBindingKey: key },
      sentAtMs: Date.now(),
      message: { message_id: 70, text: "from v1", pi_telegram_source_update_id: 900 },
      ...differs,
    });
  const receipt = { ok: true, result: { deliveryId: deliveryId(key, 900), sourceUpdateId: 900 } };
  expect(await forward("v:1")).toMatchObject(receipt);
  expect(await forward("v:2")).toMatchObject(receipt);
  expect(await forward("v:3", { recipientRegistrationGeneration: "old" })).toMatchObject({
    ok: false,
    message: "Stale Telegram bus follower registration generation.",
  });
  await until("the forwarded update is handed out", () => got.length > 0);
  expect(got).toEqual(["from v1"]);

  await v1.die();
  await until("ours leads", () => ours.role === "leader");
  const owners = JSON.parse(readFileSync(path.join(v1.folder, "owners.json"), "utf8")) as Record<string, Json>; // v1's file
  expect(owners["default"]).toMatchObject({ pid: process.pid, instanceId: ours.id });
  expect(owners["default"]?.["leaderEpoch"]).not.toBe(v1.record.leaderEpoch);
  await ours.stop();
  expect(JSON.parse(readFileSync(path.join(v1.folder, "owners.json"), "utf8"))).toEqual({});
  expect(got).toEqual(["from v1"]);
}, 30_000);
