/** C42: the bus re-asserts its own title and undoes the user's rename. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C42 a thread that the user renamed keeps that name through a return and through a replacement; no call names it", async () => {
  const line = await open();
  const [, fa] = await line.startAll(["L", "FA"]);
  line.control.userRenamesThread({ threadId: fa!.threadId, name: "My work" });
  const nameOf = async (): Promise<string | undefined> =>
    (await line.status()).threads.find(({ threadId }) => threadId === fa!.threadId)?.name;
  await until("it is known", async () => (await nameOf()) === "My work");
  await fa!.kill();
  const back = await line.start({ name: "FA" }).whenReady();
  expect(back.threadId).toBe(fa!.threadId);
  const title = (threadId: number) => line.control.state().threads.find((each) => each.threadId === threadId)?.name;
  expect(title(back.threadId)).toBe("My work");
  const edits = line.control.transcript().filter(({ method }) => method === "editForumTopic");
  expect(edits.filter(({ payload }) => payload["name"] !== undefined)).toEqual([]);

  line.control.setTopicCache({ ms: 0 });
  line.control.userDeletesThread({ threadId: back.threadId });
  const { result } = await back.call("sendMessage", { text: "go on" });
  const { message_thread_id: another } = result as { readonly message_thread_id: number };
  expect(another).not.toBe(back.threadId);
  expect(title(another)).toBe("My work");
});
