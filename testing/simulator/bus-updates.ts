/**
 * What became of every update a user wrote: ghost history, kept outside all processes.
 *
 * Owns: watching admissions, settlements and drops inside the store, and what handlers were given.
 * Does not own: judging it (`machines/invariants.ts`, `bus-world.ts`).
 * Invariant: an update leaves the ledger only when it is settled and `knownMax` others are remembered.
 */
import type { InstanceId, UpdateId } from "../../machines/ids.ts";
import type { FetchedView, UpdateView } from "../../machines/invariants.ts";
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import type { Store } from "../../services/ports.ts";
import type { TelegramWorld } from "./telegram.ts";

interface Known {
  readonly updateId: UpdateId;
  readonly threadId: number;
  inJournal: boolean;
  settled: number;
  handedOut: number;
  overtook: boolean;
  holder: InstanceId | null;
  /** Who settled it, and when; null also when it was ended without running. */
  settler: { readonly id: InstanceId; readonly atMs: number } | null;
}

export interface UpdateLedger {
  /** A user wrote into a bound thread. */
  readonly written: (updateId: UpdateId, threadId: number) => void;
  readonly handed: (updateId: UpdateId, to: InstanceId, redelivered: boolean) => void;
  /** Every update touched since the last call. */
  readonly takeViews: () => { readonly fetched: readonly FetchedView[]; readonly updates: readonly UpdateView[] };
  /** What a living process settled before a moment and no handler was given: nobody will ever see it. */
  readonly unheardSince: (beforeMs: number) => readonly string[];
  /** What is not settled yet, oldest first. */
  readonly open: () => readonly Known[];
  readonly counts: () => { readonly written: number; readonly settled: number; readonly redelivered: number };
  /** Updates of threads that still exist and were ended without running. */
  readonly takeLost: () => readonly string[];
  readonly watch: (inner: Store) => Store;
}

/** What is remembered of the past: enough to see that an update is settled or handed out again. */
const knownMax = 2_000;

/** Forgets settled updates beyond the bound, oldest first. */
function forgetOldest(known: Map<UpdateId, Known>): void {
  for (const update of known.values()) {
    if (known.size < knownMax) return;
    if (update.settled > 0) known.delete(update.updateId);
  }
}

const fresh = { inJournal: false, settled: 0, handedOut: 0, overtook: false, holder: null, settler: null };

const settledBefore = (updates: readonly Known[], beforeMs: number): readonly string[] =>
  updates.flatMap(({ updateId, settler }) =>
    settler !== null && settler.atMs < beforeMs ? [`update ${updateId}, settled by ${settler.id}`] : [],
  );

const viewsOf = (seen: readonly Known[], telegram: TelegramWorld): ReturnType<UpdateLedger["takeViews"]> => ({
  fetched: seen.map(({ updateId, inJournal, settled }) => {
    return { updateId, inJournal, settled, confirmed: telegram.isConfirmed(updateId) };
  }),
  updates: seen.map(({ updateId, settled, handedOut, overtook }) => ({ updateId, settled, handedOut, overtook })),
});

