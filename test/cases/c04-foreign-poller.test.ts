/** C04: after a row of 409s the poll loop returns, the process lives on, and nothing is heard any more. */
import { expect, test } from "vitest";
import { token } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();

test("C04 while a foreign client polls, status says so and the leader keeps on; when it stops, messages arrive again", async () => {
  const line = await open();
  const [leader, follower] = await line.startAll(["L", "FA"]);
  const conflicts = (): number => line.control.state().polls.conflicts409;

  // A client that is none of ours polls the same token, again and again, and confirms nothing.
  const ending = new AbortController();
  const foreign = (async () => {
    while (!ending.signal.aborted) {
      const answer = await fetch(`${line.emulator.apiRoot}/bot${token}/getUpdates?timeout=20`);
      await answer.arrayBuffer();
    }
  })();
  await until("they have thrown each other out several times", () => conflicts() >= 5);
  expect(leader!.role).toBe("leader");
  await until("status says so", async () => (await line.status()).polling.health === "conflict: another poller");
  ending.abort();
  const stoppedAtMs = Date.now();
  await until("the leader is alone again", async () => (await line.status()).polling.health === "ok");
  await foreign;

  line.say(follower!.threadId, "after the conflict");
  await until("it is delivered", () => follower!.texts.includes("after the conflict"));
  report(`C04: heard again ${Date.now() - stoppedAtMs} ms after the foreign poller stopped`);
  expect(leader!.roles.filter(({ role }) => role === "leader").length).toBe(1);
  expect((await line.status()).epoch).toBe(1);
  expect(follower!.texts).toEqual(["after the conflict"]);
});
