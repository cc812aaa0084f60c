/** The other commands, as a user runs them. */
import { expect, test } from "vitest";
import { token } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("demo --headless plays its round and exits 0", async () => {
  const line = await open();
  const { exit, output } = await line.run(["demo", "--headless"]);
  expect(exit?.code, output).toBe(0);
  expect(output).not.toMatch(/FAILED/);
  expect(output.match(/^ {2}ok {2}/gm)?.length).toBe(21);
});

test("start --headless is the demo even with a token in the environment, and leaves the token's line alone", async () => {
  const line = await open();
  const { exit, output } = await line.run(["start", "--headless"]);
  expect(exit?.code, output).toBe(0);
  expect(line.control.transcript()).toEqual([]);
  expect(output).not.toContain(token);
});

test("start with a token that cannot be one says so once, starts nothing and ends with exit code 2", async () => {
  const line = await open();
  const { exit, output } = await line.run(["start"], { TELEGRAM_BOT_TOKEN: "nonsense-SECRETPART" });
  expect(exit?.code, output).toBe(2);
  expect(output.match(/partyline: /g)).toHaveLength(1);
  expect(output).not.toContain("SECRETPART");
  expect(line.control.transcript()).toEqual([]);
});

test("status --json has role, epoch, lease, seats, threads, journal, poll and drops; its text says the same", async () => {
  const line = await open();
  const [alpha, beta] = await line.startAll(["alpha", "beta"]);
  await until("a poll was noted", () => line.polls().some(({ outcome }) => outcome.kind === "answered"));
  const status = await line.status();
  expect(status).toMatchObject({
    epoch: 1,
    leader: { pid: alpha!.pid, instanceId: alpha!.ready!.instanceId, process: "alive" },
    journal: { waiting: 0, claimed: 0, deadLetters: 0 },
    polling: { health: "ok" },
    unresolved: [],
  });
  expect(status.leader!.leaseRemainingMs).toBeGreaterThan(0);
  expect(status.leader!.leaseRemainingMs).toBeLessThanOrEqual(6_000);
  expect(status.leader!.sinceMs).toBeGreaterThan(alpha!.startedAtMs);
  expect(status.leader!.sinceMs).toBeLessThanOrEqual(status.polling.okAtMs ?? 0);
  expect(status.polling.okAtMs).toBeGreaterThan(alpha!.startedAtMs);
  expect(status.seats.map(({ role, pid, process, ended }) => ({ role, pid, process, ended }))).toEqual(
    expect.arrayContaining([
      { role: "leader", pid: alpha!.pid, process: "alive", ended: null },
      { role: "follower", pid: beta!.pid, process: "alive", ended: null },
    ]),
  );
  expect(status.threads.map(({ threadId, name }) => [name, threadId]).sort()).toEqual([
    ["alpha", alpha!.threadId],
    ["beta", beta!.threadId],
  ]);
  const { output } = await line.run(["status"]);
  expect(output).toMatch(/^ok$/m);
  expect(output).toMatch(/leading for \d+\.\d s/);
  expect(output).toContain(`pid ${alpha!.pid}`);
  expect(output).not.toContain(token);
});

test("status of a line that nobody is on says that nobody leads", async () => {
  const line = await open();
  await line.startAll(["alpha"]);
  await line.agents[0]!.stop();
  const status = await line.status();
  expect(status.leader).toBeNull();
  expect((await line.run(["status"])).output).toMatch(/nobody leads/);
});
