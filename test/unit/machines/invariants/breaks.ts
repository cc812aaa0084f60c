/** For each invariant of the lease, of seats, of updates and of calls: the smallest change of a sound world that breaks it. */
import { epoch, generation, threadId, updateId } from "../../../../machines/ids.ts";
import type { WorldView } from "../../../../machines/invariants.ts";
import {
  current,
  exchange,
  follower,
  forward,
  grant,
  historyOf,
  leader,
  now,
  old,
  otherSeat,
  renewal,
  seat,
  sound,
  stranger,
  unauthenticated,
} from "./sound.ts";

/** By name; several ways where the sentence says several things. */
export type Breaks = Readonly<Record<string, readonly Partial<WorldView>[]>>;

const [leading, following] = sound.leaderSides;
if (leading === undefined || following === undefined) throw new Error("the sound world has a leader and a follower");
const [entry] = leading.entries;
const [register] = sound.registers;
const [answer] = sound.answers;
const [seatChart] = sound.seatCharts;
const [seatGhost] = sound.seatGhosts;
if (!entry || !register || !answer || !seatChart || !seatGhost) throw new Error("the sound world has one of each");

const withLeader = (over: Partial<typeof leading>) => ({ leaderSides: [{ ...leading, ...over }, following] });
const withFollower = (over: Partial<WorldView["followerSides"][number]>) => ({
  followerSides: sound.followerSides.map((each) => ({ ...each, ...over })),
});
const withUpdate = (over: Partial<WorldView["updates"][number]>) => ({
  updates: sound.updates.map((each) => ({ ...each, ...over })),
});
const withFetched = (over: Partial<WorldView["fetched"][number]>) => ({
  fetched: sound.fetched.map((each) => ({ ...each, ...over })),
});
const withExchange = (over: Partial<typeof exchange>) => ({ exchanges: [{ ...exchange, ...over }] });
const withForward = (over: Partial<typeof forward>) => ({ forwards: [{ ...forward, ...over }] });
const withRegister = (over: Partial<typeof register>) => ({ registers: [{ ...register, ...over }] });
const withGhost = (over: Partial<typeof seatGhost>) => ({ seatGhosts: [{ ...seatGhost, ...over }] });
const endpoint = { wasEarly: false, isOpen: true, closes: 0 };

export const leaseBreaks: Breaks = {
  "lease/oneHolderPerEpoch": [
    { instances: sound.instances.map((each) => ({ ...each, holds: epoch(1) })) },
    { lease: { epoch: now, holder: stranger } },
  ],
  "lease/epochIncreases": [{ grants: [...sound.grants].reverse() }],
  "lease/epochOnlyByGrant": [
    { leaseHistory: historyOf({ ...renewal, after: { ...renewal.after, epoch: epoch(3) } }) },
    { leaseHistory: historyOf({ ...grant, after: { ...grant.after, epoch: epoch(1) } }) },
  ],
  "lease/takenOnlyWithEvidence": [{ grants: sound.grants.map((each) => ({ ...each, over: "liveHolder" as const })) }],
  "lease/takenAsSeen": [
    { leaseHistory: historyOf({ ...grant, seenRenewals: 6 }) },
    { leaseHistory: historyOf({ ...grant, presented: epoch(0) }) },
  ],
  "lease/heldImpliesGranted": [{ grants: sound.grants.slice(0, 1) }],
  "lease/changedOnlyByItsHolder": [
    { leaseHistory: historyOf({ ...renewal, by: stranger }) },
    { leaseHistory: historyOf({ ...renewal, presented: epoch(1) }) },
    { leaseHistory: historyOf({ ...renewal, isDone: false }) },
    { leaseHistory: historyOf({ ...grant, by: stranger }) },
  ],
  "lease/changedOnlyByRequest": [
    { leaseHistory: { ...historyOf(renewal), now: { ...renewal.after, holder: null } } },
    { leaseHistory: { ...historyOf(renewal), since: grant.before } },
  ],
  "lease/noWriteUnderOldEpoch": [{ writes: [{ by: stranger, presented: epoch(1), current: now, accepted: true }] }],
  "owner/leadsOnlyWithBoth": [
    { owner: { ...sound.owner, keepers: [] } },
    { owner: { ...sound.owner, recordOf: stranger } },
    { roles: [{ id: leader, holds: null, leadsUnder: now }] },
  ],
  "owner/oneOwner": [
    { owner: { ...sound.owner, takes: [{ by: leader, over: "liveOwner" }] } },
    { owner: { ...sound.owner, actors: [leader, follower] } },
  ],
  "instance/leadsOnlyWhatItHolds": [{ roles: [{ id: leader, holds: epoch(1), leadsUnder: now }] }],
  "instance/pollsOnlyAsLeader": [{ leaderSides: [{ ...following, polls: 1 }] }],
  "polling/oneAtATime": [withLeader({ polls: 2 })],
  "polling/neverTwo": [{ ownConflicts: 1 }],
  "endpoint/afterProvisioning": [withLeader({ endpoints: [{ ...endpoint, wasEarly: true }] })],
  "endpoint/onlyWhileLeading": [
    { leaderSides: [{ ...following, endpoints: [endpoint] }] },
    { leaderSides: [{ ...following, entries: [entry] }] },
    { leaderSides: [{ ...following, seatCharts: 1 }] },
  ],
  "endpoint/oneAtATime": [
    withLeader({ endpoints: [endpoint, endpoint] }),
    withLeader({ endpoints: [{ ...endpoint, isOpen: false, closes: 2 }] }),
  ],
};

