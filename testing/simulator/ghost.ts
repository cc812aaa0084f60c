/**
 * Ghost history of the lease: what was true when something was granted, which no process stores.
 *
 * Owns: watching the lease row from within the store, the list of grants, the store's own end of every grant.
 * Does not own: judging it (`machines/invariants.ts`, `lease-checks.ts`).
 * Invariant: watching changes nothing: it reads the row in the same step in which the watched request is carried out.
 */
import type { Epoch, Incarnation, InstanceId } from "../../machines/ids.ts";
import type {
  GrantView,
  LeaderWriteView,
  LeaseHistoryView,
  LeaseRowView,
  LeaseStepView,
} from "../../machines/invariants.ts";
import type { LeaseRecord } from "../../machines/lease.rules.ts";
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
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
  readonly row: () => LeaseRowView;
  /** What became of the row since the last call. */
  readonly takeHistory: () => LeaseHistoryView;
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

const rowOf = ({ epoch, renewals, holder }: Pick<LeaseRecord, "epoch" | "renewals" | "holder">): LeaseRowView => ({
  epoch,
  renewals,
  holder: holder?.instanceId ?? null,
});

export interface LeaseTruth {
  readonly clock: HostClock;
  readonly isAlive: (who: Incarnation) => boolean;
  readonly database: MemoryDatabase;
}

/** Every request to the row, and the row itself. */
function createHistory(database: MemoryDatabase) {
  const now = () => rowOf(database.lease);
  let since = now();
  let steps: LeaseStepView[] = [];
  return {
    now,
    note: (step: Omit<LeaseStepView, "after">) => void steps.push({ ...step, after: now() }),
    take: (): LeaseHistoryView => {
      const taken = { since, steps, now: now() };
      since = taken.now;
      steps = [];
      return taken;
    },
  };
}

export function watchLease(inner: LeaseStore, world: LeaseTruth): LeaseGhost {
  const grants: GrantView[] = [];
  const ends = createEnds(world.clock);
  let grantCount = 0;
  let writes: LeaderWriteView[] = [];
  const history = createHistory(world.database);

  const noteWrite = (presented: Epoch, current: Epoch, accepted: boolean) => {
    const by = ends.of(presented)?.to;
    if (by !== undefined) writes.push({ by, presented, current, accepted });
  };
  const noteOwnStep = (what: LeaseStepView["what"], presented: Epoch, before: LeaseRecord, isDone: boolean) => {
    const by = ends.of(presented)?.to ?? null;
    history.note({ what, by, presented, seenRenewals: null, isDone, before: rowOf(before) });
    noteWrite(presented, before.epoch, isDone);
  };
  const lease: LeaseStore = {
    read: () => inner.read(),
    async acquire(request) {
      const before = await inner.read();
      const answer = await inner.acquire(request);
      const to = request.me.instanceId;
      const { epoch: presented, renewals: seenRenewals } = request.expected;
      const isDone = answer.kind === "granted";
      history.note({ what: "acquire", by: to, presented, seenRenewals, isDone, before: rowOf(before) });
      if (!isDone) return answer;
      grantCount += 1;
      const over = overWhom(before, to, world.isAlive);
      grants.push({ epoch: answer.record.epoch, to, evidence: request.evidence, over });
      if (grants.length > grantsMax) grants.shift();
      ends.note(await inner.read());
      return answer;
    },
    async renew(request) {
      const before = await inner.read();
      const answer = await inner.renew(request);
      noteOwnStep("renew", request.epoch, before, answer.kind === "renewed");
      if (answer.kind === "renewed") ends.note(await inner.read());
      return answer;
    },
    async release(request) {
      const before = await inner.read();
      const answer = await inner.release(request);
      noteOwnStep("release", request.epoch, before, answer.kind === "released");
      if (answer.kind === "released") ends.endNow(request.epoch);
      return answer;
    },
    async commitIfHeld(held, commit) {
      const before = await inner.read();
      const answer = await inner.commitIfHeld(held, commit);
      noteOwnStep("commit", held, before, answer.kind === "committed");
      return answer;
    },
  };
  return {
    lease,
    grants: () => grants,
    grantCount: () => grantCount,
    row: history.now,
    takeHistory: history.take,
    endOf: ends.of,
    noteWrite,
    takeWrites() {
      const taken = writes;
      writes = [];
      return taken;
    },
  };
}
