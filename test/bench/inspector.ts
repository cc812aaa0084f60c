/**
 * What watching costs an instance: processor time of its process for each update that it leads, delivers and settles, with
 * nothing built in to watch it, with a tap that nobody is attached to, and with one client attached (`partyline record`, a process of
 * its own).
 *
 * Processor time, not throughput: it is what throughput is made of, and neighbours on the machine do not count. Emulator
 * and sender are processes of their own, too. Each round is one instance of each kind, in changing order.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInstance } from "../../index.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { builtCliPath } from "../support/tools.ts";
import { until } from "../support/line/waiting.ts";
import { resultOf, type Result } from "./figures.ts";

const rounds = 7;
const updates = 400;
const kinds = ["none", "detached", "attached"] as const;
type Kind = (typeof kinds)[number];

/** Writes so many messages into a thread, eight at a time. */
const sender = `
const [url, threadId, count] = process.argv.slice(1);
let left = Number(count);
const write = async () => {
  while ((left -= 1) >= 0)
    await fetch(url + "control/user-text", {
      method: "POST",
      headers: { "content-type": "application/json", origin: url.slice(0, -1) },
      body: JSON.stringify({ threadId: Number(threadId), text: "hello" }),
    });
};
await Promise.all(Array.from({ length: 8 }, write));
`;

async function withEmulator<Value>(use: (apiRoot: string) => Promise<Value>): Promise<Value> {
  const child = spawn(process.execPath, [builtCliPath(), "emulator", "--port", "0", "--token", token], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  try {
    await until("the emulator listens", () => /http:\/\/127\.0\.0\.1:\d+/.test(output), { state: () => output });
    return await use(/http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? "");
  } finally {
    child.kill("SIGTERM");
  }
}

/** Microseconds of processor time for each update. */
async function measure(kind: Kind): Promise<number> {
  const home = mkdtempSync(path.join(os.tmpdir(), "plb-"));
  let client: ChildProcess | undefined;
  try {
    return await withEmulator(async (apiRoot) => {
      const instance = await createInstance({
        token,
        user: owner,
        apiRoot,
        home,
        name: "bench",
        ack: "explicit",
        ...(kind === "none" ? { inspect: false } : {}),
      });
      let acked = 0;
      instance.on("update", async ({ ack }) => {
        await ack();
        acked += 1;
      });
      const { thread } = await instance.ready;
      if (kind === "attached") client = await attach(home);
      const before = process.cpuUsage();
      spawn(
        process.execPath,
        ["--input-type=module", "-e", sender, `${apiRoot}/`, String(thread?.target.threadId), String(updates)],
        {
          stdio: "inherit",
        },
      );
      await until("all are acked", () => acked === updates, { state: () => `${acked} are` });
      const { user, system } = process.cpuUsage(before);
      await instance.stop();
      return (user + system) / updates;
    });
  } finally {
    client?.kill("SIGTERM");
    rmSync(home, { recursive: true, force: true });
  }
}

async function attach(home: string): Promise<ChildProcess> {
  const file = path.join(home, "bench.ndjson");
  const env = { ...process.env, TELEGRAM_BOT_TOKEN: token, PARTYLINE_HOME: home };
  const client = spawn(process.execPath, [builtCliPath(), "record", "--out", file], { env, stdio: "ignore" });
  const text = (): string => {
    try {
      return readFileSync(file, "utf8");
    } catch {
      // Not begun yet.
      return "";
    }
  };
  await until("the client is attached", () => text().includes('"kind":"welcome"'));
  return client;
}

export async function benchInspector(): Promise<Result[]> {
  const samples: Readonly<Record<Kind, number[]>> = { none: [], detached: [], attached: [] };
  // The first ones pay for compiling.
  for (const kind of kinds) await measure(kind);
  for (let round = 0; round < rounds; round += 1)
    for (let turn = 0; turn < kinds.length; turn += 1) {
      const kind = kinds[(round + turn) % kinds.length] ?? "none";
      samples[kind].push(await measure(kind));
    }
  const unit = "µs of processor time per update";
  const note = "one instance leads, delivers to itself and settles; baseline: the same without a tap (inspect: false)";
  return [
    resultOf({ name: "inspector attached, one client", unit, note }, samples.attached, samples.none),
    resultOf({ name: "inspector detached", unit, note }, samples.detached, samples.none),
  ];
}
