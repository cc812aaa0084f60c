/**
 * Hostile frames at the endpoints of a real leader and a real follower of ours, over unix sockets, while a v1 peer that opens a
 * connection for each request and our own follower on its pipelined connection go on working there.
 *
 * The frames know the secret: what is mangled gets past authentication. Fixed seed; a failure prints the lines.
 */
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { systemClock } from "../../adapters/host/clock.ts";
import { systemIds } from "../../adapters/host/ids.ts";
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import { parseEnvelope } from "../../adapters/transport/wire/parse.ts";
import { instanceId } from "../../machines/ids.ts";
import { capability } from "../../machines/wire/constants.ts";
import { wireText } from "../../machines/wire/texts.ts";
import { hostileBytes, hostileLine } from "../support/wire/hostile.ts";
import { identityOf, openLab, v1Capabilities, type Lab, type LabOptions } from "./lab/lab.ts";
import { framed } from "./lab/recording.ts";
import { exchangeOnce, serveScript, type ScriptedServer } from "./lab/sockets.ts";
import { scriptedTelegram, type ScriptedTelegram } from "./lab/telegram.ts";

const secret = "s".repeat(43);
const chat = 7;
const waiting = { timeout: 15_000, interval: 10 };
const ownCapabilities = [capability.durableAdmission, capability.sharedStore, capability.queueHandoff];

let folder: string;
let leader: Lab;
let follower: Lab;
let v1Endpoint: ScriptedServer;
let telegram: ScriptedTelegram;
const transportCounts: string[] = [];
const handed: string[] = [];
let neighbourThread = 0;
let requests = 0;

const leaderAddress = () => path.join(folder, "bus.sock");
const followerAddress = () => path.join(folder, "followers", "3000_1.sock");

const ofPeer = (pid: number) => ({
  requestId: `${String(pid)}:1:${String((requests += 1))}`,
  auth: secret,
  instanceId: `${String(pid)}:1`,
  registrationGeneration: `${String(pid)}:1:g`,
  sentAtMs: 1,
});

const registration = (pid: number) => {
  const { requestId, auth, instanceId: who, registrationGeneration } = ofPeer(pid);
  return {
    kind: "follower.register",
    requestId,
    auth,
    registration: {
      instanceId: who,
      profileKey: `manual:peer-${String(pid)}`,
      threadName: "peer",
      cwd: "/srv/peer",
      pid,
      processBirthId: `${String(pid)}:start:1`,
      sessionGeneration: 1,
      busSocketPath: path.join(folder, "v1.sock"),
      registrationGeneration,
      protocol: identityOf("0.36.10", v1Capabilities),
      connectedAtMs: 1,
    },
  };
};

/** One request of the v1 neighbour, on a connection of its own. */
async function asNeighbour(fields: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
  const request = { ...ofPeer(2002), ...fields };
  const answer = framed(await exchangeOnce(leaderAddress(), `${JSON.stringify(request)}\n`));
  expect(answer["requestId"]).toBe(request.requestId);
  return answer;
}
const beat = () => asNeighbour({ kind: "follower.heartbeat" });

