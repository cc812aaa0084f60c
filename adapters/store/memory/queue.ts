/**
 * What an instance does with several entries in its hand at once, in memory.
 *
 * Owns: settling together, sweeping before a command. Does not own: claims (`work.ts`), offers (`offers.ts`).
 */
import { ordinaryLaneOf } from "../../../machines/updates.rules.ts";
import type { QueueStore } from "../../../services/ports.ts";
import type { MemoryHandle } from "./database.ts";

export function queueStore(handle: MemoryHandle): QueueStore {
  const { db } = handle;
  return {
    settleAll: ({ entries, nowMs }) =>
      handle.run(() => {
        const isOurs = entries.every((entry) => db.heldBy(entry) !== null || db.wasSettledBy(entry.acquisition));
        if (!isOurs) return { kind: "notYours" } as const;
        for (const entry of entries) {
          const open = db.heldBy(entry);
          if (open !== null) db.bury(open, nowMs);
        }
        return { kind: "settled" } as const;
      }),

    sweep: (request) =>
      handle.run(() => {
        const command = db.heldBy(request);
        if (command === null) return { kind: "notYours" } as const;
        const lane = ordinaryLaneOf(command.entry.lane);
        const before = [...db.updates.values()].filter(
          ({ entry, claim }) => claim === null && entry.lane === lane && entry.seq < request.seq,
        );
        for (const open of before) db.bury(open, request.nowMs);
        if (before.length > 0) db.addToCounter("stopped", before.length);
        return { kind: "swept", count: before.length } as const;
      }),
  };
}
