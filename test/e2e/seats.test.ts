/** Which thread a process gets, and what becomes of it when the process goes. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";

const open = useLines();

test("a named process has its thread again after every kind of end", async () => {
  const line = await open();
  const [keeper, worker] = await line.startAll(["keeper", "worker"]);
  await worker!.kill();
  const second = await line.start({ name: "worker" }).whenReady();
  await second.stop();
  const third = await line.start({ name: "worker" }).whenReady();
  await Promise.all([keeper!.kill(), third.kill()]);
  const fourth = await line.start({ name: "worker" }).whenReady();
  expect([second, third, fourth].map(({ threadId }) => threadId)).toEqual(Array(3).fill(worker!.threadId));
  expect(line.control.state().threads.length).toBe(2);
});

test("unnamed processes of one parent get different seats, and a later one takes a free one again", async () => {
  const line = await open();
  const first = await line.start().whenReady();
  const second = await line.start().whenReady();
  expect(second.threadId).not.toBe(first.threadId);
  await first.stop();
  const third = await line.start().whenReady();
  expect(third.threadId).toBe(first.threadId);
  expect((await line.status()).seats.length).toBe(2);
});

test("a second live process of one name is refused with a clear error, and the first one is not disturbed", async () => {
  const line = await open();
  const [alpha] = await line.startAll(["alpha"]);
  const twin = line.start({ name: "alpha" });
  const exit = await twin.whenExited();
  expect(exit.code).not.toBe(0);
  expect(twin.errors.map(({ message }) => message).join("\n")).toMatch(
    /the name "alpha" is taken by instance .*stop it or choose another name/,
  );
  expect(twin.ready).toBeNull();
  expect(alpha!.isRunning).toBe(true);
  expect(line.leader).toBe(alpha);
});
