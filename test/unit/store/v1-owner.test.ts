/** The v1 owner store on disk: transactions under the guard, recovery of a dead holder's, damage. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../adapters/host/clock.ts";
import { TransactionGuard } from "../../../adapters/store/v1-owner/guard.ts";
import { openOwnerStore } from "../../../adapters/store/v1-owner/index.ts";
import type { PidLook } from "../../../adapters/store/v1-owner/pids.ts";
import { systemPids } from "../../../adapters/store/v1-owner/pids.ts";
import type { Clock } from "../../../services/ports.ts";
import { ownerRecord } from "../../support/charts/owner-samples.ts";

/** Waits pass at once; the wall clock is the real one. */
const clock: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  setTimeout: (fn) => setImmediate(fn),
  clearTimeout: () => undefined,
};
const deadPid = 4_000_001;
const pids: PidLook = {
  isRunning: (pid) => pid !== deadPid && systemPids.isRunning(pid),
  startedAtMs: (pid) => systemPids.startedAtMs(pid),
};

function place(look: PidLook = pids, waits: Clock = clock) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pl-owners-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const file = path.join(folder, "owners.json");
  const guard = `${file}.transaction`;
  const open = (slot = "default") => openOwnerStore({ folder, slot, clock: waits, pids: look });
  return { folder, file, guard, open, store: open() };
}

function plantGuard(guard: string, pid: number, acquiredAtMs = Date.now(), name?: string): string {
  const generation = randomUUID();
  mkdirSync(guard);
  const entry = path.join(guard, name ?? `owner.${generation}.json`);
  writeFileSync(entry, `${JSON.stringify({ pid, acquiredAtMs, generation })}\n`);
  return entry;
}

const write =
  (record = ownerRecord()) =>
  () =>
    ({ kind: "write", record }) as const;

test("the file is one JSON object, indented by two, private, and other slots stay as they are (protocol/P-6)", async () => {
  const { file, folder, open } = place();
  writeFileSync(file, JSON.stringify({ work: { pid: 9, extra: [1] } }));
  await open().change(write());
  expect(readFileSync(file, "utf8")).toBe(
    `${JSON.stringify(
      {
        work: { pid: 9, extra: [1] },
        default: {
          pid: 700,
          cwd: "/srv/v1",
          instanceId: "700:1",
          leaderEpoch: "8e0f0e34-0000-4000-8000-000000000001",
          runtimeGeneration: 7,
          heartbeatMs: 100,
          busSecret: "v1-secret",
        },
      },
      null,
      2,
    )}\n`,
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await open("work").change(() => ({ kind: "remove" }));
  expect(await open().read()).toEqual({ kind: "read", record: ownerRecord() });
  expect(readdirSync(folder)).toEqual(["owners.json"]);
});

test("protocol/S-55 of many that take an empty slot at once exactly one wins", async () => {
  // Real waits: their number is bounded, and six transactions take their time.
  const { open } = place(pids, systemClock());
  let wins = 0;
  await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      open().change((record) => {
        if (record !== null) return { kind: "keep" };
        wins += 1;
        return { kind: "write", record: ownerRecord({ pid: n + 1 }) };
      }),
    ),
  );
  expect(wins).toBe(1);
});

describe("protocol/S-63 a guard that is left", () => {
  test("protocol/T-4: by a dead process is recovered", async () => {
    const { guard, store } = place();
    plantGuard(guard, deadPid);
    await store.change(write());
    expect(existsSync(guard)).toBe(false);
    expect(await store.read()).toMatchObject({ record: { pid: 700 } });
  });

  test("by a dead process in the middle of a recovery by another dead one is resumed", async () => {
    const { guard, store } = place();
    plantGuard(guard, deadPid, Date.now(), `owner.reclaim.${deadPid}.${randomUUID()}.json`);
    await store.change(write());
    expect(existsSync(guard)).toBe(false);
  });

  test.each([
    ["by a live process", (guard: string) => plantGuard(guard, process.pid)],
    ["empty", (guard: string) => mkdirSync(guard)],
    ["malformed", (guard: string) => plantGuard(guard, deadPid, Date.now(), "owner.json")],
    ["under another generation's name", (guard: string) => plantGuard(guard, deadPid, 1, `owner.${randomUUID()}.json`)],
  ])("protocol/T-2, T-5, P-7: %s is not touched, and the transaction times out", async (_, plant) => {
    const { guard, store } = place();
    plant(guard);
    await expect(store.change(write())).rejects.toThrow(`Timed out acquiring Telegram lock transaction: ${guard}`);
    expect(existsSync(guard)).toBe(true);
    expect(await store.read()).toEqual({ kind: "read", record: null });
  });

  test("protocol/T-6 superseded: as a plain file, by a writer before v1's present form, it is recovered by nobody, its process dead or not", async () => {
    const { guard, folder, store } = place();
    const owner = JSON.stringify({ pid: deadPid, acquiredAtMs: 1, generation: randomUUID() });
    writeFileSync(guard, owner);
    await expect(store.change(write())).rejects.toThrow(`Timed out acquiring Telegram lock transaction: ${guard}`);
    expect(readFileSync(guard, "utf8")).toBe(owner);
    expect(readdirSync(folder)).toEqual([path.basename(guard)]);
  });
});

