/**
 * Copies the store to one file, checks the copy, and puts it in its place: on a thread of its own, because copying ends with a
 * flush, and the check and the removal of the last copy are in one piece: some tenths of a second for a hundred megabytes.
 *
 * Owns: that thread and its program. Does not own: when, and what is told of it (`backup.ts`).
 *
 * The program is text, and finds the driver by its whole path: it is the same in a bundle, beside which no file of ours is sure
 * to be, and in a test, which runs no bundle.
 */
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";

export interface CopyOrder {
  readonly from: string;
  /** An empty file that its owner alone can read; the copy is made in it. */
  readonly work: string;
  /** Where the copy comes when nothing is wrong with it. */
  readonly to: string;
  /** The time that the copy's file bears. */
  readonly atMs: number;
  /** For how long a busy store is waited for. */
  readonly busyTimeoutMs: number;
}

const program = `
const { closeSync, chmodSync, fsyncSync, openSync, renameSync, utimesSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const { driver, from, work, to, atMs, busyTimeoutMs } = workerData;
const Database = require(driver);

async function copy() {
  const source = new Database(from, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs });
  try {
    // The snapshot begins with the first look. Without it each write of another process would begin the copy anew.
    source.exec("BEGIN");
    source.prepare("SELECT count(*) FROM sqlite_schema").get();
    await source.backup(work);
    source.exec("COMMIT");
  } finally {
    source.close();
  }
}

function check() {
  const db = new Database(work);
  try {
    db.pragma("journal_mode = DELETE");
    return String(db.pragma("quick_check(1)", { simple: true }));
  } finally {
    db.close();
  }
}

function putInPlace() {
  chmodSync(work, 0o600);
  const handle = openSync(work, "r+");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  utimesSync(work, atMs / 1000, atMs / 1000);
  renameSync(work, to);
}

copy().then(() => {
  const verdict = check();
  if (verdict === "ok") putInPlace();
  parentPort.postMessage(verdict);
});
`;

/** Resolves with what is wrong with the copy, or null when it is in its place. Rejects when it could not be made. */
export async function copyStore(order: CopyOrder): Promise<string | null> {
  const driver = createRequire(import.meta.url).resolve("better-sqlite3");
  const worker = new Worker(program, { eval: true, execArgv: [], workerData: { ...order, driver } });
  const verdict = await new Promise<string>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    // After a message or an error this is no news.
    worker.once("exit", (code) => {
      reject(new Error(`the copy ended with ${String(code)} and without a verdict`));
    });
  });
  return verdict === "ok" ? null : verdict;
}