const labOptions = (me: string, database: MemoryDatabase): LabOptions => ({
  me: instanceId(me),
  name: me === "1000:1" ? "leader" : "own",
  secret,
  chat,
  identity: identityOf("0.1.0", ownCapabilities),
  ids: systemIds(),
  telegram,
  store: openMemoryStore({ database, clock: systemClock() }),
  folder,
  leaderAddress: leaderAddress(),
  log: { event: () => undefined },
  counters: { count: (reason) => void transportCounts.push(reason) },
  handOut: ({ update }) => void handed.push(JSON.stringify(update)),
});

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "plh-"));
  let messages = 900;
  telegram = scriptedTelegram(42, ({ method, payload }) =>
    method.startsWith("send") && method !== "sendChatAction"
      ? { message_id: (messages += 1), chat: { id: chat }, message_thread_id: payload["message_thread_id"] }
      : undefined,
  );
  const database = new MemoryDatabase("hostile");
  v1Endpoint = await serveScript(path.join(folder, "v1.sock"), () => null);
  leader = openLab(labOptions("1000:1", database));
  await vi.waitFor(
    () => expect(leader.instance.actor.getSnapshot().matches({ online: { leading: "bus" } })).toBe(true),
    waiting,
  );
  follower = openLab(labOptions("3000:1", database));
  await vi.waitFor(
    () => expect(follower.instance.actor.getSnapshot().matches({ online: { following: "joined" } })).toBe(true),
    waiting,
  );
  for (const pid of [2001, 2002]) {
    const ack = framed(await exchangeOnce(leaderAddress(), `${JSON.stringify(registration(pid))}\n`));
    expect(ack).toMatchObject({ ok: true });
    neighbourThread = (ack["result"] as { threadId: number }).threadId; // a positive answer names a thread
  }
}, 60_000);

