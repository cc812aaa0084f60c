/** Rules of what waits: lanes and their order, reactions, folding, what can be offered. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { journalSeq, messageId } from "../../../machines/ids.ts";
import { admit, fold, grow, holderOfMessage, itemOf, nextOf, noItems, react } from "../../../machines/queue.rules.ts";
import { refusalOfOffer, seqsOf, stand, without } from "../../../machines/queue.rules.ts";
import type { NewItem, QueueItems } from "../../../machines/queue.rules.ts";

const item = (n: number, more: Partial<NewItem> = {}): NewItem => ({
  id: journalSeq(n),
  kind: "prompt",
  lane: "default",
  standing: "waiting",
  members: [{ seq: journalSeq(n), role: "message", message: messageId(100 + n) }],
  ...more,
});
const queue = (...items: readonly NewItem[]): QueueItems => items.reduce(admit, noItems);
const ids = ({ items }: QueueItems) => items.map((each) => each.id);
const seq = journalSeq;
const reacted = (on: QueueItems, n: number, after: readonly string[], before: readonly string[] = []) =>
  react(on, seq(n), { before, after });

describe("admission", () => {
  it("orders lanes before positions: control, priority, default", () => {
    expect(ids(queue(item(1), item(2, { lane: "priority" }), item(3, { lane: "control" }), item(4)))).toEqual([
      3, 2, 1, 4,
    ]);
  });

  it("updates/Q-76: refuses a kind in a lane that is not its own", () => {
    expect(() => queue(item(1, { kind: "control" }))).toThrow("does not wait in lane default");
  });

  it("updates/Q-77: takes an entry once; the same item again changes nothing, half of it is a defect", () => {
    const once = queue(item(1));
    expect(admit(once, item(1))).toBe(once);
    const members = [...item(1).members, ...item(2).members];
    expect(() => admit(once, item(2, { members }))).toThrow("under another one");
  });

  it("updates/Q-87, T-75, OP-45: what was taken out meanwhile does not come back with an admission", () => {
    const before = queue(item(1), item(2));
    expect(ids(admit(without(before, [seq(1)]), item(3)))).toEqual([2, 3]);
  });
});

describe("reactions", () => {
  it("updates/T-57: Priority and Skip are two things; the position is the priority lane's tail", () => {
    const both = reacted(reacted(queue(item(1), item(2, { lane: "priority" })), 1, ["👍"]), 1, ["👍", "💩"], ["👍"]);
    expect(ids(both)).toEqual([2, 1]);
    expect(itemOf(both, seq(1))).toMatchObject({ lane: "priority", priorityEmoji: "👍", skipEmoji: "💩" });
  });

  it("updates/T-58: another emoji of one category changes the emoji, not the place", () => {
    const first = reacted(queue(item(1), item(2)), 2, ["👍"]);
    const second = reacted(first, 2, ["⚡"], ["👍"]);
    expect(itemOf(second, seq(2))).toMatchObject({ priorityEmoji: "⚡", lane: "priority" });
    expect(itemOf(second, seq(2))?.laneOrder).toBe(itemOf(first, seq(2))?.laneOrder);
  });

  it("updates/T-59: taking Skip back keeps lane and place", () => {
    const skipped = reacted(queue(item(1), item(2)), 1, ["👎"]);
    const kept = reacted(skipped, 1, [], ["👎"]);
    expect(ids(kept)).toEqual([1, 2]);
    expect(itemOf(kept, seq(1))?.skipEmoji).toBeNull();
  });

  it("updates/T-60: taking Priority back appends at the default tail, not at the old place", () => {
    const up = reacted(queue(item(1), item(2)), 1, ["❤️"]);
    expect(itemOf(up, seq(1))?.priorityEmoji).toBe("❤");
    expect(ids(reacted(up, 1, [], ["❤️"]))).toEqual([2, 1]);
  });

  it("updates/T-104, OP-51: Skip on what waits in lane control sets it and moves nothing", () => {
    const skipped = reacted(queue(item(1, { lane: "control" }), item(2)), 1, ["👎", "👍"]);
    expect(itemOf(skipped, seq(1))).toMatchObject({ lane: "control", skipEmoji: "👎", priorityEmoji: "👍" });
  });

  it("updates/Q-81, Q-82: whatever the reactions, one category never touches the other, and only a lane change moves", () => {
    const emojis = fc.subarray(["👍", "🔥", "👎", "🗑", "🎉"]);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), emojis, emojis), { maxLength: 12 }), (changes) => {
        let state = queue(item(1), item(2), item(3));
        for (const [n, before, after] of changes) {
          const was = itemOf(state, seq(n));
          const next = reacted(state, n, after, before);
          const is = itemOf(next, seq(n));
          if (was?.lane === is?.lane) expect(ids(next)).toEqual(ids(state));
          expect(new Set(ids(next))).toEqual(new Set(ids(state)));
          state = next;
        }
      }),
    );
  });
});

describe("what comes next", () => {
  it("is the first that is not skipped; those before it leave", () => {
    const next = nextOf(reacted(queue(item(1), item(2)), 1, ["👎"]));
    expect(next.skipped.map((each) => each.id)).toEqual([1]);
    expect(next.head?.id).toBe(2);
  });

  it.each(["gathering", "offered", "recalled"] as const)("is nothing while the head is %s", (standing) => {
    expect(nextOf(stand(queue(item(1), item(2)), seq(1), standing)).head).toBeNull();
  });
});

describe("folding and changes", () => {
  it("absorbs waiting prompts in order with all their entries; controls, what gathers and what is offered stay", () => {
    const before = queue(
      item(1),
      item(2, { kind: "control", lane: "control" }),
      item(3, { standing: "gathering" }),
      item(4),
    );
    const folded = fold(admit(before, item(5)), seq(5));
    expect(ids(folded)).toEqual([2, 3, 5]);
    const whole = itemOf(folded, seq(5));
    expect(whole === null ? [] : seqsOf(whole)).toEqual([1, 4, 5]);
  });

  it("updates/T-76, OP-43: an edit finds its prompt while that waits or still gathers, and changes no place", () => {
    const before = queue(item(1), item(2, { standing: "gathering" }), item(3));
    for (const n of [1, 2]) expect(holderOfMessage(before, messageId(100 + n))?.id).toBe(n);
    const edited = grow(before, seq(1), { seq: seq(9), role: "change", message: messageId(101) });
    expect(ids(edited)).toEqual([1, 2, 3]);
    expect(itemOf(edited, seq(1))).toMatchObject({ id: 1, laneOrder: itemOf(before, seq(1))?.laneOrder, order: 0 });
    // Once its turn has begun it is no item that waits: the edit goes beside it.
    expect(holderOfMessage(without(edited, [seq(1)]), messageId(101))).toBeNull();
  });

  it("finds the item of a message by any of its messages, unless it is on offer", () => {
    const grown = grow(queue(item(1)), seq(1), { seq: seq(7), role: "message", message: messageId(50) });
    expect(holderOfMessage(grown, messageId(50))?.id).toBe(1);
    expect(holderOfMessage(grown, messageId(51))).toBeNull();
    expect(holderOfMessage(stand(grown, seq(1), "offered"), messageId(50))).toBeNull();
  });
});

describe("what can be offered", () => {
  it.each([
    ["what is not there", queue(), "not waiting"],
    ["what gathers", queue(item(1, { standing: "gathering" })), "parts of it may still come"],
    ["what is offered", queue(item(1, { standing: "offered" })), "offered already"],
    ["updates/T-94, OP-14: what absorbed others", fold(queue(item(2), item(1)), seq(1)), "folded into it"],
    ["updates/OP-9: a prompt in lane control", queue(item(1, { lane: "control" })), "continues work"],
  ])("is not %s", (_, of, reason) => {
    expect(refusalOfOffer(of, seq(1))).toContain(reason);
  });

  it("is a prompt or a control that waits", () => {
    expect(refusalOfOffer(queue(item(1)), seq(1))).toBeNull();
    expect(refusalOfOffer(queue(item(1, { kind: "control", lane: "control" })), seq(1))).toBeNull();
  });
});
