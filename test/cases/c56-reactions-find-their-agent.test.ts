/** C56: a reaction names no thread; it is consumed and never delivered. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C56 updates/T-39 a reaction reaches whose message it is, also after a change of leader; one to an unknown message is counted", async () => {
  const line = await open();
  const [leader, fa, fb] = await line.startAll(["L", "FA", "FB"]);
  const sent = await fa!.call("sendMessage", { text: "mine" });
  const { message_id: byAgent } = sent.result as { message_id: number }; // the emulator's answer to sendMessage
  const { messageId: byOwner } = line.control.userSends({ threadId: fb!.threadId, text: "written to FB" });
  await until("FB has it", () => fb!.texts.includes("written to FB"));
  // Nobody of the line ever saw this message.
  const { messageId: unknown } = line.control.userSends({ text: "outside every thread" });

  await leader!.kill();
  await until("another one leads", () => line.leaders.length === 1);
  line.control.userReacts({ messageId: byAgent, emoji: "👍" });
  line.control.userReacts({ messageId: byOwner, emoji: "👎" });
  line.control.userReacts({ messageId: unknown, emoji: "🔥" });
  const reactionsOf = (agent: typeof fa) =>
    agent!.updates.flatMap(({ update }) =>
      update.message_reaction === undefined ? [] : [update.message_reaction.message_id],
    );
  await until("both have theirs", () => reactionsOf(fa).length + reactionsOf(fb).length >= 2);
  await until("the third is counted", async () => (await line.status()).drops["outside-every-thread"] === 2);
  expect(reactionsOf(fa)).toEqual([byAgent]);
  expect(reactionsOf(fb)).toEqual([byOwner]);
});
