/**
 * Ghost history of the lease: what was true when something was granted, which no process stores.
 *
 * Owns: watching the lease row from within the store, the list of grants, the store's own end of every grant.
 * Does not own: judging it (`machines/invariants.ts`, `lease-checks.ts`).
 * Invariant: watching changes nothing: it reads the row in the same step in which the watched request is carried out.
 */
import { epoch, type Epoch, type Incarnation, type InstanceId } from "../../machines/ids.ts";
import type { GrantView, LeaderWriteView } from "../../machines/invariants.ts";
import type { LeaseRecord } from "../../machines/lease.rules.ts";
import type { LeaseStore } from "../../services/ports.ts";
import type { HostClock } from "./clock.ts";

/** When the store lets a grant end, by its own wall clock. */
export interface GrantEnd {
  readonly to: InstanceId;
  readonly endsAtMs: number;
  /** Jumps of the store's clock before this grant or renewal. */
  readonly jumpedMs: number;
}

export interface LeaseGhost {
  readonly lease: LeaseStore;
  /** The newest grants, oldest first: enough for every property that compares neighbours or living holders. */
  readonly grants: () => readonly GrantView[];
  readonly grantCount: () => number;
  readonly row: () => { readonly epoch: Epoch; readonly holder: InstanceId | null };
  readonly endOf: (granted: Epoch) => GrantEnd | undefined;
  /** A write under an epoch, of whoever was granted it. */
  readonly noteWrite: (presented: Epoch, current: Epoch, accepted: boolean) => void;
  /** Writes since the last call. */
  readonly takeWrites: () => readonly LeaderWriteView[];
}

const grantsMax = 256;

/** What a grant took the lease over from. */
function overWhom(before: LeaseRecord, to: InstanceId, isAlive: (who: Incarnation) => boolean): GrantView["over"] {
  if (before.holder === null) return "vacant";
  if (before.holder.instanceId === to) return "own";
  if (!isAlive(before.holder.incarnation)) return "deadHolder";
  return before.remainingMs <= 0 ? "expired" : "liveHolder";
}

/** The newest grants' ends, by the store's clock. */
function createEnds(clock: HostClock) {
  const ends = new Map<Epoch, GrantEnd>();
  return {
    of: (granted: Epoch) => ends.get(granted),
    note(record: LeaseRecord) {
      if (record.holder === null) return;
      const endsAtMs = clock.nowMs() + record.remainingMs;
      ends.set(record.epoch, { to: record.holder.instanceId, endsAtMs, jumpedMs: clock.jumpedMs() });
      for (const old of ends.keys()) if (ends.size > grantsMax) ends.delete(old);
    },
    endNow(granted: Epoch) {
      const end = ends.get(granted);
      if (end !== undefined) ends.set(granted, { ...end, endsAtMs: clock.nowMs(), jumpedMs: clock.jumpedMs() });
    },
  };
}

export function watchLease(
  inner: LeaseStore,
  world: { readonly clock: HostClock; readonly isAlive: (who: Incarnation) => boolean },
): LeaseGhost {
  const grants: GrantView[] = [];
  const ends = createEnds(world.clock);
  let grantCount = 0;
  let writes: LeaderWriteView[] = [];
  let row: LeaseRecord | null = null;

  const noteWrite = (presented: Epoch, current: Epoch, accepted: boolean) => {
    const by = ends.of(presented)?.to;
    if (by !== undefined) writes.push({ by, presented, current, accepted });
  };
  const lease: LeaseStore = {
    read: () => inner.read(),
    async acquire(request) {
      const before = await inner.read();
      const answer = await inner.acquire(request);
      row = await inner.read();
      if (answer.kind === "refused") return answer;
      grantCount += 1;
      const to = request.me.instanceId;
      grants.push({
        epoch: answer.record.epoch,
        to,
        evidence: request.evidence,
        over: overWhom(before, to, world.isAlive),
      });
      if (grants.length > grantsMax) grants.shift();
      ends.note(row);
      return answer;
    },
    async renew(request) {
      const before = await inner.read();
      const answer = await inner.renew(request);
      row = await inner.read();
      noteWrite(request.epoch, before.epoch, answer.kind === "renewed");
      if (answer.kind === "renewed") ends.note(row);
      return answer;
    },
    async release(request) {
      const before = await inner.read();
      const answer = await inner.release(request);
      row = await inner.read();
      noteWrite(request.epoch, before.epoch, answer.kind === "released");
      if (answer.kind === "released") ends.endNow(request.epoch);
      return answer;
    },
    async commitIfHeld(held, commit) {
      const before = await inner.read();
      const answer = await inner.commitIfHeld(held, commit);
      noteWrite(held, before.epoch, answer.kind === "committed");
      return answer;
    },
  };
  return {
    lease,
    grants: () => grants,
    grantCount: () => grantCount,
    row: () => ({ epoch: row?.epoch ?? epoch(0), holder: row?.holder?.instanceId ?? null }),
    endOf: ends.of,
    noteWrite,
    takeWrites() {
      const taken = writes;
      writes = [];
      return taken;
    },
  };
}
