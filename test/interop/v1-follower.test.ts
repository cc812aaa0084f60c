/**
 * A v1 follower at our live leader: one connection for each request, no part in the shared store.
 *
 * The leader is `createInstance` over the emulator; the follower is written down here, request by request, and sends them
 * through `requestOnce`, as v1 peers do.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../adapters/host/clock.ts";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import type { Emulator } from "../../adapters/telegram/emulator/index.ts";
import { oneShotPolicy, requestOnce } from "../../adapters/transport/unix/one-shot.ts";
import { createInstance, stateFolder } from "../../index.ts";
import type { Instance } from "../../index.ts";
import { generation, instanceId, seatKey } from "../../machines/ids.ts";
import { capability } from "../../machines/wire/constants.ts";
import type { Ack, RequestEnvelope } from "../../machines/wire/envelopes.ts";
import { wireText } from "../../machines/wire/texts.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { isNotice } from "../support/line/line.ts";

interface LiveLeader {
  readonly emulator: Emulator;
  readonly leader: Instance;
  readonly address: string;
  /** What the leader publishes for those who may talk to it. */
  readonly secret: string;
}

async function startLeader(): Promise<LiveLeader> {
  const emulator = await startEmulator({ token });
  const home = mkdtempSync(path.join(os.tmpdir(), "pl-v1-"));
  const leader = await createInstance({ token, user: owner, home, apiRoot: emulator.apiRoot, name: "leader" });
  onTestFinished(async () => {
    await leader.stop();
    await emulator.close();
    rmSync(home, { recursive: true, force: true });
  });
  await leader.ready;
  const folder = stateFolder({ token, home });
  const db = new Database(path.join(folder, "store.db"), { readonly: true });
  const secret = db.prepare<[], string>("SELECT secret FROM lease").pluck().get();
  db.close();
  if (secret === undefined) throw new Error("nobody leads");
  return { emulator, leader, address: path.join(folder, "bus.sock"), secret };
}

const me = { instanceId: instanceId("2001:1"), registrationGeneration: generation("2001:1:1") };

/** Sends each request on a connection of its own, under the next request id. */
function v1Client({ address, secret }: LiveLeader) {
  let count = 0;
  return async (make: (base: { requestId: string; auth: string }) => RequestEnvelope): Promise<Ack> => {
    count += 1;
    const request = make({ requestId: `2001:1:${count}`, auth: secret });
    const { attemptsMax, delayMs } = oneShotPolicy.operation;
    const answer = await requestOnce(
      address,
      request,
      { attemptsMax, delayMs, timeoutMs: 30_000 },
      { timers: systemClock(), tmpFolder: os.tmpdir() },
    );
    if (answer?.kind !== "bus.ack") throw new Error(`no answer to ${request.kind}`);
    expect(answer.requestId).toBe(request.requestId);
    return answer;
  };
}

test("protocol/S-40 what a program does with the thread that it was told changes nothing of where its instance is", async () => {
  const { leader, emulator } = await startLeader();
  const ready = await leader.ready;
  const real = leader.thread?.target.threadId;
  for (const told of [ready.thread, leader.thread]) Object.assign(told?.target ?? {}, { threadId: 1 });
  expect(leader.thread?.target.threadId).toBe(real);
  await leader.call("sendMessage", { text: "hi" });
  const texts = emulator.control
    .messages({})
    .filter((message) => message.from.isBot && !message.service && !isNotice(message));
  expect(texts.map(({ text, threadId }) => [text, threadId])).toEqual([["hi", real]]);
});

test("a v1 follower registers, beats, calls in its own thread only, and leaves, each on a connection of its own", async () => {
  const live = await startLeader();
  const { control } = live.emulator;
  const ask = v1Client(live);
  const call = (method: string, body: Readonly<Record<string, unknown>>): Promise<Ack> =>
    ask((base) => ({
      ...base,
      ...me,
      kind: "follower.callApi",
      method: "call",
      args: [method, body],
      sentAtMs: Date.now(),
    }));

  const registered = await ask((base) => ({
    ...base,
    kind: "follower.register",
    registration: {
      ...me,
      profileKey: seatKey("manual:owner-2001:1"),
      threadName: "f",
      cwd: "/srv/f",
      pid: process.pid,
      sessionGeneration: 1,
      // It serves nothing here, and nothing is sent to it.
      busSocketPath: path.join(os.tmpdir(), "a-v1-follower.sock"),
      protocol: {
        protocolVersion: 1,
        runtimeBuild: "0.36.10",
        capabilities: [capability.durableAdmission, capability.queueHandoff],
      },
      connectedAtMs: Date.now(),
    },
  }));
  expect(registered).toMatchObject({ ok: true, protocol: { protocolVersion: 1 } });
  const { threadId } = registered.result as { readonly threadId: number }; // checked by the next line
  expect(registered.result).toMatchObject({ chatId: owner, threadId: expect.any(Number) as number });
  const thread = () => control.state().threads.find((each) => each.threadId === threadId);
  expect(thread()?.status).toBe("open");

  for (let beat = 1; beat <= 3; beat += 1) {
    const alive = await ask((base) => ({ ...base, ...me, kind: "follower.heartbeat", sentAtMs: Date.now() }));
    expect(alive, `beat ${beat}`).toMatchObject({
      ok: true,
      result: { eligibleElectionSlots: expect.any(Array) as string[] },
    });
  }

  const sent = await call("sendMessage", { chat_id: owner, message_thread_id: threadId, text: "from v1" });
  expect(sent).toMatchObject({ ok: true, result: { text: "from v1", message_thread_id: threadId } });
  const elsewhere = live.leader.thread?.target.threadId;
  expect(elsewhere).not.toBe(threadId);
  const refused = await call("sendMessage", { chat_id: owner, message_thread_id: elsewhere, text: "elsewhere" });
  expect(refused).toMatchObject({ ok: false, message: wireText.callNotAllowed });
  const texts = control.messages({}).filter((each) => each.from.isBot && !each.service && !isNotice(each));
  expect(texts.map(({ text, threadId: where }) => [text, where])).toEqual([["from v1", threadId]]);

  const left = await ask((base) => ({ ...base, ...me, kind: "follower.disconnect", sentAtMs: Date.now() }));
  expect(left).toMatchObject({ ok: true });
  expect(thread()?.status).toBe("deleted");
  const after = await ask((base) => ({ ...base, ...me, kind: "follower.heartbeat", sentAtMs: Date.now() }));
  expect(after).toMatchObject({ ok: false, message: wireText.unknownFollower });
  expect(live.leader.role).toBe("leader");
});
