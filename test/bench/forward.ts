/**
 * An update's way from the leader to a follower in another process, durable at both: from the poll's answer, through the
 * journal, the wire and the follower's claim, to the call of the follower's handler. The charts, the store and the sockets
 * are those of production; Telegram alone is played in this process, so that no HTTP is measured.
 *
 * The baseline does what a bus without group commit does: append to a file and flush it, a connection for the request,
 * append and flush at the other side, answer.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { systemClock } from "../../adapters/host/clock.ts";
import { systemIds } from "../../adapters/host/ids.ts";
import { systemProcesses } from "../../adapters/host/processes.ts";
import { openSqliteStore } from "../../adapters/store/sqlite/index.ts";
import { requestOnce } from "../../adapters/transport/unix/one-shot.ts";
import { createUnixTransport } from "../../adapters/transport/unix/transport.ts";
import { stateFolder } from "../../index.ts";
import { chatId, generation, instanceId } from "../../machines/ids.ts";
import { roleOf } from "../../machines/role.rules.ts";
import { capability } from "../../machines/wire/constants.ts";
import type { RequestEnvelope } from "../../machines/wire/envelopes.ts";
import { composeInstance } from "../../services/instance.ts";
import { bundleProgram } from "../support/line/bundle.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { until } from "../support/line/waiting.ts";
import { hostOf, plainSettings } from "../support/wire/composing.ts";
import { ScriptedTelegram } from "../support/wire/scripted-telegram.ts";
import { resultOf, type Result } from "./figures.ts";

const inFlight = 8;
const rounds = 5;
const perRound = 800;
const baselinePerRound = 100;

/** Runs `count` of something, `inFlight` at once; each one's milliseconds and the rate. */
async function run(one: () => Promise<void>, count: number): Promise<{ perSecond: number; ms: number[] }> {
  const ms: number[] = [];
  let left = count;
  const startedAt = performance.now();
  const worker = async (): Promise<void> => {
    while ((left -= 1) >= 0) {
      const at = performance.now();
      await one();
      ms.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { perSecond: count / ((performance.now() - startedAt) / 1_000), ms };
}

/** The child's first message. */
function hello<Value>(child: ChildProcess): Promise<Value> {
  return new Promise((resolve, reject) => {
    child.once("message", (message) => {
      resolve(message as Value); // our own program wrote it
    });
    child.once("exit", () => {
      reject(new Error("the other process of the benchmark ended at once"));
    });
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.disconnect();
  await exited;
}

async function openLeader(home: string, telegram: ScriptedTelegram) {
  const folder = stateFolder({ token, home });
  const clock = systemClock();
  const ids = systemIds();
  const processes = systemProcesses();
  const store = await openSqliteStore({ folder, clock });
  if (!("lease" in store)) throw new Error(store.reason);
  const counters = { count: () => undefined };
  const instance = composeInstance(
    {
      stage: { clock, log: { event: () => undefined }, inspect: () => undefined },
      counters,
      ids,
      processes,
      store,
      transport: createUnixTransport({ folder, clock, counters }),
      telegram,
      v1: null,
    },
    {
      ...plainSettings,
      me: ids.instanceId(process.pid, clock.nowMs()),
      incarnation: processes.own(),
      secret: ids.secret(),
      name: "leader",
      user: owner,
      chat: chatId(owner),
      identity: {
        protocolVersion: 1,
        runtimeBuild: "bench",
        capabilities: [capability.durableAdmission, capability.sharedStore, capability.queueHandoff],
      },
      capabilityMs: 2_500,
    },
    hostOf(() => undefined),
  );
  instance.queue.listening.updates(true);
  instance.actor.start();
  await until("the leader leads", () => roleOf(instance.actor.getSnapshot()) === "leader");
  return {
    close: async () => {
      instance.actor.stop();
      await instance.dispose();
      await store.close();
    },
  };
}

/** A line of two processes; `send` resolves when the follower's handler has been called with that update. */
async function openOurs(home: string, program: string) {
  const telegram = new ScriptedTelegram();
  const leader = await openLeader(home, telegram);
  const child = fork(program, ["follower", home, token, String(owner)]);
  const { thread } = await hello<{ thread: number }>(child);
  const waiting = new Map<number, () => void>();
  child.on("message", (id) => {
    if (typeof id !== "number") return;
    waiting.get(id)?.();
    waiting.delete(id);
  });
  let last = 800_000_000;
  const send = (): Promise<void> =>
    new Promise((resolve) => {
      const id = (last += 1);
      waiting.set(id, resolve);
      telegram.give({
        update_id: id,
        message: {
          message_id: id,
          date: 1_790_000_000,
          chat: { id: owner, type: "private" },
          from: { id: owner, is_bot: false, first_name: "Owner" },
          message_thread_id: thread,
          is_topic_message: true,
          text: "carry this over",
        },
      } as { readonly update_id: number });
    });
  return {
    send,
    close: async () => {
      await ended(child);
      await leader.close();
    },
  };
}

async function openBaseline(folder: string, program: string) {
  const child = fork(program, ["appender", folder]);
  const { address } = await hello<{ address: string }>(child);
  const file = openSync(path.join(folder, "leader.log"), "a");
  const policy = { attemptsMax: 10, delayMs: 5, timeoutMs: 30_000 };
  const dialing = { timers: systemClock(), tmpFolder: os.tmpdir() };
  let count = 0;
  return {
    send: async () => {
      const request: RequestEnvelope = {
        kind: "follower.heartbeat",
        requestId: `4711:1:${String((count += 1))}`,
        auth: "s".repeat(43),
        instanceId: instanceId("4711:1"),
        registrationGeneration: generation("4711:1:1"),
        sentAtMs: 1,
      };
      writeSync(file, `${JSON.stringify(request)}\n`);
      fsyncSync(file);
      if ((await requestOnce(address, request, policy, dialing)) === null) throw new Error("a request got no answer");
    },
    close: async () => {
      await ended(child);
      closeSync(file);
    },
  };
}

export async function benchForward(): Promise<Result[]> {
  const program = await bundleProgram("test/bench/forward-program.ts");
  const home = mkdtempSync(path.join(os.tmpdir(), "plb-"));
  const ours = await openOurs(home, program);
  const baseline = await openBaseline(home, program);
  const rates: number[][] = [[], []];
  const times: number[][] = [[], []];
  try {
    await run(ours.send, 1_000);
    await run(baseline.send, 100);
    for (let round = 0; round < rounds; round += 1)
      for (const [side, send, count] of [
        [0, ours.send, perRound],
        [1, baseline.send, baselinePerRound],
      ] as const) {
        const { perSecond, ms } = await run(send, count);
        rates[side]?.push(perSecond);
        for (const each of ms) times[side]?.push(each);
      }
  } finally {
    await ours.close();
    await baseline.close();
    rmSync(home, { recursive: true, force: true });
  }
  const note =
    "poll's answer to the call of the follower's handler, on disk at both, two processes; baseline: append and flush at " +
    "each side, a connection for each request";
  const name = `leader → follower, ${String(inFlight)} in flight`;
  return [
    resultOf({ name: `${name}, rate`, unit: "updates/s", note }, rates[0] ?? [], rates[1]),
    resultOf({ name: `${name}, time`, unit: "ms", note }, times[0] ?? [], times[1]),
  ];
}
