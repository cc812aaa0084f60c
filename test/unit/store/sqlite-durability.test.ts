/**
 * Power loss, group commit, errors and query plans of the SQLite store.
 */
import { copyFile, mkdir, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { journalSeq, updateId } from "../../../machines/ids.ts";
import { damageRemedy } from "../../../adapters/store/sqlite/sql-errors.ts";
import { Connection } from "../../../adapters/store/sqlite/connection.ts";
import { journalSql } from "../../../adapters/store/sqlite/journal.ts";
import { databaseFile } from "../../../adapters/store/sqlite/open.ts";
import { workSql } from "../../../adapters/store/sqlite/work.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { inTemporaryFolder, openOrThrow, refusalOf } from "./on-disk.ts";

const walOf = (folder: string): string => `${databaseFile(folder)}-wal`;

/** Database and WAL as a machine that lost power would find them: everything after `walBytes` never reached the disk. */
async function afterPowerLoss(from: string, to: string, walBytes: number): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  await copyFile(databaseFile(from), databaseFile(to));
  await copyFile(walOf(from), walOf(to));
  await truncate(walOf(to), walBytes);
}

describe("SQLite store: power loss", () => {
  test("updates/OP-27 whatever was acknowledged is there, wherever the log is cut after it; before it, it is not", async () => {
    await inTemporaryFolder(async (folder) => {
      const store = await openOrThrow(folder);
      const epoch = await the.lead(store, 1);
      await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
      const before = (await stat(walOf(folder))).size;
      await the.admit(store, epoch, [the.update(1), the.update(2, "lane-2")]);
      const claim = await store.work.claim({
        ...the.plainly,
        updateId: updateId(2),
        claimant: the.claimant(1, 1, "g1", "a2"),
      });
      const acknowledged = (await stat(walOf(folder))).size;
      expect(acknowledged).toBeGreaterThan(before);
      await the.admit(store, epoch, [the.update(3, "lane-3")]);
      await store.work.settle({
        seq: journalSeq(2),
        acquisition: the.claimant(1, 1, "g1", "a2").acquisition,
        nowMs: the.startMs,
      });
      const end = (await stat(walOf(folder))).size;
      expect(claim.kind).toBe("claimed");

      const frame = 4096 + 24;
      const cuts = new Set([acknowledged, end]);
      for (let at = acknowledged; at < end; at += 509) cuts.add(at);
      for (let at = acknowledged; at < end; at += frame) for (const by of [1, 23, 24, 25, frame - 1]) cuts.add(at + by);
      for (const cut of [...cuts].filter((at) => at <= end)) {
        const copy = path.join(folder, `cut-${cut}`);
        await afterPowerLoss(folder, copy, cut);
        const found = await openOrThrow(copy);
        const status = await found.status.read();
        expect(await found.journal.cursor(), `cut at ${cut}`).toBeGreaterThanOrEqual(3);
        const known = await the.admit(found, epoch, [the.update(1), the.update(2, "lane-2")]);
        expect(known, `cut at ${cut}`).toMatchObject({ added: 0, duplicates: 2 });
        if (cut < end) expect(status.journal.claimed + status.journal.waiting).toBeGreaterThanOrEqual(2);
        await found.close();
      }

      const early = path.join(folder, "early");
      await afterPowerLoss(folder, early, acknowledged - 1);
      const found = await openOrThrow(early);
      expect((await found.status.read()).journal.claimed).toBe(0); // the check above can fail
      await found.close();
      await store.close();
    });
  }, 120_000);
});

/** A store with `n` updates that seat 1 may claim. */
async function withWork(folder: string, n: number) {
  const store = await openOrThrow(folder);
  const epoch = await the.lead(store, 1);
  await store.registrations.commit({ epoch, registration: the.registration(1, 1, "g1") });
  await the.admit(
    store,
    epoch,
    Array.from({ length: n }, (_, i) => the.update(i + 1, `lane-${i}`)),
  );
  return { store, epoch };
}

const claimAs = (store: Store, n: number) =>
  store.work.claim({ ...the.plainly, updateId: updateId(n), claimant: the.claimant(1, 1, "g1", `a${n}`) });

