/**
 * Who is paired and who asks to be, on disk.
 *
 * Owns: `pairing`, `pairing_requests`. Does not own: the verdicts (`machines/pairing.rules.ts`); each is reached and carried
 * out in one transaction.
 */
import { isOpenRequest, judgeAsk, judgeCode } from "../../../machines/pairing.rules.ts";
import type { PairedUser, PairingRequest, PairingView } from "../../../machines/pairing.rules.ts";
import type { PairingStore } from "../../../services/ports/pairing.ts";
import type { Connection } from "./connection.ts";
import { writeAsLeader } from "./lease.ts";

interface PairedRow {
  readonly user_id: number;
  readonly name: string;
  readonly at_ms: number;
}
interface RequestRow {
  readonly user_id: number;
  readonly name: string;
  readonly code: string;
  readonly asked_at_ms: number;
  readonly told_at_ms: number;
  readonly rejected: 0 | 1;
}

const sql = {
  paired: "SELECT user_id, name, at_ms FROM pairing",
  pair: "INSERT INTO pairing (id, user_id, name, at_ms) VALUES (1, ?, ?, ?)",
  unpair: "DELETE FROM pairing",
  requests: `SELECT user_id, name, code, asked_at_ms, told_at_ms, rejected FROM pairing_requests
    ORDER BY asked_at_ms, user_id`,
  put: `INSERT INTO pairing_requests (user_id, name, code, asked_at_ms, told_at_ms, rejected) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (user_id) DO UPDATE SET name = excluded.name, code = excluded.code,
      asked_at_ms = excluded.asked_at_ms, told_at_ms = excluded.told_at_ms, rejected = excluded.rejected`,
  remove: "DELETE FROM pairing_requests WHERE user_id = ?",
  removeAll: "DELETE FROM pairing_requests",
} as const;

function readPaired(connection: Connection): PairedUser | null {
  const row = connection.sql<PairedRow>(sql.paired).get();
  return row === undefined ? null : { userId: row.user_id, name: row.name, atMs: row.at_ms };
}

const viewOf = (connection: Connection): PairingView => ({
  paired: readPaired(connection),
  requests: connection
    .sql<RequestRow>(sql.requests)
    .all()
    .map((row) => ({
      userId: row.user_id,
      name: row.name,
      code: row.code,
      askedAtMs: row.asked_at_ms,
      toldAtMs: row.told_at_ms,
      isRejected: row.rejected === 1,
    })),
});

function put(connection: Connection, { userId, name, code, askedAtMs, toldAtMs, isRejected }: PairingRequest): void {
  connection.sql(sql.put).run(userId, name, code, askedAtMs, toldAtMs, isRejected ? 1 : 0);
}

export function pairingStore(connection: Connection): PairingStore {
  return {
    read: () => connection.read(() => viewOf(connection)),

    ask: ({ epoch, asker, code, nowMs }) =>
      writeAsLeader(connection, epoch, () => {
        const view = viewOf(connection);
        for (const each of view.requests) if (!isOpenRequest(each, nowMs)) connection.sql(sql.remove).run(each.userId);
        const verdict = judgeAsk(view, { asker, code, nowMs });
        if (verdict.kind === "noted") put(connection, verdict.request);
        return verdict;
      }),

    approve: ({ code, nowMs }) =>
      connection.write(() => {
        const view = viewOf(connection);
        if (view.paired !== null) return { kind: "taken" } as const;
        const verdict = judgeCode(view, { code, nowMs });
        if (verdict.kind !== "good") return verdict;
        const { userId, name } = verdict.request;
        connection.sql(sql.pair).run(userId, name, nowMs);
        connection.sql(sql.removeAll).run();
        return { kind: "approved", paired: { userId, name, atMs: nowMs } } as const;
      }),

    reject: ({ code, nowMs }) =>
      connection.write(() => {
        const verdict = judgeCode(viewOf(connection), { code, nowMs });
        if (verdict.kind !== "good") return verdict;
        const request = { ...verdict.request, isRejected: true };
        put(connection, request);
        return { kind: "rejected", request } as const;
      }),

    revoke: () =>
      connection.write(() => {
        const paired = readPaired(connection);
        if (paired === null) return { kind: "nobody" } as const;
        connection.sql(sql.unpair).run();
        return { kind: "revoked", paired } as const;
      }),
  };
}
