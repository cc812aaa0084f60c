/** The rolling backup: one checked copy, and what of it a recovery takes back. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { backupFile, sqliteBackups } from "../../../adapters/store/sqlite/backup.ts";
import { readMarker } from "../../../adapters/store/sqlite/marker.ts";
import { databaseFile } from "../../../adapters/store/sqlite/open.ts";
import { recoverStore } from "../../../adapters/store/sqlite/recover.ts";
import { restore } from "../../../adapters/store/sqlite/restore.ts";
import { recoveryText } from "../../../cli/doctor.ts";
import { updateId } from "../../../machines/ids.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { inTemporaryFolder, openOrThrow } from "./on-disk.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

async function withLine(
  body: (line: {
    readonly folder: string;
    readonly store: Store;
    readonly clock: the.StoppedClock;
    readonly take: (notBeforeMs?: number) => ReturnType<ReturnType<typeof sqliteBackups>["take"]>;
    /** Stops everybody, breaks the file, recovers it. */
    readonly recover: (damage: (bytes: Buffer) => Buffer) => Promise<{ said: string; store: Store }>;
  }) => Promise<void>,
): Promise<void> {
  await inTemporaryFolder(async (folder) => {
    const clock = new the.StoppedClock();
    const backups = sqliteBackups({ folder, clock });
    const store = await openOrThrow(folder, clock);
    const open = [store];
    try {
      await body({
        folder,
        store,
        clock,
        take: (notBeforeMs = 0) => backups.take(notBeforeMs),
        recover: async (damage) => {
          await store.close();
          const marker = readMarker(folder);
          if (typeof marker === "string") throw new Error(marker);
          const hasBackup = existsSync(backupFile(folder));
          await writeFile(databaseFile(folder), damage(await readFile(databaseFile(folder))), { mode: 0o600 });
          const recovery = await recoverStore(folder, { clock, processes: { liveness: () => "dead" } });
          if (recovery.kind !== "recovered") throw new Error(recovery.kind);
          // From now on a missing store is damage again, and the backup stays until the next one replaces it.
          expect(readMarker(folder)).toEqual(hasBackup ? marker : { ...marker, createdAtMs: clock.nowMs() });
          expect(existsSync(backupFile(folder))).toBe(hasBackup);
          const after = await openOrThrow(folder, clock);
          open.push(after);
          return { said: recoveryText(recovery), store: after };
        },
      });
    } finally {
      for (const each of open) await each.close();
    }
  });
}

async function leadRegistered(store: Store) {
  const epoch = await the.lead(store, 1);
  await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
  return epoch;
}

const admit = async (store: Store, epoch: Awaited<ReturnType<typeof the.lead>>, from: number, to: number) =>
  the.admit(
    store,
    epoch,
    Array.from({ length: to - from + 1 }, (_, n) => the.update(from + n)),
  );

async function claim(store: Store, id: number) {
  const claimant = the.claimant(1, 1, "g1", `a-${String(id)}`);
  const claimed = await store.work.claim({ ...the.plainly, updateId: updateId(id), claimant });
  if (claimed.kind !== "claimed") throw new Error(claimed.kind);
  return { seq: claimed.entry.seq, acquisition: claimant.acquisition };
}

const waitingIn = async (store: Store): Promise<number[]> =>
  (await store.journal.heads({ except: [], only: null, perLane: 1_000, limit: 1_000 })).map((entry) =>
    Number(entry.updateId),
  );

const everything = (): Buffer => Buffer.alloc(0);

/** The page of the table where the update's entry is. */
const pageOf = (id: number) => (bytes: Buffer) => {
  const page = Math.floor(bytes.indexOf(the.update(id).body) / 4_096);
  return Buffer.from(bytes).fill(0, page * 4_096, (page + 1) * 4_096);
};