export const registrationBreaks: Breaks = {
  "registration/oneSeatOneHolder": [
    { seats: [...sound.seats, ...sound.seats.map((each) => ({ ...each, instanceId: stranger }))] },
    { seats: [...sound.seats, ...sound.seats.map((each) => ({ ...each, seat: otherSeat }))] },
  ],
  "registry/oneEntryEach": [
    withLeader({ entries: [entry, { ...entry, instanceId: stranger, threadId: threadId(21) }] }),
    withLeader({ entries: [entry, { ...entry, seat: otherSeat, threadId: threadId(21) }] }),
    withLeader({ entries: [entry, { ...entry, instanceId: stranger, seat: otherSeat }] }),
  ],
  "registry/generationIsTheAcknowledged": [
    withLeader({ entries: [{ ...entry, generation: old }] }),
    withLeader({ entries: [{ ...entry, generation: generation(""), lastAcknowledged: null }] }),
  ],
  "registration/sitterOnlyByCommit": [{ seatCharts: [{ ...seatChart, told: old }] }],
  "registration/liveIsCommitted": [{ seatCharts: [{ ...seatChart, wasCommitted: false }] }],
  "registration/liveIsCurrent": [{ seatCharts: [{ ...seatChart, inStore: old }] }],
  "registration/positiveMeansTaken": [
    withRegister({ committedUnder: null }),
    withRegister({ committedUnder: epoch(1) }),
    withRegister({ isCompatible: false }),
    withRegister({ generation: null }),
  ],
  "registration/refusedIsNotHeld": [
    withRegister({ ok: false }),
    withRegister({ ok: false, isHeld: false, isCompatible: false }),
  ],
  "registration/freshGeneration": [withRegister({ attempts: 2 })],
  "registration/staleGenerationNeverActs": [{ seats: sound.seats.map((each) => ({ ...each, staleEffects: 1 })) }],
  "exchange/staleIsRefused": [withExchange({ presented: old }), withExchange({ known: null, presented: null })],
  "exchange/executedOnce": [withExchange({ executions: 2 })],
  "exchange/unauthenticatedDoesNothing": [
    { exchanges: [{ ...unauthenticated, ok: true }] },
    { exchanges: [{ ...unauthenticated, effects: 1 }] },
  ],
  "exchange/nothingWithoutRegistration": [withExchange({ endpoint: "follower", isAuthentic: null })],
  "registration/disconnectOnlyItsOwn": [
    withExchange({ kind: "follower.disconnect" }),
    withExchange({ kind: "follower.disconnect", presented: old, knownAfter: null }),
  ],
  "registration/farewellMeansCleaned": [{ farewells: [{ ok: true, isCleaned: false }] }],
  "registration/neverInterleaved": [withGhost({ interleavings: 1 })],
  "registration/deadNeverReplacesLiving": [withGhost({ revenants: 1 })],
  "registration/endedOnlyWithProof": [withGhost({ falseDeaths: 1 })],
  "membership/believesOnlyWhatItWasTold": [
    withFollower({ registered: { seat, generation: current, isAcknowledged: false } }),
  ],
  "membership/oneQuestionAtATime": [
    withFollower({ heartbeatsInFlight: 2 }),
    withFollower({ registrationsInFlight: 2 }),
  ],
};

