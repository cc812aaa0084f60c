/**
 * The journal in memory.
 *
 * Owns: admission, heads, the leader's ends. Does not own: claims (`work.ts`). The rules are the SQLite twin's.
 */
import { journalSeq, sameTarget, type JournalSeq, type Lane, type ThreadTarget } from "../../../machines/ids.ts";
import { inThread } from "../../../machines/reroute.rules.ts";
import { laneInThread, laneOfThread, ordinaryLaneOf } from "../../../machines/updates.rules.ts";
import type { AdmittedUpdate, JournalEntry, JournalStore } from "../../../services/ports.ts";
import { digestOf } from "../digest.ts";
import { isRemembered, journalEntriesMax, tombstonePrunedMax } from "../limits.ts";
import type { MemoryDatabase, MemoryHandle, OpenEntry } from "./database.ts";

function isKnown(db: MemoryDatabase, key: string, nowMs: number): boolean {
  const settledAtMs = db.tombstones.get(key);
  const isSettled = settledAtMs !== undefined && isRemembered(settledAtMs, nowMs);
  return isSettled || db.openKeys.has(key) || db.deadLetters.has(key);
}

function unknownOf(db: MemoryDatabase, updates: readonly AdmittedUpdate[], nowMs: number) {
  const fresh = new Map<string, AdmittedUpdate>();
  for (const update of updates) {
    const key = `${update.updateId}:${digestOf(update.body)}`;
    if (!fresh.has(key) && !isKnown(db, key, nowMs)) fresh.set(key, update);
  }
  return fresh;
}

function add(db: MemoryDatabase, key: string, update: AdmittedUpdate, nowMs: number): void {
  db.lastSeq += 1;
  const seq = journalSeq(db.lastSeq);
  const { updateId, lane, body } = update;
  const times = { admittedAtMs: nowMs, attempts: 0, nextAttemptAtMs: nowMs, redelivered: false, assignedTo: null };
  db.addEntry({ key, claim: null, offer: null, lastFailure: null, entry: { seq, updateId, lane, body, ...times } });
}

/** The oldest first, like the SQLite twin: who settles under a clock that was set back is not last in the map and yet old. */
function prune(db: MemoryDatabase, nowMs: number, removedMax: number): void {
  const expired = [...db.tombstones].filter(([, settledAtMs]) => !isRemembered(settledAtMs, nowMs));
  expired.sort(([, one], [, other]) => one - other);
  for (const [key] of expired.slice(0, removedMax)) db.removeTombstone(key);
}

type HeadsRequest = Parameters<JournalStore["heads"]>[0];

function headsOf(db: MemoryDatabase, { except, only, perLane, limit }: HeadsRequest): readonly JournalEntry[] {
  const closed = new Set<Lane>(except);
  const wanted = only === null ? null : new Set<Lane>(only);
  const found = new Map<Lane, number>();
  const heads: JournalEntry[] = [];
  for (const { entry, claim } of db.updates.values()) {
    if (heads.length >= limit) break;
    const before = found.get(entry.lane) ?? 0;
    const isWanted = wanted === null || wanted.has(entry.lane);
    if (claim === null && isWanted && !closed.has(entry.lane) && before < perLane) {
      heads.push(entry);
      found.set(entry.lane, before + 1);
    }
    // What follows an entry that is tried again waits for its outcome.
    if (entry.attempts > 0) closed.add(entry.lane);
  }
  return heads;
}

const waitingIn = (db: MemoryDatabase, thread: ThreadTarget): readonly OpenEntry[] => {
  const lane = laneOfThread(thread);
  return [...db.updates.values()].filter(({ entry, claim }) => claim === null && ordinaryLaneOf(entry.lane) === lane);
};

/** Whether something written in this thread is in nobody's hand. */
export const isWaitedIn = (db: MemoryDatabase, thread: ThreadTarget): boolean => waitingIn(db, thread).length > 0;

/** The entry, unless a current registration has it in hand. */
function endable(db: MemoryDatabase, seq: JournalSeq): OpenEntry | null {
  const open = db.updates.get(seq);
  if (open === undefined) return null;
  return open.claim !== null && db.isRegistered(open.claim) ? null : open;
}

/** Writes one update unless it is known; false = the journal is full. */
export function addUnknown(db: MemoryDatabase, update: AdmittedUpdate, nowMs: number): boolean {
  const key = `${update.updateId}:${digestOf(update.body)}`;
  if (isKnown(db, key, nowMs)) return true;
  if (db.updates.size + 1 > journalEntriesMax) return false;
  add(db, key, update, nowMs);
  return true;
}

export function journalStore(handle: MemoryHandle): JournalStore {
  const { db } = handle;
  return {
    cursor: () => handle.run(() => db.cursor),

    admit: ({ epoch, updates, cursor, nowMs }) =>
      handle.runAsLeader(epoch, () => {
        const fresh = unknownOf(db, updates, nowMs);
        if (db.updates.size + fresh.size > journalEntriesMax) return { kind: "full" } as const;
        for (const [key, update] of fresh) add(db, key, update, nowMs);
        if (cursor !== null) db.cursor = cursor;
        prune(db, nowMs, updates.length + tombstonePrunedMax);
        return { kind: "admitted", added: fresh.size, duplicates: updates.length - fresh.size } as const;
      }),

    heads: (request) => handle.run(() => headsOf(db, request)),

    drop: ({ epoch, seq, reason, nowMs }) =>
      handle.runAsLeader(epoch, () => {
        const open = endable(db, seq);
        if (open === null) return { kind: "missing" } as const;
        db.bury(open, nowMs);
        db.addToCounter(reason, 1);
        return { kind: "dropped" } as const;
      }),

    redirect: ({ epoch, from, to }) =>
      handle.runAsLeader(epoch, () => {
        const isSitting = [...db.registrations.values()].some(
          ({ ended, thread }) => ended === null && thread !== null && sameTarget(thread.target, to),
        );
        if (!isSitting) return { kind: "absent" } as const;
        const isBound = [...db.bindings.values()].some(({ thread }) => sameTarget(thread.target, from));
        const waiting = isBound ? [] : waitingIn(db, from);
        if (waiting.length === 0) return { kind: "nothing" } as const;
        for (const open of waiting) {
          const { lane, body } = open.entry;
          const there = { lane: laneInThread(lane, to), body: JSON.stringify(inThread(JSON.parse(body), to)) };
          db.replaceEntry({ ...open, entry: { ...open.entry, ...there, assignedTo: null } });
        }
        return { kind: "redirected", seqs: waiting.map(({ entry }) => entry.seq) } as const;
      }),

    deadLetter: ({ epoch, seq, reason, nowMs }) =>
      handle.runAsLeader(epoch, () => {
        const open = endable(db, seq);
        if (open === null) return { kind: "missing" } as const;
        db.removeEntry(open);
        db.deadLetters.set(open.key, { open, reason, deadAtMs: nowMs });
        return { kind: "deadLettered" } as const;
      }),
  };
}
