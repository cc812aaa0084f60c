/** Which rows of a backup come back into a store that was saved in part, and as what. */
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { restore } from "../../../adapters/store/sqlite/restore.ts";
import { migrate, migrations } from "../../../adapters/store/sqlite/schema.ts";
import { inTemporaryFolder } from "./on-disk.ts";

type Row = Readonly<Record<string, string | number | null>>;
/** Rows by table. */
type Rows = Readonly<Record<string, readonly Row[]>>;

function fill(db: Database.Database, rows: Rows): void {
  migrate(db, migrations, { profileId: "p", nowMs: 0 });
  for (const [table, list] of Object.entries(rows))
    for (const row of list) {
      const columns = Object.keys(row);
      db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`).run(
        Object.values(row),
      );
    }
}

/** What `table` has after a restore of it, or, where it was saved whole, after none. */
async function after(
  table: string,
  { saved, backup, isWhole = false }: { readonly saved: Rows; readonly backup: Rows; readonly isWhole?: boolean },
): Promise<{ readonly rows: readonly Row[]; readonly restored: number }> {
  return inTemporaryFolder((folder) => {
    const file = path.join(folder, "backup.db");
    const kept = new Database(file);
    fill(kept, backup);
    kept.close();
    const db = new Database(":memory:");
    fill(db, saved);
    db.prepare("ATTACH ? AS backup").run(file);
    const count = saved[table]?.length ?? 0;
    const [told] = restore(db, [{ name: table, rows: count, isWhole, restored: 0 }]);
    const rows = db.prepare<[], Row>(`SELECT * FROM ${table}`).all();
    db.close();
    return Promise.resolve({ rows, restored: told?.restored ?? 0 });
  });
}

const entry = { update_id: 1, digest: "d", lane: "l", body: "b", admitted_at_ms: 1 };
const letter = { ...entry, seq: 1, attempts: 12, last_failure: "f", reason: "r", dead_at_ms: 2 };
const waiting = { ...entry, seq: 1, next_attempt_at_ms: 1 };
const settled = { update_id: 1, digest: "d", settled_at_ms: 5, acquisition: "a" };
const place = { chat_id: 7, thread_id: 2 };
const binding = {
  ...place,
  seat: "s",
  slot: "A",
  thread_name: "n",
  created_at_ms: 1,
  standing: "open",
  reason: "",
  proven_at_ms: 1,
};
const leftover = { ...place, thread_name: "n", seat: null, reason: "r", at_ms: 1 };

describe("a table that comes back as it was", () => {
  const tables: readonly [string, Row, Row][] = [
    ["tombstones", settled, { ...settled, acquisition: "b" }],
    ["chat_moves", { from_chat: 1, to_chat: 2, at_ms: 1 }, { from_chat: 1, to_chat: 3, at_ms: 2 }],
    [
      "observations",
      { ...place, status: "open", name: "n", named_by_person: 1, created_by_bot: 0, at_ms: 1 },
      { ...place, status: "closed", name: "m", named_by_person: 0, created_by_bot: 0, at_ms: 2 },
    ],
    [
      "message_owners",
      { chat_id: 7, message_id: 3, seat: "s", recorded_at_ms: 1 },
      { chat_id: 7, message_id: 3, seat: "t", recorded_at_ms: 2 },
    ],
    ["counters", { reason: "r", count: 4, last_at_ms: 1 }, { reason: "r", count: 5, last_at_ms: 2 }],
    ["leftovers", leftover, { ...leftover, reason: "newer" }],
    ["dead_letters", letter, { ...letter, update_id: 2 }],
  ];
  test.each(tables)("%s: where it could not be read whole, and nothing newer was", async (table, old, newer) => {
    const backup = { [table]: [old] };
    expect(await after(table, { saved: {}, backup })).toEqual({ rows: [old], restored: 1 });
    expect(await after(table, { saved: { [table]: [newer] }, backup })).toEqual({ rows: [newer], restored: 0 });
    // Read whole and empty is empty: what the backup has was removed since.
    expect(await after(table, { saved: {}, backup, isWhole: true })).toEqual({ rows: [], restored: 0 });
  });
});

describe("a thread", () => {
  const backup = { bindings: [binding] };

  test("comes back in doubt", async () => {
    const doubtful = { ...binding, standing: "suspect", reason: "restored from the backup" };
    expect((await after("bindings", { saved: {}, backup })).rows).toMatchObject([doubtful]);
  });

  const lost = { ...place, seat: "s", slot: "A", thread_name: "n", reason: "r", at_ms: 1 };
  const creation = {
    id: "p",
    seat: "t",
    chat_id: 7,
    slot: "A",
    thread_name: "n",
    started_at_ms: 1,
    status: "begun",
    doubts: 0,
  };
  const cleanup = { ...place, seat: "s", reason: "left", at_ms: 1, due_at_ms: 1 };
  const deleted = { ...place, status: "deleted", at_ms: 1 };
  test.each<[string, Rows]>([
    ["is known to be deleted", { observations: [deleted] }],
    ["was lost", { lost_threads: [lost] }],
    ["is left over", { leftovers: [leftover] }],
    ["is to be deleted", { cleanups: [cleanup] }],
    ["has a letter that a creation has by now", { provisions: [creation] }],
  ])("does not when it %s", async (_, saved) => {
    expect((await after("bindings", { saved, backup })).rows).toEqual([]);
  });

  test("does not when its letter is another's", async () => {
    const other = { ...binding, seat: "t", thread_id: 3 };
    expect((await after("bindings", { saved: { bindings: [other] }, backup })).rows).toMatchObject([other]);
  });

  test("of another chat stands in nobody's way", async () => {
    const elsewhere = { chat_id: 8 };
    const saved = {
      observations: [{ ...deleted, ...elsewhere }],
      lost_threads: [{ ...lost, ...elsewhere }],
      leftovers: [{ ...leftover, ...elsewhere }],
      cleanups: [{ ...cleanup, ...elsewhere }],
      provisions: [{ ...creation, ...elsewhere }],
    };
    expect((await after("bindings", { saved, backup })).restored).toBe(1);
  });

  test("that is bound by now is not left over", async () => {
    expect(
      (await after("leftovers", { saved: { bindings: [binding] }, backup: { leftovers: [leftover] } })).rows,
    ).toEqual([]);
  });
});

describe("an update", () => {
  test("waits again unclaimed and offered to nobody; one that was claimed may have run", async () => {
    const claim = { claim_seat: "s", claim_instance: "i", claim_generation: "g", claim_acquisition: "a" };
    const free = {
      claim_seat: null,
      claim_instance: null,
      claim_generation: null,
      claim_acquisition: null,
      offer: null,
    };
    const backup = { updates: [waiting, { ...waiting, ...claim, seq: 2, update_id: 2, offer: "o" }] };
    expect((await after("updates", { saved: {}, backup })).rows).toMatchObject([
      { ...waiting, ...free, redelivered: 0 },
      { ...waiting, ...free, seq: 2, update_id: 2, redelivered: 1 },
    ]);
  });

  test.each<[string, Rows]>([
    ["settled", { tombstones: [settled] }],
    ["dead", { dead_letters: [{ ...letter, seq: 9 }] }],
    ["waiting under another number", { updates: [{ ...waiting, seq: 9 }] }],
  ])("that is known to be %s does not come back", async (_, saved) => {
    expect((await after("updates", { saved, backup: { updates: [waiting] } })).restored).toBe(0);
  });

  test.each<[string, Rows]>([
    ["settled", { tombstones: [settled] }],
    ["waiting", { updates: [{ ...waiting, seq: 9 }] }],
  ])("that is known to be %s is no dead letter again", async (_, saved) => {
    expect((await after("dead_letters", { saved, backup: { dead_letters: [letter] } })).rows).toEqual([]);
  });

  test("with other content under the same id is another one", async () => {
    const saved = {
      tombstones: [{ ...settled, digest: "other" }],
      dead_letters: [{ ...letter, seq: 9, digest: "other" }],
    };
    expect((await after("updates", { saved, backup: { updates: [waiting] } })).restored).toBe(1);
    expect(
      (await after("dead_letters", { saved: { tombstones: saved.tombstones }, backup: { dead_letters: [letter] } }))
        .restored,
    ).toBe(1);
  });
});

test.each([
  [3, 9, 9],
  [9, 3, 9],
])("the epoch goes on from the higher one: saved %i, backup %i", async (now, then, expected) => {
  await inTemporaryFolder((folder) => {
    const file = path.join(folder, "backup.db");
    for (const [where, epoch] of [[file, then] as const, [path.join(folder, "main.db"), now] as const]) {
      const each = new Database(where);
      fill(each, {});
      each.prepare("UPDATE lease SET epoch = ?").run(epoch);
      each.close();
    }
    const db = new Database(path.join(folder, "main.db"));
    db.prepare("ATTACH ? AS backup").run(file);
    restore(db, [{ name: "lease", rows: 1, isWhole: false, restored: 0 }]);
    expect(db.prepare("SELECT epoch FROM main.lease").get()).toEqual({ epoch: expected });
    db.close();
    return Promise.resolve();
  });
});