test("protocol/T-1 a transaction's guard is a folder that only its user enters, with one file that says whose it is; nothing is left of it", async () => {
  const { guard, folder, store } = place();
  const seen = { modes: [0], names: [""], text: "" };
  await store.change(() => {
    const names = readdirSync(guard);
    const entry = path.join(guard, names[0] ?? "");
    const modes = [guard, entry].map((each) => statSync(each).mode & 0o777);
    Object.assign(seen, { modes, names, text: readFileSync(entry, "utf8") });
    return { kind: "write", record: ownerRecord() };
  });
  const { modes, names, text } = seen;
  const { generation = "", acquiredAtMs } = JSON.parse(text) as { generation?: string; acquiredAtMs?: number }; // exactly so, below
  expect(text).toBe(`${JSON.stringify({ pid: process.pid, acquiredAtMs, generation })}\n`);
  expect(generation).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(names).toEqual([`owner.${generation}.json`]);
  expect(modes).toEqual([0o700, 0o600]);
  expect(readdirSync(folder)).toEqual(["owners.json"]);
});

test("protocol/S-64 a guard that was replaced while it was reclaimed survives", async () => {
  const { guard } = place();
  const stolen = { isDone: false };
  const slow: PidLook = {
    ...pids,
    isRunning(pid) {
      if (pid !== deadPid) return pids.isRunning(pid);
      if (!stolen.isDone) {
        // Between the look and the claim somebody else recovered it and took its own.
        stolen.isDone = true;
        rmSync(guard, { recursive: true });
        plantGuard(guard, process.pid);
      }
      return false;
    },
  };
  plantGuard(guard, deadPid);
  await expect(new TransactionGuard(guard, { clock, pids: slow }).acquire()).rejects.toThrow("Timed out");
  expect(stolen.isDone).toBe(true);
  expect(existsSync(guard)).toBe(true);
});

test("protocol/S-65, T-3 a release that finds another owner's guard fails and leaves it", async () => {
  const { guard } = place();
  const held = new TransactionGuard(guard, { clock, pids });
  const owner = await held.acquire();
  rmSync(guard, { recursive: true });
  plantGuard(guard, process.pid);
  await expect(held.release(owner)).rejects.toThrow(`held by process ${process.pid} by now`);
  expect(existsSync(guard)).toBe(true);
});

test("C66 a guard whose pid belongs to a later program is recovered, also after a reboot", async () => {
  const { guard, store } = place();
  plantGuard(guard, process.pid, (systemPids.startedAtMs(process.pid) ?? 0) - 60_000);
  await store.change(write());
  expect(existsSync(guard)).toBe(false);
});

describe.each([
  ["", "empty"],
  ['{"default": {"pid"', "cut"],
  ["[1]", "no object"],
  ["\0\0\0\0", "zeros"],
])("protocol/S-66, C68 a store file that is %j (%s)", (text) => {
  test("protocol/T-7, P-7: aborts a transaction, is left as it is, and the guard is free again", async () => {
    const { file, guard, store } = place();
    writeFileSync(file, text);
    await expect(store.change(write())).rejects.toThrow("no JSON object");
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(existsSync(guard)).toBe(false);
    expect(await store.read()).toMatchObject({ kind: "damaged" });
  });

  test("is moved to recovery on request, and the next transaction starts from nothing", async () => {
    const { file, folder, store } = place();
    writeFileSync(file, text);
    await store.setAside();
    await store.change(write());
    expect(await store.read()).toMatchObject({ record: { pid: 700 } });
    const [kept] = readdirSync(path.join(folder, "recovery"));
    expect(readFileSync(path.join(folder, "recovery", kept ?? "", "owners.json"), "utf8")).toBe(text);
    expect(existsSync(file)).toBe(true);
  });
});

test("C68 an empty guard that nobody can hold is damage once it is old and no owner refreshes, and is moved aside", async () => {
  const { guard, store } = place();
  mkdirSync(guard);
  await store.setAside();
  expect(existsSync(guard)).toBe(true);
  utimesSync(guard, 1, 1);
  expect(await store.read()).toMatchObject({ kind: "damaged" });
  await store.setAside();
  expect(existsSync(guard)).toBe(false);
});

test("protocol/O-41 waiting for the guard holds nothing else of the process up", async () => {
  const { file, guard, store } = place();
  plantGuard(guard, process.pid);
  const change = { isOver: false };
  const changed = store.change(write()).finally(() => (change.isOver = true));
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(change.isOver).toBe(false);
  rmSync(guard, { recursive: true });
  await changed;
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ default: { pid: 700 } });
});

test("protocol/P-5 a commit runs only for the owner, inside the transaction", async () => {
  const { guard, store } = place();
  await store.change(write());
  const seen: boolean[] = [];
  const commit = (): Promise<boolean> => {
    seen.push(existsSync(guard));
    return Promise.resolve(true);
  };
  expect(await store.commitIf((record) => record?.pid === 1, commit)).toBe(false);
  expect(await store.commitIf((record) => record?.pid === 700, commit)).toBe(true);
  expect(seen).toEqual([true]);
});
