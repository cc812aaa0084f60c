/** For each invariant of the store: the smallest change of a sound world that breaks it. */
import { acquisitionId, epoch, journalSeq, offerId, updateId } from "../../../../machines/ids.ts";
import type { EntryView, OfferView, StoreStepView, TablesView, WorldView } from "../../../../machines/invariants.ts";
import type { QueueItem } from "../../../../machines/queue.rules.ts";
import type { Breaks } from "./breaks.ts";
import {
  bindingOf,
  claim,
  cleanupOf,
  current,
  entriesOf,
  entryOf,
  follower,
  leader,
  leaderSeat,
  old,
  otherSeat,
  provisionOf,
  seat,
  sound,
  step,
  stranger,
  tables,
  targetOf,
} from "./sound.ts";

const held = entryOf(1, { claim });
const free = entryOf(2);
const others = { ...claim, instanceId: stranger, acquisition: acquisitionId("a9") };
const withTables = (over: Partial<TablesView>) => ({ tables: { ...tables, ...over } });
const entries = (...each: readonly EntryView[]) => ({ entries: entriesOf(...each) });
/** One write that does this to the tables. */
const withStep = (
  over: Partial<StoreStepView>,
  change: { readonly before?: Partial<TablesView>; readonly after?: Partial<TablesView> } = {},
): Partial<WorldView> => {
  const before = { ...tables, ...change.before };
  return { storeSteps: [{ ...step, before, after: { ...before, ...change.after }, ...over }] };
};
const named = [{ seq: journalSeq(1), acquisition: claim.acquisition }];
const offer: OfferView = {
  id: offerId("o1"),
  donor: { seat, instanceId: follower },
  recipient: { seat: leaderSeat, instanceId: leader },
  seqs: [journalSeq(1)],
  isOpen: true,
};
const offered = entryOf(1, { claim, offer: offer.id });
const offers = new Map([[offer.id, offer]]);
const withCall = (over: Partial<WorldView["apiCalls"][number]>) => ({
  apiCalls: [
    { by: leader, method: "createForumTopic", fields: [], threadId: null, creation: null, deletion: null, ...over },
  ],
});

const item = (id: number, over: Partial<QueueItem> = {}): QueueItem => ({
  id: journalSeq(id),
  kind: "prompt",
  lane: "default",
  laneOrder: id,
  order: id,
  standing: "waiting",
  members: [{ seq: journalSeq(id), role: "message", message: null }],
  history: [],
  priorityEmoji: null,
  skipEmoji: null,
  ...over,
});
const withQueue = (over: Partial<WorldView["queues"][number]>) => ({
  queues: sound.queues.map((each) => ({ ...each, ...over })),
});

const withQueueEntry = (over: Partial<WorldView["queueEntries"][number]>) => ({
  queueEntries: sound.queueEntries.map((each) => ({ ...each, ...over })),
});

export const queueBreaks: Breaks = {
  "queue/oneLaneOnePosition": [
    withQueue({ items: [item(3), item(3, { laneOrder: 4, members: [] })] }),
    withQueue({ items: [item(3), item(4, { laneOrder: 3 })] }),
    withQueue({ items: [item(3), item(4, { lane: "priority" })] }),
  ],
  "queue/allowedLanes": [withQueue({ items: [item(3, { kind: "control" })] })],
  "queue/oneItemPerEntry": [withQueue({ items: [item(3)], current: item(3) })],
  "queue/oneTurn": [withQueue({ turns: 2, current: item(3) }), withQueue({ turns: 1 })],
  "queue/skippedNeverRuns": [withQueue({ current: item(3, { skipEmoji: "👎" }) })],
  "queue/offeredIsUntouched": [
    withQueue({ current: item(3, { standing: "offered" }) }),
    withQueue({ current: item(3, { standing: "gathering" }) }),
  ],
  "queue/nothingIsForgotten": [withQueueEntry({ isWaiting: false })],
  "queue/endsOnce": [withQueueEntry({ ends: 1 }), withQueueEntry({ ends: 2, isWaiting: false })],
};

