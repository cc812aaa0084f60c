/** C30: a closed thread taken for a fatal error, or for a deleted one. */
import { expect, test } from "vitest";
import { group } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();
const forum = { chats: [{ id: group, type: "supergroup", title: "Group" }] } as const;
const flags = ["--chat", String(group)];

test("C30 threads/OP-23, S-93, S-94 what an agent says into a closed thread waits, and goes out once and in order when it is opened", async () => {
  const line = await open(forum);
  const [, follower] = await line.startAll(["L", "FB"], { flags });
  const thread = { chatId: group, threadId: follower!.threadId };
  const standing = async () => (await line.status()).threads.find((each) => each.threadId === thread.threadId)?.state;
  const texts = () =>
    line.control
      .messages({ chatId: group })
      .flatMap(({ text, threadId }) => (threadId === thread.threadId && text.startsWith("w") ? [text] : []));
  const callsOf = (...methods: string[]) =>
    line.control.transcript().filter(({ method }) => methods.includes(method)).length;

  line.control.userClosesThread(thread);
  const sent = ["w1", "w2", "w3"].map((text) => follower!.call("sendMessage", { text }));
  await until("the line knows that it is closed", async () => (await standing()) === "closed");
  // Nothing was given up for it, and nothing replaced.
  expect(texts()).toEqual([]);
  expect(callsOf("createForumTopic", "deleteForumTopic", "reopenForumTopic")).toBe(2);

  line.control.userReopensThread(thread);
  expect(await Promise.all(sent)).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
  expect(texts()).toEqual(["w1", "w2", "w3"]);
  await until("the line knows that it is open", async () => (await standing()) === "open");
  expect(callsOf("createForumTopic", "deleteForumTopic", "reopenForumTopic")).toBe(2);
});

test("C30 under the policy `reopen` it is opened once, for all that was to go there", async () => {
  const line = await open(forum);
  const [, follower] = await line.startAll(["L", "FB"], { flags: [...flags, "--closed-threads", "reopen"] });
  const thread = { chatId: group, threadId: follower!.threadId };
  line.control.userClosesThread(thread);
  const sent = ["w1", "w2", "w3"].map((text) => follower!.call("sendMessage", { text }));
  expect(await Promise.all(sent)).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
  const texts = line.control.messages({ chatId: group }).flatMap(({ text }) => (text.startsWith("w") ? [text] : []));
  // All three were under way at once: their order is nobody's promise.
  expect(texts.sort()).toEqual(["w1", "w2", "w3"]);
  expect(line.control.transcript().filter(({ method }) => method === "reopenForumTopic")).toHaveLength(1);
  const standing = async () => (await line.status()).threads.find((each) => each.threadId === thread.threadId)?.state;
  await until("the line knows that it is open", async () => (await standing()) === "open");
});
