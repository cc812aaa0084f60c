/** C28: the user turns topics off for the whole chat, and nothing is ever delivered again. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C28 threads/CP-8, S-106 while topics are off what agents say goes to the main chat under their names, and returns to the threads after", async () => {
  const line = await open();
  const [leader, follower] = await line.startAll(["L", "FB"]);
  const before = (await line.status()).threads.map(({ threadId }) => threadId);
  const placesOf = (text: string) =>
    line.control
      .messages()
      .filter((message) => message.text.endsWith(text))
      .map((message) => [message.text, message.threadId]);
  const callsOf = (method: string) => line.control.transcript().filter((entry) => entry.method === method).length;
  const looks = callsOf("getMe");

  line.control.setTopicsEnabled({ enabled: false });
  const answers = await Promise.all([
    follower!.call("sendMessage", { text: "from the follower" }),
    leader!.call("sendMessage", { text: "from the leader" }),
  ]);
  expect(answers).toMatchObject([{ ok: true }, { ok: true }]);
  expect(placesOf("from the follower")).toEqual([["FB: from the follower", null]]);
  expect(placesOf("from the leader")).toEqual([["L: from the leader", null]]);
  // One question for all who doubt, and one more to be sure.
  expect(callsOf("getMe") - looks).toBe(2);
  expect((await line.status()).polling.health).toContain("topics are off");
  expect(leader!.role).toBe("leader");

  line.control.userSends({ text: "still there?" });
  await until("the leader hears what is written to all", () => leader!.texts.includes("still there?"));

  line.control.setTopicsEnabled({ enabled: true });
  await until("the line has noticed", async () => (await line.status()).polling.health === "ok");
  expect((await follower!.call("sendMessage", { text: "back again" })).ok).toBe(true);
  expect(placesOf("back again")).toEqual([["back again", follower!.ready?.thread?.threadId]]);
  // Nothing was given up, nothing made anew, and every thread stands.
  expect((await line.status()).threads.map(({ threadId }) => threadId)).toEqual(before);
  expect(callsOf("createForumTopic")).toBe(2);
  expect(callsOf("deleteForumTopic")).toBe(0);
});
