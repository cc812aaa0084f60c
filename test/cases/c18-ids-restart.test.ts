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
