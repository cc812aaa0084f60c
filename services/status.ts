/**
 * What a line looks like from outside: the store's facts, each seat's process looked at.
 *
 * Owns: reading; any process may do it, leading or not. Does not own: the words shown to people (`cli/status.ts`).
 * A status is a moment: what it says may have changed when it is read.
 */
import { sameTarget } from "../machines/ids.ts";
import type { InstanceId, Liveness, SeatKey } from "../machines/ids.ts";
import type { CleanupReason } from "../machines/reconciliation.types.ts";
import type { HeldBinding, ThreadStanding } from "../machines/threads.rules.ts";
import type { PairedUser } from "../machines/pairing.rules.ts";
import { pairingState } from "./pairing-desk.ts";
import type { Clock, Processes, SeatStanding, Store, StoreStatus } from "./ports.ts";

export interface LineSeat {
  readonly seat: SeatKey;
  readonly role: "leader" | "follower" | "nobody";
  readonly instanceId: InstanceId | null;
  readonly pid: number | null;
  /** What a look at its process said; null when nobody claims the seat. */
  readonly process: Liveness | null;
  /** Why the last registration ended; null while it stands. */
  readonly ended: string | null;
  readonly endedAtMs: number | null;
  readonly registeredAtMs: number | null;
  /** Since when, and why, its holder can be proven neither alive nor dead; null = there is no such doubt. */
  readonly unprovable: SeatStanding["unprovable"];
}

export interface LineThread {
  readonly chatId: number;
  readonly threadId: number;
  readonly slot: string;
  readonly name: string;
  readonly seat: SeatKey;
  readonly createdAtMs: number;
  readonly state: ThreadStanding;
  /** The last reason: how its seat got it, or why it stands so. Empty for a thread bound before reasons were kept. */
  readonly reason: string;
  /** When Telegram last showed that it exists. Nothing tells of a thread's deletion: `state` is as last known. */
  readonly provenAtMs: number;
  /** Its deletion, when one is due or under way. */
  readonly deletion: {
    readonly reason: CleanupReason;
    readonly dueAtMs: number;
    readonly attempts: number;
    readonly lastReason: string | null;
  } | null;
}

/** A thread that nobody has and only the operator deletes. */
export interface LineLeftover {
  readonly chatId: number;
  readonly threadId: number;
  readonly name: string;
  readonly seat: SeatKey | null;
  readonly reason: string;
}

/** A thread whose creation has begun, and may have an unknown outcome. */
export interface LineCreation {
  readonly seat: SeatKey;
  readonly chatId: number;
  readonly name: string;
  readonly status: string;
  readonly startedAtMs: number;
}

export interface LineStatus {
  readonly epoch: number;
  readonly leader: {
    readonly instanceId: InstanceId;
    readonly pid: number;
    readonly process: Liveness;
    /** By the store's clock; 0 or less = past its end. */
    readonly leaseRemainingMs: number;
    readonly renewals: number;
    /** Wall clock of the grant: the lease is that old. */
    readonly sinceMs: number;
  } | null;
  readonly cursor: number | null;
  readonly seats: readonly LineSeat[];
  readonly threads: readonly LineThread[];
  readonly leftovers: readonly LineLeftover[];
  /** Chats that have become others, as Telegram told: whoever is configured for the old one works in the new one. */
  readonly chatMoves: readonly { readonly from: number; readonly to: number; readonly atMs: number }[];
  readonly creations: readonly LineCreation[];
  readonly journal: StoreStatus["journal"];
  readonly polling: StoreStatus["polling"];
  readonly drops: StoreStatus["drops"];
  /** Who may write to the bot where no user is configured, and how many ask to. */
  readonly pairing: { readonly paired: PairedUser | null; readonly asking: number };
  /** Threads whose creation had an unknown outcome, and deletions that Telegram has not confirmed. */
  readonly unresolved: readonly string[];
}

