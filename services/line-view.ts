/**
 * A line as an operator sees it from any process: its status, and its open updates, which can be moved.
 *
 * Owns: what is told of each update, wishing one moved and waiting for it, taking that back. Does not own: the status
 * (`status.ts`), moving what an instance
 * holds: that instance does (`handoff.ts`), and keeps what it works on.
 */
import { threadOfLane } from "../machines/handoff.rules.ts";
import { journalSeq, seatKey } from "../machines/ids.ts";
import { wordsOf } from "../machines/turn.rules.ts";
import type { Clock, ListedEntry, Processes, Store } from "./ports.ts";
import { describeLine } from "./status.ts";
import type { LineStatus } from "./status.ts";

/** A profile's store, open for reading its status and moving its work again and again. */
export interface LineView {
  status(): Promise<LineStatus>;
  /** What is not settled yet. */
  readonly queue: LineQueue;
  close(): Promise<void>;
}

/** An update that is not settled yet. */
export interface LineWork {
  /** As `update.id` and the ids of `instance.queue`. */
  readonly id: string;
  readonly updateId: number;
  /** Null for what was moved to a seat, and for what belongs to no thread. */
  readonly threadId: number | null;
  readonly admittedAtMs: number;
  /** The seat that has it in hand: it waits there, or is worked on. Null = it waits in the journal. */
  readonly heldBy: string | null;
  /** The seat that it was moved to, away from the owner of its thread. */
  readonly movedTo: string | null;
  readonly isOffered: boolean;
  readonly attempts: number;
  readonly redelivered: boolean;
  /** Text or caption; null when it has none. */
  readonly text: string | null;
}

/** `asked`: its holder has been asked and has not given it away; it may be at work on it. */
export type MoveReply = "moved" | "ended" | "asked" | "missing" | "nobody";

export interface LineQueue {
  /** The oldest `limit`, oldest first. */
  list(limit: number): Promise<readonly LineWork[]>;
  /** Moves an update to whoever sits on a seat; waits at most `patienceMs` for its holder. */
  move(id: string, seat: string, patienceMs: number): Promise<MoveReply>;
  /** Ends an offer that is out, and a wish that was not heard yet. */
  withdraw(id: string): Promise<"withdrawn" | "nothing" | "missing">;
}

/** Between two looks for what became of a wish, in milliseconds. */
const lookMs = 100;

const shown = (entry: ListedEntry): LineWork => ({
  id: String(entry.seq),
  updateId: entry.updateId,
  threadId: threadOfLane(entry.lane)?.threadId ?? null,
  admittedAtMs: entry.admittedAtMs,
  heldBy: entry.heldBy,
  movedTo: entry.assignedTo,
  isOffered: entry.isOffered,
  attempts: entry.attempts,
  redelivered: entry.redelivered,
  text: wordsOf(JSON.parse(entry.body)),
});

function lineQueue(store: Store, clock: Clock): LineQueue {
  const { offers } = store;
  const standingOf = async (id: string, seat: string): Promise<MoveReply> => {
    const entry = (await offers.list(Number.MAX_SAFE_INTEGER)).find(({ seq }) => String(seq) === id);
    if (entry === undefined) return "ended";
    return entry.heldBy === seat || entry.assignedTo === seat ? "moved" : "asked";
  };
  return {
    list: async (limit) => (await offers.list(limit)).map(shown),
    async move(id, seat, patienceMs) {
      const wish = { seq: journalSeq(Number(id)), recipientSeat: seatKey(seat), nowMs: clock.nowMs() };
      if ((await standingOf(id, seat)) === "moved") return "moved";
      const { kind } = await offers.wish(wish);
      const startedAtMs = clock.elapsedMs();
      let reply: MoveReply = kind;
      while (reply === "asked" && clock.elapsedMs() - startedAtMs < patienceMs) {
        await new Promise<void>((resolve) => {
          clock.setTimeout(resolve, lookMs);
        });
        reply = await standingOf(id, seat);
      }
      return reply;
    },
    withdraw: async (id) => (await offers.withdraw({ seq: journalSeq(Number(id)) })).kind,
  };
}

export const lineView = (line: {
  readonly store: Store;
  readonly processes: Processes;
  readonly clock: Clock;
}): LineView => ({
  status: () => describeLine(line),
  queue: lineQueue(line.store, line.clock),
  close: () => line.store.close(),
});
