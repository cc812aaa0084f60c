/** C14: a rejected token was tried for ever, with 1,800 equal lines an hour, and nobody was told. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { token } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C14 a rejected token: both agents' calls fail at once with 401, status says so, and another one in the file heals it on SIGHUP", async () => {
  const line = await open();
  const file = path.join(line.home, "token");
  writeFileSync(file, `${token.slice(0, -4)}WXYZ`);
  const fromFile = { startedBy: ["env", "-u", "TELEGRAM_BOT_TOKEN"], flags: ["--token-file", file] };
  const leader = line.start({ name: "L", ...fromFile });
  await until("it is told", () => leader.errors.some(({ kind }) => kind === "unauthorized"));
  const follower = line.start({ name: "F", ...fromFile });
  await until("it follows", () => follower.roles.some(({ role }) => role === "follower"));

  const startedAt = performance.now();
  for (const agent of [leader, follower])
    expect(await agent.call("sendMessage", { text: "hi" })).toMatchObject({ ok: false, error: { error_code: 401 } });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect((await line.status()).polling.health).toBe("token rejected");
  const { updateId } = line.control.userSends({ text: "/help" });
  expect(updateId).not.toBeNull();

  writeFileSync(file, token);
  leader.signal("SIGHUP");
  await leader.whenReady();
  await follower.whenReady();
  line.say(follower.threadId, "work");
  await until("it arrives", () => follower.texts.includes("work"));
  const status = await line.status();
  expect(status).toMatchObject({ epoch: 1, polling: { health: "ok" } });
  await line.settled([updateId ?? 0]);
  for (const agent of [leader, follower])
    expect(agent.errors.filter(({ kind }) => kind === "unauthorized").length).toBeLessThanOrEqual(1);
});
