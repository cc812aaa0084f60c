import { describe, expect, test } from "vitest";
import { resultOf, start, untilWaiting, updateIds, refusal, OWNER_CHAT } from "./harness.ts";

const E409 = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
const E409W =
  "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";

/** An emulator with this many pending updates, the first with id 101. */
async function withPending(count: number) {
  const started = await start({ firstUpdateId: 101 });
  for (let i = 1; i <= count; i += 1) started.emulator.control.userSends({ text: `text ${i}` });
  return started;
}

describe("offset", () => {
  test("without one, everything pending is returned and nothing is forgotten", async () => {
    const { call, emulator } = await withPending(3);
    expect(updateIds(await call("getUpdates"))).toEqual([101, 102, 103]);
    expect(emulator.control.state().queue.length).toBe(3);
  });

  test("a positive one forgets every lower update at the moment of the call", async () => {
    const { call, emulator } = await withPending(3);
    expect(updateIds(await call("getUpdates", { offset: 103 }))).toEqual([103]);
    expect(emulator.control.state().queue).toMatchObject({ length: 1, firstId: 103 });
    expect(updateIds(await call("getUpdates", { offset: 101 }))).toEqual([103]);
  });

  test("a negative one returns the last ones, forgets the earlier ones, and is counted", async () => {
    const { call, emulator } = await withPending(5);
    expect(updateIds(await call("getUpdates", { offset: -2 }))).toEqual([104, 105]);
    expect(emulator.control.state().queue.length).toBe(2);
    expect(emulator.control.state().polls).toMatchObject({ negativeOffsets: 1, forgottenByNegativeOffset: 3 });
  });

  test("a negative one larger than the queue forgets nothing", async () => {
    const { call } = await withPending(2);
    expect(updateIds(await call("getUpdates", { offset: -50 }))).toEqual([101, 102]);
  });

  test("up to 10 past the queue's end it confirms; further it is ignored", async () => {
    const { call, emulator } = await withPending(2);
    expect(updateIds(await call("getUpdates", { offset: 114 }))).toEqual([101, 102]);
    expect(emulator.control.state().polls.ignoredOffsets).toBe(1);
    expect(updateIds(await call("getUpdates", { offset: 113 }))).toEqual([]);
    expect(emulator.control.state().queue.length).toBe(0);
  });

  test("C18: after an id restart an old high offset is ignored and the new updates come", async () => {
    const { call, emulator } = await start({ firstUpdateId: 726_999_999 });
    emulator.control.userSends({ text: "before" });
    expect(updateIds(await call("getUpdates"))).toEqual([726_999_999]);
    expect(updateIds(await call("getUpdates", { offset: 727_000_000 }))).toEqual([]);
    const poll = call("getUpdates", { offset: 727_000_000, timeout: 50 });
    await untilWaiting(emulator, 3);
    emulator.control.restartIds({ next: 117_000_000 });
    emulator.control.userSends({ text: "after" });
    expect(updateIds(await poll)).toEqual([117_000_000]);
  });

  test("a repeated one within 0.5 s forces limit 1, loses nothing, and later returns all", async () => {
    const { call, clock, emulator } = await withPending(3);
    expect(updateIds(await call("getUpdates", { offset: 101 }))).toEqual([101, 102, 103]);
    clock.advance(499);
    expect(updateIds(await call("getUpdates", { offset: 101 }))).toEqual([101]);
    clock.advance(500);
    expect(updateIds(await call("getUpdates", { offset: 101 }))).toEqual([101, 102, 103]);
    expect(emulator.control.state().polls.repeatedOffsetLimits).toBe(1);
  });

  test("the repeated-offset rule can be switched off", async () => {
    const { call, emulator } = await start({ repeatedOffsetRule: false });
    for (const text of ["a", "b"]) emulator.control.userSends({ text });
    await call("getUpdates");
    expect(updateIds(await call("getUpdates"))).toHaveLength(2);
  });
});

describe("limit", () => {
  test.each([
    [2, 2],
    [0, 1],
    [500, 100],
    [undefined, 100],
  ])("%s returns %i of 120", async (limit, expected) => {
    const { call } = await withPending(120);
    expect(updateIds(await call("getUpdates", { limit }))).toHaveLength(expected);
  });
});

