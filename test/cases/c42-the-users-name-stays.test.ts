/** C42: the bus re-asserts its own title and undoes the user's rename. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C42 the name that the user gave a thread stays, through a return and a replacement, whatever title its agent wishes", async () => {
  const line = await open();
  const [, follower] = await line.startAll(["L", "FA"]);
  const { threadId } = follower!;
  const nameOf = (id: number) => line.control.state().threads.find((thread) => thread.threadId === id)?.name;
  const nameKnown = async () => (await line.status()).threads.find((thread) => thread.threadId === threadId)?.name;
  const titles = () =>
    line.control.transcript().filter(({ method, payload }) => method === "editForumTopic" && "name" in payload).length;
  const title = (name: string, agent = follower!) => agent.call("editForumTopic", { name });

  // While nobody but us has named it, an agent's title is set: once, and no more when it is the same again.
  expect((await title("FA: busy")).ok).toBe(true);
  await until("the line knows the title", async () => (await nameKnown()) === "FA: busy");
  expect((await title("FA: busy")).ok).toBe(true);
  expect([nameOf(threadId), titles()]).toEqual(["FA: busy", 1]);

  line.control.userRenamesThread({ threadId, name: "My work" });
  await until("the line knows the user's name", async () => (await nameKnown()) === "My work");
  expect((await title("FA: done")).ok).toBe(true);
  await follower!.kill();
  const again = await line.start({ name: "FA" }).whenReady();
  expect(again.threadId).toBe(threadId);
  expect((await title("FA", again)).ok).toBe(true);
  expect([nameOf(threadId), titles()]).toEqual(["My work", 1]);

  line.control.setTopicCache({ ms: 0 });
  line.control.userDeletesThread({ threadId });
  const { result } = await again.call("sendMessage", { text: "go on" });
  const { message_thread_id: another } = result as { readonly message_thread_id: number };
  expect(another).not.toBe(threadId);
  expect([nameOf(another), titles()]).toEqual(["My work", 1]);
});