describe("a backup", () => {
  test("is one moment of the store, checked, alone in its file, for its owner's eyes; the marker counts them", async () => {
    await withLine(async ({ folder, store, take }) => {
      const epoch = await leadRegistered(store);
      await admit(store, epoch, 1, 600);
      const taking = take();
      // For its owner alone from the first byte on.
      const begun = readdirSync(folder).filter((name) => name.startsWith("store.backup.db."));
      expect(begun).toHaveLength(1);
      for (const name of begun) expect(statSync(path.join(folder, name)).mode & 0o777).toBe(0o600);
      // Nobody is held up meanwhile.
      await admit(store, epoch, 601, 620);
      expect(await taking).toEqual({ kind: "taken", generation: 1 });
      expect(readMarker(folder)).toMatchObject({ backupGeneration: 1 });
      expect((await stat(backupFile(folder))).mode & 0o777).toBe(0o600);
      expect((await readdir(folder)).filter((name) => name.startsWith("store.backup")).sort()).toEqual([
        "store.backup.db",
      ]);
      // Not in the mode that wants a log beside it.
      expect([...(await readFile(backupFile(folder))).subarray(18, 20)]).toEqual([1, 1]);
      const copy = new Database(backupFile(folder), { readonly: true });
      const entries = copy.prepare<[], { n: number }>("SELECT count(*) AS n FROM updates").get()?.n ?? 0;
      copy.close();
      expect(entries).toBeGreaterThanOrEqual(600);
      expect(await take()).toEqual({ kind: "taken", generation: 2 });
    });
  });

  test("is made beside its process, which need not take a turn for it", async () => {
    await withLine(async ({ folder, store, take }) => {
      await admit(store, await leadRegistered(store), 1, 100);
      const taking = take();
      const giveUpMs = performance.now() + 20_000;
      // Our own thread does nothing else meanwhile.
      while (!existsSync(backupFile(folder)) && performance.now() < giveUpMs);
      expect(existsSync(backupFile(folder))).toBe(true);
      expect(await taking).toEqual({ kind: "taken", generation: 1 });
    });
  });

  test("that cannot be made is told of with the reason, and leaves nothing behind", async () => {
    await withLine(async ({ folder, take }) => {
      await mkdir(backupFile(folder));
      expect(await take()).toMatchObject({ kind: "failed", reason: expect.stringContaining("EISDIR") as string });
      expect((await readdir(folder)).filter((name) => name.startsWith("store.backup"))).toEqual(["store.backup.db"]);
    });
  });

  test("of a store that was killed leaves its file and its log as they are; without a marker none is made", async () => {
    await withLine(async ({ folder, store, clock }) => {
      await admit(store, await leadRegistered(store), 1, 3);
      const killed = path.join(folder, "killed");
      await mkdir(killed, { mode: 0o700 });
      const bytes = () => Promise.all(["", "-wal"].map((end) => readFile(databaseFile(killed) + end)));
      for (const end of ["", "-wal"]) await copyFile(databaseFile(folder) + end, databaseFile(killed) + end);
      const [file, log] = await bytes();
      expect(await sqliteBackups({ folder: killed, clock }).take(0)).toEqual({ kind: "taken", generation: 0 });
      const after = await bytes();
      expect([file!.equals(after[0]!), log!.equals(after[1]!)]).toEqual([true, true]);
      expect(readMarker(killed)).toBe("none");
    });
  });

  test("stays while it is younger than was asked for; one from the future is replaced", async () => {
    await withLine(async ({ clock, take }) => {
      await take();
      clock.advance(hourMs - 1_000);
      expect(await take(hourMs)).toEqual({ kind: "recent" });
      clock.advance(1_000);
      expect(await take(hourMs)).toEqual({ kind: "taken", generation: 2 });
      clock.advance(-dayMs);
      expect(await take(hourMs)).toEqual({ kind: "taken", generation: 3 });
    });
  });

  test("of a store that is damaged is not kept: the last one stays", async () => {
    await withLine(async ({ folder, store, take, clock }) => {
      const epoch = await leadRegistered(store);
      await admit(store, epoch, 1, 400);
      await take();
      const before = await readFile(backupFile(folder));
      await store.close();
      const elsewhere = path.join(folder, "elsewhere");
      await mkdir(elsewhere, { mode: 0o700 });
      await copyFile(backupFile(folder), backupFile(elsewhere));
      await writeFile(databaseFile(elsewhere), pageOf(200)(await readFile(databaseFile(folder))), { mode: 0o600 });
      expect(await sqliteBackups({ folder: elsewhere, clock }).take(0)).toMatchObject({ kind: "failed" });
      expect((await readFile(backupFile(elsewhere))).equals(before)).toBe(true);
      expect((await readdir(elsewhere)).filter((name) => name.startsWith("store.backup"))).toEqual(["store.backup.db"]);
    });
  });
});

