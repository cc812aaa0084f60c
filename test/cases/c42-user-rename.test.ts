/** C42: the bus re-asserts its own title and undoes the user's rename. */
import { expect, test } from "vitest";
import { owner } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C42 the name that the user gave a thread stays, whoever comes back or wishes another title", async () => {
  const line = await open();
  const [, follower] = await line.startAll(["L", "FA"]);
  const { threadId } = follower!;
  const nameNow = () => line.control.state().threads.find((thread) => thread.threadId === threadId)?.name;
  const nameKnown = async () => (await line.status()).threads.find((thread) => thread.threadId === threadId)?.name;
  const titles = () =>
    line.control.transcript().filter(({ method, payload }) => method === "editForumTopic" && "name" in payload).length;
  const title = (name: string) => follower!.call("editForumTopic", { name });

  // While nobody but us has named it, an agent's title is set: once, and no more when it is the same again.
  expect((await title("FA: busy")).ok).toBe(true);
  await until("the line knows the title", async () => (await nameKnown()) === "FA: busy");
  expect((await title("FA: busy")).ok).toBe(true);
  expect([nameNow(), titles()]).toEqual(["FA: busy", 1]);

  line.control.userRenamesThread({ chatId: owner, threadId, name: "My work" });
  await until("the line knows the user's name", async () => (await nameKnown()) === "My work");
  expect((await title("FA: done")).ok).toBe(true);
  await follower!.stop();
  const again = await line.start({ name: "FA" }).whenReady();
  expect(again.threadId).toBe(threadId);
  expect((await again.call("editForumTopic", { name: "FA" })).ok).toBe(true);
  expect([nameNow(), titles()]).toEqual(["My work", 1]);
});
