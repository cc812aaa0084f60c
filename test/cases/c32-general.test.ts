/** C32: a thread id on a message that is in no topic. */
import { expect, test } from "vitest";
import { group, owner } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();
const forum = { chats: [{ id: group, type: "supergroup", title: "Group" }] } as const;

test("C32 a reply chain in General is General, heard by the leader, and no answer uses its id", async () => {
  const line = await open(forum);
  const [leader, follower] = await line.startAll(["L", "FB"], { flags: ["--chat", String(group)] });
  line.control.rawUpdate({
    update: {
      message: {
        message_id: 70_613,
        date: 1_790_000_000,
        chat: { id: group, type: "supergroup", title: "Group", is_forum: true },
        from: { id: owner, is_bot: false, first_name: "Owner" },
        message_thread_id: 612,
        reply_to_message: { message_id: 70_612, date: 1_790_000_000, chat: { id: group, type: "supergroup" } },
        text: "all of you",
      },
    },
  });
  await until("the leader has it", () => leader!.texts.includes("all of you"));
  expect(follower!.texts).toEqual([]);
  expect((await leader!.call("sendMessage", { text: "I heard" })).ok).toBe(true);
  expect((await leader!.call("sendChatAction", { action: "typing" })).ok).toBe(true);
  const named = line.control.transcript().map(({ payload }) => Number(payload["message_thread_id"] ?? 0));
  expect(named).not.toContain(612);
  const answer = line.control.messages({ chatId: group }).find(({ text }) => text === "I heard");
  expect(answer?.threadId).toBe(leader!.threadId);
});
