/** C02: a guard that kills its predecessor, together with parents that restart, becomes a war of processes. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();

test("C02 a follower started 20 times over: the leader is never touched, the epoch stays, Telegram sees no conflict", async () => {
  const line = await open();
  const [leader, first] = await line.startAll(["L", "FB"]);
  const { threadId } = first!;
  const startedAtMs = Date.now();
  // Supervisors that restart too eagerly, five at a time: one start of each wave gets in, the others find the name taken.
  for (let wave = 0; wave < 4; wave += 1) {
    await line.agents.find((agent) => agent.label === "FB" && agent.isRunning)?.kill();
    const starts = Array.from({ length: 5 }, () => line.start({ name: "FB" }));
    const isSettled = (): boolean => starts.every((agent) => agent.ready !== null || agent.exit !== null);
    await until("each is in or refused", isSettled);
  }
  report(`C02: 20 starts of one name in ${Date.now() - startedAtMs} ms`);

  expect(leader!.isRunning).toBe(true);
  expect(leader!.roles.filter(({ role }) => role === "leader").length).toBe(1);
  expect(leader!.roles.at(-1)?.role).toBe("leader");
  expect(line.leader).toBe(leader);
  expect((await line.status()).epoch).toBe(1);
  expect(line.control.state().polls.conflicts409).toBe(0);
  const alive = line.agents.filter((agent) => agent.label === "FB" && agent.isRunning);
  expect(alive.length).toBe(1);
  expect(alive[0]!.threadId).toBe(threadId);
  const refused = line.agents.filter((agent) => agent.exit?.code === 1);
  expect(refused.length).toBe(16);
  for (const { errors } of refused) expect(errors[0]?.message).toMatch(/the name "FB" is taken by instance/);
  line.say(threadId, "still there?");
  await until("it is served", () => alive[0]!.texts.includes("still there?"));
});
