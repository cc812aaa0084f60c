/** C76: the socket of a superseded follower is still open and says yes to everything: what it was given is gone without a word. */
import { expect, test } from "vitest";
import { openLeader, openV1Follower, receipt, type Frame } from "../support/line/v1-follower.ts";
import { until } from "../support/line/waiting.ts";

test("C76 what comes after another instance took the seat goes to that one alone, though the former one's socket is open", async () => {
  const line = await openLeader();
  const former = await openV1Follower(line, 810_001, receipt);
  const thread = await former.register();
  const current = await openV1Follower(line, 810_002, receipt);
  expect(await current.register()).toBe(thread);
  line.emulator.control.userSends({ threadId: thread, text: "for whoever sits" });
  await until("it arrives", () => current.texts().length > 0);
  await until("it is settled", () => line.open() === 0);
  expect(current.texts()).toEqual(["for whoever sits"]);
  expect(former.texts()).toEqual([]);
  expect(await former.beat()).toMatchObject({ ok: false });
}, 60_000);

test("C76 a superseded follower's late yes ends nothing: the update is delivered to the one that sits, and only then done", async () => {
  const line = await openLeader();
  const late: ((answer: string) => void)[] = [];
  let asked: Frame = {};
  const former = await openV1Follower(line, 810_003, (frame) => {
    asked = frame;
    return new Promise((resolve) => late.push(resolve));
  });
  const thread = await former.register();
  line.emulator.control.userSends({ threadId: thread, text: "in its hands" });
  await until("the former one has it", () => late.length > 0);

  let isWilling = false;
  const refusal = (frame: Frame): string =>
    `${JSON.stringify({ kind: "bus.ack", requestId: frame["requestId"], ok: false, message: "not yet" })}\n`;
  const current = await openV1Follower(line, 810_004, (frame) => (isWilling ? receipt(frame) : refusal(frame)));
  expect(await current.register()).toBe(thread);
  late[0]?.(receipt(asked));
  await until("the one that sits is asked, whatever the former one said", () => current.texts().length > 0);
  expect(line.open()).toBe(1);
  isWilling = true;
  await until("it is settled", async () => {
    expect(await current.beat()).toMatchObject({ ok: true });
    return line.open() === 0;
  });
  expect(new Set(current.texts())).toEqual(new Set(["in its hands"]));
  expect(former.texts()).toEqual(["in its hands"]);
}, 60_000);
