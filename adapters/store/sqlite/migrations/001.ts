/**
 * Schema 1: every table of a profile's store.
 *
 * Owns: the first shape of the tables. Never edited once released: later shapes are later migrations.
 *
 * - Times are REAL: milliseconds may carry a fraction, and a fraction must not fail a write.
 * - `updates` holds open entries only. An entry is *unclaimed* while `claim_acquisition` is NULL; two partial indexes
 *   split it by that, so neither the heads of the lanes nor the claims of a seat are ever searched for.
 * - `journal_size` is kept by triggers: counting 100,000 rows at each admission would make depth cost something.
 * - An entry with an `offer` is in its donor's hand and nobody's to touch, until the offer ends. `assigned_seat` is where an
 *   entry belongs that was moved away from the owner of its thread.
 * - `outbox` exists from the start and is filled by later parts.
 */
export const migration001 = {
  version: 1,
  sql: `
CREATE TABLE lease (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  epoch INTEGER NOT NULL, renewals INTEGER NOT NULL, expires_at_ms REAL NOT NULL, granted_at_ms REAL,
  instance_id TEXT, incarnation TEXT, endpoint TEXT, secret TEXT
) STRICT;
INSERT INTO lease (id, epoch, renewals, expires_at_ms) VALUES (1, 0, 0, 0);

CREATE TABLE cursor (id INTEGER PRIMARY KEY CHECK (id = 1), next_update_id INTEGER NOT NULL) STRICT;

CREATE TABLE polling (id INTEGER PRIMARY KEY CHECK (id = 1), ok_at_ms REAL, health TEXT NOT NULL) STRICT;

CREATE TABLE updates (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  update_id INTEGER NOT NULL, digest TEXT NOT NULL, lane TEXT NOT NULL, body TEXT NOT NULL,
  admitted_at_ms REAL NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, next_attempt_at_ms REAL NOT NULL,
  last_failure TEXT, redelivered INTEGER NOT NULL DEFAULT 0,
  claim_seat TEXT, claim_instance TEXT, claim_generation TEXT, claim_acquisition TEXT,
  offer TEXT, assigned_seat TEXT
) STRICT;
CREATE INDEX updates_by_id ON updates (update_id, digest);
CREATE INDEX updates_unclaimed ON updates (lane, seq) WHERE claim_acquisition IS NULL;
CREATE INDEX updates_retried ON updates (lane, seq) WHERE attempts > 0;
CREATE INDEX updates_offered ON updates (offer) WHERE offer IS NOT NULL;
CREATE INDEX updates_claimed ON updates (claim_seat, claim_instance) WHERE claim_acquisition IS NOT NULL;

CREATE TABLE journal_size (id INTEGER PRIMARY KEY CHECK (id = 1), entries INTEGER NOT NULL) STRICT;
INSERT INTO journal_size (id, entries) VALUES (1, 0);
CREATE TRIGGER updates_added AFTER INSERT ON updates BEGIN UPDATE journal_size SET entries = entries + 1; END;
CREATE TRIGGER updates_removed AFTER DELETE ON updates BEGIN UPDATE journal_size SET entries = entries - 1; END;

CREATE TABLE tombstones (
  update_id INTEGER NOT NULL, digest TEXT NOT NULL, settled_at_ms REAL NOT NULL, acquisition TEXT,
  PRIMARY KEY (update_id, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_acquisition ON tombstones (acquisition) WHERE acquisition IS NOT NULL;
CREATE INDEX tombstones_by_age ON tombstones (settled_at_ms);

CREATE TABLE dead_letters (
  seq INTEGER PRIMARY KEY,
  update_id INTEGER NOT NULL, digest TEXT NOT NULL, lane TEXT NOT NULL, body TEXT NOT NULL,
  admitted_at_ms REAL NOT NULL, attempts INTEGER NOT NULL, last_failure TEXT,
  reason TEXT NOT NULL, dead_at_ms REAL NOT NULL
) STRICT;
CREATE INDEX dead_letters_by_id ON dead_letters (update_id, digest);

CREATE TABLE seat_claims (
  seat TEXT PRIMARY KEY, instance_id TEXT NOT NULL, incarnation TEXT NOT NULL, grace_ms REAL
) STRICT;

CREATE TABLE registrations (
  seat TEXT PRIMARY KEY, instance_id TEXT NOT NULL, generation TEXT NOT NULL, incarnation TEXT,
  chat_id INTEGER, thread_id INTEGER, slot TEXT, thread_name TEXT,
  at_ms REAL NOT NULL, grace_ms REAL, ended TEXT, ended_at_ms REAL,
  unprovable_since_ms REAL, unprovable_reason TEXT
) STRICT;
CREATE INDEX registrations_by_thread ON registrations (chat_id, thread_id) WHERE ended IS NULL;

CREATE TABLE bindings (
  seat TEXT NOT NULL, chat_id INTEGER NOT NULL, thread_id INTEGER NOT NULL,
  slot TEXT NOT NULL, thread_name TEXT NOT NULL, created_at_ms REAL NOT NULL,
  standing TEXT NOT NULL, reason TEXT NOT NULL, proven_at_ms REAL NOT NULL,
  PRIMARY KEY (seat, chat_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX bindings_by_thread ON bindings (chat_id, thread_id);
CREATE INDEX bindings_by_slot ON bindings (chat_id, slot);

CREATE TABLE provisions (
  id TEXT PRIMARY KEY, seat TEXT NOT NULL, chat_id INTEGER NOT NULL, slot TEXT NOT NULL,
  thread_name TEXT NOT NULL, started_at_ms REAL NOT NULL, status TEXT NOT NULL, doubts INTEGER NOT NULL,
  UNIQUE (chat_id, slot)
) STRICT;
CREATE UNIQUE INDEX provisions_by_seat ON provisions (seat, chat_id) WHERE status <> 'unwanted';

CREATE TABLE created_threads (
  provision_id TEXT PRIMARY KEY, chat_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, at_ms REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lost_threads (
  n INTEGER PRIMARY KEY AUTOINCREMENT, seat TEXT NOT NULL, chat_id INTEGER NOT NULL, thread_id INTEGER NOT NULL,
  slot TEXT NOT NULL, thread_name TEXT NOT NULL, reason TEXT NOT NULL, at_ms REAL NOT NULL
) STRICT;
CREATE INDEX lost_threads_by_thread ON lost_threads (chat_id, thread_id);

CREATE TABLE leftovers (
  chat_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, thread_name TEXT NOT NULL, seat TEXT,
  reason TEXT NOT NULL, at_ms REAL NOT NULL,
  PRIMARY KEY (chat_id, thread_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE cleanups (
  chat_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, seat TEXT NOT NULL, reason TEXT NOT NULL,
  at_ms REAL NOT NULL, due_at_ms REAL NOT NULL, phase TEXT NOT NULL DEFAULT 'waiting',
  attempts INTEGER NOT NULL DEFAULT 0, last_reason TEXT,
  PRIMARY KEY (chat_id, thread_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE observations (
  chat_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, status TEXT NOT NULL, name TEXT,
  named_by_person INTEGER NOT NULL DEFAULT 0, created_by_bot INTEGER NOT NULL DEFAULT 0, at_ms REAL NOT NULL,
  PRIMARY KEY (chat_id, thread_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE operator_requests (
  id TEXT PRIMARY KEY, wish TEXT NOT NULL, at_ms REAL NOT NULL, answer TEXT, answer_text TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE message_owners (
  chat_id INTEGER NOT NULL, message_id INTEGER NOT NULL, seat TEXT NOT NULL, recorded_at_ms REAL NOT NULL,
  PRIMARY KEY (chat_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT, seat TEXT NOT NULL, method TEXT NOT NULL, payload TEXT NOT NULL,
  parts_done INTEGER NOT NULL DEFAULT 0, parts_total INTEGER NOT NULL, status TEXT NOT NULL, created_at_ms REAL NOT NULL
) STRICT;

CREATE TABLE offers (
  id TEXT PRIMARY KEY, donor_seat TEXT NOT NULL, donor_instance TEXT NOT NULL,
  recipient_seat TEXT NOT NULL, recipient_instance TEXT NOT NULL,
  entries TEXT NOT NULL, placement TEXT NOT NULL, status TEXT NOT NULL, offered_at_ms REAL NOT NULL
) STRICT;
CREATE INDEX offers_by_recipient ON offers (recipient_seat, status);
CREATE INDEX offers_by_donor ON offers (donor_seat, status);

CREATE TABLE wishes (seq INTEGER PRIMARY KEY, recipient_seat TEXT NOT NULL, at_ms REAL NOT NULL) STRICT;

CREATE TABLE counters (reason TEXT PRIMARY KEY, count INTEGER NOT NULL, last_at_ms REAL NOT NULL) STRICT;
`,
} as const;
