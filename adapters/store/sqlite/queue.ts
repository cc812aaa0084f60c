/**
 * What an instance does with several entries in its hand at once.
 *
 * Owns: settling together, sweeping before a command. Does not own: claims (`work.ts`), offers (`offers.ts`).
 * Invariant: all of it or none, in one transaction; only the exact acquisition acts.
 */
import type { JournalSeq, Lane } from "../../../machines/ids.ts";
import { ordinaryLaneOf } from "../../../machines/updates.rules.ts";
import type { HeldEntry, QueueStore } from "../../../services/ports.ts";
import type { Connection } from "./connection.ts";
import { addToCounter } from "./counters.ts";
import { bury } from "./journal.ts";
import { isHeld, wasSettledBy } from "./held.ts";

/** Exported for the tests that read the query plans. */
export const queueSql = {
  laneOf: "SELECT lane FROM updates WHERE seq = ?",
  before: `SELECT seq FROM updates INDEXED BY updates_unclaimed
    WHERE claim_acquisition IS NULL AND lane = ? AND seq < ? ORDER BY seq`,
} as const;

export function queueStore(connection: Connection): QueueStore {
  const isOurs = (entry: HeldEntry): boolean =>
    isHeld(connection, entry) || wasSettledBy(connection, entry.acquisition);
  return {
    settleAll: ({ entries, nowMs }) =>
      connection.write(() => {
        if (!entries.every(isOurs)) return { kind: "notYours" } as const;
        for (const entry of entries) if (isHeld(connection, entry)) bury(connection, entry.seq, nowMs);
        return { kind: "settled" } as const;
      }),

    sweep: ({ seq, acquisition, nowMs }) =>
      connection.write(() => {
        if (!isHeld(connection, { seq, acquisition })) return { kind: "notYours" } as const;
        const lane = connection.sql<{ lane: Lane }>(queueSql.laneOf).get(seq)?.lane;
        const before =
          lane === undefined ? [] : connection.sql<{ seq: JournalSeq }>(queueSql.before).all(ordinaryLaneOf(lane), seq);
        for (const entry of before) bury(connection, entry.seq, nowMs);
        if (before.length > 0) addToCounter(connection, "stopped", before.length, nowMs);
        return { kind: "swept", count: before.length } as const;
      }),
  };
}
