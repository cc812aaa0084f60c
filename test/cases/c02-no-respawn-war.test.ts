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
  // A supervisor that restarts too eagerly: most starts find the name taken, every fifth finds its predecessor killed.
  for (let number = 1; number <= 20; number += 1) {
    const running = line.agents.find((agent) => agent.label === "FB" && agent.isRunning && agent.ready !== null);
    if (number % 5 === 0) await running?.kill();
    line.start({ name: "FB" });
    const beginning = line.agents.at(-1)!;
    await until("it is in or refused", () => beginning.ready !== null || beginning.exit !== null);
  }
  report(`C02: 20 starts of one name in ${Date.now() - startedAtMs} ms`);

  expect(leader!.isRunning).toBe(true);
  expect(leader!.roles.map(({ role }) => role)).toEqual(["seeking", "electing", "leader"].filter((role) => leader!.roles.some((each) => each.role === role)));
  expect(line.leader).toBe(leader);
  expect((await line.status()).epoch).toBe(1);
  expect(line.control.state().polls.conflicts409).toBe(0);
  const alive = line.agents.filter((agent) => agent.label === "FB" && agent.isRunning);
  expect(alive.length).toBe(1);
  expect(alive[0]!.threadId).toBe(threadId);
  const refused = line.agents.filter((agent) => agent.exit?.code === 1);
  expect(refused.length).toBe(16);
  for (const agent of refused) expect(agent.output).toMatch(/the name "FB" is taken/);
  line.say(threadId, "still there?");
  await until("it is served", () => alive[0]!.texts.includes("still there?"));
}, 120_000);