const withMoving = (change: Partial<WorldView["moving"][number]>): Partial<WorldView> => ({
  moving: sound.moving.map((each) => ({ ...each, ...change })),
});

export const deliveryBreaks: Breaks = {
  "handoff/oneHolder": [
    withMoving({ heldBy: null }),
    withMoving({ heldBy: stranger }),
    withMoving({ runnableAt: [sound.owner.recordOf ?? stranger, stranger] }),
  ],
  "handoff/runsOnce": [withMoving({ runs: 2 })],
  "reroute/movedOnce": [{ rerouting: [{ movesMax: 2, untakenDeletions: 0 }] }],
  "reroute/deletedWhenTaken": [{ rerouting: [{ movesMax: 1, untakenDeletions: 1 }] }],
  "polling/confirmedIsDurable": [withFetched({ inJournal: false })],
  "polling/cursorIsDurable": [withFetched({ inJournal: false, confirmed: false })],
  "delivery/onlyTheOwnerIsHeard": [{ strangers: [{ updateId: updateId(9), wasGiven: true }] }],
  "delivery/settledOnce": [withUpdate({ settled: 2 })],
  "delivery/handedOutOnce": [withUpdate({ handedOut: 2 })],
  "delivery/threadOrder": [withUpdate({ overtook: true })],
  "forward/onlyToTheLive": [{ sends: sound.sends.map((each) => ({ ...each, wasLive: false })) }],
  "forward/idIsPure": [withForward({ expectedDeliveryId: "d2" })],
  "forward/acceptedIsDurable": [withForward({ isDurable: false })],
  "forward/acceptedMatches": [
    withForward({ to: stranger }),
    withForward({ ownGeneration: old }),
    withForward({ ownSeat: otherSeat }),
    withForward({ isCarrierRight: false }),
  ],
  "forward/receiptIsExact": [
    withForward({ receipt: null }),
    withForward({ receipt: { deliveryId: "d2", sourceUpdateId: updateId(1) } }),
    withForward({ receipt: { deliveryId: "d1", sourceUpdateId: updateId(2) } }),
  ],
  "call/refusedNeverArrives": [
    { answers: [{ ...answer, outcome: "rejected" }] },
    { answers: [{ ...answer, outcome: "notSent" }] },
    { answers: [{ ...answer, outcome: "throttled" }] },
  ],
  "call/okIsVisibleOnce": [{ answers: [{ ...answer, seenIn: [] }] }],
  "call/neverRepeated": [{ answers: [{ ...answer, outcome: "ambiguous", seenIn: [threadId(20), threadId(20)] }] }],
  "call/staysInItsThread": [{ answers: [{ ...answer, seenIn: [threadId(10)] }] }],
  "call/noMarkers": [
    { apiCalls: sound.apiCalls.map((each) => ({ ...each, fields: ["__piTelegramAggregateDelivery"] })) },
    { apiCalls: sound.apiCalls.map((each) => ({ ...each, fields: ["__piTelegramCrossTargetDelivery"] })) },
  ],
};
