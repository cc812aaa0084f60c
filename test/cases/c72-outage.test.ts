/** C72: after an outage nothing comes back by itself. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { every, report, until } from "../support/line/waiting.ts";

const open = useLines();

test("C72 when Telegram is refused, then silent, then there again, polling resumes by itself and all messages come once, in order", async () => {
  const line = await open();
  const [leader, follower] = await line.startAll(["L", "FA"]);
  const expected: string[] = [];
  const say = (): void => {
    const text = `m${expected.length}`;
    expected.push(text);
    line.say(follower!.threadId, text);
  };
  say();
  await until("the line works", () => follower!.texts.length === 1);

  const stream = every(200, say);
  const { applied } = line.control.state().faults;
  line.control.refuseConnections({ ms: 6_000 });
  await until("the poll is gone", () => line.control.state().polls.waiting === 0);
  // Then a black hole: calls are taken and lost.
  line.control.fault({ method: "*", kind: "lostBefore", times: 2 });
  await until("it has swallowed some", () => line.control.state().faults.applied >= applied + 2);
  const backAtMs = Date.now();
  stream.stop();
  await until("all have come", () => follower!.texts.length >= expected.length, { withinMs: 60_000 });
  report(`C72: ${expected.length} messages, whole ${Date.now() - backAtMs} ms after Telegram was back`);
  expect(follower!.texts).toEqual(expected);
  expect((await follower!.call("sendMessage", { text: "and I speak" })).ok).toBe(true);
  expect(line.control.messages().filter(({ text }) => text === "and I speak")).toHaveLength(1);
  expect(line.leader).toBe(leader);
  await until("status is well", async () => (await line.status()).polling.health === "ok");
});
