/**
 * What watching costs an instance that leads, delivers and settles as fast as it can: updates per second, and processor time of its
 * process for each; with nothing built in to watch it, with a tap that nobody is attached to, and with one client attached
 * (`partyline record`, a process of its own).
 *
 * Emulator and sender are processes of their own, too. Three instances live in this one, warm, and take blocks of updates in
 * turns, in changing order. A block is long beside the time that watching may run up on credit (`inspector/budget.ts`), so
 * that what is measured is what watching costs as long as the load lasts. The state folders are in memory where the machine
 * has such a place: flushing to a disk takes more time than all else, and as much as the disk pleases.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInstance } from "../../index.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { builtCliPath } from "../support/tools.ts";
import { until } from "../support/line/waiting.ts";
import { resultOf, type Result } from "./figures.ts";

const rounds = 5;
const updates = 2_000;
const memoryFolder = "/dev/shm";
const tmpFolder = existsSync(memoryFolder) ? memoryFolder : os.tmpdir();
const kinds = ["none", "detached", "attached"] as const;
type Kind = (typeof kinds)[number];

/** Writes so many messages into a thread, sixteen at a time. */
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
await Promise.all(Array.from({ length: 16 }, write));
`;

/** Of one block. */
interface Sample {
  readonly perSecond: number;
  readonly processorUs: number;
}

interface Bench {
  readonly measure: () => Promise<Sample>;
  readonly close: () => Promise<void>;
}

async function startEmulator(): Promise<{ readonly child: ChildProcess; readonly apiRoot: string }> {
  const args = [builtCliPath(), "emulator", "--port", "0", "--token", token];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  const address = /http:\/\/127\.0\.0\.1:\d+/;
  await until("the emulator listens", () => address.test(output), { state: () => output });
  return { child, apiRoot: address.exec(output)?.[0] ?? "" };
}

async function startLine(kind: Kind): Promise<Bench> {
  const home = mkdtempSync(path.join(tmpFolder, "plb-"));
  const { child, apiRoot } = await startEmulator();
  const watching = kind === "none" ? { inspect: false } : {};
  const instance = await createInstance({
    token,
    user: owner,
    apiRoot,
    home,
    name: "bench",
    ack: "explicit",
    ...watching,
  });
  let acked = 0;
  let firstAtMs = 0;
  let lastAtMs = 0;
  instance.on("update", async ({ ack }) => {
    await ack();
    lastAtMs = performance.now();
    if (acked % updates === 0) firstAtMs = lastAtMs;
    acked += 1;
  });
  const { thread } = await instance.ready;
  const client = kind === "attached" ? await attach(home) : null;
  const target = [`${apiRoot}/`, String(thread?.target.threadId), String(updates)];
  return {
    measure: async () => {
      const wanted = acked + updates;
      const before = process.cpuUsage();
      spawn(process.execPath, ["--input-type=module", "-e", sender, ...target], { stdio: "inherit" });
      await until("all are acked", () => acked === wanted, { state: () => `${acked} of ${wanted}` });
      const { user, system } = process.cpuUsage(before);
      const seconds = (lastAtMs - firstAtMs) / 1_000;
      return { perSecond: (updates - 1) / seconds, processorUs: (user + system) / updates };
    },
    close: async () => {
      client?.kill("SIGTERM");
      await instance.stop();
      child.kill("SIGTERM");
      rmSync(home, { recursive: true, force: true });
    },
  };
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
  const samples: Readonly<Record<Kind, Sample[]>> = { none: [], detached: [], attached: [] };
  const lines = {
    none: await startLine("none"),
    detached: await startLine("detached"),
    attached: await startLine("attached"),
  };
  // The first blocks pay for compiling.
  for (const kind of [...kinds, ...kinds]) await lines[kind].measure();
  for (let round = 0; round < rounds; round += 1)
    for (let turn = 0; turn < kinds.length; turn += 1) {
      const kind = kinds[(round + turn) % kinds.length] ?? "none";
      samples[kind].push(await lines[kind].measure());
    }
  for (const kind of kinds) await lines[kind].close();
  const note = "one instance leads, delivers to itself and settles; baseline: the same without a tap (inspect: false)";
  const rows = (kind: Kind, name: string): Result[] => {
    const of = (what: keyof Sample, unit: string): Result =>
      resultOf(
        { name, unit, note },
        samples[kind].map((sample) => sample[what]),
        samples.none.map((sample) => sample[what]),
      );
    return [of("perSecond", "updates/s"), of("processorUs", "µs of processor time per update")];
  };
  return [...rows("attached", "inspector attached, one client"), ...rows("detached", "inspector detached")];
}
