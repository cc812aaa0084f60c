/** What whoever started a hub is told of it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Hub } from "../../../inspector/hub.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("the same trouble is told once, again when all was well in between, and not after the end", async () => {
  let trouble: string | null = "nobody has run here";
  const onTrouble = vi.fn();
  const status = (): Promise<unknown> => (trouble === null ? Promise.resolve({}) : Promise.reject(new Error(trouble)));
  const find = (): Promise<[]> => Promise.resolve([]);
  const hub = new Hub({ find, status, nowMs: () => Number(vi.getMockedSystemTime()), eager: true, onTrouble });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(onTrouble.mock.calls).toEqual([["nobody has run here"]]);
  trouble = null;
  await vi.advanceTimersByTimeAsync(5_000);
  trouble = "nobody has run here";
  await vi.advanceTimersByTimeAsync(5_000);
  expect(onTrouble).toHaveBeenCalledTimes(2);
  trouble = "the store is closed";
  hub.close();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(onTrouble).toHaveBeenCalledTimes(2);
});
