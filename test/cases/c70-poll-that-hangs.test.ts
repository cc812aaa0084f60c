/** C70: the long poll hangs without an error while every other call works, and the bot is deaf for hours. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();

test("C70 updates/T-8 a poll that is never answered is cut after its time and a margin, and asked again on a new connection", async () => {
  const line = await open();
  const [leader, follower] = await line.startAll(["L", "FA"]);
  const { lastSeq } = line.control.state();
  line.control.fault({ method: "getUpdates", kind: "hang" });
  line.say(follower!.threadId, "ends the poll that waits");
  await until("the next one hangs", () => line.polls(lastSeq).some(({ fault }) => fault === "hang"));
  const hungAtMs = Date.now();
  line.say(follower!.threadId, "sent to the deaf");
  // Every other method works meanwhile.
  expect((await follower!.call("sendMessage", { text: "I can still speak" })).ok).toBe(true);
  await until("it is heard", () => follower!.texts.includes("sent to the deaf"), { withinMs: 75_000 });
  const tookMs = Date.now() - hungAtMs;
  report(`C70: heard ${tookMs} ms after the poll hung`);
  expect(tookMs).toBeLessThan(75_000);
  expect(follower!.texts).toEqual(["ends the poll that waits", "sent to the deaf"]);
  expect(line.leader).toBe(leader);
});
