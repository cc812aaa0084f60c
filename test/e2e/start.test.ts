/** Processes that start at the same moment, on a line that nobody has used before. */
import { expect, test } from "vitest";
import { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, summary, until } from "../support/line/waiting.ts";

const open = useLines();

async function race(round: number): Promise<number[]> {
  const line = await Line.open();
  try {
    // Both find no store: its making, the migration and the first grant are raced for as well.
    const agents = [line.start({ name: "left" }), line.start({ name: "right" })];
    let waitingMax = 0;
    const unsubscribe = line.control.onEvent((event) => {
      if (event.type === "call") waitingMax = Math.max(waitingMax, pollsOpen(line));
    });
    await Promise.all(agents.map((agent) => agent.whenReady()));
    unsubscribe();
    const what = `round ${round}: ${agents.map(({ role }) => role).join(", ")}`;
    expect(agents.map(({ role }) => role).sort(), what).toEqual(["follower", "leader"]);
    expect(
      agents.map(({ epoch }) => epoch),
      what,
    ).toEqual([1, 1]);
    const grants = agents.flatMap(({ roles }) => roles).filter(({ role }) => role === "leader");
    expect(grants.length, what).toBe(1);
    expect(line.control.state().polls.conflicts409, what).toBe(0);
    expect(waitingMax, what).toBeLessThanOrEqual(1);
    expect(new Set(agents.map(({ threadId }) => threadId)).size, what).toBe(2);
    return agents.map(({ ready, startedAtMs }) => (ready?.atMs ?? Infinity) - startedAtMs);
  } finally {
    await line.dispose();
  }
}

/** Polls that have arrived and are not answered. */
const pollsOpen = (line: Line): number => line.polls().filter(({ outcome }) => outcome.kind === "pending").length;

test("two processes started within 100 ms, 20 times on a fresh store: one leader of epoch 1, never two pollers", async () => {
  const readyMs: number[] = [];
  for (let round = 1; round <= 20; round += 1) readyMs.push(...(await race(round)));
  report(summary("process start to ready, two at once on a fresh store", readyMs));
}, 300_000);

test("eight processes started at once share one line", async () => {
  const line = await open();
  const agents = Array.from({ length: 8 }, (_, number) => line.start({ name: `agent-${number}` }));
  await Promise.all(agents.map((agent) => agent.whenReady()));
  expect(line.leaders.length).toBe(1);
  expect(new Set(agents.map(({ threadId }) => threadId)).size).toBe(8);
  for (const agent of agents) line.say(agent.threadId, `for ${agent.label}`);
  await until("each is served", () => agents.every(({ texts, label }) => texts.includes(`for ${label}`)));
  expect(agents.map(({ texts }) => texts.length)).toEqual(agents.map(() => 1));
  expect(line.control.state().polls.conflicts409).toBe(0);
});
