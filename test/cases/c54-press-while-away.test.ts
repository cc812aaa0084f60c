/** C54: a button whose agent is gone spins for ever, or the answer to an old press throws and freezes the dialog. */
import { expect, test } from "vitest";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();
const keyboard = { inline_keyboard: [[{ text: "yes", callback_data: "x" }]] };

const answers = (line: Line) => line.control.transcript().filter(({ method }) => method === "answerCallbackQuery");

/** A line whose agent FA has sent a message with a button and died. */
async function withAwayOwner() {
  const line = await open();
  const [, owner] = await line.startAll(["L", "FA"]);
  const sent = await owner!.call("sendMessage", { text: "choose", reply_markup: keyboard });
  const { message_id: messageId } = sent.result as { message_id: number }; // the emulator's answer to sendMessage
  await owner!.kill();
  return { line, messageId };
}

test("C54 updates/T-38 a press whose agent is dead is answered once, within 5 s, with words; the agent gets it when it is back", async () => {
  const { line, messageId } = await withAwayOwner();
  const pressedAtMs = Date.now();
  const { queryId, updateId } = line.control.userPressesButton({ messageId, data: "x" });
  await until("the press is answered", () => answers(line).length > 0);
  const tookMs = answers(line)[0]!.atMs - pressedAtMs;
  report(`C54: answered after ${tookMs} ms`);
  expect(tookMs).toBeLessThan(5_000);
  expect(answers(line)[0]!.payload).toMatchObject({ callback_query_id: queryId });
  expect(String(answers(line)[0]!.payload["text"])).toMatch(/away/);

  const back = await line.start({ name: "FA" }).whenReady();
  await line.settled([updateId ?? 0]);
  expect(back.updates.map(({ update }) => update.callback_query?.data)).toEqual(["x"]);
  expect(answers(line)).toHaveLength(1);
});

test("C54 the answer to a press that is too old is refused by Telegram and not tried again", async () => {
  const { line, messageId } = await withAwayOwner();
  const tooOld = "Bad Request: query is too old and response timeout expired or query ID is invalid";
  line.control.fault({
    method: "answerCallbackQuery",
    kind: "error",
    error_code: 400,
    description: tooOld,
    times: "forever",
  });
  const { updateId } = line.control.userPressesButton({ messageId, data: "x" });
  await until("an answer was tried", () => answers(line).length > 0);
  const back = await line.start({ name: "FA" }).whenReady();
  await line.settled([updateId ?? 0]);
  line.say(back.threadId, "still well?");
  await until("the line is well", () => back.texts.includes("still well?"));
  expect(answers(line)).toHaveLength(1);
});