/** A look that failed says nothing about the process. */
function look(processes: Processes, who: Parameters<Processes["liveness"]>[0]): Liveness {
  try {
    return processes.liveness(who);
  } catch {
    return "unverifiable";
  }
}

async function seatStatus(
  { store, processes }: LineSources,
  status: StoreStatus,
  registration: SeatStanding,
): Promise<LineSeat> {
  const claim = await store.seats.holderOf(registration.seat);
  const isLeader = claim !== null && status.lease.holder?.instanceId === claim.instanceId;
  return {
    seat: registration.seat,
    role: claim === null ? "nobody" : isLeader ? "leader" : "follower",
    instanceId: claim?.instanceId ?? null,
    pid: claim?.incarnation.pid ?? null,
    process: claim === null ? null : look(processes, claim.incarnation),
    ended: registration.ended,
    endedAtMs: registration.endedAtMs,
    registeredAtMs: registration.atMs,
    unprovable: registration.unprovable,
  };
}

function threadStatus(binding: HeldBinding, status: StoreStatus): LineThread {
  const { seat, thread, createdAtMs, standing, reason, provenAtMs } = binding;
  const cleanup = status.cleanups.find((each) => sameTarget(each.target, thread.target));
  return {
    chatId: thread.target.chatId,
    threadId: thread.target.threadId,
    slot: thread.slot,
    name: thread.threadName,
    seat,
    createdAtMs,
    state: standing,
    reason,
    provenAtMs,
    deletion:
      cleanup === undefined
        ? null
        : {
            reason: cleanup.reason,
            dueAtMs: cleanup.dueAtMs,
            attempts: cleanup.attempts,
            lastReason: cleanup.lastReason,
          },
  };
}

const creationWords: Readonly<Record<StoreStatus["provisions"][number]["status"], string>> = {
  inFlight: "is being made",
  ambiguous: "may or may not have been made: Telegram did not answer",
  unwanted: "is deleted if it shows up: its instance has left",
};

export interface LineSources {
  readonly store: Store;
  readonly processes: Processes;
  readonly clock: Clock;
}

export async function describeLine(sources: LineSources): Promise<LineStatus> {
  const status = await sources.store.status.read();
  const { paired, requests } = await pairingState(sources);
  const { lease } = status;
  return {
    epoch: lease.epoch,
    leader:
      lease.holder === null
        ? null
        : {
            instanceId: lease.holder.instanceId,
            pid: lease.holder.incarnation.pid,
            process: look(sources.processes, lease.holder.incarnation),
            leaseRemainingMs: lease.remainingMs,
            renewals: lease.renewals,
            sinceMs: status.leaseGrantedAtMs ?? 0,
          },
    cursor: status.cursor,
    seats: await Promise.all(status.registrations.map((each) => seatStatus(sources, status, each))),
    threads: status.bindings.map((each) => threadStatus(each, status)),
    leftovers: status.leftovers.map(({ target, threadName, seat, reason }) => ({
      chatId: target.chatId,
      threadId: target.threadId,
      name: threadName,
      seat,
      reason,
    })),
    chatMoves: status.chatMoves,
    creations: status.provisions.map(({ seat, chatId, threadName, status: state, startedAtMs }) => ({
      seat,
      chatId,
      name: threadName,
      status: state,
      startedAtMs,
    })),
    journal: status.journal,
    polling: status.polling,
    drops: status.drops,
    pairing: { paired, asking: requests.length },
    unresolved: [
      ...status.provisions.map(
        (each) => `the thread "${each.threadName}" for ${each.seat} ${creationWords[each.status]}`,
      ),
      ...status.cleanups
        .filter((each) => each.attempts > 0 || each.reason !== "ended")
        .map(
          (each) =>
            `deleting the thread ${String(each.target.threadId)} of ${each.seat}${each.lastReason === null ? "" : `: ${each.lastReason}`}`,
        ),
      ...status.leftovers.map((each) => `thread ${String(each.target.threadId)} is left over: ${each.reason}`),
    ],
  };
}