afterAll(async () => {
  await follower.stop();
  await leader.stop();
  await v1Endpoint.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Frames of a peer that is registered: any of them, mangled. */
function framesToLeader(): readonly string[] {
  const payload = {
    kind: "control",
    controlType: "status",
    chatId: chat,
    replyToMessageId: 900,
    queueOrder: 1,
    queueLane: "control",
    laneOrder: 1,
    statusSummary: "status",
    admissionReceipts: [{ queueKind: "control", receiptId: "r", sourceUpdateIds: [5] }],
  };
  return [
    registration(2001),
    { kind: "follower.heartbeat", ...ofPeer(2001) },
    { kind: "follower.callApi", ...ofPeer(2001), method: "call", args: ["sendMessage", { chat_id: chat, text: "x" }] },
    { kind: "follower.callApi", ...ofPeer(2001), method: "callMultipart", args: ["sendPhoto", {}, "photo", "/x", "x"] },
    { kind: "follower.resolveAgentTarget", ...ofPeer(2001), selector: { threadName: "leader" } },
    {
      kind: "follower.routeAgentMessage",
      ...ofPeer(2001),
      message: { target: { chatId: chat, threadId: 9_999 }, messageId: 5, text: "x" },
    },
    {
      kind: "follower.offerQueueHandoff",
      ...ofPeer(2001),
      recipientInstanceId: "2001:1",
      recipientRegistrationGeneration: "2001:1:g",
      donorProcessId: 1,
      donorProcessBirthId: "1:start:1",
      donorSessionGeneration: 1,
      donorAcquisitionId: "a",
      donorAcquiredAtMs: 1,
      handoffToken: "T".repeat(32),
      payload,
    },
    { kind: "bus.ack", requestId: "a", ok: true, auth: secret, result: {} },
  ].map((frame) => JSON.stringify(frame));
}

/** Frames of the leader to its own follower, mangled; the one that would move its thread names an old generation. */
function framesToFollower(): readonly string[] {
  const { place, leader: link } = follower.instance.runtime.board;
  const addressed = {
    requestId: "leader:1",
    auth: secret,
    recipientInstanceId: "3000:1",
    recipientRegistrationGeneration: link?.generation,
    sentAtMs: 1,
  };
  const delivery = {
    deliveryId: `telegram-follower-v1-${"0a".repeat(32)}`,
    sourceUpdateId: 44,
    recipientBindingKey: place?.seat,
  };
  const carrier = { message_id: 5, text: "hi", pi_telegram_source_update_id: 44 };
  return [
    { kind: "leader.forwardMessage", ...addressed, delivery, message: carrier },
    { kind: "leader.forwardEditedMessage", ...addressed, delivery, message: carrier },
    { kind: "leader.forwardCallback", ...addressed, delivery, query: carrier },
    { kind: "leader.forwardReaction", ...addressed, delivery, reactionUpdate: carrier },
    {
      kind: "leader.replaceFollowerTarget",
      ...addressed,
      recipientRegistrationGeneration: "old",
      target: { chatId: chat, threadId: 1 },
      reason: "thread-restore",
    },
    { kind: "bus.ack", requestId: "a", ok: true, auth: secret },
  ].map((frame) => JSON.stringify(frame));
}

class HostilePeer {
  text = "";
  isClosed = false;
  readonly socket: net.Socket;

  constructor(socketPath: string) {
    this.socket = net.connect({ path: socketPath });
    this.socket.setEncoding("utf8");
    this.socket.on("data", (chunk: string) => (this.text += chunk));
    this.socket.on("error", () => this.socket.destroy());
    this.socket.on("close", () => (this.isClosed = true));
  }

  get answers(): readonly Readonly<Record<string, unknown>>[] {
    return this.text.split("\n").slice(0, -1).map(framed);
  }
}

/**
 * Sends the lines in two pieces with a good one among them: each unreadable one gets the wire's answer for it, the good one
 * its own, and nothing that is no acknowledgement comes back. Resolves with the answer to the good one.
 */
async function attack(
  address: string,
  { lines, good, at }: { lines: readonly (string | Buffer)[]; good: object & { requestId: string }; at: number },
) {
  const peer = new HostilePeer(address);
  const where = at % (lines.length + 1);
  const all = [...lines.slice(0, where), JSON.stringify(good), ...lines.slice(where)];
  const bytes = Buffer.concat(all.flatMap((line) => [Buffer.from(line), Buffer.from("\n")]));
  const cut = 1 + (at % 5_000);
  peer.socket.write(bytes.subarray(0, cut));
  peer.socket.write(bytes.subarray(cut));
  const unreadable = lines.filter((line) => parseEnvelope(line.toString("utf8")) === null).length;
  const of = (requestId: string) => peer.answers.filter((answer) => answer["requestId"] === requestId);
  await vi.waitFor(() => {
    expect(of(good.requestId)).toHaveLength(1);
    expect(of("invalid").length).toBeGreaterThanOrEqual(unreadable);
  }, waiting);
  for (const answer of peer.answers)
    expect(answer).toMatchObject({ kind: "bus.ack", ok: expect.any(Boolean) as boolean });
  expect(peer.isClosed).toBe(false);
  peer.socket.destroy();
  return of(good.requestId)[0];
}

const attacks = (samples: readonly string[]) =>
  [
    fc.array(fc.oneof({ weight: 6, arbitrary: hostileLine(samples) }, hostileBytes), { maxLength: 8 }),
    fc.nat(),
  ] as const;
const settings = { numRuns: 25, seed: 20_261_202 };

test("protocol/V-1, W-9 and O-24: hostile frames at a live leader: no crash, right answers on the same connection, for a v1 peer beside it and for our own follower", async () => {
  await fc.assert(
    fc.asyncProperty(...attacks(framesToLeader()), async (lines, at) => {
      const good = { kind: "follower.heartbeat", ...ofPeer(2002) };
      const [answer, beside, call] = await Promise.all([
        attack(leaderAddress(), { lines, good, at }),
        beat(),
        follower.instance.call({ method: "sendMessage", body: { text: "own" } }),
      ]);
      expect(answer).toMatchObject({ ok: true, result: { eligibleElectionSlots: expect.any(Array) as [] } });
      expect(beside).toMatchObject({ ok: true });
      expect(call).toMatchObject({ kind: "ok" });
    }),
    settings,
  );
  expect(leader.instance.actor.getSnapshot().matches({ online: { leading: "bus" } })).toBe(true);
  expect(transportCounts).not.toContain("handler-failed");
}, 60_000);

test("protocol/W-7: our leader serves a v1 peer that opens a connection per request and our own follower on its one connection, at the same time", async () => {
  const texts = Array.from({ length: 30 }, (_, index) => `together ${String(index)}`);
  const v1Call = (text: string) =>
    asNeighbour({
      kind: "follower.callApi",
      method: "call",
      args: ["sendMessage", { chat_id: chat, message_thread_id: neighbourThread, text }],
    });
  const { link } = follower.instance.runtime.board.leader ?? {};
  const answers = await Promise.all(
    texts.flatMap((text) => [v1Call(text), follower.instance.call({ method: "sendMessage", body: { text } })]),
  );
  for (const answer of answers)
    expect(answer).toMatchObject(answer["kind"] === "bus.ack" ? { ok: true } : { kind: "ok" });
  const sent = telegram.made.filter(({ payload }) => texts.includes(String(payload["text"])));
  expect(new Set(sent.map(({ payload }) => payload["message_thread_id"])).size).toBe(2);
  expect(sent).toHaveLength(60);
  expect(follower.instance.runtime.board.leader?.link).toBe(link);
});

test("protocol/V-1, A-6 and O-24: hostile frames at a live follower: no crash, right answers on the same connection, and what the leader forwards still arrives once", async () => {
  const { place, leader: link } = follower.instance.runtime.board;
  const thread = place?.thread?.target.threadId;
  if (thread === undefined || link === null) throw new Error("the follower has no place");
  let updates = 100_000;
  await fc.assert(
    fc.asyncProperty(...attacks(framesToFollower()), async (lines, at) => {
      // A probe that is refused in words of its own: another seat's.
      const good = {
        kind: "leader.forwardMessage",
        requestId: `probe:${String((requests += 1))}`,
        auth: secret,
        recipientInstanceId: "3000:1",
        recipientRegistrationGeneration: link.generation,
        sentAtMs: 1,
        delivery: {
          deliveryId: `telegram-follower-v1-${"0a".repeat(32)}`,
          sourceUpdateId: 1,
          recipientBindingKey: "manual:somebody else",
        },
      };
      const text = `forwarded ${String((updates += 1))}`;
      telegram.give([messageUpdate(updates, thread, text)]);
      const answer = await attack(followerAddress(), { lines, good, at });
      expect(answer).toMatchObject({ ok: false, message: wireText.deliveryIdentityMismatch });
      await vi.waitFor(() => expect(handed.filter((update) => update.includes(text))).toHaveLength(1), waiting);
    }),
    settings,
  );
  expect(follower.instance.actor.getSnapshot().matches({ online: { following: "joined" } })).toBe(true);
  expect(follower.instance.runtime.board.leader?.generation).toBe(link.generation);
  expect(new Set(handed).size).toBe(handed.length);
  expect(transportCounts).not.toContain("handler-failed");
}, 60_000);

const messageUpdate = (id: number, thread: number, text: string) => ({
  update_id: id,
  message: {
    message_id: id,
    date: 1,
    chat: { id: chat, type: "private", first_name: "U" },
    from: { id: chat, is_bot: false, first_name: "U" },
    message_thread_id: thread,
    is_topic_message: true,
    text,
  },
});

test("protocol/O-24: a line that never ends is cut off at either endpoint, and costs its sender only", async () => {
  // Silent for longer than the leader lets it be.
  expect(framed(await exchangeOnce(leaderAddress(), `${JSON.stringify(registration(2002))}\n`))).toMatchObject({
    ok: true,
  });
  for (const address of [leaderAddress(), followerAddress()]) {
    const peer = new HostilePeer(address);
    const chunk = "x".repeat(1024 * 1024);
    for (let count = 0; count < 17; count += 1) peer.socket.write(chunk);
    const [beside, call] = await Promise.all([
      beat(),
      follower.instance.call({ method: "sendMessage", body: { text: "own" } }),
    ]);
    expect(beside).toMatchObject({ ok: true });
    expect(call).toMatchObject({ kind: "ok" });
    await vi.waitFor(() => expect(peer.isClosed).toBe(true), waiting);
  }
  expect(transportCounts.filter((reason) => reason === "line-too-long")).toHaveLength(2);
}, 60_000);
