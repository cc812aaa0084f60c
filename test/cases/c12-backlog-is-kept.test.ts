/** C12: a start that "drains" with offset -1 makes Telegram forget every pending update but the last. */
import { expect, test } from "vitest";
import { messageUpdate, threads } from "../support/line/fixtures.ts";
import type { Line } from "../support/line/line.ts";
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

test("C12 updates/T-47 on a line that nobody used before, a backlog whose thread nobody owns is kept, and goes to whom the user chooses", async () => {
  const line = await open({ threads: [{ threadId: 77, name: "old" }] });
  const ids = [810_000_050, 810_000_051];
  for (const id of ids) line.control.rawUpdate({ update: messageUpdate(id, 77, `u${id}`) });
  const [leader, other] = await line.startAll(["L", "FA"]);
  const buttons = () => questionsIn(line).flatMap(({ data }) => data);
  const forOther = () => buttons().find((data) => data.endsWith(`:${String(other!.threadId)}`));
  await until("the user can choose either agent", () => forOther() !== undefined);
  expect((await line.status()).journal).toEqual({ waiting: 2, claimed: 0, deadLetters: 0 });

  const { messageId } = questionsIn(line)[0]!;
  const { updateId } = line.control.userPressesButton({ messageId, data: forOther() ?? "" });
  await line.settled([...ids, updateId ?? 0]);
  await until("the other one has it", () => other!.texts.length === 2);
  expect(other!.texts).toEqual(ids.map((id) => `u${id}`));
  expect(leader!.texts).toEqual([]);
  await until("the emptied thread is gone", () => line.control.transcript().some(isDeletionOf(77)));
  expect(new Set(questionsIn(line).map(({ messageId: id }) => id)).size).toBe(1);
  expect((await line.status()).journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
});

type Call = ReturnType<Line["control"]["transcript"]>[number];
const isDeletionOf = (thread: number) => (call: Call) =>
  call.method === "deleteForumTopic" && Number(call.payload["message_thread_id"]) === thread;

/** Messages with buttons as they were sent and renewed, with the data of their buttons. */
const questionsIn = (line: Line) =>
  line.control.transcript().flatMap(({ payload, outcome }) => {
    const markup = payload["reply_markup"];
    if (markup === undefined || outcome.kind !== "answered") return [];
    const { result } = outcome.body as { readonly result: { readonly message_id: number } }; // of a message
    const messageId = result.message_id;
    const data = [...JSON.stringify(markup).matchAll(/reroute:[0-9a-z.]+:[0-9]+/g)].map(([found]) => found);
    return [{ messageId, data }];
  });
