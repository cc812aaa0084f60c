/** What an operator decides where evidence cannot, by the commands: threads, leave, seats. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("an operator lists, forgets, adopts and releases threads, gives seats up, and is refused what a running instance holds", async () => {
  const line = await open();
  const [keeper, fa, fb] = await line.startAll(["keeper", "fa", "fb"]);
  const ask = async (...args: readonly string[]): Promise<string> => {
    const { exit, output } = await line.run([...args, "--wait", "10"]);
    return `${String(exit?.code)} ${output.trim()}`;
  };
  const isAtTelegram = (threadId: number): boolean =>
    line.control.state().threads.some((each) => each.threadId === threadId && each.status === "open");
  const faThread = String(fa!.threadId);

  const refusals = await Promise.all([
    ask("threads", "release", faThread),
    ask("seats", "forget", "fb"),
    ask("leave", "nobody"),
  ]);
  const isHeld = /^1 Refused: \S+ is held by a running instance: stop it first/;
  expect(refusals).toEqual([
    expect.stringMatching(isHeld),
    expect.stringMatching(isHeld),
    expect.stringMatching(/^2 partyline: There is no seat "nobody"/),
  ]);

  await Promise.all([fa!.stop(), fb!.stop()]);
  const gone = "its instance is gone: deleted in 10 min, unless one comes back under its seat";
  const [list, json] = await Promise.all([line.run(["threads"]), line.run(["status", "--json"])]);
  expect(list.output).toMatch(new RegExp(`${String(keeper!.threadId)} .*keeper.*in use`));
  expect(list.output.split("\n").filter((each) => each.includes(gone)).length).toBe(2);
  const { threads } = JSON.parse(json.output) as { threads: { threadId: number; explanation: string }[] };
  expect(threads.find((each) => each.threadId === fa!.threadId)?.explanation).toBe(gone);

  expect(await ask("threads", "forget", faThread)).toMatch(/^0 Done: taken off the books/);
  expect(isAtTelegram(fa!.threadId)).toBe(true);
  expect(await ask("threads", "adopt", "fa", faThread)).toMatch(/^0 Done: bound/);
  expect(await Promise.all([ask("threads", "release", faThread), ask("leave", "fb")])).toEqual([
    expect.stringMatching(/^0 Done: the thread is deleted/),
    expect.stringMatching(/^0 Done: the thread is deleted/),
  ]);
  await until("both are deleted", () => !isAtTelegram(fa!.threadId) && !isAtTelegram(fb!.threadId));
  expect(isAtTelegram(keeper!.threadId)).toBe(true);

  await keeper!.stop();
  const { exit, output } = await line.run(["leave", "keeper", "--wait", "0"]);
  expect([exit?.code, output]).toEqual([1, expect.stringContaining("The request is kept")]);
});