export const storeBreaks: Breaks = {
  "journal/admittedWithItsCursor": [
    withStep({ op: "journal.admit", kind: "admitted", admission: { ids: [updateId(3)], cursor: updateId(4) } }),
  ],
  "journal/cursorOnlyByAdmission": [withStep({ op: "work.settle" }, { after: { cursor: updateId(9) } })],
  "journal/eachOnce": [
    withTables(entries(held, entryOf(2, { key: held.key }))),
    withTables({ deadLetters: new Set([held.key]) }),
  ],
  "journal/leavesOnlyByItsEnd": [withStep({ op: "registrations.commit" }, { after: entries(free) })],
  "journal/settledOnlyByItsHolder": [
    withStep(
      { op: "work.settle", entries: [{ seq: held.seq, acquisition: acquisitionId("a0") }] },
      { after: entries(free) },
    ),
    withStep({ op: "work.settle", entries: named }, { before: entries(held, free), after: entries(held) }),
  ],
  "journal/offeredIsUntouched": [
    withStep(
      { op: "work.settle", entries: named },
      { before: { ...entries(offered, free), offers }, after: entries(free) },
    ),
  ],
  "journal/allOrNothing": [
    withStep({ op: "queue.settleAll", kind: "settled", entries: named }),
    withStep({ op: "queue.settleAll", kind: "notYours", entries: named }, { after: entries(free) }),
  ],
  "journal/refusedChangesNothing": [
    withStep({ kind: "full" }, { after: entries(held, free, entryOf(3)) }),
    withStep({ kind: "fenced" }, { after: { bindings: [] } }),
    withStep({ kind: "stale" }, { after: { registrations: new Map() } }),
    withStep({ kind: "notYours" }, { after: { cleanups: [] } }),
  ],
  "journal/claimedOnce": [withStep({ claimant: others }, { after: entries(entryOf(1, { claim: others }), free) })],
  "journal/claimMovesOnlyByRight": [
    withStep({ op: "journal.admit" }, { after: entries(entryOf(1), free) }),
    withStep({ op: "threads.mark" }, { after: entries(entryOf(1, { claim: others }), free) }),
  ],
  "journal/returnedWhole": [
    withStep({ op: "registrations.end", kind: "ended", seat }),
    withStep(
      { op: "registrations.commit", kind: "committed", seat },
      { after: entries(entryOf(1, { claim: others }), free) },
    ),
  ],
  "journal/leaderSparesTheHeld": [withStep({ op: "journal.drop", kind: "dropped" }, { after: entries(free) })],
  "journal/failureIsCountedOnce": [
    withStep({ op: "work.claim" }, { after: entries(held, entryOf(2, { attempts: 1 })) }),
    withStep({ op: "work.fail", entries: named }, { after: entries(entryOf(1, { attempts: 2 }), free) }),
    withStep(
      { op: "work.fail", entries: [{ seq: held.seq, acquisition: acquisitionId("a0") }] },
      { after: entries(entryOf(1, { attempts: 1 }), free) },
    ),
  ],
  "journal/settlingNeedsNoLease": [withStep({ op: "work.settle", epoch: epoch(2) })],
  "journal/oneAuthority": [
    withTables(entries(held, entryOf(2, { claim }))),
    withTables({ ...entries(entryOf(1, { claim: others, offer: offer.id })), offers }),
  ],
  "offer/agrees": [
    withTables({ ...entries(offered), offers: new Map([[offer.id, { ...offer, recipient: offer.donor }]]) }),
    withTables({ ...entries(held), offers }),
  ],
  "offer/acceptedByItsRecipient": [
    withStep(
      { op: "offers.accept" },
      { before: { ...entries(offered), offers }, after: entries(entryOf(1, { claim: others })) },
    ),
    withStep({ op: "offers.accept" }, { before: entries(held), after: entries(entryOf(1, { claim: others })) }),
  ],
  "thread/oneSeatEach": [
    withTables({ bindings: [bindingOf(seat, 20, "B"), bindingOf(otherSeat, 20, "C")] }),
    withTables({ bindings: [bindingOf(seat, 20, "B"), bindingOf(seat, 21, "C")] }),
  ],
  "thread/oneLiveEach": [
    withTables({
      registrations: new Map(
        [seat, otherSeat].map((each) => [
          each,
          { seat: each, instanceId: follower, generation: current, target: null, ended: null },
        ]),
      ),
    }),
  ],
  "thread/oneSlotEach": [
    withTables({ bindings: [bindingOf(seat, 20, "B"), bindingOf(otherSeat, 21, "B")] }),
    withTables({ provisions: [provisionOf(otherSeat, "p1", "B")] }),
  ],
  "creation/begunFirst": [withCall({ creation: { begun: 0, doubled: 0 } })],
  "creation/neverBesideAnother": [withCall({ creation: { begun: 1, doubled: 1 } })],
  "creation/endsWithItsBinding": [
    withStep(
      { op: "threads.bind", kind: "bound", seat: otherSeat },
      { after: { bindings: [...tables.bindings, bindingOf(otherSeat, 40, "C")] } },
    ),
  ],
  "cleanup/neverOfACreation": [
    {
      apiCalls: sound.apiCalls.map((each) =>
        each.deletion === null ? each : { ...each, deletion: { ...each.deletion, isOfPendingCreation: true } },
      ),
    },
  ],
  "cleanup/endsOnlyByRight": [withStep({ op: "cleanups.postpone" }, { after: { cleanups: [] } })],
  "cleanup/survivesUnchanged": [
    withStep({}, { after: { cleanups: [cleanupOf(30, { seat })] } }),
    withStep({}, { before: { cleanups: [cleanupOf(30, { attempts: 2 })] }, after: { cleanups: [cleanupOf(30)] } }),
  ],
  "cleanup/confirmedIsGone": [
    withStep({ op: "cleanups.confirm", kind: "removed", target: targetOf(30) }),
    withStep({ op: "threads.lose", kind: "lost", target: targetOf(20) }),
  ],
  "cleanup/evidenceDeletesNothing": [
    withStep({ op: "cleanups.observe" }, { after: { cleanups: [...tables.cleanups, cleanupOf(31)] } }),
    withStep({ op: "cleanups.observe" }, { after: { bindings: [] } }),
  ],
  "thread/suspectIsNotSeated": [
    withStep(
      { op: "registrations.commit", kind: "committed", target: targetOf(20) },
      { before: { bindings: [{ ...bindingOf(seat, 20, "B"), standing: "suspect" }] } },
    ),
  ],
  "thread/roleChangesNothing": [
    withStep({ op: "registrations.commit" }, { after: { bindings: [bindingOf(seat, 20, "C")] } }),
  ],
  "registration/deathIsTrue": [
    withStep(
      { op: "registrations.end", kind: "ended", seat, holderLives: true },
      {
        before: entries(free),
        after: {
          registrations: new Map([
            [seat, { seat, instanceId: follower, generation: old, target: null, ended: "died" }],
          ]),
        },
      },
    ),
  ],
};
