/** The public API, in process: what an embedder sees. */
import { expect, expectTypeOf, test } from "vitest";
import { CallError, createInstance, StartError } from "../../index.ts";
import type { InstanceOptions, InstanceUpdate, Trouble } from "../../index.ts";
import { threadOf, useInstances } from "../support/line/use-instances.ts";
import { useLines } from "../support/line/use-line.ts";
import { inMs, report, until } from "../support/line/waiting.ts";

const { control, create, options, say, status } = useInstances();
const visible = (text: string): number =>
  control()
    .messages()
    .filter((message) => message.text === text).length;

test("two instances in one process: a leader and a follower, each with its own thread, typed calls and updates", async () => {
  const first = await create({ name: "first" });
  const roles: string[] = [];
  const second = await create({ name: "second" });
  second.on("role", (role, epoch) => roles.push(`${role} ${epoch}`));
  const texts: string[] = [];
  second.on("update", ({ update }) => void texts.push(update.message?.text ?? ""));
  const threads = [await threadOf(first), await threadOf(second)];
  expect([first.role, second.role]).toEqual(["leader", "follower"]);
  expect([first.epoch, second.epoch]).toEqual([1, 1]);
  expect(second.thread?.threadName).toBe("second");

  const sent = await second.call("sendMessage", { text: "typed" });
  expectTypeOf(sent.message_id).toEqualTypeOf<number>();
  expect(sent.message_thread_id).toBe(threads[1]);
  const me = await first.call("getMe", {});
  expect(me.username).toBe("bus_test_bot");
  // @ts-expect-error the text is missing
  await expect(second.call("sendMessage", {})).rejects.toThrow(CallError);

  say(threads[1]!, "hello");
  await until("the message arrives", () => texts.includes("hello"));
  await first.stop();
  await until("the second one leads", () => second.role === "leader" && second.epoch === 2);
  expect(roles.at(-1)).toBe("leader 2");
  expect((await status()).epoch).toBe(2);
});

test("a handler that is attached late gets what came before it, and one that is detached gets nothing more", async () => {
  const instance = await create();
  const threadId = await threadOf(instance);
  say(threadId, "early");
  await until("it was taken from the journal", () => control().state().queue.length === 0);
  const texts: string[] = [];
  const detach = instance.on("update", ({ update }) => void texts.push(update.message?.text ?? ""));
  await until("the early one comes", () => texts.length === 1);
  detach();
  instance.on("update", () => undefined);
  say(threadId, "late");
  await until("the late one is confirmed", () => control().state().queue.length === 0);
  expect(texts).toEqual(["early"]);
});

test("a refusal carries Telegram's error object, and a 429 its delay", async () => {
  const leader = await create({ name: "leader" });
  await leader.ready;
  const follower = await create({ name: "follower" });
  await follower.ready;
  for (const instance of [leader, follower]) {
    control().fault({
      method: "sendMessage",
      where: { text: "x" },
      kind: "error",
      error_code: 400,
      description: "Bad Request: group chat was upgraded to a supergroup chat",
      parameters: { migrate_to_chat_id: -1_009_990_002 },
    });
    const refused = await instance.call("sendMessage", { text: "x" }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CallError);
    expect(refused).toMatchObject({
      method: "sendMessage",
      isAmbiguous: false,
      message: "sendMessage: Bad Request: group chat was upgraded to a supergroup chat",
      error: { error_code: 400, parameters: { migrate_to_chat_id: -1_009_990_002 } },
    });
    control().fault({ method: "sendMessage", kind: "retryAfter", seconds: 3, where: { text: "x" } });
    await expect(instance.call("sendMessage", { text: "x" })).rejects.toMatchObject({
      outcome: { kind: "throttled", retryAfterMs: 3_000 },
      error: { error_code: 429, parameters: { retry_after: 3 } },
    });
  }
});

test("an answer that is lost after the send is reported as ambiguous, and the message stands in the chat once", async () => {
  const leader = await create({ name: "leader" });
  await leader.ready;
  const follower = await create({ name: "follower" });
  await follower.ready;
  for (const [instance, text] of [
    [leader, "pay the leader"],
    [follower, "pay the follower"],
  ] as const) {
    control().fault({ method: "sendMessage", kind: "lost", where: { text } });
    const outcome = await instance.call("sendMessage", { text }).catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(CallError);
    expect(outcome).toMatchObject({ isAmbiguous: true, error: null, outcome: { kind: "ambiguous" } });
    expect(visible(text)).toBe(1);
    expect(
      control()
        .transcript()
        .filter(({ payload }) => payload["text"] === text).length,
    ).toBe(1);
  }
});

