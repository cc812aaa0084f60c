/** Benchmarks of real processes: failover, start, memory. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { bundleProgram } from "../support/line/bundle.ts";
import { Line } from "../support/line/line.ts";
import { until } from "../support/line/waiting.ts";
import { resultOf } from "./figures.ts";
import type { Result } from "./figures.ts";

async function withLine<Value>(use: (line: Line) => Promise<Value>): Promise<Value> {
  const line = await Line.open();
  try {
    return await use(line);
  } finally {
    await line.dispose();
  }
}

/** Kills the leader of a quiet line again and again; the killed one comes back as a follower. */
async function failoverWith(followers: number, rounds: number): Promise<Result> {
  return withLine(async (line) => {
    const names = Array.from({ length: followers + 1 }, (_, number) => `agent-${number}`);
    await line.startAll(names);
    const samples: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { leader } = line;
      const killedAtMs = Date.now();
      const gone = leader.kill();
      await until("another one leads", () => line.leaders.some((agent) => agent !== leader));
      await gone;
      samples.push((line.leader.roles.at(-1)?.atMs ?? Infinity) - killedAtMs);
      await line.start({ name: leader.label }).whenReady();
      const served = line.agents.filter((agent) => agent.isRunning);
      for (const agent of served) line.say(agent.threadId, `round ${round}`);
      await until("all are served", () => served.every(({ texts }) => texts.includes(`round ${round}`)));
    }
    return resultOf(
      {
        name: `failover, kill -9 of the leader, ${followers} follower${followers === 1 ? "" : "s"}`,
        unit: "ms",
        note: "from the kill to the new leader's own word, each instance a process of its own",
      },
      samples,
    );
  });
}

export async function benchFailover(): Promise<Result[]> {
  return [await failoverWith(1, 15), await failoverWith(3, 15)];
}

/** Start and end of a Node process that does nothing. */
function emptyNodeMs(): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--eval", "0"], { stdio: "ignore" });
    child.once("error", reject);
    child.once("exit", () => {
      resolve(performance.now() - startedAt);
    });
  });
}

export async function benchStart(): Promise<Result[]> {
  return withLine(async (line) => {
    const [keeper] = await line.startAll(["keeper"]);
    const asFollower: number[] = [];
    const asLeader: number[] = [];
    const empty: number[] = [];
    const startToReady = async (name: string): Promise<number> => {
      const agent = await line.start({ name }).whenReady();
      await agent.stop();
      return (agent.ready?.atMs ?? Infinity) - agent.startedAtMs;
    };
    for (let round = 0; round < 15; round += 1) {
      empty.push(await emptyNodeMs());
      asFollower.push(await startToReady("visitor"));
    }
    await keeper?.stop();
    for (let round = 0; round < 15; round += 1) asLeader.push(await startToReady("keeper"));
    const note = "spawn to the ready line, store and thread exist; baseline: an empty Node process, spawn to exit";
    return [
      resultOf({ name: "start to ready, as follower", unit: "ms", note }, asFollower, empty),
      resultOf({ name: "start to ready, as leader", unit: "ms", note }, asLeader, empty),
    ];
  });
}

/** Resident memory of a process, in MB. */
function residentMb(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error(`no resident size of process ${pid}`);
  return Number(kib) / 1024;
}

export async function benchMemory(): Promise<Result[]> {
  const crowd = await bundleProgram("test/support/line/crowd-program.ts");
  return withLine(async (line) => {
    const [leader] = await line.startAll(["leader"]);
    if (leader === undefined) throw new Error("no leader");
    const alone = residentMb(leader.pid);
    const join = async (count: number, prefix: string): Promise<number> => {
      await line.start({ program: crowd, flags: [String(count), prefix] }).whenReady();
      return residentMb(leader.pid);
    };
    await join(13, "first");
    const with26 = await join(13, "second");
    const with78 = await join(52, "third");
    const note =
      "followers are instances in few processes, the leader is a process of its own; VmRSS, one reading each";
    return [
      resultOf({ name: "memory, leader with 26 followers", unit: "MB", note }, [with26], [alone]),
      resultOf(
        { name: "memory, per further seat", unit: "KB", note: "from 26 to 78 followers, without a forced collection" },
        [((with78 - with26) * 1024) / 52],
      ),
    ];
  });
}
