/** A group that its user upgrades to a supergroup has another id, and the one that was configured takes nothing any more. */
import { expect, test } from "vitest";
import { useInstances } from "../support/line/use-instances.ts";
import { until } from "../support/line/waiting.ts";

const { control, create, status } = useInstances();
const group = -4_001;
const supergroup = -1_004_001;

test("a line follows its group into the supergroup: nothing said is lost, each agent gets its thread there, and so it is after a restart", async () => {
  control().addChat({ id: group, type: "group", title: "Group" });
  const leader = await create({ name: "L", chat: group });
  await leader.ready;
  expect([leader.role, leader.thread]).toEqual(["classic", null]);
  const follower = await create({ name: "FB", chat: group });

  control().userUpgradesGroup({ chatId: group, to: supergroup });
  // Whatever tells it first, the call is made once, and stands in the new chat.
  expect(await leader.call("sendMessage", { chat_id: group, text: "after" })).toMatchObject({ text: "after" });
  await until("both have a thread there", () =>
    [leader, follower].every(({ thread }) => thread?.target.chatId === supergroup),
  );
  expect(
    control()
      .messages({ chatId: supergroup })
      .filter(({ text }) => text === "after"),
  ).toHaveLength(1);
  expect((await status()).chatMoves).toMatchObject([{ from: group, to: supergroup }]);

  const { threadId } = follower.thread!.target;
  await Promise.all([leader.stop(), follower.stop()]);
  const { lastSeq } = control().state();
  const again = await create({ name: "FB", chat: group });
  expect((await again.ready).thread?.target).toEqual({ chatId: supergroup, threadId });
  const named = control().transcript({ since: lastSeq });
  expect(named.filter(({ payload }) => Number(payload["chat_id"]) === group)).toEqual([]);
  const heard: string[] = [];
  again.on("update", ({ update }) => void heard.push(JSON.stringify(update)));
  control().userSends({ chatId: supergroup, threadId, text: "hello" });
  await until("it hears what is written there", () => heard.some((update) => update.includes("hello")));
});

test("a silent line learns it by the service message", async () => {
  control().addChat({ id: group, type: "group", title: "Group" });
  const leader = await create({ name: "L", chat: group });
  await leader.ready;
  control().userUpgradesGroup({ chatId: group, to: supergroup });
  await until("it has a thread there", () => leader.thread?.target.chatId === supergroup);
  const refused = control()
    .transcript()
    .filter(({ payload }) => Number(payload["chat_id"]) === group && payload["text"] !== undefined);
  expect(refused).toEqual([]);
});
