/** The leader dies of `kill -9` while messages flow; what a follower then does, and how fast. */
import { expect, test } from "vitest";
import { runChaos } from "../support/line/chaos-run.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, summary, until } from "../support/line/waiting.ts";

const open = useLines();

test("20 times kill -9 of the leader mid-stream: one new leader each time, nothing lost, nothing doubled", async () => {
  const progress: string[] = [];
  const result = await runChaos({
    rounds: 20,
    followerEvery: 0,
    disturbs: false,
    paceMs: 50,
    seed: 20,
    progress: (line) => progress.push(line),
  });
  report(
    summary(
      "failover, kill to role line",
      result.samples.map(({ failoverMs }) => failoverMs),
    ),
  );
  report(
    summary(
      "failover, kill to first poll",
      result.samples.map(({ firstPollMs }) => firstPollMs),
    ),
  );
  report(
    summary(
      "kill until all three are served again",
      result.samples.map(({ wholeMs }) => wholeMs),
    ),
  );
  expect(result, progress.join("\n")).toMatchObject({
    kills: 20,
    deliveredOnce: result.updatesSent,
    badElections: 0,
    conflicts409: 0,
    orphans: 0,
    messages: { lost: [], duplicated: [], misdelivered: [], outOfOrder: [], unmarked: [] },
  });
  // Ten times the target.
  expect(result.failoverMs.p50).toBeLessThan(800);
  expect(result.failoverMs.p99).toBeLessThan(3_000);
}, 600_000);

test("a restarted process is given what it had in hand before anything newer of its thread", async () => {
  const line = await open();
  const hold = { onUpdate: () => undefined };
  const [, beta] = await line.startAll(["alpha", "beta"], hold);
  const { threadId } = beta!;
  const ids = ["first", "second"].map((text) => line.say(threadId, text));
  await until("both are in hand", () => beta!.updates.length === 2);
  await beta!.kill();
  // Told while nobody sits there: it waits at the leader.
  ids.push(line.say(threadId, "third"));
  await until("the third is in the journal", () => line.openUpdates().includes(ids[2]!));
  const again = await line.start({ name: "beta" }).whenReady();
  await until("all three are given", () => again.updates.length >= 3);
  await line.settled(ids);
  expect(again.updates.map(({ update, redelivered }) => [update.message?.text, redelivered ?? false])).toEqual([
    ["first", true],
    ["second", true],
    ["third", false],
  ]);
});

test("the leader and a follower killed together: the one that is left leads and holds the others' messages", async () => {
  const line = await open();
  const [alpha, beta, gamma] = await line.startAll(["alpha", "beta", "gamma"]);
  const killedAtMs = Date.now();
  await Promise.all([alpha!.kill(), beta!.kill()]);
  await gamma!.whenRole("leader");
  report(`failover with a follower killed along: ${(gamma!.roles.at(-1)?.atMs ?? 0) - killedAtMs} ms`);
  expect(gamma!.epoch).toBe(2);
  const ids = [alpha!, beta!, gamma!].map((agent) => line.say(agent.threadId, `for ${agent.label}`));
  await until("its own message arrives", () => gamma!.texts.includes("for gamma"));
  const back = await line.startAll(["alpha", "beta"]);
  await line.settled(ids);
  expect(back.map(({ texts }) => texts)).toEqual([["for alpha"], ["for beta"]]);
  expect(back.map(({ threadId }) => threadId)).toEqual([alpha!.threadId, beta!.threadId]);
});
