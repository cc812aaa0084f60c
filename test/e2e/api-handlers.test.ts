/** The public API, in process: handlers and calls around a stop, and handlers that throw. */
import { expect, onTestFinished, test } from "vitest";
import { CallError } from "../../index.ts";
import type { InstanceUpdate } from "../../index.ts";
import { threadOf, useInstances } from "../support/line/use-instances.ts";
import { inMs, report, until, workFor } from "../support/line/waiting.ts";

const { control, create, say, status } = useInstances();

test.each(["leader", "follower"] as const)(
  "a handler of a %s that ends 200 ms after stop() was called still acks, and its update does not come again",
  async (role) => {
    if (role === "follower") await (await create({ name: "other" })).ready;
    const stopping = await create({ name: "slow", ack: "explicit" });
    const threadId = await threadOf(stopping);
    expect(stopping.role).toBe(role);
    const events: string[] = [];
    let stopWasCalled: () => void = () => undefined;
    const whenStopWasCalled = new Promise<void>((resolve) => (stopWasCalled = resolve));
    stopping.on("update", async (update) => {
      events.push("given");
      await whenStopWasCalled;
      await workFor(200);
      events.push(`acked ${String(await update.ack())}`);
    });
    say(threadId, "slow");
    await until("it is given", () => events.length === 1);
    const stopped = stopping.stop().then(() => events.push("stopped"));
    stopWasCalled();
    await stopped;
    expect(events).toEqual(["given", "acked true", "stopped"]);

    const again = await create({ name: "slow", ack: "explicit" });
    const given: string[] = [];
    again.on("update", async (update) => {
      given.push(`${update.update.message?.text ?? ""}${update.redelivered ? ", again" : ""}`);
      await update.ack();
    });
    expect(await threadOf(again)).toBe(threadId);
    say(threadId, "next");
    await until("the next one is given", () => given.includes("next"));
    expect(given).toEqual(["next"]);
    expect((await status()).journal).toMatchObject({ waiting: 0, deadLetters: 0 });
  },
);

test("updates/T-105, OP-53 a handler that never ends does not keep stop(): its update comes to the next process of the seat, marked", async () => {
  const stopping = await create({ name: "stuck", ack: "explicit" });
  const threadId = await threadOf(stopping);
  let isGiven = false;
  stopping.on("update", () => {
    isGiven = true;
    return new Promise<never>(() => undefined);
  });
  say(threadId, "stuck");
  await until("it is given", () => isGiven);
  const startedAt = performance.now();
  await stopping.stop();
  const tookMs = performance.now() - startedAt;
  report(`stop() with a handler that never ends: ${inMs(tookMs)} (target 2 s)`);
  expect(tookMs).toBeLessThan(20_000);
  const again = await create({ name: "stuck", ack: "explicit" });
  const given: string[] = [];
  again.on("update", async (update) => {
    given.push(`${update.update.message?.text ?? ""} ${String(update.redelivered)} ${String(await update.ack())}`);
  });
  await until("it comes again", () => given.length > 0);
  expect(given).toEqual(["stuck true true"]);
});

test("ack() says whether the update was ours to settle: true, true again, and false once its handler has failed", async () => {
  const instance = await create({ ack: "explicit" });
  const threadId = await threadOf(instance);
  const answers: boolean[] = [];
  let failed: InstanceUpdate | null = null;
  instance.on("update", async (update) => {
    if (update.update.message?.text === "good") {
      answers.push(await update.ack(), await update.ack());
      return;
    }
    if (failed === null) {
      failed = update;
      throw new Error("not this time");
    }
    // Taken anew since: the first handing out has nothing to settle any more.
    answers.push(await failed.ack(), await update.ack());
  });
  say(threadId, "good");
  say(threadId, "bad");
  await until("both are settled", () => answers.length === 4);
  expect(answers).toEqual([true, true, false, true]);
});

test("what handlers of role, error and update throw reaches nobody else: the instance goes on", async () => {
  const escaped: unknown[] = [];
  const onEscaped = (error: unknown): void => void escaped.push(error);
  process.on("uncaughtException", onEscaped).on("unhandledRejection", onEscaped);
  onTestFinished(() => {
    process.off("uncaughtException", onEscaped).off("unhandledRejection", onEscaped);
  });
  const leader = await create({ name: "leader" });
  const instance = await create({ name: "thrower" });
  const told: string[] = [];
  instance.on("role", (role) => {
    told.push(role);
    throw new Error("thrown by a role handler");
  });
  instance.on("role", async () => {
    await Promise.resolve();
    throw new Error("rejected by a role handler");
  });
  instance.on("error", ({ kind }) => {
    told.push(kind);
    throw new Error("thrown by an error handler");
  });
  const threadId = await threadOf(instance);
  const texts: string[] = [];
  instance.on("update", ({ update }) => {
    texts.push(update.message?.text ?? "");
    throw new Error("thrown by an update handler");
  });
  say(threadId, "one");
  await until("the failure is told", () => told.includes("handler"));
  await leader.stop();
  await until("it leads", () => instance.role === "leader" && told.includes("leader"));
  say(threadId, "two");
  await until("it is given", () => texts.length === 2);
  expect(texts).toEqual(["one", "two"]);
  await instance.stop();
  expect(told.at(-1)).toBe("stopped");
  expect(escaped).toEqual([]);
});

test("a call while Telegram cannot be reached ends as notSent, never as a refusal, and nothing was sent", async () => {
  const leader = await create({ name: "leader" });
  const follower = await create({ name: "follower" });
  await leader.ready;
  await follower.ready;
  const { lastSeq } = control().state();
  control().refuseConnections({ ms: 10 * 60_000 });
  // A call on a connection that breaks under it would rightly be ambiguous: the leader must have lost its connections.
  await until("the leader has noticed", async () => (await status()).polling.health === "Telegram not reachable");
  const kindOf = (error: unknown): string => (error instanceof CallError ? error.outcome.kind : String(error));
  await until("no connection is left", async () => {
    const sent = await leader.call("getMe", {}).then(() => "ok", kindOf);
    expect(["ambiguous", "notSent"]).toContain(sent);
    return sent === "notSent";
  });
  for (const instance of [leader, follower]) {
    const startedAt = performance.now();
    const outcome = await instance.call("sendMessage", { text: "into the void" }).catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(CallError);
    expect(outcome).toMatchObject({ error: null, isAmbiguous: false, outcome: { kind: "notSent" } });
    report(`a ${instance.role}'s call without Telegram is given up after ${inMs(performance.now() - startedAt)}`);
  }
  expect([leader.role, follower.role]).toEqual(["leader", "follower"]);
  expect(
    control()
      .transcript({ since: lastSeq })
      .filter(({ payload }) => payload["text"] === "into the void"),
  ).toEqual([]);
});

test("call() after stop() fails at once as notSent", async () => {
  const instance = await create({ name: "gone" });
  await instance.ready;
  await instance.stop();
  const startedAt = performance.now();
  await expect(instance.call("sendMessage", { text: "too late" })).rejects.toMatchObject({
    name: "CallError",
    isAmbiguous: false,
    outcome: { kind: "notSent", reason: "the instance has stopped" },
  });
  const tookMs = performance.now() - startedAt;
  report(`a call after stop() fails after ${inMs(tookMs)}`);
  // Far below the 30 s for which a call waits for a leader.
  expect(tookMs).toBeLessThan(1_000);
  expect(
    control()
      .messages({})
      .filter(({ text }) => text === "too late"),
  ).toEqual([]);
});
