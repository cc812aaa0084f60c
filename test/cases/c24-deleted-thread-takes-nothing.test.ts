/** C24: a thread that the user deleted takes a message into the main chat for a while, and the sender hears that all is well. */
import { expect, test } from "vitest";
import { isNotice } from "../support/line/line.ts";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

/** Where a text stands in the chat. */
const placesOf = (line: Line, text: string): readonly (number | null)[] =>
  line.control
    .messages()
    .filter((each) => each.text === text)
    .map(({ threadId }) => threadId);
const openThreads = (line: Line) => line.control.state().threads.filter(({ status }) => status === "open");

test("C24 what went into the main chat is taken back and stands once, in one replacement; nothing more goes to the old thread", async () => {
  const line = await open();
  const [, fa] = await line.startAll(["L", "FA"]);
  const old = fa!.threadId;
  line.control.setTopicCache({ ms: 60_000 });
  line.control.userDeletesThread({ threadId: old });
  const { lastSeq } = line.control.state();

  const sent = await fa!.call("sendMessage", { text: "secret" });
  const place = (sent.result as { readonly message_thread_id?: number } | undefined)?.message_thread_id;
  expect(sent.ok).toBe(true);
  expect(place).not.toBe(old);
  expect(placesOf(line, "secret")).toEqual([place]);
  expect((await line.status()).threads.map(({ threadId }) => threadId)).toContain(place);
  expect(await fa!.call("sendMessage", { text: "more", message_thread_id: old })).toMatchObject({
    result: { message_thread_id: place },
  });
  const toOld = line.control
    .transcript({ since: lastSeq })
    .filter(({ method, payload }) => /^send/.test(method) && Number(payload["message_thread_id"]) === old);
  expect(toOld.length).toBe(1);
  expect(openThreads(line).length).toBe(2);
  expect(line.control.messages().filter((each) => each.threadId === place && isNotice(each)).length).toBe(1);
});

test.each(["L", "FA"])(
  "C24 answers of %s that meet the deleted thread stand once, in order, in one replacement",
  async (name) => {
    const line = await open();
    const agents = await line.startAll(["L", "FA"]);
    const agent = agents.find(({ label }) => label === name)!;
    const other = agents.find(({ label }) => label !== name)!;
    const old = agent.threadId;
    line.control.setTopicCache({ ms: 0 });
    line.control.userDeletesThread({ threadId: old });

    const texts = Array.from({ length: 6 }, (_, at) => `part ${at}`);
    // A bot answers into the thread that its update named.
    const sent = await Promise.all(texts.map((text) => agent.call("sendMessage", { text, message_thread_id: old })));
    expect(sent.map(({ ok }) => ok)).toEqual(texts.map(() => true));
    const fresh = (sent[0]?.result as { readonly message_thread_id: number }).message_thread_id;
    expect(fresh).not.toBe(old);
    const stand = line.control.messages().filter(({ text }) => texts.includes(text));
    expect(stand.map(({ text, threadId }) => [text, threadId])).toEqual(texts.map((text) => [text, fresh]));
    expect(
      openThreads(line)
        .map(({ name: title }) => title)
        .sort(),
    ).toEqual(["FA", "L"]);

    // What the user writes there arrives; the other one is not touched.
    line.say(fresh, "there you are");
    await until("it arrives", () => agent.texts.includes("there you are"));
    expect(await other.call("sendMessage", { text: "as ever" })).toMatchObject({
      result: { message_thread_id: other.threadId },
    });
    const { threads } = await line.status();
    expect(threads.map(({ threadId }) => threadId).sort()).toEqual([fresh, other.threadId].sort());
  },
);

test("C24 a thread stays when Telegram refuses for another reason", async () => {
  const line = await open();
  const [, fa] = await line.startAll(["L", "FA"]);
  line.control.fault({
    method: "sendMessage",
    where: { text: "no" },
    kind: "error",
    error_code: 400,
    description: "Bad Request: chat not found",
  });
  expect(await fa!.call("sendMessage", { text: "no" })).toMatchObject({ ok: false });
  expect(openThreads(line).length).toBe(2);
});
