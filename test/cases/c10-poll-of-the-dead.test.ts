/** C10: a restart meets the poll of a dead process, still open at Telegram, and dies of the conflict. */
import { expect, test } from "vitest";
import { token } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C10 a leader that starts while somebody's poll is still open takes its place, keeps the lease, and goes on through conflicts", async () => {
  const line = await open();
  // Its thread exists: nothing but the start of another poll ends the one that is open.
  const before = await line.start({ name: "L" }).whenReady();
  await before.stop();
  const { polls, queue } = line.control.state();
  const held = fetch(`${line.emulator.apiRoot}/bot${token}/getUpdates?timeout=30&offset=${queue.nextId}`);
  await until("the dead one's poll is open", () => line.control.state().polls.waiting === 1);
  const conflict = { error_code: 409, description: "Conflict: terminated by other getUpdates request" };
  line.control.fault({ method: "getUpdates", kind: "error", ...conflict, times: 3 });

  const leader = await line.start({ name: "L" }).whenReady();
  // The newer poll wins: the old one is ended with the conflict.
  expect((await held).status).toBe(409);
  line.say(leader.threadId, "are you there?");
  await until("it is served", () => leader.texts.includes("are you there?"));
  expect(line.control.state().polls.conflicts409).toBe(polls.conflicts409 + 1);
  expect(leader.roles.filter(({ role }) => role === "leader").length).toBe(1);
  expect(leader.isRunning).toBe(true);
  await until("status is well", async () => (await line.status()).polling.health === "ok");
  expect((await line.status()).epoch).toBe(2);
});
