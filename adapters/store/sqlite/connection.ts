/**
 * One open database, and the three ways to use it: `read`, `write`, `grouped`.
 *
 * Owns: transactions, the cache of prepared statements, group commit, closing. Does not own: any table.
 *
 * Invariants:
 * 1. Every change happens inside one BEGIN IMMEDIATE transaction and resolves after its commit is on disk.
 * 2. Operations of one connection take effect in the order of their calls: whatever is not grouped first commits the
 *    group that waits.
 * 3. A failed member of a group takes back its own statements only. When SQLite gave up the whole transaction, or its
 *    commit failed, every member is rejected: none was acknowledged before.
 */
import { setImmediate } from "node:timers";
import type { Database, Statement } from "better-sqlite3";
import { closedError } from "../errors.ts";
import { toStoreError } from "./sql-errors.ts";

interface Member {
  /** Runs inside the group's transaction; what it returns announces the outcome after the commit. */
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
}

/** Members of one group: more only lengthens the time the write lock is held. */
export const groupMembersMax = 512;

export class Connection {
  readonly #db: Database;
  readonly #statements = new Map<string, Statement>();
  #waiting: Member[] = [];
  #closed = false;

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

  /** One consistent view, closed before it resolves. */
  read<T>(look: () => T): Promise<T> {
    return this.#now("BEGIN DEFERRED", look);
  }

  write<T>(change: () => T): Promise<T> {
    return this.#now("BEGIN IMMEDIATE", change);
  }

  /** Like `write`, in one transaction with everything else grouped in the same turn of the event loop. */
  grouped<T>(change: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise<T>((resolve, reject) => {
      const run = (): (() => void) => {
        const outcome = change();
        return () => {
          resolve(outcome);
        };
      };
      if (this.#waiting.length === 0) {
        setImmediate(() => {
          this.#flush();
        });
      }
      this.#waiting.push({ run, reject });
      if (this.#waiting.length >= groupMembersMax) this.#flush();
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#flush();
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
  }

  async #now<T>(begin: string, body: () => T): Promise<T> {
    if (this.#closed) throw closedError();
    this.#flush();
    try {
      return this.#transaction(begin, body);
    } catch (error) {
      throw toStoreError(error);
    }
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

  /** Commits what waits. Never throws: each member learns its own outcome. */
  #flush(): void {
    const members = this.#waiting;
    if (members.length === 0) return;
    this.#waiting = [];
    try {
      const announcements = this.#transaction("BEGIN IMMEDIATE", () =>
        members.map((member) => this.#runMember(member)),
      );
      for (const announce of announcements) announce();
    } catch (error) {
      const shown = toStoreError(error);
      for (const member of members) member.reject(shown);
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