describe("SQLite store: group commit", () => {
  test("the claims of one turn share one commit, of separate turns they do not", async () => {
    await inTemporaryFolder(async (folder) => {
      const { store } = await withWork(folder, 40);
      const framesFor = async (body: () => Promise<unknown>) => {
        const before = (await stat(walOf(folder))).size;
        await body();
        return ((await stat(walOf(folder))).size - before) / (4096 + 24);
      };
      const ten = Array.from({ length: 10 }, (_, n) => n + 1);
      const together = await framesFor(() => Promise.all(ten.map((n) => claimAs(store, n))));
      const apart = await framesFor(async () => {
        for (const n of ten) await claimAs(store, n + 10);
      });
      expect(together * 3).toBeLessThan(apart);
      await store.close();
    });
  });

  test("answers come in the order of the calls, after the commit", async () => {
    await inTemporaryFolder(async (folder) => {
      const { store } = await withWork(folder, 3);
      const reader = new Database(databaseFile(folder), { readonly: true });
      const order: string[] = [];
      const note = (name: string) => () => {
        const row = reader.prepare<[], { n: number }>("SELECT count(claim_seat) AS n FROM updates").get();
        order.push(`${name}: ${row?.n ?? 0} on disk`);
      };
      await Promise.all([claimAs(store, 2).then(note("2")), claimAs(store, 1).then(note("1"))]);
      expect(order).toEqual(["2: 2 on disk", "1: 2 on disk"]);
      reader.close();
      await store.close();
    });
  });

  test("closing commits what waits", async () => {
    await inTemporaryFolder(async (folder) => {
      const { store } = await withWork(folder, 1);
      const claim = claimAs(store, 1);
      await store.close();
      expect((await claim).kind).toBe("claimed");
    });
  });

  test("one member that fails takes back its own work only", async () => {
    const db = new Database(":memory:");
    db.exec("CREATE TABLE t (x INTEGER PRIMARY KEY) STRICT");
    const connection = new Connection(db);
    const put = (...values: number[]) =>
      connection.write(() => {
        for (const value of values) connection.sql("INSERT INTO t VALUES (?)").run(value);
        return values.length;
      });
    const outcomes = await Promise.allSettled([put(1), put(2, 1), put(3)]);
    expect(outcomes.map((one) => one.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({ reason: { code: "failed" } });
    expect(db.prepare("SELECT x FROM t").pluck().all()).toEqual([1, 3]);
    connection.close();
  });

  test("when SQLite gives up the whole transaction, every member is rejected", async () => {
    const db = new Database(":memory:");
    db.exec("CREATE TABLE t (x INTEGER PRIMARY KEY ON CONFLICT ROLLBACK) STRICT");
    const connection = new Connection(db);
    const put = (value: number) => connection.write(() => connection.sql("INSERT INTO t VALUES (?)").run(value));
    const outcomes = await Promise.allSettled([put(1), put(1), put(2)]);
    expect(outcomes.map((one) => one.status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(db.prepare("SELECT count(*) FROM t").pluck().get()).toBe(0);
    expect(await put(5)).toMatchObject({ changes: 1 });
    connection.close();
  });
});

describe("SQLite store: errors", () => {
  test("a lock that is not given up rejects as busy, a lease or a claim, and shows no secret", async () => {
    await inTemporaryFolder(async (folder) => {
      const { store, epoch } = await withWork(folder, 1);
      const blocker = new Database(databaseFile(folder));
      blocker.exec("BEGIN IMMEDIATE");
      const expected = { epoch, renewals: 0 };
      const wish = { me: the.holder(2), expected, evidence: "holderGone", durationMs: 1 } as const;
      for (const attempt of [store.lease.acquire(wish), claimAs(store, 1)]) {
        const error = await the.rejectionOf(attempt);
        expect(error).toMatchObject({ name: "StoreError", code: "busy" });
        expect(String(error)).not.toContain("secret-of");
      }
      expect((await store.status.read()).lease.epoch).toBe(epoch); // readers are not blocked
      blocker.exec("ROLLBACK");
      blocker.close();
      expect((await claimAs(store, 1)).kind).toBe("claimed");
      await store.close();
    });
  });

  test("a full drive rejects as full, and the store works on when there is room", async () => {
    await inTemporaryFolder(async (folder) => {
      const { store, epoch } = await withWork(folder, 1);
      const big = the.update(900, "lane", "x".repeat(300_000));
      // The store's own connection cannot be reached from here: a trigger stands in for SQLite's own SQLITE_FULL.
      const db = new Database(":memory:");
      db.pragma("max_page_count = 4");
      db.exec("CREATE TABLE t (x TEXT) STRICT");
      const connection = new Connection(db);
      const write = (text: string) => connection.write(() => connection.sql("INSERT INTO t VALUES (?)").run(text));
      expect(await the.rejectionOf(write("x".repeat(100_000)))).toMatchObject({ code: "full" });
      const together = await Promise.allSettled([write("first"), write("x".repeat(100_000))]);
      expect(together.some((one) => one.status === "rejected")).toBe(true);
      expect(await write("small")).toMatchObject({ changes: 1 });
      connection.close();
      expect(await the.admit(store, epoch, [big])).toMatchObject({ added: 1 });
      await store.close();
    });
  });

  test("a store damaged while open rejects as damaged, and the next start refuses", async () => {
    await inTemporaryFolder(async (folder) => {
      const { store, epoch } = await withWork(folder, 1);
      // More than the page cache holds, or the damage would not be read.
      const updates = Array.from({ length: 300 }, (_, n) => the.update(n + 10, `big-${n}`, "x".repeat(20_000)));
      await the.admit(store, epoch, updates);
      await store.close();
      const file = databaseFile(folder);
      const { size } = await stat(file);
      const again = await openOrThrow(folder);
      await writeFile(file, Buffer.alloc(size, 0x5a), { mode: 0o600 });
      const error = await the.rejectionOf(again.journal.heads({ ...the.oneEach, except: [], limit: 500 }));
      expect(error).toMatchObject({ code: "damaged" });
      await again.close();
      expect(await refusalOf(folder)).toContain(`stop all instances, ${damageRemedy}`);
    });
  });
});

/** The steps that SQLite takes for a statement, whatever its parameters are called. */
function planOf(db: Database.Database, sql: string): readonly string[] {
  const named = [...sql.matchAll(/:(?<name>\w+)/g)].map((each) => [each.groups?.["name"] ?? "", 1] as const);
  const unnamed = Array<number>((sql.match(/\?/g) ?? []).length).fill(1);
  const statement = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
  const rows = named.length > 0 ? statement.all(Object.fromEntries(named)) : statement.all(...unnamed);
  return rows.map((row) => row.detail);
}

describe("SQLite store: query plans", () => {
  test("no statement of the hot paths reads a whole table", async () => {
    await inTemporaryFolder(async (folder) => {
      await (await openOrThrow(folder)).close();
      const db = new Database(databaseFile(folder), { readonly: true });
      for (const [name, sql] of Object.entries({ ...journalSql, ...workSql })) {
        const tables = "(updates|u|h|r|dead_letters|tombstones|registrations)";
        for (const detail of planOf(db, sql))
          expect(detail, name).not.toMatch(new RegExp(`^SCAN ${tables}\\b(?!.*USING)`));
      }
      db.close();
    });
  });

  test("what is tried again, and what an acquisition settled, is found by its index", async () => {
    await inTemporaryFolder(async (folder) => {
      await (await openOrThrow(folder)).close();
      const db = new Database(databaseFile(folder), { readonly: true });
      const lookUp = (index: string, terms: string) =>
        expect.stringMatching(`SEARCH .*INDEX ${index} \\(${terms}\\)`) as string;
      expect(planOf(db, workSql.isOvertaking)).toEqual(
        expect.arrayContaining([
          lookUp("updates_unclaimed", "lane=\\? AND seq<\\?"),
          lookUp("updates_retried", "lane=\\? AND seq<\\?"),
        ]),
      );
      for (const heads of [journalSql.headsOf, journalSql.headsOfAll])
        expect(planOf(db, heads)).toContainEqual(lookUp("updates_retried", "lane=\\? AND seq<\\?"));
      expect(planOf(db, workSql.wasSettledBy)).toEqual([lookUp("tombstones_by_acquisition", "acquisition=\\?")]);
      db.close();
    });
  });

  test("heads steps over long lanes: the work does not grow with their length", async () => {
    await inTemporaryFolder(async (folder) => {
      await (await openOrThrow(folder)).close();
      const db = new Database(databaseFile(folder));
      const add = db.prepare(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO updates (update_id, digest, lane, body, admitted_at_ms, next_attempt_at_ms)
        SELECT i, i, 'lane-' || (i % 5), '{}', 0, 0 FROM n`);
      const heads = db.prepare(journalSql.headsOfAll);
      const bounds = { except: "[]", perLane: 1, limit: 64 };
      const medianMs = () => {
        const times = Array.from({ length: 21 }, () => {
          const from = process.hrtime.bigint();
          expect(heads.all(bounds)).toHaveLength(5);
          return Number(process.hrtime.bigint() - from) / 1e6;
        });
        return times.sort((a, b) => a - b)[10] ?? 0;
      };
      add.run(50);
      const short = medianMs();
      add.run(100_000);
      // A scan of 100,000 rows takes some 10 ms; ten times the short lanes' time leaves room for a noisy machine.
      expect(medianMs()).toBeLessThan(Math.max(short * 10, 2));
      db.close();
    });
  }, 60_000);
});
