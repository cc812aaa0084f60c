/** Places in the leader's hand: who takes one, who waits without one, what is left for whom. */
import { expect, test } from "vitest";
import { journalSeq, lane, seatKey, updateId } from "../../../machines/ids.ts";
import type { Lane } from "../../../machines/ids.ts";
import { unreadable, urgentLaneOf } from "../../../machines/updates.rules.ts";
import { activeMax, Hand } from "../../../services/hand.ts";
import type { JournalEntry } from "../../../services/ports.ts";

let lastSeq = 0;
const entryOf = (of: Lane): JournalEntry => ({
  updateId: updateId((lastSeq += 1)),
  seq: journalSeq(lastSeq),
  lane: of,
  body: "{}",
  admittedAtMs: 0,
  attempts: 0,
  nextAttemptAtMs: 0,
  redelivered: false,
  assignedTo: null,
});
type Delivery = Parameters<Hand["add"]>[1];
// The hand only stops a delivery and sends it events.
const delivery = { stop: () => undefined, send: () => undefined } as unknown as Delivery;

function add(hand: Hand, of: Lane, isLater = false): JournalEntry {
  const entry = entryOf(of);
  hand.add({ entry, facts: unreadable(entry.updateId), update: {} }, delivery, isLater);
  return entry;
}
const thread = (n: number): Lane => lane(`7:${n}`);

test("what waits for its time, its turn or its seat takes no place; when it goes on it does", async () => {
  const hand = new Hand();
  const later = add(hand, thread(1), true);
  expect(hand.room).toBe(activeMax);
  expect(await hand.turnOf(later.seq, true)).toBe("go");
  expect(hand.room).toBe(activeMax - 1);
  hand.notTaken(later.seq);
  expect(hand.room).toBe(activeMax);
  hand.park(later.seq, seatKey("manual:a:1"));
  hand.remove(later.seq, true);
  expect(hand.room).toBe(activeMax);

  const first = add(hand, thread(2));
  const second = add(hand, thread(2));
  expect(hand.room).toBe(activeMax - 2);
  const turn = hand.turnOf(second.seq, true);
  expect(hand.room).toBe(activeMax - 1);
  await hand.turnOf(first.seq, true);
  expect(await turn).toBe("go");
  expect(hand.room).toBe(activeMax - 2);
  hand.stop();
  expect(hand.room).toBe(activeMax);
});

test("with half of the places taken each lane has one: a lane in hand takes no more, a new one comes in", () => {
  const hand = new Hand();
  for (let n = 0; n < 16; n += 1) for (let k = 0; k < 32; k += 1) add(hand, thread(n));
  expect(hand.isScarce).toBe(true);
  const partly = add(hand, thread(99));
  expect(hand.closedLanes()).toContain(partly.lane);
  expect(hand.admits(entryOf(thread(99)), 32)).toBe(false);
  expect(hand.admits(entryOf(thread(100)), 32)).toBe(true);
});

test("with every place taken, what is urgent beside a lane in hand still has one, and nothing else", () => {
  const hand = new Hand();
  for (let n = 0; n < activeMax; n += 1) add(hand, thread(n));
  expect(hand.room).toBe(0);
  expect(hand.admits(entryOf(thread(5_000)), 32)).toBe(false);
  const urgent = urgentLaneOf(thread(3));
  expect(hand.urgentLanes()).toContain(urgent);
  expect(hand.admits(entryOf(urgent), 32)).toBe(true);
  while (hand.urgentRoom > 0) add(hand, urgentLaneOf(thread(hand.urgentRoom)));
  expect(hand.admits(entryOf(urgentLaneOf(thread(900))), 32)).toBe(false);
});

test("what waits for a choice takes no place, and its lane is read by itself; what waits behind something that is gone looks anew", () => {
  const hand = new Hand();
  const sent: unknown[] = [];
  const message = add(hand, thread(1));
  const behind = entryOf(thread(1));
  const heard = { stop: () => undefined, send: (event: unknown) => sent.push(event) } as unknown as Delivery; // as above
  hand.add({ entry: behind, facts: unreadable(behind.updateId), update: {} }, heard, false);
  hand.awaitChoice(message.seq, true);
  hand.awaitChoice(behind.seq, false);
  expect(hand.room).toBe(activeMax);
  expect([hand.closedLanes(), hand.unownedLanes()]).toEqual([[thread(1)], [thread(1)]]);
  expect(hand.unownedIn([thread(1)]).map(({ entry }) => entry.seq)).toEqual([message.seq, behind.seq]);
  hand.remove(message.seq, true);
  expect(sent).toEqual([{ type: "seats.changed" }]);
});

test("a choice ends the waits of what was moved, and of nothing that is in another lane by now", () => {
  const hand = new Hand();
  const [left, moved] = [add(hand, thread(1)), add(hand, thread(2))];
  hand.awaitChoice(left.seq, true);
  hand.endChoice([thread(1)], [left.seq, moved.seq]);
  expect([hand.has(left.seq), hand.has(moved.seq)]).toEqual([false, true]);
});
