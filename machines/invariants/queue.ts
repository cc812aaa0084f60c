/** Invariants of one instance's queue: where things wait, and what the host is given. */
import { isAllowedLane, seqsOf } from "../queue.rules.ts";
import type { QueueItem } from "../queue.rules.ts";
import { eachOf } from "./define.ts";
import type { Invariant } from "./define.ts";
import type { QueueView } from "./store-view.ts";

const isDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const allOf = ({ items, current }: QueueView): readonly QueueItem[] => (current === null ? items : [...items, current]);
const ranks: Readonly<Record<QueueItem["lane"], number>> = { control: 0, priority: 1, default: 2 };
const comesBefore = (a: QueueItem, b: QueueItem): boolean =>
  ranks[a.lane] < ranks[b.lane] || (a.lane === b.lane && a.laneOrder < b.laneOrder);

export const queueInvariants: readonly Invariant[] = [
  eachOf({
    name: "queue/oneLaneOnePosition",
    ids: ["updates/Q-75", "updates/Q-82"],
    sentence: "Each item waits once, in one lane, at a position of its own, and lanes come in their order.",
    of: "queues",
    holds: ({ items }) =>
      isDistinct(items.map((each) => each.id)) &&
      items.every((each, index) => index === 0 || comesBefore(items[index - 1] ?? each, each)),
  }),
  eachOf({
    name: "queue/allowedLanes",
    ids: ["updates/Q-76"],
    sentence: "A kind waits only in a lane that the table gives it.",
    of: "queues",
    holds: (queue) => allOf(queue).every(({ kind, lane }) => isAllowedLane(kind, lane)),
  }),
  eachOf({
    name: "queue/oneItemPerEntry",
    ids: ["updates/Q-77", "updates/Q-87"],
    sentence: "An entry of the journal is in one item, whether it waits or runs.",
    of: "queues",
    holds: (queue) => isDistinct(allOf(queue).flatMap(seqsOf)),
  }),
  eachOf({
    name: "queue/oneTurn",
    ids: ["updates/Q-78", "updates/Q-79"],
    sentence: "The host has one turn at most, and it is that of the item which left the queue for it.",
    of: "queues",
    holds: ({ turns, current }) => turns <= 1 && (turns === 0 || current !== null),
  }),
  eachOf({
    name: "queue/skippedNeverRuns",
    ids: ["updates/Q-80"],
    sentence: "What is marked Skip gets no turn.",
    of: "queues",
    holds: ({ current }) => current === null || current.skipEmoji === null,
  }),
  eachOf({
    name: "queue/offeredIsUntouched",
    ids: ["updates/Q-45", "updates/Q-50", "updates/Q-84"],
    sentence:
      "Only what waits and is complete gets a turn: nothing that is offered to another instance, nothing that more may come of.",
    of: "queues",
    holds: ({ current }) => current === null || current.standing === "waiting",
  }),
  eachOf({
    name: "queue/nothingIsForgotten",
    ids: ["updates/Q-75"],
    sentence: "What came into the queue waits in it or has its turn until it has ended.",
    of: "queueEntries",
    holds: ({ ends, isWaiting, isCurrent }) => ends > 0 || isWaiting || isCurrent,
  }),
  eachOf({
    name: "queue/endsOnce",
    ids: ["updates/Q-77"],
    sentence:
      "An entry leaves the queue once: by a turn, without one, or to somebody else; and does not wait any more.",
    of: "queueEntries",
    holds: ({ ends, isWaiting }) => ends <= 1 && (ends === 0 || !isWaiting),
  }),
];
