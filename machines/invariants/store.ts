/** Invariants of the store: the journal and who holds what of it, threads, creations and clean-ups, one write at a time. */
import type { ThreadTarget } from "../ids.ts";
import { sameTarget } from "../ids.ts";
import type { Binding } from "../threads.rules.ts";
import { eachOf, invariant } from "./define.ts";
import type { Invariant } from "./define.ts";
import type { EntryView, StoreStepView, TablesView } from "./store-view.ts";

const isDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const isSameMap = <Key, Value>(a: ReadonlyMap<Key, Value>, b: ReadonlyMap<Key, Value>): boolean =>
  a === b || (a.size === b.size && [...a].every(([key, value]) => b.get(key) === value));
const isSameList = <Value>(a: readonly Value[], b: readonly Value[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);
/** But for the words of the last reason: they are no authority over anything. */
function isSameThread(a: Binding, b: Binding | undefined): boolean {
  if (a === b || b === undefined) return a === b;
  const { reason: _reason, ...rest } = a;
  const other = new Map(Object.entries(b));
  return Object.entries(rest).every(([key, value]) => other.get(key) === value);
}
const isSameJournal = (a: TablesView, b: TablesView): boolean =>
  a.cursor === b.cursor && isSameMap(a.entries, b.entries);
const isUnchanged = ({ before, after }: StoreStepView): boolean =>
  isSameJournal(before, after) &&
  isSameMap(before.registrations, after.registrations) &&
  isSameList(before.bindings, after.bindings) &&
  isSameList(before.cleanups, after.cleanups);

/** Entries that a write changed or removed, each with what became of it. */
function changesOf({
  before,
  after,
}: StoreStepView): readonly { readonly was: EntryView; readonly is: EntryView | null }[] {
  if (before.entries === after.entries) return [];
  const changes: { was: EntryView; is: EntryView | null }[] = [];
  for (const [seq, was] of before.entries) {
    const is = after.entries.get(seq) ?? null;
    if (is !== was) changes.push({ was, is });
  }
  return changes;
}
const acquisitionsOf = ({ entries }: StoreStepView): ReadonlySet<unknown> =>
  new Set(entries.map(({ acquisition }) => acquisition));
const isHeldNow = ({ registrations }: TablesView, { claim }: EntryView): boolean => {
  const current = claim === null ? undefined : registrations.get(claim.seat);
  return current?.ended === null && current.instanceId === claim?.instanceId;
};
const hasCleanup = ({ cleanups }: TablesView, target: ThreadTarget): boolean =>
  cleanups.some((each) => sameTarget(each.target, target));

const ends = ["work.claim", "work.settle", "queue.settleAll", "queue.sweep", "journal.drop", "journal.deadLetter"];
/** By its holder, by the seat’s next registration or end, by an accepted offer. */
const returns = [
  "work.fail",
  "work.adopt",
  "offers.accept",
  "offers.giveBack",
  "registrations.commit",
  "registrations.end",
  "seats.release",
  "cleanups.confirm",
];
const leaderEnds = ["journal.drop", "journal.deadLetter"];
const ownEnds = ["work.settle", "queue.settleAll"];

export const journalInvariants: readonly Invariant[] = [
  eachOf({
    name: "journal/admittedWithItsCursor",
    ids: ["updates/Q-3"],
    sentence: "An admission writes its updates and its cursor in one write.",
    of: "storeSteps",
    holds: ({ op, kind, admission, after }) =>
      op !== "journal.admit" ||
      kind !== "admitted" ||
      (admission?.cursor ?? null) === null ||
      after.cursor === admission?.cursor,
  }),
  eachOf({
    name: "journal/cursorOnlyByAdmission",
    ids: ["updates/Q-3", "updates/Q-11"],
    sentence: "Nothing but an admission moves the cursor: no conflict, no error, no end of an update.",
    of: "storeSteps",
    holds: ({ op, before, after }) => op === "journal.admit" || before.cursor === after.cursor,
  }),
  invariant({
    name: "journal/eachOnce",
    ids: ["updates/Q-14"],
    sentence: "An update, by id and content, is in the journal once, and not where dead letters are as well.",
    needs: ["tables"],
    holds: ({ tables: { entries, deadLetters } }) => {
      const keys = [...entries.values()].map((each) => each.key);
      return isDistinct(keys) && !keys.some((key) => deadLetters.has(key));
    },
  }),
  eachOf({
    name: "journal/leavesOnlyByItsEnd",
    ids: ["updates/Q-13", "updates/Q-56"],
    sentence:
      "An entry leaves the journal only when it is settled, swept, dropped or set aside; no registration and no leader’s end takes one out.",
    of: "storeSteps",
    holds: (step) => ends.includes(step.op) || changesOf(step).every(({ is }) => is !== null),
  }),
  eachOf({
    name: "journal/settledOnlyByItsHolder",
    ids: ["updates/Q-29", "updates/Q-37", "updates/Q-38", "updates/Q-42"],
    sentence:
      "Whoever settles names the very acquisition under which the entry is held; an earlier one settles nothing any more.",
    of: "storeSteps",
    holds: (step) => {
      if (!ownEnds.includes(step.op)) return true;
      const named = acquisitionsOf(step);
      return changesOf(step).every(({ was }) => was.claim !== null && named.has(was.claim.acquisition));
    },
  }),
  eachOf({
    name: "journal/offeredIsUntouched",
    ids: ["updates/Q-45", "updates/Q-46"],
    sentence: "What is on offer is neither settled, dropped, failed nor claimed until the offer has ended.",
    of: "storeSteps",
    holds: (step) =>
      !["work.settle", "queue.settleAll", "work.fail", "work.claim"].includes(step.op) ||
      changesOf(step).every(({ was }) => was.offer === null),
  }),
  eachOf({
    name: "journal/allOrNothing",
    ids: ["updates/Q-15"],
    sentence: "Several entries are settled all or none.",
    of: "storeSteps",
    holds: (step) => {
      if (step.op !== "queue.settleAll") return true;
      if (step.kind !== "settled") return isUnchanged(step);
      return step.entries.every(
        ({ seq, acquisition }) => step.after.entries.get(seq)?.claim?.acquisition !== acquisition,
      );
    },
  }),
  eachOf({
    name: "journal/refusedChangesNothing",
    ids: ["updates/Q-16", "updates/Q-38", "updates/Q-73", "threads/T-22", "threads/T-23", "threads/T-43"],
    sentence: "A write that is answered with `full`, `fenced`, `notYours` or `stale` has written nothing.",
    of: "storeSteps",
    holds: (step) => !["full", "fenced", "notYours", "stale"].includes(step.kind) || isUnchanged(step),
  }),
  eachOf({
    name: "journal/claimedOnce",
    ids: ["updates/Q-32", "updates/Q-33", "updates/Q-36"],
    sentence: "What is in somebody’s hand is claimed by nobody else.",
    of: "storeSteps",
    holds: (step) => {
      if (step.op !== "work.claim" && step.op !== "work.adopt") return true;
      const { claimant } = step;
      return changesOf(step).every(
        ({ was, is }) => was.claim === null || is?.claim === null || was.claim.instanceId === claimant?.instanceId,
      );
    },
  }),
  eachOf({
    name: "journal/claimMovesOnlyByRight",
    ids: ["updates/Q-33", "updates/Q-39", "updates/Q-47"],
    sentence:
      "A claim ends only by its holder, by its seat’s next registration or end, or by an accepted offer; never because time passed.",
    of: "storeSteps",
    holds: (step) =>
      returns.includes(step.op) ||
      changesOf(step).every(({ was, is }) => was.claim === null || is === null || is.claim === was.claim),
  }),
  eachOf({
    name: "journal/returnedWhole",
    ids: ["updates/Q-41"],
    sentence:
      "A registration leaves nothing in the hand of the seat’s earlier holders, and an end nothing in anybody’s.",
    of: "storeSteps",
    holds: ({ op, kind, seat, after }) => {
      const isCommit = op === "registrations.commit" && kind === "committed";
      const isEnd = op === "registrations.end" && kind === "ended";
      if (seat === null || (!isCommit && !isEnd)) return true;
      const keeping = isCommit ? after.registrations.get(seat)?.instanceId : undefined;
      return [...after.entries.values()].every(({ claim }) => claim?.seat !== seat || claim.instanceId === keeping);
    },
  }),
  eachOf({
    name: "journal/leaderSparesTheHeld",
    ids: ["protocol/P-42", "updates/Q-22"],
    sentence: "A leader drops or sets aside only what no current registration has in hand.",
    of: "storeSteps",
    holds: (step) => !leaderEnds.includes(step.op) || changesOf(step).every(({ was }) => !isHeldNow(step.before, was)),
  }),
  eachOf({
    name: "journal/failureIsCountedOnce",
    ids: ["updates/Q-23"],
    sentence: "Only a failure, told by the holder, counts an attempt, and it counts one.",
    of: "storeSteps",
    holds: (step) => {
      const named = acquisitionsOf(step);
      return changesOf(step).every(({ was, is }) => {
        if (is === null || is.attempts === was.attempts) return true;
        return step.op === "work.fail" && is.attempts === was.attempts + 1 && named.has(was.claim?.acquisition);
      });
    },
  }),
  eachOf({
    name: "journal/settlingNeedsNoLease",
    ids: ["updates/Q-43"],
    sentence: "Settling presents no epoch: losing the lease takes nobody’s right to end what it has in hand.",
    of: "storeSteps",
    holds: ({ op, epoch }) => !ownEnds.includes(op) || epoch === null,
  }),
  invariant({
    name: "journal/oneAuthority",
    ids: ["updates/Q-21", "updates/Q-36", "updates/Q-47"],
    sentence:
      "Each entry is held under an acquisition of its own, by one instance; what is on offer is still its donor’s.",
    needs: ["tables"],
    holds: ({ tables: { entries, offers } }) => {
      const held = [...entries.values()].filter((each) => each.claim !== null);
      const isDonors = ({ offer, claim }: EntryView): boolean =>
        offer === null || offers.get(offer)?.donor.instanceId === claim?.instanceId;
      return isDistinct(held.map((each) => each.claim?.acquisition)) && [...entries.values()].every(isDonors);
    },
  }),
  invariant({
    name: "offer/agrees",
    ids: ["updates/Q-20", "updates/Q-53"],
    sentence: "An open offer has a donor and another recipient, and each entry of it names it.",
    needs: ["tables"],
    holds: ({ tables: { entries, offers } }) =>
      [...offers.values()].every(
        ({ id, donor, recipient, seqs, isOpen }) =>
          donor.instanceId !== recipient.instanceId &&
          (!isOpen || seqs.every((seq) => !entries.has(seq) || entries.get(seq)?.offer === id)),
      ),
  }),
  eachOf({
    name: "offer/acceptedByItsRecipient",
    ids: ["updates/Q-46", "updates/Q-48"],
    sentence: "Only an open offer moves authority, and only to the instance that it names.",
    of: "storeSteps",
    holds: (step) =>
      step.op !== "offers.accept" ||
      changesOf(step).every(({ was, is }) => {
        const offer = was.offer === null ? undefined : step.before.offers.get(was.offer);
        return offer?.isOpen === true && is?.claim?.instanceId === offer.recipient.instanceId;
      }),
  }),
];

export const threadStoreInvariants: readonly Invariant[] = [
  invariant({
    name: "thread/oneSeatEach",
    ids: ["threads/T-5", "threads/T-7"],
    sentence: "A thread is bound to one seat, and a seat has one thread in a chat.",
    needs: ["tables"],
    holds: ({ tables: { bindings } }) =>
      isDistinct(bindings.map(({ thread: { target } }) => `${target.chatId}:${target.threadId}`)) &&
      isDistinct(bindings.map(({ seat, thread: { target } }) => `${target.chatId}:${seat}`)),
  }),
  invariant({
    name: "thread/oneLiveEach",
    ids: ["threads/T-6"],
    sentence: "An instance has one registration that stands.",
    needs: ["tables"],
    holds: ({ tables: { registrations } }) =>
      isDistinct([...registrations.values()].flatMap(({ ended, instanceId }) => (ended === null ? [instanceId] : []))),
  }),
  invariant({
    name: "thread/oneSlotEach",
    ids: ["threads/T-8"],
    sentence: "In a chat a letter belongs to one bound thread, or to one creation.",
    needs: ["tables"],
    holds: ({ tables: { bindings, provisions } }) =>
      isDistinct(
        [
          ...bindings.map(({ thread: { target, slot } }) => ({ chatId: target.chatId, slot })),
          ...provisions.map(({ chatId, slot }) => ({ chatId, slot })),
        ].flatMap(({ chatId, slot }) => (slot === "" ? [] : [`${chatId}:${slot}`])),
      ),
  }),
  eachOf({
    name: "creation/begunFirst",
    ids: ["threads/T-9"],
    sentence: "No thread is created that was not written down as begun before the call.",
    of: "apiCalls",
    holds: ({ creation }) => creation === null || creation.begun > 0,
  }),
  eachOf({
    name: "creation/neverBesideAnother",
    ids: ["threads/T-10", "threads/T-11"],
    sentence: "No thread is created while another creation for the same seat is undecided.",
    of: "apiCalls",
    holds: ({ creation }) => creation === null || creation.doubled === 0,
  }),
  eachOf({
    name: "creation/endsWithItsBinding",
    ids: ["threads/T-13"],
    sentence: "The write that binds a new thread ends the seat’s creation.",
    of: "storeSteps",
    holds: ({ op, kind, seat, before, after }) =>
      op !== "threads.bind" ||
      kind !== "bound" ||
      before.bindings.length >= after.bindings.length ||
      !after.provisions.some((each) => each.seat === seat && each.status !== "unwanted"),
  }),
  eachOf({
    name: "cleanup/neverOfACreation",
    ids: ["threads/T-3", "threads/T-4"],
    sentence: "A thread that a creation in flight has just made is not deleted.",
    of: "apiCalls",
    holds: ({ deletion }) => deletion?.isOfPendingCreation !== true,
  }),
  eachOf({
    name: "cleanup/endsOnlyByRight",
    ids: ["protocol/P-53", "threads/T-15"],
    sentence:
      "An instruction to delete ends only with the confirmed deletion, a newer registration of its thread, or the operator’s word.",
    of: "storeSteps",
    holds: ({ op, before, after }) =>
      ["cleanups.confirm", "cleanups.cancel", "cleanups.unbind", "registrations.commit"].includes(op) ||
      before.cleanups === after.cleanups ||
      before.cleanups.every(({ target }) => hasCleanup(after, target)),
  }),
  eachOf({
    name: "cleanup/survivesUnchanged",
    ids: ["threads/T-16"],
    sentence: "An instruction keeps its seat and its thread, and its attempts never become fewer, whatever fails.",
    of: "storeSteps",
    holds: ({ before, after }) =>
      before.cleanups.every((was) => {
        const is = after.cleanups.find((each) => sameTarget(each.target, was.target));
        return is === undefined || is === was || (is.seat === was.seat && is.attempts >= was.attempts);
      }),
  }),
  invariant({
    name: "cleanup/confirmedIsGone",
    ids: ["threads/T-17", "threads/T-18"],
    sentence: "What is confirmed as deleted, or given up as lost, is gone at Telegram.",
    needs: ["storeSteps", "telegram"],
    holds: ({ storeSteps, telegram }) =>
      storeSteps.every(({ op, kind, target }) => {
        const isGivenUp =
          (op === "cleanups.confirm" && kind === "removed") || (op === "threads.lose" && kind === "lost");
        return !isGivenUp || !telegram.threads.some(({ id, isGone }) => id === target?.threadId && !isGone);
      }),
  }),
  eachOf({
    name: "cleanup/evidenceDeletesNothing",
    ids: ["threads/T-2", "threads/T-42", "updates/Q-72"],
    sentence: "What a service message tells of a thread binds nothing, gives nothing up and orders no deletion.",
    of: "storeSteps",
    holds: ({ op, before, after }) =>
      op !== "cleanups.observe" ||
      (isSameList(before.cleanups, after.cleanups) && before.bindings.length === after.bindings.length),
  }),
  eachOf({
    name: "thread/suspectIsNotSeated",
    ids: ["threads/T-25"],
    sentence: "Nobody is registered with a thread that must be proven first.",
    of: "storeSteps",
    holds: ({ op, kind, target, before }) =>
      op !== "registrations.commit" ||
      kind !== "committed" ||
      target === null ||
      !before.bindings.some(({ thread, standing }) => standing === "suspect" && sameTarget(thread.target, target)),
  }),
  eachOf({
    name: "thread/roleChangesNothing",
    ids: ["threads/T-32"],
    sentence: "Who registers, as follower or as leader, changes neither thread nor letter nor name.",
    of: "storeSteps",
    holds: ({ op, before, after }) =>
      !op.startsWith("registrations.") ||
      (before.bindings.length === after.bindings.length &&
        before.bindings.every((each, index) => isSameThread(each, after.bindings[index]))),
  }),
  eachOf({
    name: "registration/deathIsTrue",
    ids: ["updates/Q-40", "threads/T-29", "threads/T-30"],
    sentence: "Nobody is ended as dead while its process runs.",
    of: "storeSteps",
    holds: ({ op, kind, seat, holderLives, before, after }) => {
      if (op !== "registrations.end" || kind !== "ended" || seat === null || holderLives !== true) return true;
      const ended = after.registrations.get(seat);
      return ended?.ended !== "died" || before.seatClaims.get(seat)?.instanceId !== ended.instanceId;
    },
  }),
];
