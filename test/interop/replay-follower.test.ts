/**
 * The recorded v1 session against our follower, over real sockets: it follows a leader that answers with the recorded
 * answers, and the recorded frames to a follower are played, byte for byte, at our follower's endpoint.
 *
 * It finds that leader as it does in production: in the v1 owner store, by the record of a living process.
 *
 * The ids of our follower are the recorded ones (they are injected), so that its answers can be compared byte for byte.
 * Not masked: anything but the fields in `differing`.
 *
 * Connection 6 (a call into another chat) is never sent by ours; its recorded answer is given to another call of ours.
 * Connection 20 (an offered handoff) is not compared: its recorded answer came from a stand-in. Our own instances stage
 * nothing from a v1 peer, whose journal is foreign; the refusal is what is tested.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../adapters/host/clock.ts";
import { systemIds } from "../../adapters/host/ids.ts";
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import { openOwnerStore } from "../../adapters/store/v1-owner/index.ts";
import { instanceId } from "../../machines/ids.ts";
import { defaultOwnerTimings } from "../../machines/owner.contract.ts";
import { capability } from "../../machines/wire/constants.ts";
import { wireText } from "../../machines/wire/texts.ts";
import type { CallOutcome } from "../../services/ports.ts";
import { countingIds, identityOf, openLab, type Lab } from "./lab/lab.ts";
import { compared, connection, framed } from "./lab/recording.ts";
import { exchangeOnce, serveScript, type ScriptedServer } from "./lab/sockets.ts";
import { scriptedTelegram } from "./lab/telegram.ts";

const secret = "test-secret-0123456789abcdefghijklmnopqrstuv";
const ownSecret = "of our own, if we led";

/** Frames to the first follower, in the order of the recording. 16 repeats 8 under another request id. */
const played = [8, 10, 12, 14, 16, 21];
const offered = 20;
/** What the first follower sends of itself, by the kind of its request. */
const sent = { register: 1, heartbeat: 2, call: 5, refusedCall: 6, disconnect: 23 } as const;

const differing: Readonly<Record<number, readonly string[]>> = {
  [sent.register]: [
    // Our process, our socket, our clock, our version and our name for ourselves.
    "registration.pid",
    "registration.processBirthId",
    "registration.busSocketPath",
    "registration.connectedAtMs",
    "registration.protocol.runtimeBuild",
    // Work of a v1 leader's followers is in a journal that is not ours: no handoff is offered to it.
    "registration.protocol.capabilities",
    "registration.threadName",
  ],
  // Heartbeats come by the clock, so ids that count requests differ after them.
  [sent.heartbeat]: ["requestId", "sentAtMs"],
  [sent.call]: ["requestId", "sentAtMs"],
  [sent.disconnect]: ["requestId", "sentAtMs"],
};

let folder: string;
let lab: Lab;
let leader: ScriptedServer;
const handed: unknown[] = [];
const answers = new Map<number, string>();
const outcomes: CallOutcome[] = [];

/** The recorded answer to a request of this kind, under the id of the request. */
function leaderAnswers(line: string): string | null {
  const frame = framed(line);
  const text = JSON.stringify(frame["args"] ?? "");
  const conns: Readonly<Record<string, number>> = {
    "follower.register": sent.register,
    "follower.heartbeat": sent.heartbeat,
    "follower.callApi": text.includes("not mine") ? sent.refusedCall : sent.call,
    "follower.disconnect": sent.disconnect,
  };
  const conn = conns[String(frame["kind"])];
  if (conn === undefined) return null;
  const { requestId: recordedId } = framed(connection(conn).request);
  return connection(conn).answer.replace(JSON.stringify(recordedId), JSON.stringify(frame["requestId"]));
}

