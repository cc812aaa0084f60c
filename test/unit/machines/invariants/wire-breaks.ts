/** For each invariant of the wire: the smallest change of a sound world that breaks it. */
import type { EndpointStepView, LedgerStepView, OwnerFileStepView } from "../../../../machines/invariants.ts";
import type { Breaks } from "./breaks.ts";
import { ownerFileStep, recovery, repeated } from "./sound.ts";

const withLine = (over: Partial<LedgerStepView>) => ({ ledger: [{ ...repeated, ...over }] });
const withEndpoint = (over: Partial<EndpointStepView>) => ({ endpointSteps: [{ ...recovery, ...over }] });
const withOwnerFile = (over: Partial<OwnerFileStepView>) => ({ ownerFileSteps: [{ ...ownerFileStep, ...over }] });
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
};
