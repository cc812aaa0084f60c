/** Threads that are proven before they are used again. */
import { expect, test } from "vitest";
import { isNotice } from "../support/line/line.ts";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

const probes = (line: Line) => line.control.transcript().filter(({ method }) => method === "editForumTopic");
const notices = (line: Line, threadId: number): number =>
  line.control.messages().filter((each) => each.threadId === threadId && isNotice(each)).length;

test("threads/S-3 a follower's thread is proven once for the process that comes back, without a word on its title", async () => {
  const line = await open();
  const [, worker] = await line.startAll(["keeper", "worker"]);
  expect(probes(line)).toEqual([]);
  await worker!.kill();
  const next = await line.start({ name: "worker" }).whenReady();
  expect(next.threadId).toBe(worker!.threadId);
  expect(probes(line).map(({ payload }) => payload)).toEqual([
    expect.not.objectContaining({ name: expect.anything() as unknown }),
  ]);
  await until("the user is told", () => notices(line, next.threadId) === 2);
});

test("threads/S-6 a thread that the user deleted meanwhile is replaced by one of the same name, at the next registration", async () => {
  const line = await open();
  const [, worker] = await line.startAll(["keeper", "worker"]);
  await worker!.stop();
  line.control.userDeletesThread({ threadId: worker!.threadId });
  const next = await line.start({ name: "worker" }).whenReady();
  expect(next.threadId).not.toBe(worker!.threadId);
  const living = line.control.state().threads.filter(({ status }) => status === "open");
  expect(living.map(({ name }) => name).sort()).toEqual(["keeper", "worker"]);
  expect(await next.call("sendMessage", { text: "here" })).toMatchObject({
    result: { message_thread_id: next.threadId },
  });
});

test("threads/S-7 threads/T-24 nobody gets a thread, and none is made, while the look at the old one is unclear", async () => {
  const line = await open();
  const [, worker] = await line.startAll(["keeper", "worker"]);
  await worker!.stop();
  line.control.fault({ method: "editForumTopic", kind: "error", error_code: 500, description: "Internal", times: 2 });
  const next = line.start({ name: "worker" });
  await until("it is refused", () => next.errors.some(({ message }) => message.includes("is not known")));
  expect(line.control.state().threads.length).toBe(2);
  await next.whenReady();
  expect(next.threadId).toBe(worker!.threadId);
});

test("threads/S-1 threads/T-33 a change of leader asks nothing of any thread and says nothing", async () => {
  const line = await open();
  const [first, second, third] = await line.startAll(["one", "two", "three"]);
  await first!.kill();
  await until("another leads", () => line.leaders.length === 1 && line.leader !== first);
  line.say(second!.threadId, "to two");
  line.say(third!.threadId, "to three");
  await until("both have it", () => second!.texts.includes("to two") && third!.texts.includes("to three"));
  expect(probes(line)).toEqual([]);
  expect([second, third].map((each) => notices(line, each!.threadId))).toEqual([1, 1]);
});