const lineOf = (kind: string, part = ""): string | undefined =>
  leader.received.find((line) => framed(line)["kind"] === kind && line.includes(part));

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "plr-"));
  const endpoint = path.join(folder, "bus.sock");
  // The recorded seat is `manual:owner-2001:1`: a profile with this id, and this name in it.
  const store = openMemoryStore({ database: new MemoryDatabase("owner-2001"), clock: systemClock() });
  leader = await serveScript(endpoint, leaderAnswers);
  // The recorded leader in its owner record; a living process without a heartbeat is never stale.
  const record = { pid: process.ppid, instanceId: "1000:1", busSecret: secret, busSocketPath: endpoint };
  writeFileSync(path.join(folder, "owners.json"), JSON.stringify({ default: record }));
  const { cwd } = framed(connection(sent.register).request)["registration"] as { readonly cwd: string }; // recorded
  lab = openLab({
    me: instanceId("2001:1"),
    name: "1",
    secret: ownSecret,
    chat: 7,
    identity: identityOf("0.1.0", [capability.durableAdmission, capability.sharedStore, capability.queueHandoff]),
    ids: countingIds(systemIds()),
    telegram: scriptedTelegram(42, () => undefined),
    store,
    folder,
    leaderAddress: endpoint,
    log: { event: () => undefined },
    counters: { count: () => undefined },
    handOut: ({ update }) => handed.push(update),
    v1: {
      store: openOwnerStore({ folder, slot: "default", clock: systemClock() }),
      self: { pid: process.pid, cwd, instanceId: instanceId("2001:1"), runtimeGeneration: 1, secret: ownSecret },
      timings: defaultOwnerTimings,
      mintEpoch: () => "none is taken here",
    },
  });
  const { instance } = lab;
  await vi.waitFor(() => expect(instance.actor.getSnapshot().matches({ online: { following: "joined" } })).toBe(true), {
    timeout: 10_000,
  });

  const [message, elsewhere] = [sent.call, sent.refusedCall].map((conn) => {
    const args: unknown = framed(connection(conn).request)["args"];
    return (args as readonly [string, Readonly<Record<string, unknown>>])[1]; // the recording holds a method and a body
  });
  for (const body of [message, elsewhere])
    outcomes.push(await instance.call({ method: "sendMessage", body: body ?? {} }));
  // One that only the leader can judge: whose a message is, it knows.
  const edit = { chat_id: 7, message_id: 1, text: "not mine" };
  outcomes.push(await instance.call({ method: "editMessageText", body: edit }));
  const address = path.join(folder, "followers", "2001_1.sock");
  for (const conn of [...played, offered]) answers.set(conn, await exchangeOnce(address, connection(conn).request));
  await vi.waitFor(() => expect(lineOf("follower.heartbeat")).toBeDefined(), { timeout: 10_000 });
  await lab.stop(true);
}, 60_000);

afterAll(async () => {
  await leader.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("the recorded session at our follower", () => {
  test.each(played.map((conn) => [conn, connection(conn).step] as const))(
    "connection %i (%s): our answer is the recorded one, byte for byte",
    (conn) => {
      expect(answers.get(conn)).toBe(connection(conn).answer);
    },
  );

  test("connection 20: an offer of a v1 peer's work is refused in the wire's words", () => {
    expect(framed(answers.get(offered) ?? "{}")).toEqual({
      kind: "bus.ack",
      requestId: "2002:1:3",
      ok: false,
      message: wireText.cannotAcceptHandoff,
    });
  });

  test("protocol/P-41: each update is handed out once, as Telegram sent it, whatever was forwarded twice", () => {
    expect(handed.map((update) => Object.keys(update as object))).toEqual([
      ["update_id", "message"],
      ["update_id", "edited_message"],
      ["update_id", "message_reaction"],
      ["update_id", "callback_query"],
    ]);
    expect(handed.map((update) => (update as { update_id: number }).update_id)).toEqual([5001, 5002, 5003, 5004]);
    expect(JSON.stringify(handed[0])).not.toContain("pi_telegram_source_update_id");
  });

  test.each([
    ["registration", sent.register, "follower.register", ""],
    ["heartbeat", sent.heartbeat, "follower.heartbeat", ""],
    ["call", sent.call, "follower.callApi", "hello"],
    ["disconnect", sent.disconnect, "follower.disconnect", ""],
  ] as const)("our %s is the recorded one", (_, conn, kind, part) => {
    const fields = differing[conn] ?? [];
    const { ours, recorded } = compared(lineOf(kind, part) ?? "{}", connection(conn).request, fields);
    // Key order is not significant on the wire (W-14).
    expect(JSON.parse(ours)).toEqual(JSON.parse(recorded));
  });

  test("connection 6 (call into another chat): ours is refused here already, and the leader is not asked", () => {
    expect(outcomes[1]).toMatchObject({ kind: "rejected", error: { error_code: 403 } });
    expect(leader.received.filter((line) => line.includes('"chat_id":8'))).toEqual([]);
  });

  test("the recorded answers mean to us what they meant: the message, and a definite refusal in the leader's words", () => {
    expect(outcomes[0]).toEqual({ kind: "ok", result: { message_id: 900 } });
    expect(outcomes[2]).toMatchObject({
      kind: "rejected",
      error: { description: expect.stringContaining(wireText.callNotAllowed) as string },
    });
  });
});
