/** C18: after a quiet week `update_id` starts again at a random, lower number. */
import { expect, test } from "vitest";
import { messageUpdate, threads } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C18 updates with restarted ids are delivered once, the cursor follows them, and polling does not spin", async () => {
  const line = await open({ firstUpdateId: 726_999_000 });
  await line.startAll(["L"]);
  line.control.setNextMessageId({ next: threads.FA });
  const fa = await line.start({ name: "FA" }).whenReady();
  line.control.setNextMessageId({ next: threads.FB });
  const fb = await line.start({ name: "FB" }).whenReady();
  line.control.rawUpdate({ update: messageUpdate(726_999_999, threads.FA, "before the quiet week") });
  await until("the cursor is saved", () => line.control.state().polls.lastOffset === 727_000_000);

  line.control.restartIds({ next: 117_000_000 });
  const { lastSeq } = line.control.state();
  line.control.rawUpdate({ update: messageUpdate(117_000_000, threads.FA, "first of the new ids") });
  await until("the first one arrives", () => fa.texts.includes("first of the new ids"));
  line.control.rawUpdate({ update: messageUpdate(117_000_001, threads.FB, "second of the new ids") });
  await until("the second one arrives", () => fb.texts.includes("second of the new ids"));
  await until("the cursor follows", () => line.control.state().polls.lastOffset === 117_000_002);
  await line.settled([117_000_000, 117_000_001]);

  expect(fa.texts).toEqual(["before the quiet week", "first of the new ids"]);
  expect(fb.texts).toEqual(["second of the new ids"]);
  expect(line.polls(lastSeq).length).toBeLessThanOrEqual(3);
  expect((await line.status()).cursor).toBe(117_000_002);
});

test("C18 ids that restart a little below the cursor look like a repetition, and are taken when they come again", async () => {
  const line = await open({ firstUpdateId: 726_999_000 });
  const leader = await line.start({ name: "L" }).whenReady();
  line.control.rawUpdate({ update: messageUpdate(726_999_999, leader.threadId, "before the quiet week") });
  await until("the cursor is saved", () => line.control.state().polls.lastOffset === 727_000_000);

  line.control.restartIds({ next: 726_999_400 });
  line.control.rawUpdate({ update: messageUpdate(726_999_400, leader.threadId, "first of the new ids") });
  // Its id was given before the quiet week, to another update.
  line.control.rawUpdate({ update: messageUpdate(726_999_401, leader.threadId, "second of the new ids") });
  await line.settled([726_999_400, 726_999_401]);
  await until("the cursor follows", () => line.control.state().polls.lastOffset === 726_999_402);
  line.say(leader.threadId, "afterwards");
  await until("polling goes on", () => leader.texts.includes("afterwards"));

  expect(leader.texts).toEqual([
    "before the quiet week",
    "first of the new ids",
    "second of the new ids",
    "afterwards",
  ]);
  expect((await line.status()).polling.health).toBe("ok");
});

test("C18 an update without a usable id does not stop those beside it: it is a counted drop", async () => {
  const line = await open();
  const leader = await line.start({ name: "L" }).whenReady();
  const { lastSeq } = line.control.state();
  const ids = [-1, 810_000_601].map((id) => messageUpdate(id, leader.threadId, `id ${id}`));
  line.control.fault({
    method: "getUpdates",
    kind: "http",
    status: 200,
    body: JSON.stringify({ ok: true, result: ids }),
    times: 3,
  });
  line.say(leader.threadId, "wakes the poll");
  await until("the one with an id arrives", () => leader.texts.includes("id 810000601"));
  await until("and what Telegram had", () => leader.texts.includes("wakes the poll"));
  expect(leader.texts).not.toContain("id -1");
  expect((await line.status()).drops).toMatchObject({ "update-without-id": 1 });
  expect(line.polls(lastSeq).length).toBeLessThanOrEqual(8);
});
