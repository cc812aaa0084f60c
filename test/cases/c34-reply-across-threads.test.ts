/** C34: a reply to a message of one thread, written while another one was on the screen. */
import { expect, test } from "vitest";
import { messageUpdate } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C34 a message belongs to the thread that it names, whatever it replies to", async () => {
  const line = await open();
  const [, a, b] = await line.startAll(["L", "FA", "FB"]);
  const sent = await b!.call("sendMessage", { text: "of B" });
  const { message_id: ofB } = sent.result as { message_id: number }; // Telegram's Message
  const inA = messageUpdate(810_000_700, a!.threadId, "to A").message;
  const chat = { id: inA.chat.id, type: "private" };
  line.control.rawUpdate({
    update: {
      message: {
        ...inA,
        reply_to_message: { message_id: ofB, date: 1, chat, message_thread_id: b!.threadId, is_topic_message: true },
      },
    },
  });
  line.control.rawUpdate({
    update: {
      message: {
        ...inA,
        message_id: inA.message_id + 1,
        text: "quoting B",
        external_reply: { origin: { type: "user", date: 1, sender_user: inA.from }, chat, message_id: ofB },
      },
    },
  });
  await until("A has both", () => a!.texts.length === 2);
  expect(a!.texts).toEqual(["to A", "quoting B"]);
  line.say(b!.threadId, "to B");
  await until("B has its own", () => b!.texts.length > 0);
  expect(b!.texts).toEqual(["to B"]);
});
