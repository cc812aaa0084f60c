/**
 * Seeded faults of the store on disk: each is caught by the contract that both stores keep.
 *
 * Owns: what is changed there. Does not own: the same rules in memory (`catalogue.ts`).
 */
import { unit } from "./fault.ts";
import type { Fault } from "./fault.ts";

export const diskFaults: readonly Fault[] = [
  {
    name: "on disk: a lease is taken without comparing what was expected",
    file: "adapters/store/sqlite/lease.ts",
    find: "if (!unchanged || !bearsOut(record, evidence, me.instanceId))",
    replace: "if (!bearsOut(record, evidence, me.instanceId))",
    tries: [unit("store/sqlite", "race for one record|renewed since")],
  },
  {
    name: "on disk: a renewal does not look at the epoch",
    file: "adapters/store/sqlite/lease.ts",
    find: 'if (record.epoch !== epoch || record.holder === null) return { kind: "fenced", record }',
    replace: 'if (record.holder === null) return { kind: "fenced", record }',
    tries: [unit("store/sqlite", "renewal extends")],
  },
  {
    name: "on disk: a release does not look at the epoch",
    file: "adapters/store/sqlite/lease.ts",
    find: "if (record.epoch !== epoch || epoch === 0)",
    replace: "if (epoch === 0)",
    tries: [unit("store/sqlite", "release empties|old epoch")],
  },
  {
    name: "on disk: a grant keeps the epoch of the one before",
    file: "adapters/store/sqlite/lease.ts",
    find: "UPDATE lease SET epoch = epoch + 1, renewals = 0",
    replace: "UPDATE lease SET epoch = max(1, epoch), renewals = 0",
    tries: [unit("store/sqlite", "a grant counts the epoch up|release empties")],
  },
  {
    name: "on disk: a leader's write does not compare the epoch in its transaction",
    file: "adapters/store/sqlite/lease.ts",
    find: "if (row.epoch !== epoch || row.instance_id === null)",
    replace: "if (row.instance_id === null)",
    tries: [unit("store/sqlite", "under an old epoch")],
  },
  {
    name: "on disk: whoever released the lease still writes",
    file: "adapters/store/sqlite/lease.ts",
    find: "if (row.epoch !== epoch || row.instance_id === null)",
    replace: "if (row.epoch !== epoch)",
    tries: [unit("store/sqlite", "after release is refused")],
  },
  {
    name: "on disk: the journal admits what it has already",
    file: "adapters/store/sqlite/journal.ts",
    find: "if (!fresh.has(key) && !isKnown(connection, update.updateId, digest, nowMs))",
    replace: "if (!fresh.has(key))",
    tries: [unit("store/sqlite", "T-16")],
  },
  {
    name: "on disk: an update is known by its id alone",
    file: "adapters/store/sqlite/journal.ts",
    find: 'isSettled: "SELECT 1 FROM tombstones WHERE update_id = ? AND digest = ? AND settled_at_ms > ?"',
    replace: `isSettled: "SELECT 1 FROM tombstones WHERE update_id = ? AND ? <> '' AND settled_at_ms > ?"`,
    tries: [unit("store/sqlite", "T-15|T-16|eight|8 days")],
  },
  {
    name: "on disk: the memory of what was settled ends at once",
    file: "adapters/store/sqlite/journal.ts",
    find: "connection.sql(journalSql.prune).run(nowMs - tombstoneKeepMs, updates.length",
    replace: "connection.sql(journalSql.prune).run(nowMs, updates.length",
    tries: [unit("store/sqlite", "8 days")],
  },
  {
    name: "on disk: the leader ends what a registration has in hand",
    file: "adapters/store/sqlite/journal.ts",
    find: `deadLetter: ({ epoch, seq, reason, nowMs }) =>
      writeAsLeader(connection, epoch, () => {
        if (!isEndable(seq)) return { kind: "missing" } as const;`,
    replace: `deadLetter: ({ epoch, seq, reason, nowMs }) =>
      writeAsLeader(connection, epoch, () => {`,
    tries: [unit("store/sqlite", "T-77")],
  },
  {
    name: "on disk: a claim does not ask who holds the entry",
    file: "adapters/store/sqlite/work.ts",
    find: 'if (row.claim_acquisition !== null) return { kind: "heldElsewhere" };',
    replace: "",
    tries: [unit("store/sqlite", "T-34")],
  },
  {
    name: "on disk: a claim does not ask for the head of its lane",
    file: "adapters/store/sqlite/work.ts",
    find: "if (connection.sql(workSql.isOvertaking).get({ lane: row.lane, seq: row.seq }) !== undefined)",
    replace: "if (row.seq < 0)",
    tries: [unit("store/sqlite", "nothing of a lane is claimed before")],
  },
  {
    name: "on disk: a claim does not ask for a current registration",
    file: "adapters/store/sqlite/work.ts",
    find: 'if (!isCurrent(connection, claimant)) return { kind: "stale" };',
    replace: "",
    tries: [unit("store/sqlite", "current registration claims")],
  },
  {
    name: "on disk: settling does not ask whose acquisition it is",
    file: "adapters/store/sqlite/work.ts",
    find: "if (!isHeld(connection, { seq, acquisition }))",
    replace: "if (seq < 0)",
    tries: [unit("store/sqlite", "only the exact acquisition")],
  },
  {
    name: "on disk: a stale disconnect frees the successor's seat",
    file: "adapters/store/sqlite/registrations.ts",
    find: "if (row?.instance_id === instanceId) endNow(",
    replace: "if (row !== undefined) endNow(",
    tries: [unit("store/sqlite", "giving a seat up")],
  },
  {
    name: "on disk: what a dead holder had is not marked as given before",
    file: "adapters/store/sqlite/registrations.ts",
    find: "  reclaim: `UPDATE updates SET redelivered = 1, offer = NULL,",
    replace: "  reclaim: `UPDATE updates SET offer = NULL,",
    tries: [unit("store/sqlite", "OP-50")],
  },
  {
    name: "on disk: a cancelled offer can be accepted",
    file: "adapters/store/sqlite/offers.ts",
    find: 'if (row.status === "ended") return { kind: "conflict" };',
    replace: "",
    tries: [unit("store/sqlite", "T-84")],
  },
  {
    name: "on disk: an offer is accepted under an old registration",
    file: "adapters/store/sqlite/offers.ts",
    find: "if (sitter?.instance_id !== recipient.instanceId || sitter.generation !== recipient.generation)",
    replace: "if (sitter === undefined)",
    tries: [unit("store/sqlite", "T-85")],
  },
  {
    name: "on disk: an offer that has ended is made by a late request",
    file: "adapters/store/sqlite/offers.ts",
    find: `if (known?.status === "ended") return { kind: "refused", reason: "ended" };
  if (known !== undefined)`,
    replace: 'if (known?.status === "open")',
    tries: [unit("store/sqlite", "Q-55")],
  },
  {
    name: "on disk: offers outlive the proof that their donor is dead",
    file: "adapters/store/sqlite/offers.ts",
    find: "for (const { id } of connection.sql<{ id: OfferId }>(offerSql.ofSeat).all({ seat, keep })) end(connection, id);",
    replace:
      "if (keep === null) for (const { id } of connection.sql<{ id: OfferId }>(offerSql.ofSeat).all({ seat, keep })) end(connection, id);",
    tries: [unit("store/sqlite", "dead donor")],
  },
];
