/**
 * Opening, refusing, migrating: what happens before the first operation, and to whom the files belong.
 */
import { chmod, copyFile, mkdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { compatibility } from "../../../adapters/store/limits.ts";
import { fileSystemRefusal, prepareFolder, unsuitableFileSystem } from "../../../adapters/store/sqlite/file-system.ts";
import { markerFile, readMarker } from "../../../adapters/store/sqlite/marker.ts";
import { databaseFile, openDatabase } from "../../../adapters/store/sqlite/open.ts";
import { migrate, migrations, schemaState, schemaVersion } from "../../../adapters/store/sqlite/schema.ts";
import * as the from "./fixtures.ts";
import { inTemporaryFolder, openOrThrow, refusalOf } from "./on-disk.ts";

const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

/** Changes the database with a connection of its own. */
function tamper(folder: string, sql: string): void {
  const db = new Database(databaseFile(folder));
  db.exec(sql);
  db.close();
}

async function makeStore(folder: string): Promise<void> {
  const store = await openOrThrow(folder);
  const epoch = await the.lead(store, 1);
  await the.admit(store, epoch, [the.update(1)]);
  await store.close();
}

describe("SQLite store: files", () => {
  test("folder 0700, files 0600, whatever the umask", async () => {
    await inTemporaryFolder(async (root) => {
      const folder = path.join(root, "state", "bot-1");
      const store = await openOrThrow(folder);
      await the.lead(store, 1);
      expect(await modeOf(folder)).toBe(0o700);
      const db = databaseFile(folder);
      for (const file of [db, `${db}-wal`, `${db}-shm`, markerFile(folder)]) expect(await modeOf(file)).toBe(0o600);
      await store.close();
    });
  });

  test("a folder or a database open to others is refused with the command that mends it", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      await chmod(folder, 0o750);
      expect(await refusalOf(folder)).toContain(`chmod 700 ${folder}`);
      await chmod(folder, 0o700);
      await chmod(databaseFile(folder), 0o644);
      expect(await refusalOf(folder)).toContain(`chmod 600 ${databaseFile(folder)}`);
    });
  });

  test("a folder that cannot be made or written is refused in one sentence", async () => {
    await inTemporaryFolder(async (root) => {
      await writeFile(path.join(root, "file"), "");
      expect(await refusalOf(path.join(root, "file"))).toMatch(/in the way|is a file/);
      expect(await refusalOf(path.join(root, "file", "state"))).toContain("choose another folder");
      if (process.getuid?.() === 0) return; // root writes everywhere
      await mkdir(path.join(root, "closed"), { mode: 0o500 });
      expect(await refusalOf(path.join(root, "closed"))).toContain("cannot be written by this user");
    });
  });

  test("a place that refuses folders is refused, not waited for", () => {
    // /proc is a real folder in which nothing can be made.
    if (process.platform === "linux")
      expect(prepareFolder("/proc/partyline")?.reason).toContain("choose another folder");
  });

  test("network and pass-through file systems are refused, with the way out", () => {
    const types = [0x6969, 0x01021997, 0x65735546, 0x517b, 0xff534d42, 0xff534d42 | 0, 0xfe534d42];
    for (const type of types) {
      const reason = fileSystemRefusal("/state", type)?.reason;
      expect(reason).toMatch(
        /^The state folder \/state is on .*: move the folder to a local disk \(--home or PARTYLINE_HOME\)\.$/,
      );
    }
    const names = types.map((type) => unsuitableFileSystem(type));
    expect(names).toEqual(["NFS", "9p", "FUSE or virtiofs", "SMB", "CIFS", "CIFS", "SMB"]);
    const [ext4, xfs, btrfs, tmpfs, overlay] = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630];
    for (const type of [ext4, xfs, btrfs, tmpfs, overlay]) expect(fileSystemRefusal("/state", type)).toBeNull();
  });

  test("each connection runs with WAL, full synchronisation and foreign keys", async () => {
    await inTemporaryFolder(async (folder) => {
      const opened = await openDatabase(folder, new the.StoppedClock());
      if (opened.kind === "refused") throw new Error(opened.reason);
      const pragma = (name: string): unknown => opened.db.pragma(name, { simple: true });
      const names = ["journal_mode", "synchronous", "foreign_keys", "journal_size_limit", "busy_timeout"];
      expect(names.map(pragma)).toEqual(["wal", 2, 1, 16 * 1024 * 1024, 1_000]);
      opened.db.close();
    });
  });
});

