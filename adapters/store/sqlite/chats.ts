/**
 * Chats that have become others.
 *
 * Owns: `chat_moves`. Does not own: which chat is ours. Invariant: one move for each chat, never one that leads back.
 */
import type { KeptMove } from "../../../machines/chats.rules.ts";
import { isNewMove } from "../../../machines/chats.rules.ts";
import type { ChatId } from "../../../machines/ids.ts";
import type { ChatStore } from "../../../services/ports.ts";
import type { Connection } from "./connection.ts";
import { writeAsLeader } from "./lease.ts";

interface MoveRow {
  readonly from_chat: ChatId;
  readonly to_chat: ChatId;
  readonly at_ms: number;
}

const sql = {
  all: "SELECT from_chat, to_chat, at_ms FROM chat_moves ORDER BY at_ms, from_chat",
  put: "INSERT INTO chat_moves (from_chat, to_chat, at_ms) VALUES (?, ?, ?)",
} as const;

export const allMoves = (connection: Connection): readonly KeptMove[] =>
  connection
    .sql<MoveRow>(sql.all)
    .all()
    .map((row) => ({ from: row.from_chat, to: row.to_chat, atMs: row.at_ms }));

export function chatStore(connection: Connection): ChatStore {
  return {
    moves: () => connection.read(() => allMoves(connection)),

    move: ({ epoch, from, to, atMs }) =>
      writeAsLeader(connection, epoch, () => {
        if (!isNewMove({ from, to }, allMoves(connection))) return { kind: "known" } as const;
        connection.sql(sql.put).run(from, to, atMs);
        return { kind: "moved" } as const;
      }),
  };
}
