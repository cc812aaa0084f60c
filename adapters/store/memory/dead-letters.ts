/** What was set aside, in memory, and the operator's say about it. */
import type { JournalSeq } from "../../../machines/ids.ts";
import type { DeadLetterStore } from "../../../services/ports.ts";
import { journalEntriesMax } from "../limits.ts";
import type { KeptLetter, MemoryHandle } from "./database.ts";

export function deadLetterStore(handle: MemoryHandle): DeadLetterStore {
  const { db } = handle;
  const letterOf = (seq: JournalSeq): KeptLetter | undefined =>
    [...db.deadLetters.values()].find(({ open }) => open.entry.seq === seq);
  return {
    list: (limit) =>
      handle.run(() =>
        [...db.deadLetters.values()]
          .map(({ open: { entry, lastFailure }, reason, deadAtMs }) => {
            const { seq, updateId, lane, body, admittedAtMs, attempts } = entry;
            return { seq, updateId, lane, body, admittedAtMs, attempts, lastFailure, reason, deadAtMs };
          })
          .sort((one, other) => one.seq - other.seq)
          .slice(0, Math.max(0, limit)),
      ),

    retry: ({ seq, nowMs }) =>
      handle.run(() => {
        const letter = letterOf(seq);
        if (letter === undefined) return { kind: "missing" } as const;
        if (db.updates.size + 1 > journalEntriesMax) return { kind: "full" } as const;
        const { key, entry } = letter.open;
        const { updateId, lane, body } = entry;
        const times = {
          admittedAtMs: nowMs,
          attempts: 0,
          nextAttemptAtMs: nowMs,
          redelivered: false,
          assignedTo: null,
        };
        db.deadLetters.delete(key);
        db.addEntry({
          key,
          claim: null,
          offer: null,
          lastFailure: null,
          entry: { seq, updateId, lane, body, ...times },
        });
        return { kind: "retried" } as const;
      }),

    discard: ({ seq, nowMs }) =>
      handle.run(() => {
        const letter = letterOf(seq);
        if (letter === undefined) return { kind: "missing" } as const;
        db.deadLetters.delete(letter.open.key);
        db.putTombstone(letter.open.key, nowMs);
        db.addToCounter("discarded", 1);
        return { kind: "discarded" } as const;
      }),
  };
}
