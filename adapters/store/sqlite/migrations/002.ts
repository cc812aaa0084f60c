/** Chats that have become others: a group that was upgraded to a supergroup has a new id. */
export const migration002 = {
  version: 2,
  sql: `
CREATE TABLE chat_moves (from_chat INTEGER PRIMARY KEY, to_chat INTEGER NOT NULL, at_ms REAL NOT NULL) STRICT;
`,
} as const;
