/**
 * Which seat a message belongs to.
 *
 * Owns: `message_owners`. Does not own: what routing makes of it. A message's last recorded owner is its owner; the latest
 * message ids of a chat are remembered, older ones are forgotten as newer ones come.
 */
import type { SeatKey } from "../../../machines/ids.ts";
import type { Clock, MessageOwner, OwnershipStore } from "../../../services/ports.ts";
import { ownedMessageIdsMax } from "../limits.ts";
import type { Connection } from "./connection.ts";

const sql = {
  put: `INSERT INTO message_owners (chat_id, message_id, seat, recorded_at_ms) VALUES (?, ?, ?, ?)
    ON CONFLICT (chat_id, message_id) DO UPDATE SET seat = excluded.seat, recorded_at_ms = excluded.recorded_at_ms`,
  forget: "DELETE FROM message_owners WHERE chat_id = ? AND message_id <= ?",
  get: "SELECT seat FROM message_owners WHERE chat_id = ? AND message_id = ?",
} as const;

/** Writes owners down inside the transaction of the caller. */
export function recordOwners(connection: Connection, owners: readonly MessageOwner[], nowMs: number): void {
  for (const { chatId, messageId, seat } of owners) {
    connection.sql(sql.put).run(chatId, messageId, seat, nowMs);
    // By the primary key: nothing is searched for.
    connection.sql(sql.forget).run(chatId, messageId - ownedMessageIdsMax);
  }
}

export function ownershipStore(connection: Connection, clock: Clock): OwnershipStore {
  return {
    record: (entries) =>
      connection.write(() => {
        recordOwners(connection, entries, clock.nowMs());
      }),

    ownerOf: (chatId, messageId) =>
      connection.read(() => connection.sql<{ seat: SeatKey }>(sql.get).get(chatId, messageId)?.seat ?? null),
  };
}
