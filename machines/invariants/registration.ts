/** Invariants of seats: who sits, what an acknowledgement means, what an old generation may not do. */
import { eachOf, invariant } from "./define.ts";
import type { Invariant } from "./define.ts";

const isDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

export const registrationInvariants: readonly Invariant[] = [
  invariant({
    name: "registration/oneSeatOneHolder",
    ids: ["protocol/P-25", "threads/T-6", "threads/T-7"],
    sentence: "A seat has one current registration, and an instance sits on one seat.",
    needs: ["seats"],
    holds: ({ seats }) =>
      isDistinct(seats.map((each) => each.seat)) && isDistinct(seats.map((each) => each.instanceId)),
  }),
  eachOf({
    name: "registry/oneEntryEach",
    ids: ["protocol/P-25"],
    sentence: "A leader’s registry has one entry at most for each instance, each seat and each thread.",
    of: "leaderSides",
    holds: ({ entries }) =>
      isDistinct(entries.map((each) => each.instanceId)) &&
      isDistinct(entries.map((each) => each.seat)) &&
      isDistinct(entries.map((each) => each.threadId)),
  }),
  eachOf({
    name: "registry/generationIsTheAcknowledged",
    ids: ["protocol/P-26"],
    sentence: "An entry has a generation, and it is the one that its leader acknowledged last to that instance.",
    of: "leaderSides",
    holds: ({ entries }) =>
      entries.every(
        ({ generation, lastAcknowledged }) =>
          generation !== "" && (lastAcknowledged === null || lastAcknowledged === generation),
      ),
  }),
  eachOf({
    name: "registration/sitterOnlyByCommit",
    ids: ["protocol/P-26"],
    sentence: "Whom a seat’s chart has as its sitter is whom its facts told the world.",
    of: "seatCharts",
    holds: ({ sitter, told }) => sitter === told,
  }),
  eachOf({
    name: "registration/liveIsCommitted",
    ids: ["protocol/P-27", "threads/T-26"],
    sentence: "Nobody is live on a seat whose registration the store has not taken.",
    of: "seatCharts",
    holds: ({ isLive, sitter, wasCommitted }) => !isLive || sitter === null || wasCommitted,
  }),
  invariant({
    name: "registration/liveIsCurrent",
    ids: ["protocol/P-26"],
    sentence: "At the leader of the present epoch the live sitter is the one that the store has.",
    needs: ["seatCharts", "lease"],
    holds: ({ seatCharts, lease }) =>
      seatCharts.every(
        ({ epoch, isLive, sitter, inStore }) =>
          epoch !== lease.epoch || !isLive || sitter === null || inStore === sitter,
      ),
  }),
  eachOf({
    name: "registration/positiveMeansTaken",
    ids: ["protocol/P-27", "threads/T-21", "threads/T-26"],
    sentence:
      "A positive answer to a registration means: compatible, with a generation, and taken by the store under the epoch of just this endpoint.",
    of: "registers",
    holds: ({ ok, isCompatible, generation, epoch, committedUnder }) =>
      !ok || (isCompatible && generation !== null && generation !== "" && committedUnder === epoch),
  }),
  eachOf({
    name: "registration/refusedIsNotHeld",
    ids: ["protocol/P-28"],
    sentence: "A refused registration is not in the registry; an incompatible one has not even touched the store.",
    of: "registers",
    holds: ({ ok, isHeld, isCompatible, committedUnder }) =>
      ok || (!isHeld && (isCompatible || committedUnder === null)),
  }),
  eachOf({
    name: "registration/freshGeneration",
    ids: ["protocol/P-30"],
    sentence: "An instance uses a generation for one attempt only.",
    of: "registers",
    holds: ({ attempts }) => attempts <= 1,
  }),
  eachOf({
    name: "registration/staleGenerationNeverActs",
    ids: ["protocol/P-29", "updates/Q-66"],
    sentence: "A request whose generation is not the current one has no effect, not even on liveness.",
    of: "seats",
    holds: ({ staleEffects }) => staleEffects === 0,
  }),
  eachOf({
    name: "exchange/staleIsRefused",
    ids: ["protocol/P-29", "updates/Q-92"],
    sentence: "A request under another generation than the recorded one, or of nobody registered, is refused.",
    of: "exchanges",
    holds: ({ endpoint, kind, ok, presented, known }) =>
      endpoint !== "leader" || !isFenced(kind) || !ok || (known !== null && presented === known),
  }),
  eachOf({
    name: "exchange/executedOnce",
    ids: ["protocol/P-19", "updates/Q-55"],
    sentence:
      "An endpoint executes a request once: the same secret, sender and request id never reach its handler again.",
    of: "exchanges",
    holds: ({ executions }) => executions <= 1,
  }),
  eachOf({
    name: "exchange/unauthenticatedDoesNothing",
    ids: ["protocol/P-23"],
    sentence: "A request without the right secret is refused and changes nothing.",
    of: "exchanges",
    holds: ({ isAuthentic, ok, effects }) => isAuthentic === true || (!ok && effects === 0),
  }),
  eachOf({
    name: "exchange/nothingWithoutRegistration",
    ids: ["protocol/P-24"],
    sentence: "A follower that no leader has acknowledged admits nothing.",
    of: "exchanges",
    holds: ({ endpoint, ok, isAuthentic }) => endpoint !== "follower" || !ok || isAuthentic !== null,
  }),
  eachOf({
    name: "registration/disconnectOnlyItsOwn",
    ids: ["protocol/P-32", "threads/T-28"],
    sentence:
      "A farewell ends the registration of its own generation: held when it is asked, gone when it is answered.",
    of: "exchanges",
    holds: ({ kind, ok, presented, known, knownAfter }) =>
      kind !== "follower.disconnect" || !ok || (presented === known && knownAfter !== presented),
  }),
  eachOf({
    name: "registration/farewellMeansCleaned",
    ids: ["protocol/P-33"],
    sentence: "Whoever is told that it has left has no thread any more, and nothing is left to be cleaned up.",
    of: "farewells",
    holds: ({ ok, isCleaned }) => !ok || isCleaned,
  }),
  eachOf({
    name: "registration/neverInterleaved",
    ids: ["protocol/P-31", "threads/T-27"],
    sentence: "Registration, farewell and clean-up of one seat never overlap.",
    of: "seatGhosts",
    holds: ({ interleavings }) => interleavings === 0,
  }),
  eachOf({
    name: "registration/deadNeverReplacesLiving",
    ids: ["protocol/P-29", "threads/T-28"],
    sentence: "A late word of one that is dead never takes the seat of a living one.",
    of: "seatGhosts",
    holds: ({ revenants }) => revenants === 0,
  }),
  eachOf({
    name: "registration/endedOnlyWithProof",
    ids: ["threads/T-29"],
    sentence: "A seat’s chart ends a registration as dead only after the process is gone: silence is no proof.",
    of: "seatGhosts",
    holds: ({ falseDeaths }) => falseDeaths === 0,
  }),
  eachOf({
    name: "membership/believesOnlyWhatItWasTold",
    ids: ["protocol/P-34"],
    sentence: "A follower believes in a registration only after a positive answer to just that attempt.",
    of: "followerSides",
    holds: ({ registered }) => registered === null || registered.isAcknowledged,
  }),
  eachOf({
    name: "membership/oneQuestionAtATime",
    ids: ["protocol/P-36"],
    sentence: "A follower has one heartbeat and one registration under way at most.",
    of: "followerSides",
    holds: ({ heartbeatsInFlight, registrationsInFlight }) => heartbeatsInFlight <= 1 && registrationsInFlight <= 1,
  }),
];

/** Requests of a registered follower: all carry the generation that fences them. */
const fencedKinds: readonly string[] = [
  "follower.heartbeat",
  "follower.disconnect",
  "follower.callApi",
  "follower.resolveAgentTarget",
  "follower.routeAgentMessage",
  "follower.offerQueueHandoff",
];
const isFenced = (kind: string): boolean => fencedKinds.includes(kind);
