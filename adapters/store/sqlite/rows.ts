/**
 * Shapes that several tables share, and their way back to the port's types.
 *
 * Owns: rows of incarnations, threads and journal entries. Does not own: any query. Identities come back under their
 * brands because only branded values were written; the row types say so where the columns are named.
 */
import type {
  ChatId,
  Incarnation,
  InstanceId,
  JournalSeq,
  Lane,
  SeatKey,
  ThreadId,
  ThreadTarget,
  BoundThread,
  UpdateId,
} from "../../../machines/ids.ts";
import type { HeldBinding, LeftoverThread, LostThread } from "../../../machines/threads.rules.ts";
import type { Binding, JournalEntry, PendingProvision } from "../../../services/ports.ts";

export function incarnationOf(json: string): Incarnation {
  return JSON.parse(json) as Incarnation; // written by this store from the same type
}

export interface TargetRow {
  readonly chat_id: ChatId;
  readonly thread_id: ThreadId;
}

export interface ThreadRow extends TargetRow {
  readonly slot: string;
  readonly thread_name: string;
}

export const targetOf = (row: TargetRow): ThreadTarget => ({ chatId: row.chat_id, threadId: row.thread_id });

export const threadOf = (row: ThreadRow): BoundThread => ({
  target: targetOf(row),
  slot: row.slot,
  threadName: row.thread_name,
});

export const entryColumns =
  "u.seq, u.update_id, u.lane, u.body, u.admitted_at_ms, u.attempts, u.next_attempt_at_ms, u.redelivered, u.assigned_seat";

export interface EntryRow {
  readonly seq: JournalSeq;
  readonly update_id: UpdateId;
  readonly lane: Lane;
  readonly body: string;
  readonly admitted_at_ms: number;
  readonly attempts: number;
  readonly next_attempt_at_ms: number;
  readonly redelivered: 0 | 1;
  readonly assigned_seat: SeatKey | null;
}

export const entryOf = (row: EntryRow): JournalEntry => ({
  seq: row.seq,
  updateId: row.update_id,
  lane: row.lane,
  body: row.body,
  admittedAtMs: row.admitted_at_ms,
  attempts: row.attempts,
  nextAttemptAtMs: row.next_attempt_at_ms,
  redelivered: row.redelivered === 1,
  assignedTo: row.assigned_seat,
});

export interface BindingRow extends ThreadRow {
  readonly seat: SeatKey;
  readonly created_at_ms: number;
  readonly standing: Binding["standing"];
  readonly reason: string;
  readonly proven_at_ms: number;
  readonly holder: InstanceId | null;
}

export const bindingOf = (row: BindingRow): HeldBinding => ({
  seat: row.seat,
  thread: threadOf(row),
  createdAtMs: row.created_at_ms,
  standing: row.standing,
  reason: row.reason,
  provenAtMs: row.proven_at_ms,
  holder: row.holder,
});

export interface ProvisionRow {
  readonly id: string;
  readonly seat: SeatKey;
  readonly chat_id: ChatId;
  readonly slot: string;
  readonly thread_name: string;
  readonly started_at_ms: number;
  readonly status: PendingProvision["status"];
  readonly doubts: number;
  readonly thread_id: ThreadId | null;
}

export const provisionOf = (row: ProvisionRow): PendingProvision => ({
  id: row.id,
  seat: row.seat,
  chatId: row.chat_id,
  slot: row.slot,
  threadName: row.thread_name,
  startedAtMs: row.started_at_ms,
  status: row.status,
  doubts: row.doubts,
  threadId: row.thread_id,
});

export interface LostRow extends ThreadRow {
  readonly seat: SeatKey;
  readonly reason: string;
  readonly at_ms: number;
}

export const lostOf = (row: LostRow): LostThread => ({
  seat: row.seat,
  thread: threadOf(row),
  reason: row.reason,
  atMs: row.at_ms,
});

export interface LeftoverRow extends TargetRow {
  readonly thread_name: string;
  readonly seat: SeatKey | null;
  readonly reason: string;
  readonly at_ms: number;
}

export const leftoverOf = (row: LeftoverRow): LeftoverThread => ({
  target: targetOf(row),
  threadName: row.thread_name,
  seat: row.seat,
  reason: row.reason,
  atMs: row.at_ms,
});
