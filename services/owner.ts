/**
 * Effects of the owner chart: looks at the v1 owner store, its transactions, and publication inside them.
 *
 * Owns: carrying the record's rules into the transaction, counting what is left by this host's own clock.
 * Does not own: any decision (`machines/owner.machine.ts`, `machines/owner.rules.ts`), the files (the adapter).
 */
import { fromPromise } from "xstate";
import type { Epoch } from "../machines/ids.ts";
import type { RefreshAnswer, TakeAnswer } from "../machines/owner.contract.ts";
import { ownerMachine } from "../machines/owner.machine.ts";
import {
  isOwnRecord,
  isPrecededIn,
  isSameOwner,
  judgeTake,
  ownerStaleMs,
  ownerStateOf,
  takenRecord,
} from "../machines/owner.rules.ts";
import type { OwnerLook, OwnerRecord, OwnerSight } from "../machines/owner.rules.ts";
import type { Clock, LeaseStore } from "./ports.ts";
import type { V1Fleet } from "./ports/owner.ts";
import type { Runtime } from "./runtime.ts";

const lookAt = ({ store }: V1Fleet, record: OwnerRecord | null, clock: Clock): OwnerLook => ({
  record,
  nowMs: clock.nowMs(),
  isRunning: record === null || store.isRunning(record.pid),
});

async function readOwner(fleet: V1Fleet, { ports, board }: Runtime): Promise<OwnerSight> {
  const read = await fleet.store.read();
  if (read.kind === "damaged") return read;
  return {
    kind: "seen",
    record: read.record,
    state: ownerStateOf(lookAt(fleet, read.record, ports.stage.clock), fleet.self),
    lease: await ports.store.lease.read(),
    isPreceded: isPrecededIn(board.roster, board.lastThread?.slot ?? null),
  };
}

/** Until others may call a record stale, counted from when its heartbeat was stamped. */
const remainingAfter = (clock: Clock, stampedAtMs: number): number =>
  Math.max(0, ownerStaleMs - (clock.elapsedMs() - stampedAtMs));

async function takeOwner(fleet: V1Fleet, clock: Clock, expected: OwnerRecord | null): Promise<TakeAnswer> {
  const answer: { kind: TakeAnswer["kind"]; record: OwnerRecord | null } = { kind: "refused", record: null };
  const askedAtMs = clock.elapsedMs();
  await fleet.store.change((record) => {
    answer.kind = judgeTake(lookAt(fleet, record, clock), fleet.self, expected);
    // A kept record is refreshed in the same breath, under its own epoch.
    answer.record =
      answer.kind === "refused"
        ? record
        : answer.kind === "kept" && record !== null
          ? { ...record, heartbeatMs: clock.nowMs(), busSecret: fleet.self.secret }
          : takenRecord(fleet.self, fleet.mintEpoch(), clock.nowMs());
    return answer.kind === "refused" || answer.record === null
      ? { kind: "keep" }
      : { kind: "write", record: answer.record };
  });
  return { ...answer, remainingMs: remainingAfter(clock, askedAtMs) };
}

async function refreshOwner(fleet: V1Fleet, clock: Clock, mine: OwnerRecord): Promise<RefreshAnswer> {
  const askedAtMs = clock.elapsedMs();
  const seen = { isOurs: false };
  await fleet.store.change((record) => {
    seen.isOurs = isSameOwner(record, mine);
    return seen.isOurs ? { kind: "write", record: { ...mine, heartbeatMs: clock.nowMs() } } : { kind: "keep" };
  });
  return seen.isOurs ? { kind: "refreshed", remainingMs: remainingAfter(clock, askedAtMs) } : { kind: "lost" };
}

/** The owner chart with its slots filled, but for the lease chart that it hosts. */
export function provideOwner(fleet: V1Fleet, runtime: Runtime) {
  const { clock } = runtime.ports.stage;
  type Mine = { readonly mine: OwnerRecord };
  return ownerMachine.provide({
    actors: {
      readOwner: fromPromise<OwnerSight>(() => readOwner(fleet, runtime)),
      takeOwner: fromPromise<TakeAnswer, { readonly expected: OwnerRecord | null }>(({ input }) =>
        takeOwner(fleet, clock, input.expected),
      ),
      refreshOwner: fromPromise<RefreshAnswer, Mine>(({ input }) => refreshOwner(fleet, clock, input.mine)),
      releaseOwner: fromPromise<undefined, Mine>(async ({ input }) => {
        await fleet.store.change((record) => (isSameOwner(record, input.mine) ? { kind: "remove" } : { kind: "keep" }));
        return undefined;
      }),
      setAsideOwners: fromPromise<undefined>(async () => {
        await fleet.store.setAside();
        runtime.ports.stage.log.event("warn", "owner-store-set-aside", {});
        return undefined;
      }),
    },
  });
}

/**
 * How a leader publishes its address: inside a transaction in which its epoch is current and, in a v1 fleet, one in which
 * the owner record is its own as well (P-16).
 */
export function publishAsLeader(fleet: V1Fleet | null, lease: LeaseStore, epoch: Epoch) {
  const commitIfHeld = async (commit: () => void): Promise<boolean> =>
    (await lease.commitIfHeld(epoch, commit)).kind === "committed";
  if (fleet === null) return commitIfHeld;
  return (commit: () => void): Promise<boolean> =>
    fleet.store.commitIf(
      (record) => isOwnRecord(record, fleet.self),
      () => commitIfHeld(commit),
    );
}
