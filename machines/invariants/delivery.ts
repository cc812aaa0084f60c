/** Invariants of an update’s way: from Telegram into the journal, to one handler, to one end. */
import { eachOf, invariant } from "./define.ts";
import type { Invariant } from "./define.ts";
import { aggregateDeliveryMarker, crossTargetDeliveryMarker } from "../wire/constants.ts";

const markers: readonly string[] = [aggregateDeliveryMarker, crossTargetDeliveryMarker];

export const deliveryInvariants: readonly Invariant[] = [
  eachOf({
    name: "polling/confirmedIsDurable",
    ids: ["updates/Q-2", "updates/Q-13"],
    sentence: "An update that Telegram will not give again is in the journal or settled.",
    of: "fetched",
    holds: (each) => !each.confirmed || each.inJournal || each.settled > 0,
  }),
  invariant({
    name: "polling/cursorIsDurable",
    ids: ["updates/Q-2"],
    sentence:
      "No cursor, in the store or in a poller’s hand, is past an update that is neither in the journal nor settled.",
    needs: ["fetched", "cursors"],
    holds: ({ fetched, cursors }) =>
      fetched.every(
        ({ inJournal, settled, updateId }) => inJournal || settled > 0 || cursors.every((cursor) => updateId >= cursor),
      ),
  }),
  eachOf({
    name: "delivery/onlyTheOwnerIsHeard",
    ids: ["updates/Q-60"],
    sentence: "What a stranger wrote reaches no handler.",
    of: "strangers",
    holds: ({ wasGiven }) => !wasGiven,
  }),
  eachOf({
    name: "delivery/settledOnce",
    ids: ["updates/Q-37", "updates/Q-62"],
    sentence: "An update is settled at most once.",
    of: "updates",
    holds: (each) => each.settled <= 1,
  }),
  eachOf({
    name: "delivery/handedOutOnce",
    ids: ["protocol/P-41", "updates/Q-28", "updates/Q-36", "updates/Q-62"],
    sentence: "An update is handed to a handler once, unless its earlier holder died before settling it.",
    of: "updates",
    holds: (each) => each.handedOut <= 1,
  }),
  eachOf({
    name: "delivery/threadOrder",
    ids: ["updates/Q-26", "updates/Q-84"],
    sentence: "Within a thread nothing overtakes.",
    of: "updates",
    holds: (each) => !each.overtook,
  }),
  eachOf({
    name: "forward/onlyToTheLive",
    ids: ["protocol/P-37", "protocol/P-38", "threads/T-36", "updates/Q-67"],
    sentence:
      "A leader forwards only to a registration that has been live in its own registry; bindings in the store send nothing.",
    of: "sends",
    holds: ({ wasLive }) => wasLive,
  }),
  eachOf({
    name: "forward/idIsPure",
    ids: ["protocol/P-39", "updates/Q-65"],
    sentence: "The delivery id is the digest of kind, binding key and source update id, and of nothing else.",
    of: "forwards",
    holds: ({ deliveryId, expectedDeliveryId }) => deliveryId === expectedDeliveryId,
  }),
  eachOf({
    name: "forward/acceptedIsDurable",
    ids: ["protocol/P-40", "protocol/P-44", "updates/Q-64"],
    sentence:
      "A follower accepts a forward only when its claim on the update is on disk, or the update has ended before.",
    of: "forwards",
    holds: ({ ok, isDurable }) => !ok || isDurable,
  }),
  eachOf({
    name: "forward/acceptedMatches",
    ids: ["protocol/P-43", "updates/Q-66"],
    sentence:
      "A follower accepts a forward only for itself, its own generation, its own seat, and with the update that it names.",
    of: "forwards",
    holds: ({ ok, to, recipient, generation, ownGeneration, bindingKey, ownSeat, isCarrierRight }) =>
      !ok || (to === recipient && generation === ownGeneration && bindingKey === ownSeat && isCarrierRight),
  }),
  eachOf({
    name: "forward/receiptIsExact",
    ids: ["protocol/P-42", "updates/Q-63"],
    sentence: "A positive answer to a forward names the delivery id and the update id that were sent.",
    of: "forwards",
    holds: ({ ok, receipt, deliveryId, sourceUpdateId }) =>
      !ok || (receipt?.deliveryId === deliveryId && receipt.sourceUpdateId === sourceUpdateId),
  }),
];

export const callInvariants: readonly Invariant[] = [
  eachOf({
    name: "call/refusedNeverArrives",
    ids: ["protocol/P-47"],
    sentence: "What a call was refused for never appears at Telegram.",
    of: "answers",
    holds: ({ outcome, seenIn }) =>
      (outcome !== "rejected" && outcome !== "notSent" && outcome !== "throttled") || seenIn.length === 0,
  }),
  eachOf({
    name: "call/okIsVisibleOnce",
    ids: ["protocol/P-51"],
    sentence: "A call that is said to have succeeded has: its message stands once.",
    of: "answers",
    holds: ({ outcome, seenIn }) => outcome !== "ok" || seenIn.length === 1,
  }),
  eachOf({
    name: "call/neverRepeated",
    ids: ["protocol/P-51", "threads/T-39"],
    sentence: "A message is visible once at most, also when nobody knows whether its call was carried out.",
    of: "answers",
    holds: ({ seenIn }) => seenIn.length <= 1,
  }),
  eachOf({
    name: "call/staysInItsThread",
    ids: ["protocol/P-50"],
    sentence: "An ordinary send stands in its sender’s own thread and nowhere else.",
    of: "answers",
    holds: ({ threadId, seenIn }) => seenIn.every((each) => each === threadId),
  }),
  eachOf({
    name: "call/noMarkers",
    ids: ["protocol/P-48"],
    sentence: "Markers of the bus never reach Telegram.",
    of: "apiCalls",
    holds: ({ fields }) => !fields.some((field) => markers.includes(field)),
  }),
];
