/** Invariants of the lease, of the v1 owner record beside it, and of who acts as leader. */
import { eachOf, invariant } from "./define.ts";
import type { Invariant } from "./define.ts";
import type { LeaseRowView } from "./view.ts";

const increasing = (numbers: readonly number[]): boolean =>
  numbers.every((value, index) => index === 0 || value > (numbers[index - 1] ?? Infinity));

const isSameRow = (a: LeaseRowView, b: LeaseRowView): boolean =>
  a.epoch === b.epoch && a.renewals === b.renewals && a.holder === b.holder;

export const leaseInvariants: readonly Invariant[] = [
  invariant({
    name: "lease/oneHolderPerEpoch",
    ids: ["protocol/P-1"],
    sentence: "No two instances hold a grant of the same epoch, and only the holder in the row holds the current one.",
    needs: ["lease", "instances"],
    holds: ({ instances, lease }) => {
      const held = instances.flatMap((each) => (each.alive && each.holds !== null ? [each] : []));
      return (
        new Set(held.map((each) => each.holds)).size === held.length &&
        held.every((each) => each.holds !== lease.epoch || each.id === lease.holder)
      );
    },
  }),
  invariant({
    name: "lease/epochIncreases",
    ids: ["protocol/P-2"],
    sentence: "Each grant has an epoch above every earlier one.",
    needs: ["grants"],
    holds: ({ grants }) => increasing(grants.map((grant) => grant.epoch)),
  }),
  invariant({
    name: "lease/epochOnlyByGrant",
    ids: ["protocol/P-2"],
    sentence: "Only a grant changes the epoch in the row, and it counts it up by one; renewal and release leave it.",
    needs: ["leaseHistory"],
    holds: ({ leaseHistory }) =>
      leaseHistory.steps.every(({ what, isDone, before, after }) =>
        what === "acquire" && isDone ? after.epoch === before.epoch + 1 : after.epoch === before.epoch,
      ),
  }),
  eachOf({
    name: "lease/takenOnlyWithEvidence",
    ids: ["protocol/P-3", "protocol/P-9"],
    sentence: "A lease is taken only when vacant, past its end, our own, or when its holder is dead.",
    of: "grants",
    holds: (grant) => grant.over !== "liveHolder",
  }),
  invariant({
    name: "lease/takenAsSeen",
    ids: ["protocol/P-3"],
    sentence: "A grant is given only to one who saw the row exactly as it is at that moment.",
    needs: ["leaseHistory"],
    holds: ({ leaseHistory }) =>
      leaseHistory.steps.every(
        ({ what, isDone, presented, seenRenewals, before }) =>
          what !== "acquire" || !isDone || (presented === before.epoch && seenRenewals === before.renewals),
      ),
  }),
  invariant({
    name: "lease/heldImpliesGranted",
    ids: ["protocol/P-4"],
    sentence: "An instance believes only in a grant that it was given.",
    needs: ["instances", "grants"],
    holds: ({ instances, grants }) =>
      instances.every(
        (each) => each.holds === null || grants.some((grant) => grant.epoch === each.holds && grant.to === each.id),
      ),
  }),
  invariant({
    name: "lease/changedOnlyByItsHolder",
    ids: ["protocol/P-4", "protocol/P-11"],
    sentence:
      "A renewal or a release changes the row only when its writer is the holder in it; otherwise the row stays as it is.",
    needs: ["leaseHistory"],
    holds: ({ leaseHistory }) =>
      leaseHistory.steps.every(({ what, by, isDone, presented, before, after }) => {
        if (!isDone || what === "commit") return isSameRow(before, after);
        if (what === "acquire") return after.holder !== null && after.holder === by;
        return presented === before.epoch && before.holder !== null && before.holder === by;
      }),
  }),
  invariant({
    name: "lease/changedOnlyByRequest",
    ids: ["protocol/P-8"],
    sentence:
      "Nothing but a request carried out by the store changes the row: no time-out, no refusal, no missing endpoint.",
    needs: ["leaseHistory"],
    holds: ({ leaseHistory: { since, steps, now } }) => {
      const befores = [...steps.map((step) => step.before), now];
      const afters = [since, ...steps.map((step) => step.after)];
      return befores.every((before, index) => isSameRow(before, afters[index] ?? before));
    },
  }),
  eachOf({
    name: "lease/noWriteUnderOldEpoch",
    ids: ["protocol/P-5", "threads/T-22", "threads/T-23"],
    sentence: "The store takes a leader’s write only under the current epoch.",
    of: "writes",
    holds: (write) => !write.accepted || write.presented === write.current,
  }),
  invariant({
    name: "owner/leadsOnlyWithBoth",
    ids: ["protocol/P-1", "protocol/P-4"],
    sentence:
      "With v1 peers an instance acts as leader only with the lease and the owner record; only a take by force can leave it the lease alone, until its next look.",
    needs: ["owner", "roles"],
    holds: ({ owner, roles }) =>
      roles.every(
        (each) => each.leadsUnder === null || (each.leadsUnder === each.holds && owner.keepers.includes(each.id)),
      ) && owner.actors.every((each) => each === owner.recordOf || owner.overthrown.includes(each)),
  }),
  invariant({
    name: "owner/oneOwner",
    ids: ["protocol/P-1", "protocol/P-3"],
    sentence: "No instance takes the record of a live owner, and no two act as leader at once.",
    needs: ["owner"],
    holds: ({ owner }) => owner.takes.every((take) => take.over !== "liveOwner") && owner.actors.length <= 1,
  }),
  eachOf({
    name: "instance/leadsOnlyWhatItHolds",
    ids: ["protocol/P-11", "protocol/P-12"],
    sentence: "The leader side of an instance runs only under the grant its lease chart holds.",
    of: "roles",
    holds: ({ holds, leadsUnder }) => leadsUnder === null || leadsUnder === holds,
  }),
];