export function createUpdateLedger(world: {
  readonly database: MemoryDatabase;
  readonly telegram: TelegramWorld;
  readonly isAlive: (id: InstanceId) => boolean;
  readonly nowMs: () => number;
}): UpdateLedger {
  const { database, telegram } = world;
  const known = new Map<UpdateId, Known>();
  const touched = new Set<Known>();
  const counts = { written: 0, settled: 0, redelivered: 0 };
  let lost: string[] = [];

  const touch = (updateId: UpdateId | undefined, change: (update: Known) => void) => {
    const update = updateId === undefined ? undefined : known.get(updateId);
    if (update === undefined) return;
    change(update);
    touched.add(update);
  };
  /** With `ack: "auto"` an update is settled first, and then handed out. */
  const isUnheard = ({ holder, settler }: Known) => holder === null && settler !== null && world.isAlive(settler.id);
  const isStillToCome = (update: Known) => (update.holder === null && update.settled === 0) || isUnheard(update);
  const isFirstOfThread = (update: Known) => {
    for (const other of known.values()) {
      if (other === update) return true;
      if (other.threadId === update.threadId && isStillToCome(other)) return false;
    }
    return true;
  };
  const hand = (update: Known, to: InstanceId, redelivered: boolean) => {
    const isTakenFromDead = update.holder !== null && !world.isAlive(update.holder) && update.settled === 0;
    if (redelivered) counts.redelivered += 1;
    if (!isTakenFromDead) update.handedOut += 1;
    if (update.holder === null && !isFirstOfThread(update)) update.overtook = true;
    update.holder = to;
  };
  const endedUnrun = (what: string, updateId: UpdateId | undefined) =>
    touch(updateId, (update) => {
      update.settled += 1;
      // Whoever gives a thread up gives up what waits in it.
      if (!telegram.isGone(update.threadId))
        lost.push(`${what} of update ${update.updateId} in thread ${update.threadId}`);
    });

  const settled: Watching["settled"] = (updateId, id) =>
    touch(updateId, (update) => {
      update.settled += 1;
      update.settler = { id, atMs: world.nowMs() };
      counts.settled += 1;
    });

  return {
    written(updateId, threadId) {
      forgetOldest(known);
      counts.written += 1;
      known.set(updateId, { updateId, threadId, ...fresh });
    },
    handed: (updateId, to, redelivered) => touch(updateId, (update) => hand(update, to, redelivered)),
    takeViews() {
      const views = viewsOf([...touched], telegram);
      touched.clear();
      return views;
    },
    unheardSince: (beforeMs) => settledBefore([...known.values()].filter(isUnheard), beforeMs),
    open: () => [...known.values()].filter((update) => update.settled === 0),
    counts: () => counts,
    takeLost() {
      const taken = lost;
      lost = [];
      return taken;
    },
    watch: (inner) => watchUpdates(inner, { database, touch, endedUnrun, settled }),
  };
}

interface Watching {
  readonly database: MemoryDatabase;
  readonly touch: (updateId: UpdateId | undefined, change: (update: Known) => void) => void;
  readonly endedUnrun: (what: string, updateId: UpdateId | undefined) => void;
  readonly settled: (updateId: UpdateId, by: InstanceId) => void;
}

/** The store, reporting what it did to updates. */
function watchUpdates(inner: Store, { database, touch, endedUnrun, settled }: Watching): Store {
  const idOf = (seq: Parameters<typeof database.updates.get>[0]) => database.updates.get(seq)?.entry.updateId;
  return {
    ...inner,
    journal: {
      ...inner.journal,
      async admit(request) {
        const answer = await inner.journal.admit(request);
        if (answer.kind === "admitted")
          for (const { updateId } of request.updates) touch(updateId, (update) => (update.inJournal = true));
        return answer;
      },
      async drop(request) {
        const updateId = idOf(request.seq);
        const answer = await inner.journal.drop(request);
        if (answer.kind === "dropped") endedUnrun(`drop (${request.reason})`, updateId);
        return answer;
      },
      async deadLetter(request) {
        const updateId = idOf(request.seq);
        const answer = await inner.journal.deadLetter(request);
        if (answer.kind === "deadLettered") endedUnrun(`dead letter (${request.reason})`, updateId);
        return answer;
      },
    },
    work: {
      ...inner.work,
      async claim(request) {
        const answer = await inner.work.claim(request);
        const isSettled = (answer.kind === "claimed" || answer.kind === "repeated") && request.settleAtMs !== null;
        if (isSettled) settled(request.updateId, request.claimant.instanceId);
        return answer;
      },
      async settle(request) {
        const open = database.updates.get(request.seq);
        const answer = await inner.work.settle(request);
        // Settled once more under the same acquisition, it is not open before.
        if (answer.kind === "settled" && open !== undefined && open.claim !== null)
          settled(open.entry.updateId, open.claim.instanceId);
        return answer;
      },
    },
  };
}