describe("a recovery from the backup", () => {
  test("of a store of which nothing can be read: who we are, threads in doubt, what waited; no deletion, and not who was paired", async () => {
    await withLine(async ({ folder, store, clock, take, recover }) => {
      const profile = await store.seats.profileId();
      const epoch = await leadRegistered(store);
      await store.threads.bind({ epoch, provisionId: null, binding: the.binding(1, 1) });
      await store.cleanups.intend({ epoch, ...the.cleanup(1, 1) });
      const beside = new Database(databaseFile(folder));
      beside.exec("INSERT INTO pairing (id, user_id, name, at_ms) VALUES (1, 501, 'Ann', 0)");
      beside.close();
      await admit(store, epoch, 1, 3);
      const { seq, acquisition } = await claim(store, 1);
      await store.work.settle({ seq, acquisition, nowMs: the.startMs });
      await claim(store, 2);
      await take();
      clock.advance(hourMs / 2);
      const { said, store: after } = await recover(everything);
      expect(await after.seats.profileId()).toBe(profile);
      expect((await after.threads.view()).bindings).toMatchObject([
        { thread: the.binding(1, 1).thread, standing: "suspect", reason: "restored from the backup" },
      ]);
      expect((await after.cleanups.view()).cleanups).toEqual([]);
      expect((await after.pairing.read()).paired).toBeNull();
      expect(await after.journal.cursor()).toBeNull();
      expect(await waitingIn(after)).toEqual([2, 3]);
      expect(await the.lead(after, 2)).toBe(2);
      expect(said).toMatch(/bindings +1, 1 of them from the backup[^]*The backup is 30 min old/);
      const aside = (await readdir(folder)).find((name) => name.startsWith("damaged-")) ?? "";
      expect(await readdir(path.join(folder, aside))).toContain("store.backup.db");
    });
  });

  test("fills gaps only: what was saved is newer, and what is known to be settled does not wait again", async () => {
    await withLine(async ({ store, take, recover }) => {
      const epoch = await leadRegistered(store);
      await admit(store, epoch, 1, 400);
      await take();
      for (const id of [1, 2, 3]) {
        const { seq, acquisition } = await claim(store, id);
        await store.work.settle({ seq, acquisition, nowMs: the.startMs });
      }
      await admit(store, epoch, 401, 410);
      const { said, store: after } = await recover(pageOf(200));
      expect(await waitingIn(after)).toEqual(Array.from({ length: 407 }, (_, n) => n + 4));
      expect(said).toMatch(/updates +407, \d+ of them from the backup/);
    });
  });

  test("says so when it is older than tombstones can vouch for, or when there is none", async () => {
    for (const [taken, words] of [
      [true, "It is older than 7 days"],
      [false, "There is no backup that could be read"],
    ] as const)
      await withLine(async ({ store, clock, take, recover }) => {
        await leadRegistered(store);
        if (taken) await take();
        clock.advance(7 * dayMs + 1);
        expect((await recover(everything)).said).toContain(words);
      });
  });

  test("a thread that is known to be gone, or whose letter or number is another's by now, stays away", async () => {
    const boundTo = [1, 2, 3, 4];
    for (const [now, back] of [
      ["DELETE FROM bindings", boundTo],
      ["DELETE FROM bindings WHERE seat <> 'manual:own:1'", boundTo],
      ["DELETE FROM bindings WHERE seat <> 'manual:own:2'; UPDATE bindings SET seat = 'x', thread_id = 999", [1, 3, 4]],
      ["DELETE FROM bindings; INSERT INTO observations VALUES (@chat, @thread2, 'deleted', NULL, 0, 0, 0)", [1, 3, 4]],
      ["DELETE FROM bindings; INSERT INTO leftovers VALUES (@chat, @thread2, 'n', NULL, 'r', 0)", [1, 3, 4]],
      [
        "DELETE FROM bindings; INSERT INTO cleanups (chat_id, thread_id, seat, reason, at_ms, due_at_ms) VALUES (@chat, @thread2, 's', 'left', 0, 0)",
        [1, 3, 4],
      ],
    ] as const)
      await withLine(async ({ folder, store, take }) => {
        const epoch = await leadRegistered(store);
        for (const n of boundTo) await store.threads.bind({ epoch, provisionId: null, binding: the.binding(n, n) });
        await take();
        const db = new Database(databaseFile(folder));
        try {
          const { chatId, threadId } = the.thread(2).target;
          db.exec(now.replace("@chat", String(chatId)).replace("@thread2", String(threadId)));
          db.prepare("ATTACH ? AS backup").run(backupFile(folder));
          restore(db, [{ name: "bindings", rows: 0, isWhole: false, restored: 0 }]);
          const known = new Map(boundTo.map((n) => [Number(the.thread(n).target.threadId), n]));
          const rows = db.prepare<[], { id: number }>("SELECT thread_id AS id FROM bindings ORDER BY id").all();
          expect(rows.flatMap(({ id }) => known.get(id) ?? [])).toEqual(back);
        } finally {
          db.close();
        }
      });
  });
});
