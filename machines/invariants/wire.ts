/** Invariants of the wire: the ledger of requests, the leader's stable path, the file of v1 owners. */
import { capability } from "../wire/constants.ts";
import { eachOf } from "./define.ts";
import type { Invariant } from "./define.ts";
import type { OfferEndView, OwnerFileStepView } from "./wire-view.ts";

/** All slots but one, each with its value. */
function isSameBeside({ slot, before, after }: OwnerFileStepView): boolean {
  if (before.slots === null || after.slots === null) return before.file === after.file;
  const others = new Set([...before.slots.keys(), ...after.slots.keys()].filter((each) => each !== slot));
  return [...others].every((each) => before.slots?.get(each) === after.slots?.get(each));
}

const isExact = ({ presented, acknowledged }: OfferEndView): boolean => presented === acknowledged;
const can = ({ capabilities }: OfferEndView, what: string): boolean => capabilities.includes(what);

export const wireInvariants: readonly Invariant[] = [
  eachOf({
    name: "ledger/equalGetsTheFirstAnswer",
    ids: ["protocol/P-19", "protocol/P-20"],
    sentence:
      "A request that equals a remembered one runs nothing and gets the answer of the first, refusals included.",
    of: "ledger",
    holds: ({ content, remembered, hasRun, refusal, answer, answerOfRun }) =>
      content !== remembered || (!hasRun && refusal === null && (answer === null || answer === answerOfRun)),
  }),
  eachOf({
    name: "ledger/otherContentNeverRuns",
    ids: ["protocol/P-21"],
    sentence: "A remembered id under another content is refused, runs nothing and leaves the stored answer as it is.",
    of: "ledger",
    holds: ({ content, remembered, hasRun, refusal }) =>
      remembered === null || content === remembered || (!hasRun && refusal === "collision"),
  }),
  eachOf({
    name: "ledger/inFlightIsKept",
    ids: ["protocol/P-22"],
    sentence: "What is under way is not forgotten: one key never runs twice at a time, and a full ledger refuses.",
    of: "ledger",
    holds: ({ inFlight, hasRun, refusal }) => inFlight <= 1 && !(hasRun && refusal === "full"),
  }),
  eachOf({
    name: "endpoint/pathOnlyByItsOwner",
    ids: ["protocol/P-16"],
    sentence:
      "The leader’s stable path changes only by a rename over it, made for whoever is the owner at that moment.",
    of: "endpointSteps",
    holds({ by, before, after, commits }) {
      const ends = [before, ...commits.map(({ to }) => to)];
      const isWhole = commits.every(({ from }, index) => from === ends[index]) && after === ends.at(-1);
      return isWhole && commits.every(({ owner, isRename, from, to }) => from === to || (owner === by && isRename));
    },
  }),
  eachOf({
    name: "endpoint/touchesNoOther",
    ids: ["protocol/P-17"],
    sentence:
      "Stopping an endpoint leaves the path as it is, recovering one changes it only where it led to nothing, and neither silences another’s or keeps it from starting.",
    of: "endpointSteps",
    holds: ({ what, before, after, wasReachable, isBlocked, othersLost }) =>
      !isBlocked && othersLost === 0 && (before === after || what === "start" || (what === "recover" && !wasReachable)),
  }),
  eachOf({
    name: "endpoint/stoppedStaysStopped",
    ids: ["protocol/P-18"],
    sentence:
      "An endpoint that was told to stop is not published any more and answers nobody, recovery under way or not.",
    of: "endpointSteps",
    holds: ({ commits, outlivesStop }) =>
      !outlivesStop && commits.every(({ wasStopped, from, to }) => !wasStopped || from === to),
  }),
  eachOf({
    name: "owner/otherSlotsStay",
    ids: ["protocol/P-6"],
    sentence: "A request to one slot of the v1 owner file leaves the values of all others as they are.",
    of: "ownerFileSteps",
    holds: isSameBeside,
  }),
  eachOf({
    name: "owner/damagedIsLeftAlone",
    ids: ["protocol/P-7"],
    sentence:
      "An owner file that cannot be read is not changed, nor is any file under a guard that is nobody’s, nor that guard.",
    of: "ownerFileSteps",
    holds: ({ before, after, wasReadable, wasGuardUnverifiable }) =>
      (wasReadable && !wasGuardUnverifiable) ||
      (before.file === after.file && (!wasGuardUnverifiable || before.guard === after.guard)),
  }),
  eachOf({
    name: "handoff/offeredOnlyToTheAble",
    ids: ["protocol/P-45"],
    sentence:
      "An offer on the wire reaches only the recipient that it names, between two that handle handoffs and keep the same kind of journal, under the exact generations of both, and never its donor.",
    of: "offerRelays",
    holds: ({ reached, donorNamed, donor, recipient }) =>
      reached === recipient.id &&
      donorNamed === donor.id &&
      donor.id !== recipient.id &&
      [donor, recipient].every((end) => isExact(end) && can(end, capability.queueHandoff)) &&
      can(donor, capability.sharedStore) === can(recipient, capability.sharedStore),
  }),
  eachOf({
    name: "handoff/doneOnlyWhenTaken",
    ids: ["protocol/P-46"],
    sentence: "A donor takes offered work for handed over only when the store has let its recipient have it.",
    of: "offersEnded",
    holds: ({ recipient, isTransferred, takenBy }) => !isTransferred || takenBy.includes(recipient),
  }),
  eachOf({
    name: "call/changesOnlyItsOwnMessages",
    ids: ["protocol/P-49"],
    sentence:
      "A follower edits and deletes only messages that its own seat has sent, under this generation or an earlier one.",
    of: "messageChanges",
    holds: ({ by, sender }) => by === sender,
  }),
  eachOf({
    name: "membership/lateHeartbeatChangesNothing",
    ids: ["protocol/P-35"],
    sentence: "The outcome of a heartbeat that comes when its registration is over changes nothing.",
    of: "heartbeatEnds",
    holds: ({ generation, current, before, after }) => generation === current || before === after,
  }),
];
