/** A damaged store is set aside whole, and what can be read of it is a store again. */
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import Database from "better-sqlite3";
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
      expect(storeHealth(folder).kind).toBe("damaged");
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
      expect(storeHealth(folder)).toEqual({ kind: "healthy" });
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

  test.each([
    ["has a seat and does not lead", "UPDATE lease SET incarnation = NULL", "alive", "inUse"],
    ["leads and has no seat", "DELETE FROM seat_claims", "alive", "inUse"],
    ["is named by nothing", "DELETE FROM seat_claims; UPDATE lease SET incarnation = NULL", "alive", "recovered"],
    ["cannot be proven to run", "SELECT 1", "unverifiable", "recovered"],
    [
      "is named by a text that is damaged itself",
      "UPDATE seat_claims SET incarnation = '{'; UPDATE lease SET incarnation = NULL",
      "alive",
      "recovered",
    ],
  ] as const)("of a process that %s", async (_, sql, liveness, kind) => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      const db = new Database(databaseFile(folder));
      db.exec(sql);
      db.close();
      await damage(folder, cutShort);
      expect((await recover(folder, liveness)).kind).toBe(kind);
    });
  });

  test("sets aside everything of the damaged store, its marker and the index of its log as well", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeKilled(folder, zeroed);
      await writeFile(`${databaseFile(folder)}-shm`, "an index", { mode: 0o600 });
      const recovery = await recover(folder);
      if (recovery.kind !== "recovered") throw new Error(recovery.kind);
      const names = ["store.db", "store.db-shm", "store.db-wal", "store.marker.json"];
      expect((await readdir(recovery.setAside)).sort()).toEqual(names);
      expect((await readdir(folder)).filter((name) => name.startsWith("store.")).sort()).toEqual([
        "store.db",
        "store.marker.json",
      ]);
    });
  });

  test("saves what stands in the log alone, and numbers go on beyond all that may have been given", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeKilled(folder, zeroed);
      await recover(folder);
      const store = await openOrThrow(folder);
      const heads = await store.journal.heads({ except: [], only: null, perLane: 500, limit: 500 });
      expect(heads.map(({ updateId }) => Number(updateId))).toContain(401);
      await store.close();
      await damage(folder, garbled);
      clock.advance(1);
      await recover(folder);
      const db = new Database(databaseFile(folder), { readonly: true });
      const last = db.prepare<[], { seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'updates'").get();
      db.close();
      expect(last?.seq).toBeGreaterThanOrEqual(1_000_000);
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

/** Told apart by their digests: comparing bytes one by one takes seconds. */
const digestOf = async (file: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
/** What stands in a folder's store and in the log beside it. */
const bytesIn = (folder: string): Promise<readonly string[]> =>
  Promise.all(["", "-wal"].map((end) => digestOf(databaseFile(folder) + end)));

/** A store as one who was killed leaves it: the last changes stand in the log alone. */
async function makeKilled(folder: string, change: (bytes: Buffer) => Buffer): Promise<readonly string[]> {
  await inTemporaryFolder(async (living) => {
    await makeStore(living);
    const store = await openOrThrow(living);
    await the.admit(store, await the.lead(store, 2), [the.update(401)]);
    for (const name of ["store.db", "store.db-wal", "store.marker.json"])
      await copyFile(path.join(living, name), path.join(folder, name));
    await store.close();
  });
  await damage(folder, change);
  return bytesIn(folder);
}

const zeroed = (bytes: Buffer): Buffer => {
  const page = Math.floor(bytes.indexOf(the.update(200).body) / 4096);
  return Buffer.from(bytes).fill(0, page * 4096, (page + 1) * 4096);
};

describe("who only looks at a store that was killed changes neither it nor its log", () => {
  test.each([
    ["a page is gone", zeroed],
    ["the front is overwritten", garbled],
    ["the end is missing", cutShort],
    ["everything is missing", () => Buffer.alloc(0)],
  ])("%s", async (_what, change) => {
    await inTemporaryFolder(async (folder) => {
      const before = await makeKilled(folder, change);
      expect((await stat(`${databaseFile(folder)}-wal`)).size).toBeGreaterThan(4096);
      expect(storeHealth(folder).kind).toBe("damaged");
      expect(await bytesIn(folder)).toEqual(before);
      expect(await refusalOf(folder)).toContain("is damaged");
      expect(await bytesIn(folder)).toEqual(before);
      // And the recovery sets it aside as it was.
      const recovery = await recover(folder);
      if (recovery.kind !== "recovered") throw new Error(recovery.kind);
      const aside = await Promise.all(
        ["", "-wal"].map((end) => digestOf(path.join(recovery.setAside, `store.db${end}`))),
      );
      expect(aside).toEqual(before);
    });
  });

  test("one that is in use", async () => {
    await inTemporaryFolder(async (folder) => {
      const before = await makeKilled(folder, zeroed);
      expect(await recover(folder, "alive")).toMatchObject({ kind: "inUse" });
      expect(await bytesIn(folder)).toEqual(before);
    });
  });

  test("one that is sound", async () => {
    await inTemporaryFolder(async (folder) => {
      const before = await makeKilled(folder, (bytes) => bytes);
      expect(storeHealth(folder)).toEqual({ kind: "healthy" });
      expect(await recover(folder)).toEqual({ kind: "healthy" });
      expect(await bytesIn(folder)).toEqual(before);
      const store = await openOrThrow(folder);
      expect((await store.status.read()).journal.waiting).toBe(401);
      await store.close();
    });
  });

  test("one whose file and marker are gone is damaged too: a new file would take the log along", async () => {
    await inTemporaryFolder(async (folder) => {
      const [, log] = await makeKilled(folder, (bytes) => bytes);
      for (const name of ["store.db", "store.marker.json"]) await rm(path.join(folder, name));
      expect(storeHealth(folder).kind).toBe("damaged");
      expect(await refusalOf(folder)).toContain("is damaged");
      expect(await digestOf(`${databaseFile(folder)}-wal`)).toBe(log);
      expect(await recover(folder)).toMatchObject({ kind: "recovered" });
    });
  });

  test("one of a newer Partyline, and one of something else", async () => {
    for (const sql of ["UPDATE meta SET value = 99 WHERE key = 'compatibility'", "DROP TABLE meta"])
      await inTemporaryFolder(async (folder) => {
        await inTemporaryFolder(async (living) => {
          await makeStore(living, 1);
          const db = new Database(databaseFile(living));
          db.exec(sql);
          for (const end of ["", "-wal"]) await copyFile(databaseFile(living) + end, databaseFile(folder) + end);
          db.close();
        });
        const before = await bytesIn(folder);
        await refusalOf(folder);
        expect(storeHealth(folder).kind).toBe("refused");
        expect(await bytesIn(folder)).toEqual(before);
      });
  });
});