export const leaderInvariants: readonly Invariant[] = [
  eachOf({
    name: "instance/pollsOnlyAsLeader",
    ids: ["protocol/P-12", "updates/Q-1"],
    sentence: "Only an instance that leads polls, and never a follower.",
    of: "leaderSides",
    holds: (each) => each.polls === 0 || each.leadsUnder !== null,
  }),
  eachOf({
    name: "polling/oneAtATime",
    ids: ["protocol/P-13"],
    sentence: "An instance has one poll open at most: with topics or without, there is one loop.",
    of: "leaderSides",
    holds: (each) => each.polls <= 1,
  }),
  invariant({
    name: "polling/neverTwo",
    ids: ["protocol/P-12", "updates/Q-1"],
    sentence: "Two instances of ours never meet at Telegram.",
    needs: ["ownConflicts"],
    holds: ({ ownConflicts }) => ownConflicts === 0,
  }),
  eachOf({
    name: "endpoint/afterProvisioning",
    ids: ["protocol/P-14", "threads/T-31"],
    sentence:
      "The leader’s endpoint takes no request before its own provisioning has returned and the seats known to the store are taken up.",
    of: "leaderSides",
    holds: ({ endpoints }) => endpoints.every((each) => !each.wasEarly),
  }),
  eachOf({
    name: "endpoint/onlyWhileLeading",
    ids: ["protocol/P-15"],
    sentence:
      "Once the leader side has ended, its endpoint is closed, its registry is empty, and no chart of a seat runs on.",
    of: "leaderSides",
    holds: ({ leadsUnder, endpoints, entries, seatCharts }) =>
      leadsUnder !== null || (entries.length === 0 && seatCharts === 0 && !endpoints.some((each) => each.isOpen)),
  }),
  eachOf({
    name: "endpoint/oneAtATime",
    ids: ["protocol/P-11"],
    sentence: "A leader has one endpoint at a time, and each is told to close once.",
    of: "leaderSides",
    holds: ({ endpoints }) =>
      endpoints.filter((each) => each.isOpen).length <= 1 && endpoints.every((each) => each.closes <= 1),
  }),
];