test("a handler that fails is called again later with the same id, and what follows in the thread waits", async () => {
  const instance = await create({ ack: "explicit" });
  const threadId = await threadOf(instance);
  const troubles: Trouble[] = [];
  instance.on("error", (trouble) => void troubles.push(trouble));
  const given: { text: string; id: string; atMs: number }[] = [];
  instance.on("update", async (update: InstanceUpdate) => {
    const text = update.update.message?.text ?? "";
    given.push({ text, id: update.id, atMs: Date.now() });
    if (given.filter((each) => each.text === text).length <= 2 && text === "hard") throw new Error("not yet");
    await update.ack();
  });
  say(threadId, "hard");
  await until("it was tried a first time", () => given.length > 0);
  say(threadId, "easy");
  await until("both are done", () => given.some(({ text }) => text === "easy"));
  const hard = given.filter(({ text }) => text === "hard");
  expect(given.map(({ text }) => text)).toEqual(["hard", "hard", "hard", "easy"]);
  expect(new Set(hard.map(({ id }) => id)).size).toBe(1);
  report(
    `a failed handler is called again after ${hard
      .slice(1)
      .map(({ atMs }, at) => inMs(atMs - hard[at]!.atMs))
      .join(", ")}`,
  );
  expect(troubles.filter(({ kind }) => kind === "handler").length).toBe(2);
  expect(troubles[0]?.message).toMatch(/failed: Error: not yet/);
});

test("with ack auto a failing handler is not called again", async () => {
  const instance = await create({ ack: "auto" });
  const threadId = await threadOf(instance);
  const given: string[] = [];
  instance.on("update", ({ update }) => {
    given.push(update.message?.text ?? "");
    throw new Error("no");
  });
  say(threadId, "first");
  say(threadId, "second");
  await until("both were given", () => given.length === 2);
  expect(given).toEqual(["first", "second"]);
  expect((await status()).journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
});

test("stop({ leave: true }) deletes the thread, as leader and as follower; stop() keeps it", async () => {
  const leader = await create({ name: "leader" });
  const leaderThread = await threadOf(leader);
  const follower = await create({ name: "follower" });
  const followerThread = await threadOf(follower);
  const keeper = await create({ name: "keeper" });
  const keeperThread = await threadOf(keeper);
  const statusOf = (threadId: number) =>
    control()
      .state()
      .threads.find((each) => each.threadId === threadId)?.status;
  await follower.stop({ leave: true });
  expect(statusOf(followerThread)).toBe("deleted");
  await keeper.stop();
  expect(statusOf(keeperThread)).toBe("open");
  await leader.stop({ leave: true });
  expect(statusOf(leaderThread)).toBe("deleted");
  // Who comes back under a name that has left gets a new thread; who only stopped has the old one.
  expect(await threadOf(await create({ name: "keeper" }))).toBe(keeperThread);
  expect(await threadOf(await create({ name: "follower" }))).not.toBe(followerThread);
});

test("stop and start ten times in one process: always the same thread, never refused", async () => {
  const threads = new Set<number>();
  for (let round = 0; round < 10; round += 1) {
    const instance = await createInstance(options({ name: "again" }));
    threads.add(await threadOf(instance));
    await instance.stop();
  }
  expect(threads.size).toBe(1);
});

test("a second instance of a name in one process is refused; the first one goes on", async () => {
  const first = await create({ name: "twin" });
  await first.ready;
  const second = await createInstance(options({ name: "twin" }));
  await expect(second.ready).rejects.toThrow(StartError);
  await second.stopped;
  expect(first.role).toBe("leader");
});

test("options that cannot work are refused with a StartError before anything is opened", async () => {
  const wrong: readonly Partial<InstanceOptions>[] = [
    { token: "nonsense" },
    { user: 0 },
    { user: Number.NaN },
    { chat: 1.5 },
    { name: "" },
    { name: "a b" },
    { profile: "UPPER" },
    { pollSeconds: 0 },
    { pollSeconds: 51 },
    { lease: { durationMs: 1_000 } },
    { lease: { renewMs: Number.NaN } },
    { apiRoot: "nonsense" },
    { apiRoot: "ftp://api.example" },
    { apiRoot: "" },
  ];
  for (const more of wrong)
    await expect(createInstance(options(more)), JSON.stringify(more)).rejects.toThrow(StartError);
});

const open = useLines();

test("updates/T-72 ack explicit: what a killed process had not acked comes to its successor, same id, marked as redelivered", async () => {
  const line = await open();
  const [, worker] = await line.startAll(["leader", "worker"], { onUpdate: () => undefined });
  const ids = [line.say(worker!.threadId, "acked"), line.say(worker!.threadId, "in hand")];
  await until("both are given", () => worker!.updates.length === 2);
  worker!.ack(worker!.updates[0]!.id);
  await line.settled([ids[0]!]);
  await worker!.kill();
  const again = await line.start({ name: "worker" }).whenReady();
  await line.settled(ids);
  expect(again.updates).toEqual([
    expect.objectContaining({ id: worker!.updates[1]!.id, update: worker!.updates[1]!.update, redelivered: true }),
  ]);
});

test("updates/OP-50, T-73 ack auto: what was given to a process that is then killed is not given again", async () => {
  const line = await open();
  const [, worker] = await line.startAll(["leader", "worker"], { ack: "auto" });
  const id = line.say(worker!.threadId, "once");
  await until("it is given", () => worker!.updates.length === 1);
  await worker!.kill();
  const again = await line.start({ name: "worker", ack: "auto" }).whenReady();
  line.say(again.threadId, "next");
  await until("the next one is given", () => again.texts.includes("next"));
  expect(again.texts).toEqual(["next"]);
  await line.settled([id]);
});
