/**
 * The simulated Telegram: what a poll confirms, who gets a conflict, what an ambiguous call may have done.
 */
import { describe, expect, test } from "vitest";
import type { CallOutcome } from "../../../services/ports.ts";
import { calm, createFaultCounts, type Swarm } from "../../../testing/simulator/faults.ts";
import { createHostClock } from "../../../testing/simulator/clock.ts";
import { createProcess } from "../../../testing/simulator/process.ts";
import { createRandom } from "../../../testing/simulator/random.ts";
import { createRecorder } from "../../../testing/simulator/recorder.ts";
import { createScheduler } from "../../../testing/simulator/scheduler.ts";
import { createTelegramPort } from "../../../testing/simulator/telegram-api.ts";
import { createTelegramWorld } from "../../../testing/simulator/telegram.ts";

function setUp(options: Partial<Swarm> = {}) {
  const random = createRandom(3);
  const scheduler = createScheduler({ random: random.split("order"), recorder: createRecorder() });
  const world = createTelegramWorld(scheduler, () => undefined);
  const gate = { throttledUntilMs: 0 };
  const start = (name: string) => {
    const host = createHostClock(scheduler, { rate: 1, offsetMs: 0, elapsedStartMs: 0 });
    const process = createProcess({ name, pid: 1, scheduler, host, random, lagMaxMs: () => 0 });
    const swarm = () => ({ ...calm, ...options });
    const shared = { scheduler, random, swarm, process, faults: createFaultCounts(), crashPoint: () => undefined };
    const api = createTelegramPort({ ...shared, world, gate });
    return { api, process };
  };
  const run = (untilMs: number) => scheduler.runUntil(untilMs, () => false);
  /** Starts a call; its outcome, once there. */
  const call = (api: ReturnType<typeof start>["api"], method: string, payload: Readonly<Record<string, unknown>>) => {
    const seen: CallOutcome[] = [];
    const abort = new AbortController();
    void api.call(method, payload, { timeoutMs: 20_000, signal: abort.signal }).then((outcome) => seen.push(outcome));
    return { seen, abort };
  };
  const idsIn = (outcome: CallOutcome | undefined): readonly number[] =>
    outcome?.kind === "ok" && Array.isArray(outcome.result)
      ? outcome.result.map((each: { readonly update_id: number }) => each.update_id)
      : [];
  return { world, gate, start, run, call, idsIn };
}

describe("the simulated Telegram", () => {
  test("gives an update again until a later call asks beyond it", async () => {
    const { world, start, run, call, idsIn } = setUp();
    const { api } = start("p");
    const id = world.write(null, "hello") ?? 0;
    const first = call(api, "getUpdates", { timeout: 0 });
    await run(1_000);
    const second = call(api, "getUpdates", { timeout: 0, offset: id });
    await run(2_000);
    expect([...idsIn(first.seen[0]), ...idsIn(second.seen[0])]).toEqual([id, id]);
    expect(world.isConfirmed(id)).toBe(false);
    call(api, "getUpdates", { timeout: 0, offset: id + 1 });
    await run(3_000);
    expect(world.isConfirmed(id)).toBe(true);
  });

  test("answers a waiting poll when somebody writes, and the older of two with 409", async () => {
    const { world, start, run, call, idsIn } = setUp();
    const [older, newer] = [start("older"), start("newer")];
    const first = call(older.api, "getUpdates", { timeout: 10 });
    await run(1_000);
    const second = call(newer.api, "getUpdates", { timeout: 10 });
    await run(2_000);
    expect(first.seen[0]).toMatchObject({ kind: "rejected", error: { error_code: 409 } });
    expect(world.stats().ownConflicts).toBe(1);
    const id = world.write(null, "hello");
    await run(3_000);
    expect(idsIn(second.seen[0])).toEqual([id]);
  });

  test("a poll that its caller cut is no conflict", async () => {
    const { world, start, run, call } = setUp();
    const [older, newer] = [start("older"), start("newer")];
    const first = call(older.api, "getUpdates", { timeout: 10 });
    await run(1_000);
    first.abort.abort();
    await run(2_000);
    call(newer.api, "getUpdates", { timeout: 0 });
    await run(3_000);
    expect(first.seen[0]?.kind).toBe("ambiguous");
    expect(world.stats().conflicts).toBe(0);
  });

  test("a lost answer is ambiguous although the thread was created; a call not sent created nothing", async () => {
    const lost = setUp({ telegramAnswerLost: 1 });
    const outcome = lost.call(lost.start("p").api, "createForumTopic", { name: "t" });
    await lost.run(1_000);
    expect(outcome.seen[0]?.kind).toBe("ambiguous");
    expect(lost.world.threads()).toHaveLength(1);
    const unsent = setUp({ telegramNotSent: 1 });
    unsent.call(unsent.start("p").api, "createForumTopic", { name: "t" });
    await unsent.run(1_000);
    expect(unsent.world.threads()).toHaveLength(0);
  });

  test("throttles the whole bot, and a call that hangs ends by its own time-out", async () => {
    const { gate, start, run, call } = setUp();
    gate.throttledUntilMs = 5_000;
    const throttled = call(start("p").api, "getMe", {});
    await run(1_000);
    expect(throttled.seen[0]).toMatchObject({ kind: "throttled", retryAfterMs: 5_000 });
    const hanging = setUp({ telegramHang: 1 });
    const hung = hanging.call(hanging.start("p").api, "sendMessage", { text: "x" });
    await hanging.run(19_999);
    expect(hung.seen).toEqual([]);
    await hanging.run(20_100);
    expect(hung.seen[0]?.kind).toBe("ambiguous");
    expect(hanging.world.stats().sent).toBe(1);
  });

  test("knows a deleted thread by the calls that check it", async () => {
    const { world, start, run, call } = setUp();
    const { api } = start("p");
    call(api, "createForumTopic", { name: "t" });
    await run(1_000);
    const id = world.threads()[0]?.id ?? 0;
    const probe = { message_thread_id: id };
    const alive = call(api, "editForumTopic", probe);
    await run(2_000);
    call(api, "deleteForumTopic", probe);
    await run(3_000);
    const gone = call(api, "editForumTopic", probe);
    await run(4_000);
    expect(alive.seen[0]).toMatchObject({ error: { description: "Bad Request: TOPIC_NOT_MODIFIED" } });
    expect(gone.seen[0]).toMatchObject({ error: { description: "Bad Request: TOPIC_ID_INVALID" } });
    expect(world.write(id, "hello")).toBeNull();
  });
});
