/** A damaged store is set aside whole, and what can be read of it is a store again. */
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { databaseFile } from "../../../adapters/store/sqlite/open.ts";
import { recoverStore, storeHealth } from "../../../adapters/store/sqlite/recover.ts";
import type { Liveness } from "../../../machines/ids.ts";
import { recoveryText } from "../../../cli/doctor.ts";
import * as the from "./fixtures.ts";
import { inTemporaryFolder, openOrThrow, refusalOf } from "./on-disk.ts";

const clock = new the.StoppedClock();
const recover = (folder: string, liveness: Liveness = "dead") =>
  recoverStore(folder, { clock, processes: { liveness: () => liveness } });

/** Seat 1 with its thread, its claim, and many updates in the journal. */
async function makeStore(folder: string, updates = 400): Promise<string> {
  const store = await openOrThrow(folder);
  const epoch = await the.lead(store, 1);
  const claim = { seat: the.seat(1), instanceId: the.instance(1), incarnation: the.incarnation(1), expected: null };
  await store.seats.claim({ ...claim, threadGraceMs: the.graceMs });
  await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
  await the.admit(
    store,
    epoch,
    Array.from({ length: updates }, (_, n) => the.update(n + 1)),
  );
  const profile = await store.seats.profileId();
  await store.close();
  return profile;
}

async function damage(folder: string, change: (bytes: Buffer) => Buffer): Promise<Buffer> {
  const bytes = change(await readFile(databaseFile(folder)));
  await writeFile(databaseFile(folder), bytes, { mode: 0o600 });
  return bytes;
}
/** The last pages: where the rows that were written last are. */
const cutShort = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length - 4096 * 3);
const garbled = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from("not a database"), bytes]);

describe("doctor --recover", () => {
  test("saves what can be read: seats, threads and most of the journal; polling begins at the oldest", async () => {
    await inTemporaryFolder(async (folder) => {
      const profile = await makeStore(folder);
      const bytes = await damage(folder, cutShort);
      expect((await storeHealth(folder, clock)).kind).toBe("damaged");
      const recovery = await recover(folder);
      if (recovery.kind !== "recovered") throw new Error(recovery.kind);
      expect((await readFile(path.join(recovery.setAside, "store.db"))).equals(bytes)).toBe(true);
      expect((await stat(recovery.setAside)).mode & 0o777).toBe(0o700);
      expect((await stat(databaseFile(folder))).mode & 0o777).toBe(0o600);
      expect((await readdir(folder)).filter((name) => name.startsWith("recovering-"))).toEqual([]);

      const store = await openOrThrow(folder);
      expect(await store.seats.profileId()).toBe(profile);
      expect((await store.threads.view()).bindings).toMatchObject([the.binding(1, 1)]);
      expect(await store.journal.cursor()).toBeNull();
      const { waiting } = (await store.status.read()).journal;
      expect(waiting).toBeGreaterThan(100);
      expect(waiting).toBeLessThan(400);
      const saved = recovery.tables.find(({ name }) => name === "updates");
      expect(saved).toEqual({ name: "updates", rows: waiting, isWhole: false, restored: 0 });
      // Whoever led then does not any more, and the epoch goes on from there.
      expect(await the.lead(store, 2)).toBe(2);
      await store.close();
      expect(await storeHealth(folder, clock)).toEqual({ kind: "healthy" });
      expect(recoveryText(recovery)).toMatch(/damaged files are in .*updates +\d+.*Not whole.*updates/s);
    });
  });

  test("reads on behind a damage in the middle", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      await damage(folder, (bytes) => {
        const page = Math.floor(bytes.indexOf(the.update(200).body) / 4096);
        return Buffer.from(bytes).fill(0, page * 4096, (page + 1) * 4096);
      });
      const recovery = await recover(folder);
      if (recovery.kind !== "recovered") throw new Error(recovery.kind);
      const store = await openOrThrow(folder);
      const heads = await store.journal.heads({ except: [], only: null, perLane: 400, limit: 400 });
      const ids = heads.map(({ updateId }) => Number(updateId)).sort((a, b) => a - b);
      expect([ids[0], ids.at(-1), ids.includes(200)]).toEqual([1, 400, false]);
      expect(ids.length).toBeGreaterThan(300);
      await store.close();
    });
  });

  test("makes a new store where nothing can be read, or the file is gone", async () => {
    for (const broken of [garbled, () => Buffer.alloc(0)])
      await inTemporaryFolder(async (folder) => {
        await makeStore(folder, 1);
        await damage(folder, broken);
        expect(await recover(folder)).toMatchObject({ kind: "recovered" });
        const store = await openOrThrow(folder);
        expect((await store.threads.view()).bindings).toEqual([]);
        await store.close();
      });
  });

  test("leaves alone what is sound, what is not there, and what something else is in the way of", async () => {
    await inTemporaryFolder(async (folder) => {
      expect(await recover(path.join(folder, "none"))).toEqual({ kind: "none" });
      await makeStore(folder, 1);
      const before = await readFile(databaseFile(folder));
      expect(await recover(folder)).toEqual({ kind: "healthy" });
      expect((await readFile(databaseFile(folder))).equals(before)).toBe(true);
      const open = path.join(folder, "open");
      await mkdir(open, { mode: 0o755 });
      await copyFile(databaseFile(folder), databaseFile(open));
      expect(await recover(open)).toMatchObject({ kind: "refused" });
    });
  });

  test("changes nothing while a process that the store names is alive", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      const bytes = await damage(folder, cutShort);
      const recovery = await recover(folder, "alive");
      expect(recovery).toEqual({ kind: "inUse", pid: the.incarnation(1).pid });
      expect(recoveryText(recovery)).toContain("stop all instances");
      expect((await readFile(databaseFile(folder))).equals(bytes)).toBe(true);
      expect((await readdir(folder)).some((name) => /^(damaged|recovering)-/.test(name))).toBe(false);
    });
  });

  test("a refusal names it as the remedy", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder, 1);
      await damage(folder, cutShort);
      expect(await refusalOf(folder)).toContain("partyline doctor --recover");
    });
  });
});
