/** For each invariant of the wire: the smallest change of a sound world that breaks it. */
import type { EndpointStepView, LedgerStepView, OwnerFileStepView } from "../../../../machines/invariants.ts";
import type { Breaks } from "./breaks.ts";
import { leader, old, otherSeat, ownerFileStep, recovery, relay, repeated, seat } from "./sound.ts";

const withLine = (over: Partial<LedgerStepView>) => ({ ledger: [{ ...repeated, ...over }] });
const withEndpoint = (over: Partial<EndpointStepView>) => ({ endpointSteps: [{ ...recovery, ...over }] });
const withOwnerFile = (over: Partial<OwnerFileStepView>) => ({ ownerFileSteps: [{ ...ownerFileStep, ...over }] });
const withRelay = (over: Partial<typeof relay>) => ({ offerRelays: [{ ...relay, ...over }] });
const [commit] = recovery.commits;
if (commit === undefined) throw new Error("the sound recovery has a commit");

export const wireBreaks: Breaks = {
  "ledger/equalGetsTheFirstAnswer": [
    withLine({ hasRun: true }),
    withLine({ refusal: "full" }),
    withLine({ answer: "no" }),
  ],
  "ledger/otherContentNeverRuns": [
    withLine({ content: "another", hasRun: true, refusal: null }),
    withLine({ content: "another", refusal: "full" }),
  ],
  "ledger/inFlightIsKept": [withLine({ inFlight: 2 }), withLine({ hasRun: true, refusal: "full" })],
  "endpoint/pathOnlyByItsOwner": [
    withEndpoint({ commits: [{ ...commit, owner: "another" }] }),
    withEndpoint({ commits: [{ ...commit, isRename: false }] }),
    withEndpoint({ commits: [] }),
    withEndpoint({ after: null }),
  ],
  "endpoint/touchesNoOther": [
    withEndpoint({ wasReachable: true }),
    withEndpoint({ what: "stop" }),
    withEndpoint({ isBlocked: true }),
    withEndpoint({ othersLost: 1 }),
  ],
  "endpoint/stoppedStaysStopped": [
    withEndpoint({ outlivesStop: true }),
    withEndpoint({ commits: [{ ...commit, wasStopped: true }] }),
  ],
  "owner/otherSlotsStay": [
    withOwnerFile({ slot: "work" }),
    withOwnerFile({ after: { ...ownerFileStep.after, slots: new Map([["default", "3"]]) } }),
  ],
  "owner/damagedIsLeftAlone": [
    withOwnerFile({ wasReadable: false }),
    withOwnerFile({ wasGuardUnverifiable: true }),
    withOwnerFile({
      wasGuardUnverifiable: true,
      before: { ...ownerFileStep.after, guard: "nobody’s" },
      after: ownerFileStep.after,
    }),
  ],
  "handoff/offeredOnlyToTheAble": [
    withRelay({ reached: leader }),
    withRelay({ donorNamed: leader }),
    withRelay({ donor: { ...relay.donor, presented: old } }),
    withRelay({ recipient: { ...relay.recipient, acknowledged: old } }),
    withRelay({ donor: { ...relay.donor, capabilities: [] } }),
    withRelay({
      recipient: { ...relay.recipient, capabilities: [...relay.recipient.capabilities, "partyline-store-v1"] },
    }),
    withRelay({ donor: relay.recipient, donorNamed: relay.recipient.id }),
  ],
  "handoff/doneOnlyWhenTaken": [
    { offersEnded: [{ recipient: seat, isTransferred: true, takenBy: [] }] },
    { offersEnded: [{ recipient: seat, isTransferred: true, takenBy: [otherSeat] }] },
  ],
  "call/changesOnlyItsOwnMessages": [
    { messageChanges: [{ by: seat, sender: otherSeat }] },
    { messageChanges: [{ by: seat, sender: null }] },
  ],
  "membership/lateHeartbeatChangesNothing": [
    { heartbeatEnds: [{ by: leader, generation: old, current: null, before: "a", after: "b" }] },
  ],
};
