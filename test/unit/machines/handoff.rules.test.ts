/** What may be offered, where it stands, and what waits here although its thread is another's. */
import { expect, test } from "vitest";
import {
  faultOfOffer,
  offerPauseMs,
  placementOf,
  readPlacement,
  strangeThreadOf,
  threadOfLane,
} from "../../../machines/handoff.rules.ts";
import { chatId, journalSeq, lane, messageId, seatKey, threadId } from "../../../machines/ids.ts";
import { admit, itemOf, noItems } from "../../../machines/queue.rules.ts";
import type { Member, NewItem } from "../../../machines/queue.rules.ts";
import { laneOfThread, movedLaneOf, urgentLaneOf } from "../../../machines/updates.rules.ts";
import { handoffPayloadBytesMax } from "../../../machines/wire/constants.ts";

const seqs = [4, 5].map(journalSeq);
const members: readonly Member[] = [
  { seq: journalSeq(4), role: "message", message: messageId(104) },
  { seq: journalSeq(5), role: "change", message: null },
];
function waiting(more: Partial<NewItem> = {}) {
  const item: NewItem = { id: journalSeq(4), kind: "prompt", lane: "default", standing: "waiting", members, ...more };
  const found = itemOf(admit(noItems, item), item.id);
  if (found === null) throw new Error("it was not admitted");
  return found;
}

test("updates/T-93: an offer has a bound in bytes and one in updates", () => {
  expect(faultOfOffer(waiting(), handoffPayloadBytesMax)).toBeNull();
  expect(faultOfOffer(waiting(), handoffPayloadBytesMax + 1)).toMatch(/longer than 8388608 bytes/);
  const many = Array.from({ length: 257 }, (_, n): Member => ({ seq: journalSeq(n), role: "message", message: null }));
  expect(faultOfOffer(waiting({ members: many }), 1)).toMatch(/more than 256 updates/);
});

test("updates/T-96: a placement brings the lane and the marks along", () => {
  const item = waiting({ lane: "priority", priorityEmoji: "⚡", skipEmoji: "👎" });
  expect(readPlacement(placementOf(item), seqs)).toEqual({
    id: 4,
    kind: "prompt",
    lane: "priority",
    standing: "waiting",
    members,
    priorityEmoji: "⚡",
    skipEmoji: "👎",
  });
});

test("updates/Q-54, Q-76: a placement that is not for exactly these entries, or that nobody of ours has written, is none", () => {
  const text = placementOf(waiting());
  const changed = (change: object): string => JSON.stringify({ ...(JSON.parse(text) as object), ...change });
  expect(readPlacement(text, seqs)).not.toBeNull();
  const bad = [
    "",
    "[]",
    "null",
    changed({ version: 2 }),
    changed({ kind: "task" }),
    changed({ lane: "express" }),
    changed({ kind: "control" }),
    changed({ members: [] }),
    changed({ members: "4,5" }),
    changed({ members: [members[0]] }),
    changed({ members: [members[0], members[0]] }),
    changed({ members: [...members, { seq: 6, role: "message", message: 1 }] }),
    changed({ members: [members[0], { seq: 5, role: "witness", message: 1 }] }),
    changed({ members: [members[0], { seq: 5, role: "change", message: "1" }] }),
  ];
  for (const each of bad) expect(readPlacement(each, seqs), each).toBeNull();
});

test("work is strange when its lane is a thread's, and not ours", () => {
  const own = { chatId: chatId(-100), threadId: threadId(7) };
  const other = { ...own, threadId: threadId(8) };
  expect(threadOfLane(laneOfThread(own))).toEqual(own);
  expect(threadOfLane(urgentLaneOf(laneOfThread(own)))).toEqual(own);
  for (const none of [movedLaneOf(seatKey("manual:a:b")), lane("none"), lane("-100:main")])
    expect(threadOfLane(none)).toBeNull();
  expect(strangeThreadOf(laneOfThread(other), own)).toEqual(other);
  expect(strangeThreadOf(laneOfThread(own), own)).toBeNull();
  // While we have no thread, nothing is known to be another's.
  expect(strangeThreadOf(laneOfThread(other), null)).toBeNull();
});

test("updates/OP-12: what comes back again and again is offered less and less often", () => {
  expect([1, 2, 3, 99].map(offerPauseMs)).toEqual([5_000, 10_000, 20_000, 300_000]);
});
