/**
 * The edges of the leader's own thread, on real instances and the emulator: topics that come on later, leaving while the thread
 * is being made, a creation in doubt.
 */
import { expect, test } from "vitest";
import { useInstances } from "../support/line/use-instances.ts";
import { until } from "../support/line/waiting.ts";

const { control, create, status } = useInstances();

const creations = (): number =>
  control()
    .transcript()
    .filter(({ method }) => method === "createForumTopic").length;
const openThreads = (): readonly number[] =>
  control()
    .state()
    .threads.flatMap(({ status: state, threadId }) => (state === "open" ? [threadId] : []));

/** A leader whose thread is being made, which takes Telegram so long. */
async function askingForAThread(latencyMs: number) {
  control().fault({ method: "createForumTopic", kind: "latencyMs", ms: latencyMs });
  const leader = await create({ name: "L" });
  leader.ready.catch(() => undefined);
  await until("it is asked for", () => creations() === 1);
  return leader;
}

test("threads/CP-1, CP-5 whoever starts while topics are off gets its thread when they come on, and so does who waits", async () => {
  control().setTopicsEnabled({ enabled: false });
  const leader = await create({ name: "L" });
  await leader.ready;
  expect([leader.role, leader.thread]).toEqual(["classic", null]);
  const follower = await create({ name: "FB" });
  control().setTopicsEnabled({ enabled: true });
  await until("both have one", () => leader.thread !== null && follower.thread !== null);
  expect(creations()).toBe(2);
});

test("threads/CP-2 a leader that is refused a thread as if there were none looks again, and has it a moment later", async () => {
  control().fault({
    method: "createForumTopic",
    kind: "error",
    error_code: 400,
    description: "Bad Request: the chat is not a forum",
    times: 1,
  });
  const leader = await create({ name: "L" });
  await until("it leads", () => leader.role === "leader");
  await until("it has its thread", () => leader.thread !== null);
  expect(creations()).toBe(2);
});

test("C38 a leader that leaves while its thread is being made leaves none behind", async () => {
  const leader = await askingForAThread(400);
  await leader.stop({ leave: true });
  expect(openThreads()).toEqual([]);
  expect((await status()).threads).toEqual([]);
  expect((await status()).creations).toEqual([]);
});

test("C38 one that stops while its thread is being made finds it again, and makes no second one", async () => {
  const leader = await askingForAThread(400);
  await leader.stop();
  const [made] = openThreads();
  const again = await create({ name: "L" });
  expect((await again.ready).thread?.target.threadId).toBe(made);
  expect(creations()).toBe(1);
});

test("C38 a creation that outlives its leader's leave is unwanted, and holds nobody back", async () => {
  const leader = await askingForAThread(6_000);
  await leader.stop({ leave: true });
  const again = await create({ name: "L" });
  expect((await again.ready).thread).not.toBeNull();
  expect(openThreads().length).toBeLessThanOrEqual(2);
});
