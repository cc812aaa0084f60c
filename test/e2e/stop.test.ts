/** A clean stop: in time, with a short hand-over, with nothing left running. */
import { expect, test } from "vitest";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { inMs, report, summary, until } from "../support/line/waiting.ts";

const open = useLines();
const stopLimitMs = 2_000;

/** Between the end of the last poll before `atSeq` and the first one after it. */
function gapBetweenPolls(line: Line, atSeq: number): number {
  const before = line
    .polls()
    .filter(({ seq }) => seq <= atSeq)
    .at(-1);
  const after = line.polls(atSeq).at(0);
  return (after?.atMs ?? Infinity) - (before?.endedAtMs ?? Number.NaN);
}

test("SIGTERM ends a follower and a leader within 2 s with exit code 0, and the next one polls soon after", async () => {
  const line = await open();
  await line.startAll(["alpha", "beta", "gamma"]);
  const [alpha, beta, gamma] = line.agents;
  const followerMs = await gamma!.stop();
  const { lastSeq } = line.control.state();
  const leaderMs = await alpha!.stop();
  await beta!.whenRole("leader");
  await until("the successor polls", () => line.polls(lastSeq).length > 0);
  report(`SIGTERM to exit: follower ${inMs(followerMs)}, leader ${inMs(leaderMs)}`);
  report(`hand-over on SIGTERM, gap between the two leaders' polls: ${inMs(gapBetweenPolls(line, lastSeq))}`);
  expect([gamma!.exit?.code, alpha!.exit?.code]).toEqual([0, 0]);
  expect(followerMs).toBeLessThan(stopLimitMs);
  expect(leaderMs).toBeLessThan(stopLimitMs);
  expect(beta!.epoch).toBe(2);
  expect(line.control.state().polls.conflicts409).toBe(0);
});

test("the hand-over gap stays short over six clean changes of leader, and no message is lost in them", async () => {
  const line = await open();
  await line.startAll(["alpha", "beta"]);
  const gaps: number[] = [];
  const ids: number[] = [];
  const threadOf = new Map(line.agents.map((agent) => [agent.label, agent.threadId]));
  for (let round = 1; round <= 6; round += 1) {
    const { leader } = line;
    const { lastSeq } = line.control.state();
    const stopped = leader.stop();
    for (const threadId of threadOf.values()) ids.push(line.say(threadId, `round ${round}`));
    expect(await stopped).toBeLessThan(stopLimitMs);
    await until("another one leads", () => line.leaders.length === 1);
    // The stopping leader may have asked once more; the gap is between the last poll it ended and the next that waits.
    await until("the successor polls", () => line.polls(lastSeq).some(({ outcome }) => outcome.kind === "pending"));
    gaps.push(largestGap(line, lastSeq));
    await line.start({ name: leader.label }).whenReady();
  }
  await line.settled(ids);
  report(summary("hand-over on SIGTERM, longest time without a poll", gaps));
  // An ack that comes while its process is ending may not land; then the update comes again, and says so.
  const given = line.agents.flatMap(({ updates, label }) =>
    updates.map(({ update, redelivered }) => ({ what: `${label} ${update.message?.text}`, redelivered })),
  );
  const first = given.filter(({ redelivered }) => redelivered !== true).map(({ what }) => what);
  expect(new Set(given.map(({ what }) => what)).size).toBe(12);
  expect(new Set(first).size).toBe(first.length);
  expect(line.control.state().polls.conflicts409).toBe(0);
});

function largestGap(line: Line, atSeq: number): number {
  const polls = line.polls().filter(({ seq, endedAtMs }) => seq > atSeq || endedAtMs !== null);
  const recent = polls.slice(Math.max(0, polls.findIndex(({ seq }) => seq > atSeq) - 1));
  const gaps = recent.slice(1).map(({ atMs }, at) => atMs - (recent[at]?.endedAtMs ?? atMs));
  return Math.max(...gaps);
}

test("the end of its input and SIGINT stop it like SIGTERM", async () => {
  const line = await open();
  const [alpha] = await line.startAll(["alpha"]);
  alpha!.closeInput();
  expect(await alpha!.whenExited()).toMatchObject({ code: 0 });
  const [beta] = await line.startAll(["beta"]);
  beta!.signal("SIGINT");
  expect(await beta!.whenExited()).toMatchObject({ code: 0 });
});

test("SIGTERM during the start ends it, and is no failure", async () => {
  const line = await open();
  const agent = line.start({ name: "alpha" });
  await until("it has begun", () => agent.roles.length > 0 || !agent.isRunning);
  expect(await agent.stop()).toBeLessThan(stopLimitMs);
  expect(agent.errors).toEqual([]);
});