describe("SQLite store: damage is refused, never replaced", () => {
  const remedy =
    ": stop all instances, then run partyline doctor --recover: it sets the damaged files aside, saves what can be read " +
    "of them, and what Telegram still holds is read anew.";

  test("updates/OP-22 missing or empty beside its marker", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      await truncate(databaseFile(folder), 0);
      expect(await refusalOf(folder)).toContain(remedy);
      expect((await stat(databaseFile(folder))).size).toBe(0);
      await rm(databaseFile(folder));
      expect(await refusalOf(folder)).toContain(remedy);
      await expect(stat(databaseFile(folder))).rejects.toMatchObject({ code: "ENOENT" });
    });
  });

  test("an unreadable marker still proves that there was a store", async () => {
    await inTemporaryFolder(async (folder) => {
      for (const text of ["", "null", "{}", '{"schema":1}']) {
        await writeFile(markerFile(folder), text);
        expect(readMarker(folder)).toBe("unreadable");
        expect(await refusalOf(folder)).toContain(remedy);
      }
    });
  });

  test("its tables are gone", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      await rm(databaseFile(folder));
      tamper(folder, "CREATE TABLE other (x)");
      await chmod(databaseFile(folder), 0o600);
      expect(await refusalOf(folder)).toContain(remedy);
    });
  });

  test("updates/T-18, OP-22 not a database, a page overwritten, an index that disagrees", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      const file = databaseFile(folder);
      const whole = await readFile(file);
      const damages: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
        "garbage in front": (bytes) => Buffer.concat([Buffer.from("not a database file at all"), bytes]),
        "cut short": (bytes) => bytes.subarray(0, bytes.length - 4096 * 3),
        "a page of zeroes": (bytes) => Buffer.from(bytes).fill(0, 4096 * 4, 4096 * 6),
      };
      for (const [name, damage] of Object.entries(damages)) {
        await writeFile(file, damage(whole), { mode: 0o600 });
        expect(await refusalOf(folder), name).toContain(remedy);
        expect((await readFile(file)).equals(damage(whole)), `${name}: file untouched`).toBe(true);
      }
      await writeFile(file, whole);
      const store = await openOrThrow(folder);
      expect(await store.journal.cursor()).toBe(2);
      await store.close();
    });
  });

  test("somebody else's database is no damage and is not touched", async () => {
    await inTemporaryFolder(async (folder) => {
      tamper(folder, "CREATE TABLE other (x)");
      await chmod(databaseFile(folder), 0o600);
      const before = await readFile(databaseFile(folder));
      expect(await refusalOf(folder)).toContain("is a database of something else");
      expect((await readFile(databaseFile(folder))).equals(before)).toBe(true);
    });
  });
});

describe("SQLite store: versions", () => {
  test("a higher compatibility number is refused and nothing is touched", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      tamper(folder, `UPDATE meta SET value = ${compatibility + 1} WHERE key = 'compatibility'`);
      const before = await readFile(databaseFile(folder));
      expect(await refusalOf(folder)).toMatch(/written by a newer Partyline \(compatibility 2, this one has 1\)/);
      expect((await readFile(databaseFile(folder))).equals(before)).toBe(true);
    });
  });

  test("a newer schema of our compatibility number is used and not taken back", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      tamper(
        folder,
        "UPDATE meta SET value = 99 WHERE key = 'schema_version'; ALTER TABLE lease ADD COLUMN extra TEXT",
      );
      const store = await openOrThrow(folder);
      expect(await the.lead(store, 2)).toBe(2);
      await store.close();
      const db = new Database(databaseFile(folder), { readonly: true });
      expect(schemaState(db)).toEqual({ version: 99, compatibility });
      db.close();
    });
  });

  test("migrations are numbered without gaps", () => {
    expect(migrations.map((one) => one.version)).toEqual(Array.from({ length: schemaVersion }, (_, n) => n + 1));
  });

  // Every earlier version, 0 = nothing. The data of that version must still be there.
  for (let from = 0; from <= schemaVersion; from += 1) {
    test(`from version ${from} to ${schemaVersion}, and again without effect`, async () => {
      await inTemporaryFolder(async (folder) => {
        const db = new Database(databaseFile(folder));
        migrate(db, migrations.slice(0, from), { profileId: "old-profile", nowMs: 5 });
        if (from > 0) db.exec("INSERT INTO cursor VALUES (1, 77)");
        db.close();
        await chmod(databaseFile(folder), 0o600);
        for (let round = 0; round < 2; round += 1) {
          const store = await openOrThrow(folder);
          expect(await store.journal.cursor()).toBe(from > 0 ? 77 : null);
          if (from > 0) expect(await store.seats.profileId()).toBe("old-profile");
          await store.close();
        }
        const marker = { schema: schemaVersion, createdAtMs: from > 0 ? 5 : the.startMs, backupGeneration: 0 };
        expect(readMarker(folder)).toEqual(marker);
      });
    });
  }

  test("a migration that fails leaves the version and the tables as they were", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      const db = new Database(databaseFile(folder));
      const broken = { version: schemaVersion + 1, sql: "CREATE TABLE half (x) STRICT; nonsense" };
      expect(() => migrate(db, [...migrations, broken], { profileId: "x", nowMs: 1 })).toThrow();
      expect(schemaState(db)?.version).toBe(schemaVersion);
      expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").get()).toBeUndefined();
      db.close();
    });
  });

  test("a backup's generation in the marker survives opening", async () => {
    await inTemporaryFolder(async (folder) => {
      await makeStore(folder);
      const marker = { schema: schemaVersion, createdAtMs: 1, backupGeneration: 7 };
      await writeFile(markerFile(folder), JSON.stringify(marker));
      await (await openOrThrow(folder)).close();
      expect(readMarker(folder)).toEqual(marker);
      await copyFile(databaseFile(folder), `${databaseFile(folder)}.copy`); // a stray file beside it is nobody's business
      await (await openOrThrow(folder)).close();
    });
  });
});
