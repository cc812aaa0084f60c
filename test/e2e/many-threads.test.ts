/** A line with a thousand threads: what starting to lead asks of Telegram. */
import { expect, test } from "vitest";
import { systemClock } from "../../adapters/host/clock.ts";
import { openSqliteStore } from "../../adapters/store/sqlite/index.ts";
import { stateFolder } from "../../index.ts";
import { chatId, instanceId, seatKey, threadId } from "../../machines/ids.ts";
import type { Store } from "../../services/ports.ts";
import { owner } from "../support/line/fixtures.ts";
import { threadOf, useInstances } from "../support/line/use-instances.ts";
import { report, until } from "../support/line/waiting.ts";

const others = 1_000;
const { control, create, options } = useInstances();

async function openStore(): Promise<Store> {
  const store = await openSqliteStore({ folder: stateFolder(options()), clock: systemClock() });
  if (!("lease" in store)) throw new Error(store.reason);
  return store;
}

/** Threads of seats on which nobody sits, as a line leaves them that was killed as a whole. */
async function bindOthers(): Promise<void> {
  const store = await openStore();
  const { epoch: before, renewals } = await store.lease.read();
  const { record } = await store.lease.acquire({
    me: {
      instanceId: instanceId("1:1"),
      incarnation: { bootId: "b", pidNamespace: "n", pid: 1, startTicks: "1", counter: 0 },
      endpoint: "nowhere",
      secret: "none",
    },
    expected: { epoch: before, renewals },
    evidence: "vacant",
    durationMs: 60_000,
  });
  for (let n = 1; n <= others; n += 1)
    await store.threads.bind({
      epoch: record.epoch,
      provisionId: null,
      binding: {
        seat: seatKey(`manual:others:${n}`),
        thread: {
          target: { chatId: chatId(owner), threadId: threadId(100_000 + n) },
          slot: "",
          threadName: `other ${n}`,
        },
        createdAtMs: 0,
        standing: "open",
        reason: "",
        provenAtMs: 0,
      },
    });
  await store.lease.release({ epoch: record.epoch });
  await store.close();
}

test("threads/S-39, S-47, T-33, T-34, OP-35 a leader of a thousand bound threads starts with no call on any of them", async () => {
  const before = await create({ name: "own" });
  const own = await threadOf(before);
  await before.stop();
  await bindOthers();
  const earlier = control().transcript().length;

  const startedAt = performance.now();
  const leader = await create({ name: "own" });
  expect(await threadOf(leader)).toBe(own);
  report(`ready with ${others} bound threads: ${(performance.now() - startedAt).toFixed(0)} ms`);
  // Reconciliation has looked at every one of them, and given it its grace time.
  const store = await openStore();
  await until("every thread has a deadline", async () => (await store.cleanups.view()).cleanups.length === others);
  await store.close();
  const calls = control().transcript().slice(earlier);
  expect([...new Set(calls.map(({ method }) => method))].sort()).toEqual(["getMe", "getUpdates"]);
  expect(calls.filter(({ method }) => method === "getMe")).toHaveLength(1);
});
