/** C06: only a 409 was tried again; every other failure of `getUpdates` ended polling for ever. */
import { expect, test } from "vitest";
import type { Fault } from "../../adapters/telegram/emulator/index.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();
const method = "getUpdates";

const failures: readonly (readonly [string, Fault])[] = [
  ["an HTML 502", { method, kind: "http", status: 502, body: "<html>Bad Gateway</html>", contentType: "text/html" }],
  ["a 500", { method, kind: "error", error_code: 500, description: "Internal Server Error: restart" }],
  ["an answer lost after the call", { method, kind: "lost" }],
  ["a 429 of 2 s", { method, kind: "retryAfter", seconds: 2 }],
  ["truncated JSON", { method, kind: "truncatedJson" }],
  ["ok without a result", { method, kind: "emptyOk", shape: "noResult" }],
  ["a connection closed before the call", { method, kind: "lostBefore" }],
];

test("C06 polling goes on after every kind of failure, waits out a 429, and delivers what came meanwhile once", async () => {
  const line = await open();
  const [leader, follower] = await line.startAll(["L", "FA"]);
  const expected: string[] = [];
  const served = async (text: string): Promise<number> => {
    expected.push(text);
    return until(`"${text}" arrives`, () => follower!.texts.includes(text));
  };

  for (const [name, fault] of failures) {
    const { lastSeq } = line.control.state();
    const { applied } = line.control.state().faults;
    line.control.fault(fault);
    // Ends the poll that waits; the next one meets the fault.
    line.say(follower!.threadId, `before ${name}`);
    await until(`${name} happens`, () => line.control.state().faults.applied > applied);
    line.say(follower!.threadId, `during ${name}`);
    await served(`before ${name}`);
    const tookMs = await served(`during ${name}`);
    const polls = line.polls(lastSeq);
    const failed = polls.findIndex((poll) => poll.fault !== null);
    expect(failed, name).toBeGreaterThanOrEqual(0);
    await until(`${name}: another poll`, () => line.polls(lastSeq).length > failed + 1);
    const pauseMs =
      (line.polls(lastSeq)[failed + 1]?.atMs ?? 0) - (polls[failed]?.endedAtMs ?? polls[failed]?.atMs ?? 0);
    report(`C06 ${name}: next poll after ${pauseMs} ms, message after ${tookMs.toFixed(0)} ms`);
    if (fault.kind === "retryAfter") expect(pauseMs).toBeGreaterThanOrEqual(2_000);
  }

  line.control.refuseConnections({ ms: 1_500 });
  line.say(follower!.threadId, "while refused");
  await served("while refused");

  expect(follower!.texts).toEqual(expected);
  expect(line.leader).toBe(leader);
  expect(leader!.roles.filter(({ role }) => role === "leader").length).toBe(1);
  const status = await line.status();
  expect(status).toMatchObject({ epoch: 1, polling: { health: "ok" }, journal: { waiting: 0, deadLetters: 0 } });
});
