/**
 * What `status` shows: counters, the leader's polling, and one consistent look at everything.
 *
 * Owns: `polling`, the status view. Does not own: the tables it reads. Nothing here is authority.
 */
import type { Clock, StatusStore } from "../../../services/ports.ts";
import { pollingUnknown } from "../limits.ts";
import type { Connection } from "./connection.ts";
import { allMoves } from "./chats.ts";
import { addToCounter, readCounters } from "./counters.ts";
import { journalSize, readCursor } from "./journal.ts";
import { readGrantedAt, readLease, writeAsLeader } from "./lease.ts";
import { allRegistrations } from "./registrations.ts";
import { allCleanups } from "./cleanups.ts";
import { allBindings, allLeftovers, allLost, allProvisions } from "./threads.ts";

const sql = {
  notePolling: `INSERT INTO polling (id, ok_at_ms, health, epoch) VALUES (1, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET ok_at_ms = excluded.ok_at_ms, health = excluded.health, epoch = excluded.epoch`,
  presentHealth: `SELECT health FROM polling CROSS JOIN lease
    WHERE polling.epoch = lease.epoch AND lease.instance_id IS NOT NULL`,
  polling: "SELECT ok_at_ms, health FROM polling",
  claimed: "SELECT count(*) AS n FROM updates INDEXED BY updates_claimed WHERE claim_acquisition IS NOT NULL",
  dead: "SELECT count(*) AS n FROM dead_letters",
} as const;

function readPolling(connection: Connection) {
  const row = connection.sql<{ ok_at_ms: number | null; health: string }>(sql.polling).get();
  return row === undefined ? pollingUnknown : { okAtMs: row.ok_at_ms, health: row.health };
}

function readJournal(connection: Connection) {
  const claimed = connection.sql<{ n: number }>(sql.claimed).get()?.n ?? 0;
  const deadLetters = connection.sql<{ n: number }>(sql.dead).get()?.n ?? 0;
  return { waiting: journalSize(connection) - claimed, claimed, deadLetters };
}

export function statusStore(connection: Connection, clock: Clock): StatusStore {
  return {
    count: (reason, by, nowMs) =>
      connection.write(() => {
        addToCounter(connection, reason, by, nowMs);
      }),

    notePolling: async ({ epoch, okAtMs, health }) => {
      // Under an old epoch nothing is noted, and nobody needs to know: a fenced leader learns it from its lease.
      await writeAsLeader(connection, epoch, () => connection.sql(sql.notePolling).run(okAtMs, health, epoch));
    },

    presentHealth: () =>
      connection.read(() => connection.sql<{ health: string }>(sql.presentHealth).get()?.health ?? null),

    read: () =>
      connection.read(() => ({
        lease: readLease(connection, clock.nowMs()),
        leaseGrantedAtMs: readGrantedAt(connection),
        cursor: readCursor(connection),
        registrations: allRegistrations(connection),
        bindings: allBindings(connection),
        provisions: allProvisions(connection),
        lostThreads: allLost(connection),
        leftovers: allLeftovers(connection),
        cleanups: allCleanups(connection),
        chatMoves: allMoves(connection),
        journal: readJournal(connection),
        drops: readCounters(connection),
        polling: readPolling(connection),
      })),
  };
}
