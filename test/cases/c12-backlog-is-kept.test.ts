/** C12: a start that "drains" with offset -1 makes Telegram forget every pending update but the last. */
import { expect, test } from "vitest";
import { messageUpdate, threads } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C12 five updates that waited are delivered once over start, hand-over, stop and start again", async () => {
  const line = await open();
  // The thread exists before, so that its messages have an owner when somebody leads again.
  line.control.setNextMessageId({ next: threads.FA });
  const before = await line.start({ name: "FA" }).whenReady();
  expect(before.threadId).toBe(threads.FA);
  await before.stop();
  const ids = [810_000_050, 810_000_051, 810_000_052, 810_000_053, 810_000_054];
  for (const id of ids) line.control.rawUpdate({ update: messageUpdate(id, threads.FA, `u${id}`) });

  const [leader, owner] = await line.startAll(["L", "FA"]);
  await leader!.stop();
  await owner!.whenRole("leader");
  await line.settled(ids);
  await owner!.stop();
  const again = await line.start({ name: "FA" }).whenReady();
  line.say(again.threadId, "after all that");
  await until("it is served", () => again.texts.includes("after all that"));

  const texts = line.agents.flatMap((agent) => agent.texts);
  expect(texts).toEqual([...ids.map((id) => `u${id}`), "after all that"]);
  const { polls, queue } = line.control.state();
  expect(polls).toMatchObject({ negativeOffsets: 0, forgottenByNegativeOffset: 0, conflicts409: 0 });
  expect(queue.droppedByRequest).toBe(0);
  const drops = line.control
    .transcript()
    .filter(({ payload }) => payload["drop_pending_updates"] === true || payload["drop_pending_updates"] === "true");
  expect(drops).toEqual([]);
});

test("C12 on a line that nobody used before, a backlog whose thread nobody owns is set aside for the operator, not skipped", async () => {
  const line = await open({ threads: [{ threadId: 77, name: "old" }] });
  // Nobody owns thread 77: its messages become dead letters, kept for the operator, not forgotten.
  const ids = [810_000_050, 810_000_051];
  for (const id of ids) line.control.rawUpdate({ update: messageUpdate(id, 77, `u${id}`) });
  await line.startAll(["L"]);
  await until("the backlog is journaled and ended", () => line.control.state().queue.length === 0);
  await until("nothing waits", () => line.openUpdates().length === 0);
  expect((await line.status()).journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 2 });
});
