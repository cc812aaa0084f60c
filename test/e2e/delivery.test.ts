/** Three real processes, three threads: every message reaches the process that owns its thread, once and in order. */
import { expect, test } from "vitest";
import { isNotice } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { inMs, report, until } from "../support/line/waiting.ts";

const open = useLines();

test("200 messages alternating over three threads are each delivered once, in thread order, to their owner", async () => {
  const line = await open();
  const agents = await line.startAll(["alpha", "beta", "gamma"]);
  expect(new Set(agents.map((agent) => agent.threadId)).size).toBe(3);
  expect(agents.map((agent) => agent.ready?.role)).toEqual(["leader", "follower", "follower"]);

  const expected = new Map(agents.map((agent) => [agent.label, [] as string[]]));
  const ids: number[] = [];
  for (let number = 0; number < 200; number += 1) {
    const agent = agents[number % 3]!;
    expected.get(agent.label)?.push(`m${number}`);
    ids.push(line.say(agent.threadId, `m${number}`));
  }
  const delivered = (): number => agents.reduce((sum, agent) => sum + agent.updates.length, 0);
  const tookMs = await until("all are delivered", () => delivered() >= 200);
  await line.settled(ids);
  report(`200 messages over 3 threads, all delivered: ${inMs(tookMs)} (${((200 / tookMs) * 1_000).toFixed(0)}/s)`);

  for (const agent of agents) expect(agent.texts).toEqual(expected.get(agent.label));
  const status = await line.status();
  expect(status.journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
  expect(line.control.state().polls).toMatchObject({ conflicts409: 0, negativeOffsets: 0 });
});

test("calls of leader and follower go out in their own threads, and an answer is told apart by its id", async () => {
  const line = await open();
  const agents = await line.startAll(["alpha", "beta"]);
  for (const agent of agents) {
    const [first, second] = await Promise.all([
      agent.call("sendMessage", { text: `one of ${agent.label}` }),
      agent.call("sendMessage", { text: `two of ${agent.label}` }),
    ]);
    expect(first).toMatchObject({ ok: true, result: { text: `one of ${agent.label}` } });
    expect(second).toMatchObject({ ok: true, result: { text: `two of ${agent.label}` } });
  }
  for (const agent of agents) {
    const all = line.control.messages().filter(({ threadId, service }) => threadId === agent.threadId && !service);
    const texts = all.filter((each) => !isNotice(each));
    expect(texts.map(({ text }) => text).sort()).toEqual([`one of ${agent.label}`, `two of ${agent.label}`]);
  }
});

test("what Telegram refuses reaches the caller as Telegram's own error object, from leader and follower", async () => {
  const line = await open();
  const agents = await line.startAll(["alpha", "beta"]);
  for (const agent of agents) {
    line.control.fault({
      method: "sendMessage",
      kind: "error",
      error_code: 400,
      description: "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 7",
    });
    expect(await agent.call("sendMessage", { text: "*oops" })).toMatchObject({
      ok: false,
      outcome: "rejected",
      error: {
        error_code: 400,
        description: "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 7",
      },
    });
    line.control.fault({ method: "sendMessage", kind: "retryAfter", seconds: 7 });
    expect(await agent.call("sendMessage", { text: "too fast" })).toMatchObject({
      ok: false,
      outcome: "throttled",
      error: { error_code: 429, parameters: { retry_after: 7 } },
    });
  }
});

test("a call into another thread or chat is refused and sends nothing", async () => {
  const line = await open();
  const [alpha, beta] = await line.startAll(["alpha", "beta"]);
  const { lastSeq } = line.control.state();
  for (const [agent, other] of [
    [alpha!, beta!],
    [beta!, alpha!],
  ] as const) {
    const elsewhere = await agent.call("sendMessage", { text: "hello", message_thread_id: other.threadId });
    expect(elsewhere).toMatchObject({ ok: false, error: { error_code: 403 } });
    expect(await agent.call("sendMessage", { text: "hello", chat_id: 99 })).toMatchObject({
      ok: false,
      error: { error_code: 403 },
    });
  }
  const sends = line.control.transcript({ since: lastSeq }).filter(({ method }) => /sendMessage/i.test(method));
  expect(sends).toEqual([]);
});
