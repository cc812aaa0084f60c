/**
 * C16: an update is confirmed to Telegram before it is safe, and a crash in between loses it.
 *
 * The leader kills itself at each of four steps; afterwards each update of the batch has been given to its owner exactly
 * once, and Telegram never saw an offset above an update that was not on disk at that moment.
 */
import { rmSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleProgram } from "../support/line/bundle.ts";
import { messageUpdate, threads } from "../support/line/fixtures.ts";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();
let program = "";
beforeAll(async () => {
  program = await bundleProgram("test/support/line/failpoint-program.ts");
});
afterAll(() => {
  rmSync(path.dirname(program), { recursive: true, force: true });
});

const batch = [
  { id: 810_000_070, name: "FA", text: "fatal one" },
  { id: 810_000_071, name: "FB", text: "fatal two" },
  { id: 810_000_072, name: "FA", text: "fatal three" },
] as const;

/** Every poll's offset, checked against the database at the moment it arrives. */
function watchOffsets(line: Line): { readonly tooEarly: string[]; readonly confirming: () => number } {
  const tooEarly: string[] = [];
  const seen = new Set<number>();
  let confirming = 0;
  line.control.onEvent((event) => {
    if (event.type !== "call" || event.call.method.toLowerCase() !== "getupdates" || seen.has(event.call.seq)) return;
    seen.add(event.call.seq);
    const offset = Number(event.call.payload["offset"] ?? 0);
    const confirmed = batch.filter(({ id }) => id < offset);
    if (confirmed.length === 0) return;
    confirming += 1;
    const durable = new Set([...line.openUpdates(), ...line.settledUpdates()]);
    for (const { id } of confirmed) if (!durable.has(id)) tooEarly.push(`offset ${offset} before ${id} was on disk`);
  });
  return { tooEarly, confirming: () => confirming };
}

async function startFollower(line: Line, name: keyof typeof threads): Promise<void> {
  line.control.setNextMessageId({ next: threads[name] });
  const agent = await line.start({ name }).whenReady();
  expect(agent.threadId).toBe(threads[name]);
}

/** Puts the batch into Telegram's queue so that one answer brings all of it. */
async function sendAsOneBatch(line: Line, ownThread: number): Promise<void> {
  line.control.fault({ method: "getUpdates", kind: "latencyMs", ms: 400, when: "before" });
  const { lastSeq } = line.control.state();
  line.say(ownThread, "wake the poll");
  await until("the next poll is held back", () => line.polls(lastSeq).some(({ fault }) => fault === "latencyMs"));
  for (const { id, name, text } of batch) line.control.rawUpdate({ update: messageUpdate(id, threads[name], text) });
}

test.for([
  ["(a) after receiving the batch, before it is in the journal", "received"],
  ["(b) updates/T-3 after it is in the journal, before anything is forwarded", "admitted"],
  ["(c) after the followers have it, before their answers are read", "forwarded"],
  ["(d) after the answers, before the next poll", "acked"],
] as const)("C16 %s: each update is given exactly once, and none was confirmed too early", async ([, step]) => {
  const line = await open({ firstUpdateId: 810_000_001 });
  const leader = await line.start({ name: "L", program, env: { PARTYLINE_TEST_STEP: step } }).whenReady();
  expect(leader.role).toBe("leader");
  for (const name of ["FA", "FB", "FC"] as const) await startFollower(line, name);
  const offsets = watchOffsets(line);

  await sendAsOneBatch(line, leader.threadId);
  expect(await leader.whenExited()).toMatchObject({ signal: "SIGKILL" });
  const diedAtMs = leader.exit?.atMs ?? 0;
  expect(leader.steps.at(-1)?.step).toBe(step);
  expect(leader.steps.some((each) => each.step === "durable 3")).toBe(step !== "received");
  // Nothing of it is confirmed at this moment unless it is on disk.
  if (step === "received") expect(line.openUpdates().filter((id) => batch.some((each) => each.id === id))).toEqual([]);

  await line.settled(batch.map(({ id }) => id));
  const followers = line.agents.slice(1);
  const lastAtMs = Math.max(...followers.flatMap(({ updates }) => updates.map(({ atMs }) => atMs)));
  report(`C16 ${step}: the last one was given ${lastAtMs - diedAtMs} ms after the kill`);
  const given = (label: string): string[] => followers.find((agent) => agent.label === label)?.texts ?? [];
  expect(given("FA")).toEqual(["fatal one", "fatal three"]);
  expect(given("FB")).toEqual(["fatal two"]);
  expect(given("FC")).toEqual([]);

  await until("a successor confirms the batch", () => offsets.confirming() > 0);
  expect(offsets.tooEarly).toEqual([]);
  const { polls, queue } = line.control.state();
  expect(polls).toMatchObject({ conflicts409: 0, negativeOffsets: 0 });
  expect(queue.length).toBe(0);
  // The batch may be confirmed by the poll of the one that died: its successor need not lead yet.
  await until("one successor leads", () => line.leaders.length === 1);
});
