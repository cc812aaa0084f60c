/**
 * One open database, and the two ways to use it: `read` and `write`.
 *
 * Owns: transactions, the cache of prepared statements, the commit queue, closing. Does not own: any table.
 *
 * Every write waits in one queue, and a commit takes along whatever has come by then: while another process holds the
 * write lock, or this one is busy, groups grow by themselves, and one flush to disk serves them all.
 *
 * Invariants:
 * 1. Every change happens inside one BEGIN IMMEDIATE transaction and resolves after its commit is on disk.
 * 2. Operations of one connection take effect in the order of their calls: a read first commits what waits. Only while
 *    another process holds the lock does it go ahead, and sees what was committed until then.
 * 3. A failed member of a group takes back its own statements only. When SQLite gave up the whole transaction, or its
 *    commit failed, every member is rejected: none was acknowledged before.
 * 4. Waiting for another process's lock never stops this process: reads, connections and timers go on.
 */
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { Database, Statement } from "better-sqlite3";
import { closedError } from "../errors.ts";
import { busyError, busyTimeoutMs, isBusy, toStoreError } from "./sql-errors.ts";

interface Member {
  /** Runs inside the group's transaction; what it returns announces the outcome after the commit. */
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
  /** Pauses it has sat through, in milliseconds. */
  readonly waitedMs: number;
}

/** Members of one group: more only lengthens the time the write lock is held. */
export const groupMembersMax = 512;

/** So often a held lock is asked for at the next turn of the event loop: most are held for one flush. */
const eagerTriesMax = 64;
/** Then after these pauses, and the last one again and again. */
const pausesMs = [1, 2, 4, 8] as const;

export class Connection {
  readonly #db: Database;
  readonly #statements = new Map<string, Statement>();
  #waiting: Member[] = [];
  #closed = false;
  #isDue = false;
  #timer: NodeJS.Timeout | null = null;
  /** How often in a row the lock was somebody else's. */
  #refusals = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The prepared statement for `sql`, compiled once. The caller states the row type: it wrote the columns. */
  sql<Row>(sql: string): Statement<unknown[], Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement as Statement<unknown[], Row>; // the cache forgets the row type, the text determines it
  }

  /** One consistent view, closed before it resolves. Never waits for another process. */
  async read<T>(look: () => T): Promise<T> {
    if (this.#closed) throw closedError();
    if (this.#timer === null) this.#flush();
    try {
      return this.#transaction("BEGIN DEFERRED", look);
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /**
   * One change: all or nothing, in one transaction with whatever else waits. Rejects as `busy` when the lock was not to be
   * had for a second; then nothing was written.
   */
  write<T>(change: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise<T>((resolve, reject) => {
      const run = (): (() => void) => {
        const outcome = change();
        return () => {
          resolve(outcome);
        };
      };
      this.#waiting.push({ run, reject, waitedMs: 0 });
      if (this.#timer === null) this.#soon();
    });
  }

  /** Commits what waits, and closes. Waits for the lock, this once in the old way: the process is about to end. */
  close(): void {
    if (this.#closed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#waiting.length > 0) this.#commit(this.#waiting.splice(0, groupMembersMax), busyTimeoutMs);
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
  }

  /** At the end of this turn of the event loop, so that all its writes come along. */
  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      if (!this.#closed) this.#flush();
    });
  }

  #flush(): void {
    const members = this.#waiting.splice(0, groupMembersMax);
    if (members.length === 0) return;
    if (this.#commit(members, 0)) {
      this.#refusals = 0;
      if (this.#waiting.length > 0) this.#soon();
      return;
    }
    // Not ours yet, and nothing of the group has run.
    this.#refusals += 1;
    const pauseMs = pauseAfter(this.#refusals);
    // Those who waited too long are told, the others go on waiting.
    const waiting = [...members, ...this.#waiting].map((each) => ({ ...each, waitedMs: each.waitedMs + pauseMs }));
    for (const each of waiting) if (each.waitedMs > busyTimeoutMs) each.reject(busyError());
    this.#waiting = waiting.filter((each) => each.waitedMs <= busyTimeoutMs);
    if (this.#waiting.length > 0) this.#askAgain(pauseMs);
  }

  #askAgain(pauseMs: number): void {
    if (pauseMs === 0) {
      this.#soon();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#flush();
    }, pauseMs);
  }

  #transaction<T>(begin: string, body: () => T): T {
    this.sql(begin).run();
    try {
      const outcome = body();
      this.sql("COMMIT").run();
      return outcome;
    } finally {
      // Still inside = the body or the commit threw. SQLite leaves the transaction by itself for some errors.
      if (this.#db.inTransaction) this.sql("ROLLBACK").run();
    }
  }

  /** False: the lock was not to be had within `waitMs`, and nothing happened. Never throws: each member learns its outcome. */
  #commit(members: readonly Member[], waitMs: number): boolean {
    try {
      if (!this.#begin(waitMs)) return false;
    } catch (error) {
      rejectAll(members, error);
      return true;
    }
    try {
      const announcements = members.map((member) => this.#runMember(member));
      this.sql("COMMIT").run();
      for (const announce of announcements) announce();
    } catch (error) {
      rejectAll(members, error);
    } finally {
      if (this.#db.inTransaction) this.sql("ROLLBACK").run();
    }
    return true;
  }

  #begin(waitMs: number): boolean {
    this.sql(`PRAGMA busy_timeout = ${waitMs}`).get();
    try {
      this.sql("BEGIN IMMEDIATE").run();
      return true;
    } catch (error) {
      if (waitMs === 0 && isBusy(error)) return false;
      throw error;
    } finally {
      this.sql(`PRAGMA busy_timeout = ${busyTimeoutMs}`).get();
    }
  }

  #runMember(member: Member): () => void {
    this.sql("SAVEPOINT member").run();
    try {
      const announce = member.run();
      this.sql("RELEASE member").run();
      return announce;
    } catch (error) {
      if (!this.#db.inTransaction) throw error; // the transaction is gone, and with it the earlier members' work
      this.sql("ROLLBACK TO member").run();
      this.sql("RELEASE member").run();
      return () => {
        member.reject(toStoreError(error));
      };
    }
  }
}

function rejectAll(members: readonly Member[], error: unknown): void {
  const shown = toStoreError(error);
  for (const member of members) member.reject(shown);
}

const pauseAfter = (refusals: number): number =>
  refusals <= eagerTriesMax ? 0 : (pausesMs[Math.min(refusals - eagerTriesMax, pausesMs.length) - 1] ?? 0);
