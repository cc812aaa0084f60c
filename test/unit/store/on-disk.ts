/**
 * SQLite stores in folders of their own, for tests.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { openSqliteStore } from "../../../adapters/store/sqlite/index.ts";
import type { Clock, Store } from "../../../services/ports.ts";
import { StoppedClock } from "./fixtures.ts";
import type { Harness } from "./harness.ts";

export async function inTemporaryFolder<T>(body: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), "partyline-store-"));
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The store; throws the sentence when it was refused. */
export async function openOrThrow(folder: string, clock: Clock = new StoppedClock()): Promise<Store> {
  const store = await openSqliteStore({ folder, clock });
  if ("kind" in store) throw new Error(store.reason);
  return store;
}

/** The sentence of a refusal; throws when it was opened. */
export async function refusalOf(folder: string): Promise<string> {
  const store = await openSqliteStore({ folder, clock: new StoppedClock() });
  if ("kind" in store) return store.reason;
  await store.close();
  throw new Error("expected a refusal");
}

export async function sqliteHarness(): Promise<Harness> {
  const folder = await mkdtemp(path.join(tmpdir(), "partyline-store-"));
  const clock = new StoppedClock();
  const stores: Store[] = [];
  return {
    clock,
    open: async () => {
      const store = await openOrThrow(folder, clock);
      stores.push(store);
      return store;
    },
    dispose: async () => {
      for (const store of stores) await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
