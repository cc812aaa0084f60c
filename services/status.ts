/**
 * What a line looks like from outside: the store's facts, each seat's process looked at.
 *
 * Owns: reading; any process may do it, leading or not. Does not own: the words shown to people (`cli/status.ts`).
 * A status is a moment: what it says may have changed when it is read.
 */
import type { InstanceId, Liveness, SeatKey } from "../machines/ids.ts";
import type { Processes, SeatRegistration, Store, StoreStatus } from "./ports.ts";

export interface LineSeat {
  readonly seat: SeatKey;
  readonly role: "leader" | "follower" | "nobody";
  readonly instanceId: InstanceId | null;
  readonly pid: number | null;
  /** What a look at its process said; null when nobody claims the seat. */
  readonly process: Liveness | null;
  /** Why the last registration ended; null while it stands. */
  readonly ended: string | null;
  readonly registeredAtMs: number | null;
}

export interface LineThread {
  readonly chatId: number;
  readonly threadId: number;
  readonly slot: string;
  readonly name: string;
  readonly seat: SeatKey;
  readonly createdAtMs: number;
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
  readonly journal: StoreStatus["journal"];
  readonly polling: StoreStatus["polling"];
  readonly drops: StoreStatus["drops"];
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
  registration: SeatRegistration & { readonly ended: string | null },
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
    registeredAtMs: registration.atMs,
  };
}

export interface LineSources {
  readonly store: Store;
  readonly processes: Processes;
}

export async function describeLine(sources: LineSources): Promise<LineStatus> {
  const status = await sources.store.status.read();
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
    threads: status.bindings.map(({ seat, thread, createdAtMs }) => ({
      chatId: thread.target.chatId,
      threadId: thread.target.threadId,
      slot: thread.slot,
      name: thread.threadName,
      seat,
      createdAtMs,
    })),
    journal: status.journal,
    polling: status.polling,
    drops: status.drops,
    unresolved: [
      ...status.provisions.map((each) => `creating the thread "${each.threadName}" for ${each.seat}: ${each.status}`),
      ...status.cleanups.map((each) => `deleting the thread ${String(each.target.threadId)} of ${each.seat}`),
    ],
  };
}
