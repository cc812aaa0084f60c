/** C08: an old leader that does not know it lost takes the buttons of the new one. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();
const keyboard = { inline_keyboard: [[{ text: "yes", callback_data: "ok" }]] };

test("C08 a leader stopped past its lease and woken drops to follower before it asks for anything; a press comes once, where its button was made", async () => {
  const line = await open();
  const [old, owner] = await line.startAll(["L", "FB"]);
  const sent = await owner!.call("sendMessage", { text: "choose", reply_markup: keyboard });
  const { message_id: messageId } = sent.result as { message_id: number }; // the emulator's answer to sendMessage
  await until("the old leader stands still outside of a write", () => {
    if (line.control.state().polls.waiting === 0) return false;
    old!.signal("SIGSTOP");
    if (!line.isWriteLocked()) return true;
    old!.signal("SIGCONT");
    return false;
  });
  await owner!.whenRole("leader");
  line.control.userPressesButton({ messageId, data: "ok" });
  await until("the press is given", () => owner!.updates.some(({ update }) => update.callback_query !== undefined));

  old!.signal("SIGCONT");
  await old!.whenRole("follower");
  line.say(owner!.threadId, "afterwards");
  await until("all is quiet", () => owner!.texts.includes("afterwards"));
  const presses = line.agents.flatMap(({ label, updates }) =>
    updates.flatMap(({ update }) =>
      update.callback_query === undefined ? [] : [`${label} ${update.callback_query.data}`],
    ),
  );
  expect(presses).toEqual(["FB ok"]);
  expect(line.control.state().polls.conflicts409).toBeLessThanOrEqual(1);
  expect(line.leader).toBe(owner);
});