describe("long poll", () => {
  test("wakes at once when an update comes", async () => {
    const { call, emulator, clock } = await start();
    const poll = call("getUpdates", { timeout: 30 });
    await untilWaiting(emulator);
    const { updateId } = emulator.control.userSends({ text: "hello" });
    expect(updateIds(await poll)).toEqual([updateId]);
    expect(clock.timers).toBe(0);
  });

  test("ends empty at its time-out, which is clamped to 50 s", async () => {
    const { call, emulator, clock } = await start();
    const poll = call("getUpdates", { timeout: 3600 });
    await untilWaiting(emulator);
    clock.advance(49_999);
    expect(emulator.control.state().polls.waiting).toBe(1);
    clock.advance(1);
    expect(updateIds(await poll)).toEqual([]);
  });

  test("the newer one wins and the older, waiting one is answered 409", async () => {
    const { call, emulator } = await start();
    const older = call("getUpdates", { timeout: 30 });
    await untilWaiting(emulator);
    const newer = call("getUpdates", { timeout: 30 });
    expect(await older).toMatchObject(refusal(409, E409));
    await untilWaiting(emulator, 2);
    emulator.control.userSends({ text: "hello" });
    expect(updateIds(await newer)).toHaveLength(1);
    expect(emulator.control.state().polls.conflicts409).toBe(1);
  });

  test("one whose client went away is forgotten: no conflict, nothing lost", async () => {
    const { call, emulator } = await start();
    const gone = new AbortController();
    const older = call("getUpdates", { timeout: 30 }, { signal: gone.signal });
    await untilWaiting(emulator);
    gone.abort();
    await expect(older).rejects.toThrow();
    await expect.poll(() => emulator.control.state().polls.waiting).toBe(0);
    emulator.control.userSends({ text: "hello" });
    expect(updateIds(await call("getUpdates", { offset: 1, timeout: 30 }))).toHaveLength(1);
    expect(emulator.control.state().polls).toMatchObject({ conflicts409: 0, aborted: 1 });
    expect(emulator.control.transcript()[0]?.outcome).toEqual({ kind: "aborted" });
  });
});

describe("allowed_updates", () => {
  const react = async (filter?: readonly string[]) => {
    const { call, emulator } = await start();
    if (filter !== undefined) await call("getUpdates", { allowed_updates: filter });
    const { messageId } = emulator.control.userSends({ text: "hello" });
    const { updateId } = emulator.control.userReacts({ messageId, emoji: "👍" });
    return { call, emulator, reacted: updateId !== null };
  };

  test("by default message_reaction is not among them, nor with an empty list", async () => {
    expect((await react()).reacted).toBe(false);
    expect((await react([])).reacted).toBe(false);
  });

  test("what is named comes, what is not is never queued", async () => {
    const { emulator, reacted } = await react(["message_reaction"]);
    expect(reacted).toBe(true);
    expect(emulator.control.state().queue).toMatchObject({
      length: 1,
      filtered: 1,
      allowedUpdates: ["message_reaction"],
    });
  });

  test("the setting is remembered by calls that do not name it", async () => {
    const { call, emulator } = await react(["message_reaction"]);
    await call("getUpdates", { offset: 1 });
    emulator.control.userSends({ text: "not taken" });
    expect(updateIds(await call("getUpdates"))).toHaveLength(1);
  });

  test("an update refused earlier does not come when its type is allowed later", async () => {
    const { call } = await react();
    const updates = resultOf<object[]>(await call("getUpdates", { allowed_updates: ["message", "message_reaction"] }));
    expect(updates.map((update) => Object.keys(update)[1])).toEqual(["message"]);
  });
});

describe("webhook", () => {
  test("getUpdates is refused while one is active, and works after deleteWebhook", async () => {
    const { call, emulator } = await withPending(1);
    await call("setWebhook", { url: "https://example.org/hook" });
    expect(await call("getUpdates")).toMatchObject(refusal(409, E409W));
    await call("deleteWebhook");
    expect(updateIds(await call("getUpdates"))).toHaveLength(1);
    await call("deleteWebhook", { drop_pending_updates: true });
    expect(emulator.control.state().queue).toMatchObject({ length: 0, droppedByRequest: 1 });
  });
});

describe("raw updates", () => {
  test("are passed on as they are, with their own id or the next one", async () => {
    const { call, emulator } = await start();
    const message = {
      message_id: 70,
      date: 1_790_000_000,
      chat: { id: OWNER_CHAT, type: "private", first_name: "Owner" },
      text: "x",
    };
    emulator.control.rawUpdate({ update: { update_id: 810_000_070, message } });
    emulator.control.rawUpdate({ update: { poll_answer: { odd: true } } });
    expect(resultOf(await call("getUpdates"))).toEqual([
      { update_id: 810_000_070, message },
      { update_id: 810_000_071, poll_answer: { odd: true } },
    ]);
  });

  test("a query in one can be answered and its message can be replied to", async () => {
    const { call, emulator } = await start();
    const message = {
      message_id: 71,
      date: 1,
      chat: { id: OWNER_CHAT, type: "private", first_name: "Owner" },
      text: "?",
    };
    emulator.control.rawUpdate({ update: { callback_query: { id: "9001", data: "d", message } } });
    expect((await call("answerCallbackQuery", { callback_query_id: "9001" })).body).toEqual({ ok: true, result: true });
    const reply = { chat_id: OWNER_CHAT, text: "x", reply_parameters: { message_id: 71 } };
    expect((await call("sendMessage", reply)).status).toBe(200);
  });
});
