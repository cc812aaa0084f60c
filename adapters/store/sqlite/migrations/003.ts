/**
 * Schema 3: pairing.
 *
 * Additive: code of schema 2 under the same compatibility number works on, and its instances have a configured user.
 */
export const migration003 = {
  version: 3,
  sql: `
CREATE TABLE pairing (
  id INTEGER PRIMARY KEY CHECK (id = 1), user_id INTEGER NOT NULL, name TEXT NOT NULL, at_ms REAL NOT NULL
) STRICT;
CREATE TABLE pairing_requests (
  user_id INTEGER PRIMARY KEY, name TEXT NOT NULL, code TEXT NOT NULL UNIQUE,
  asked_at_ms REAL NOT NULL, told_at_ms REAL NOT NULL, rejected INTEGER NOT NULL
) STRICT;
`,
} as const;
