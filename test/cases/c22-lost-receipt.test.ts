/** C22: an answer was delivered but its receipt was lost; whoever comes back sends what the user already has once more. */
import { expect, test } from "vitest";
import { owner } from "../support/line/fixtures.ts";
import { isNotice } from "../support/line/line.ts";
import { openLeader, openV1Follower, receipt } from "../support/line/v1-follower.ts";
import { until } from "../support/line/waiting.ts";

test("C22 a follower that crashed before its receipt asks again under the same request: it is answered from the record, nothing is sent twice", async () => {
  const line = await openLeader();
  const { control } = line.emulator;
  const follower = await openV1Follower(line, 220_001, receipt);
  const thread = await follower.register();
  const done = follower.callLine("sendMessage", {
    chat_id: owner,
    message_thread_id: thread,
    text: "done",
  });
  const sent = () => control.messages({}).filter((each) => each.from.isBot && !each.service && !isNotice(each));

  await follower.sendAndVanish(done);
  await until("Telegram has it", () => sent().length > 0);
  expect(await follower.register()).toBe(thread);
  const again = await follower.exchange(done);

  expect(again).toMatchObject({ ok: true, result: { text: "done", message_id: sent()[0]?.messageId } });
  expect(await follower.exchange(done)).toEqual(again);
  expect(sent().map(({ text, threadId }) => [text, threadId])).toEqual([["done", thread]]);
  const calls = control.transcript().filter(({ method }) => method.toLowerCase() === "sendmessage");
  expect(calls.filter(({ payload }) => payload["text"] === "done")).toHaveLength(1);
}, 60_000);

test("C22 while the first one is still under way, the repetition waits for the same answer", async () => {
  const line = await openLeader();
  const { control } = line.emulator;
  const follower = await openV1Follower(line, 220_002, receipt);
  const thread = await follower.register();
  const done = follower.callLine("sendMessage", {
    chat_id: owner,
    message_thread_id: thread,
    text: "slow",
  });
  control.fault({ method: "sendMessage", kind: "latencyMs", ms: 500, when: "before" });
  await follower.sendAndVanish(done);

  const answers = await Promise.all([follower.exchange(done), follower.exchange(done)]);

  expect(answers[0], JSON.stringify(answers[0])).toMatchObject({ ok: true, result: { text: "slow" } });
  expect(answers[1]).toEqual(answers[0]);
  expect(control.messages({}).filter(({ text }) => text === "slow")).toHaveLength(1);
}, 60_000);
