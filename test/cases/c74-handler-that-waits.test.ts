/** C74: a handler that waits for a button is awaited in the poll loop, so the press can never be fetched. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();
const keyboard = { inline_keyboard: [[{ text: "yes", callback_data: "go on" }]] };

test("C74 updates/T-13 a handler that waits for the press of a later update gets it, and delays nobody else meanwhile", async () => {
  const line = await open();
  await line.startAll(["L"]);
  const waitingFor: string[] = [];
  // The first message is not done before the button is pressed.
  const fa = await line
    .start({
      name: "FA",
      onUpdate: (agent, { id, update }) => {
        if (update.callback_query === undefined) waitingFor.push(id);
        else for (const each of [...waitingFor.splice(0), id]) agent.ack(each);
      },
    })
    .whenReady();
  const fb = await line.start({ name: "FB" }).whenReady();
  const sent = await fa.call("sendMessage", { text: "choose", reply_markup: keyboard });
  const { message_id: messageId } = sent.result as { message_id: number }; // the emulator's answer to sendMessage
  const first = line.say(fa.threadId, "begin");
  await until("the handler of the first update waits", () => waitingFor.length === 1);

  // A hundred messages to the other one meanwhile: nobody waits for FA.
  const texts = Array.from({ length: 100 }, (_, n) => `other ${n}`);
  for (const text of texts) line.say(fb.threadId, text);
  await until("the other one is served", () => fb.texts.length === texts.length);
  expect(fb.texts).toEqual(texts);
  expect(line.openUpdates()).toContain(first);

  const pressedAtMs = Date.now();
  const { updateId } = line.control.userPressesButton({ messageId, data: "go on" });
  await line.settled([first, updateId ?? 0]);
  report(`C74: the handler that waited was done ${Date.now() - pressedAtMs} ms after the press`);
  expect(fa.updates.map(({ update }) => update.callback_query?.data ?? update.message?.text)).toEqual([
    "begin",
    "go on",
  ]);
});
