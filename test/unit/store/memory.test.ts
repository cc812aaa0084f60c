import { describe, expect, test } from "vitest";
import { createMemoryStore, MemoryDatabase, openMemoryStore } from "../../../adapters/store/memory/index.ts";
import { storeContract } from "./contract.ts";
import { StoppedClock } from "./fixtures.ts";

storeContract("memory", () => {
  const clock = new StoppedClock();
  const database = new MemoryDatabase("profile");
  const open = () => Promise.resolve(openMemoryStore({ database, clock }));
  return Promise.resolve({ clock, open, dispose: () => Promise.resolve() });
});

describe("memory store", () => {
  test("answers on a microtask", async () => {
    const store = createMemoryStore({ clock: new StoppedClock() });
    let answered = false;
    void store.lease.read().then(() => (answered = true));
    expect(answered).toBe(false);
    await Promise.resolve();
    expect(answered).toBe(true);
  });
});
