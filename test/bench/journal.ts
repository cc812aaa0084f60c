/**
 * Admission to the journal, at several depths, flushed to disk each time. The stores of all depths are open at once and take
 * turns, so that whatever else the machine does falls on all of them. The baseline is the least that any durable log needs:
 * a row in a table without an index, one flush.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { systemClock } from "../../adapters/host/clock.ts";
import { openSqliteStore } from "../../adapters/store/sqlite/index.ts";
import { instanceId, lane, updateId } from "../../machines/ids.ts";
import type { Epoch } from "../../machines/ids.ts";
import type { AdmittedUpdate, Store } from "../../services/ports.ts";
import { percentile } from "../support/line/waiting.ts";
import { resultOf, type Result } from "./figures.ts";

/** The journal holds 100,000 at most: the deepest starts so far below that what is measured still has room. */
const depths = [0, 1_000, 10_000, 100_000] as const;
const journalMax = 100_000;
const rounds = 60;
const batchOf = 100;
const batchRounds = 20;
const laneCount = 50;

const bodyOf = (id: number): string =>
  JSON.stringify({
    update_id: id,
    message: {
      message_id: id,
      date: 1_790_000_000,
      chat: { id: 5_550_001, type: "private" },
      from: { id: 5_550_001, is_bot: false, first_name: "Owner" },
      message_thread_id: (id % laneCount) + 1,
      is_topic_message: true,
      text: `message number ${String(id)} of somebody who has a good deal to say about this and that`,
    },
  });
const updateOf = (id: number): AdmittedUpdate => ({
  updateId: updateId(id),
  lane: lane(`5550001:${String((id % laneCount) + 1)}`),
  body: bodyOf(id),
});

interface Deep {
  readonly depth: number;
  readonly store: Store;
  readonly epoch: Epoch;
  nextId: number;
  readonly one: number[];
  readonly batch: number[];
}

async function lead(store: Store): Promise<Epoch> {
  const incarnation = { bootId: "bench", pidNamespace: "n", pid: 1, startTicks: "1", counter: 1 };
  const me = { instanceId: instanceId("1:1"), incarnation, endpoint: "bench", secret: "s" };
  const { epoch, renewals } = await store.lease.read();
  const asked = { me, expected: { epoch, renewals }, evidence: "vacant", durationMs: 3_600_000 } as const;
  const { kind, record } = await store.lease.acquire(asked);
  if (kind !== "granted") throw new Error("the bench's store granted no lease");
  return record.epoch;
}

async function admit(deep: Deep, count: number): Promise<void> {
  const updates = Array.from({ length: count }, (_, n) => updateOf(deep.nextId + n));
  deep.nextId += count;
  const { store, epoch } = deep;
  const answer = await store.journal.admit({ epoch, updates, cursor: updateId(deep.nextId), nowMs: Date.now() });
  if (answer.kind !== "admitted" || answer.added !== count) throw new Error(`an admission was ${answer.kind}`);
}

async function timed(run: () => Promise<void> | void): Promise<number> {
  const at = performance.now();
  await run();
  return performance.now() - at;
}

async function openDeep(folder: string, depth: number): Promise<Deep> {
  const store = await openSqliteStore({ folder: path.join(folder, String(depth)), clock: systemClock() });
  if (!("lease" in store)) throw new Error(store.reason);
  const deep: Deep = { depth, store, epoch: await lead(store), nextId: 1, one: [], batch: [] };
  const filled = Math.max(0, Math.min(depth, journalMax - rounds - (batchRounds + 2) * batchOf));
  for (let left = filled; left > 0; left -= 2_000) await admit(deep, Math.min(left, 2_000));
  return deep;
}

/** A table of its own, the same flush, the same bodies: what the disk costs. */
function openFloor(folder: string) {
  const db = new Database(path.join(folder, "floor.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec("CREATE TABLE log (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
  const insert = db.prepare("INSERT INTO log (body) VALUES (?)");
  const write = db.transaction((count: number) => {
    for (let n = 0; n < count; n += 1) insert.run(bodyOf(n));
  });
  return { write: (count: number) => write.immediate(count), close: () => db.close() };
}

const many = (depth: number): string => depth.toLocaleString("en");

export async function benchJournal(): Promise<Result[]> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "plb-journal-"));
  const floor = openFloor(folder);
  const floorOne: number[] = [];
  const floorBatch: number[] = [];
  const deeps: Deep[] = [];
  try {
    for (const depth of depths) deeps.push(await openDeep(folder, depth));
    for (const deep of deeps) await admit(deep, batchOf);
    for (let round = 0; round < rounds; round += 1) {
      floorOne.push(await timed(() => floor.write(1)));
      for (const deep of deeps) deep.one.push(await timed(() => admit(deep, 1)));
    }
    for (let round = 0; round < batchRounds; round += 1) {
      floorBatch.push(await timed(() => floor.write(batchOf)));
      for (const deep of deeps) deep.batch.push(await timed(() => admit(deep, batchOf)));
    }
  } finally {
    floor.close();
    for (const { store } of deeps) await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const note =
    "each flushed (synchronous=FULL); baseline: a bare row in a table without an index, flushed the same way";
  const empty = deeps[0];
  const full = deeps.at(-1);
  if (empty === undefined || full === undefined) throw new Error("no depths to measure");
  return [
    ...deeps.map((deep) =>
      resultOf({ name: `journal admission, ${many(deep.depth)} pending`, unit: "ms", note }, deep.one, floorOne),
    ),
    ...deeps.map((deep) =>
      resultOf(
        { name: `journal admission, batch of ${batchOf}, ${many(deep.depth)} pending`, unit: "ms", note },
        deep.batch,
        floorBatch,
      ),
    ),
    resultOf(
      {
        name: "journal admission, 100,000 pending against none",
        unit: "ms",
        note: `target: within 1.3 times; p90 ${percentile(full.one, 0.9).toFixed(2)} against ${percentile(empty.one, 0.9).toFixed(2)} ms`,
      },
      full.one,
      empty.one,
    ),
  ];
}
