/** Which thread a seat gets, and what proves that a thread is gone. */
import { describe, expect, it } from "vitest";
import { chatId, instanceId, seatKey, threadId } from "../../../machines/ids.ts";
import { ambiguousProvisionMs, decideThread, provesThreadGone } from "../../../machines/threads.rules.ts";
import type { PendingProvision, ThreadView, ThreadWish } from "../../../machines/threads.rules.ts";
import { bound, chat, me, mySeat, noThreads, rival, thread } from "../../support/charts/samples.ts";

const other = seatKey("manual:profile:two");
const wish: ThreadWish = {
  seat: mySeat,
  instanceId: me,
  chatId: chat,
  threadName: null,
  role: "follower",
  carried: null,
  previous: null,
};
const nothing: ThreadView = noThreads;
/** Of another seat's an instance that is neither of ours. */
const binding = (seat = mySeat, has = thread()) =>
  bound({ seat, thread: has, holder: seat === mySeat ? me : instanceId("300:3") });
const begun = (differs: Partial<PendingProvision> = {}): PendingProvision => ({
  id: "begun",
  seat: mySeat,
  chatId: chat,
  slot: "A",
  threadName: "Amber",
  startedAtMs: 0,
  status: "inFlight",
  doubts: 0,
  threadId: null,
  ...differs,
});

describe("which thread a seat gets", () => {
  it("threads/TP-2 its own, if it has one in this chat", () => {
    expect(decideThread({ ...nothing, bindings: [binding()] }, wish, 0)).toEqual({ kind: "reuse", thread: thread() });
  });

  it("threads/TP-5, FP-5, FP-10 the one that the same instance has under another key, proven first only where it is a suspect", () => {
    const view = (differs = {}) => ({ ...nothing, bindings: [bound({ seat: other, ...differs })] });
    const { holder: _holder, ...its } = bound();
    expect(decideThread(view(), wish, 0)).toEqual({
      kind: "take",
      candidate: {
        binding: { ...its, reason: "passed on by manual:profile:two, along with its instance" },
        from: "anothers",
        isQuiet: true,
      },
    });
    expect(decideThread(view(), { ...wish, carried: thread() }, 0)).toMatchObject({ kind: "take" });
    expect(decideThread(view({ standing: "suspect" }), wish, 0)).toMatchObject({ kind: "probe" });
    expect(decideThread(view({ holder: rival }), wish, 0)).toMatchObject({ kind: "create" });
    expect(decideThread(view(), { ...wish, chatId: chatId(-5) }, 0)).toMatchObject({ kind: "create" });
  });

  it("its own even while a creation of the seat is unresolved", () => {
    const view = { ...nothing, bindings: [binding()], provisions: [begun()] };
    expect(decideThread(view, wish, 0)).toMatchObject({ kind: "reuse" });
  });

  it("threads/OP-2 a letter that a suspect thread of another seat does not hold any less for that", () => {
    const suspect = { ...binding(other, thread(6, "A", "Beryl")), standing: "suspect" as const };
    expect(decideThread({ ...nothing, bindings: [suspect] }, wish, 0)).toMatchObject({
      kind: "create",
      provision: { slot: "B" },
    });
  });

  it("not the one it has in another chat, nor another seat's", () => {
    const elsewhere = binding(mySeat, { ...thread(), target: { chatId: chatId(-5), threadId: threadId(5) } });
    const view = { ...nothing, bindings: [elsewhere, binding(other, thread(6, "B", "Beryl"))] };
    expect(decideThread(view, wish, 0)).toMatchObject({ kind: "create", provision: { slot: "C", seat: mySeat } });
  });

  it("a new one, with the first free letter and a name of its own", () => {
    expect(decideThread(nothing, wish, 7_000)).toEqual({
      kind: "create",
      abandons: null,
      reason: "made: its seat had none",
      provision: {
        id: "provision:100:1:A:7000",
        seat: mySeat,
        chatId: chat,
        slot: "A",
        threadName: "Amber",
        startedAtMs: 7_000,
        status: "inFlight",
        doubts: 0,
      },
    });
  });

  it.each([
    ["made: its seat had lost thread 4 (TOPIC_DELETED)", { reason: "TOPIC_DELETED" }],
    ["made: its seat had lost thread 4", {}],
    ["made: its seat had none", { seat: other }],
    ["made: its seat had none", { thread: { ...thread(4), target: { chatId: chatId(-5), threadId: threadId(4) } } }],
  ])("says why there is a new one: %s", (reason, differs) => {
    const lost = [{ seat: mySeat, thread: thread(4), reason: "", atMs: 0, ...differs }];
    expect(decideThread({ ...nothing, lost }, wish, 0)).toMatchObject({ kind: "create", reason });
  });

  it("a new one named as it wishes", () => {
    expect(decideThread(nothing, { ...wish, threadName: "Work" }, 0)).toMatchObject({
      provision: { threadName: "Work" },
    });
  });

  it("with neither letter nor name of a creation that is under way for another seat", () => {
    const view = { ...nothing, provisions: [begun({ seat: other })] };
    expect(decideThread(view, wish, 0)).toMatchObject({ kind: "create", provision: { slot: "B" } });
  });
});

describe("while an earlier creation is unresolved (threads/OP-8, OP-20)", () => {
  it.each(["inFlight", "ambiguous"] as const)("none is created: %s", (status) => {
    const view = { ...nothing, provisions: [begun({ status })] };
    for (const nowMs of [0, ambiguousProvisionMs - 1])
      expect(decideThread(view, wish, nowMs)).toMatchObject({ kind: "reject" });
  });

  it("says for how long", () => {
    const view = { ...nothing, provisions: [begun()] };
    expect(decideThread(view, wish, 14 * 60_000 + 1)).toEqual({
      kind: "reject",
      reason:
        'an earlier attempt to create the thread "Amber" had an unknown outcome; ' +
        "no second one is created for 1 more minutes, unless the thread shows up",
    });
  });

  it("one is created after fifteen minutes, in place of the expired one, whose letter is free again", () => {
    expect(decideThread({ ...nothing, provisions: [begun()] }, wish, ambiguousProvisionMs)).toMatchObject({
      kind: "create",
      abandons: "begun",
      reason: "made after an earlier creation had come to nothing known",
      provision: { slot: "A" },
    });
  });

  it("the wait doubles with each unknown outcome that came right before", () => {
    const view = { ...nothing, provisions: [begun({ doubts: 2 })] };
    expect(decideThread(view, wish, 4 * ambiguousProvisionMs - 1)).toMatchObject({ kind: "reject" });
    expect(decideThread(view, wish, 4 * ambiguousProvisionMs)).toMatchObject({ provision: { doubts: 3 } });
  });

  it("threads/TP-3 the thread that it has made is adopted", () => {
    const known = begun({ threadId: threadId(60) });
    expect(decideThread({ ...nothing, provisions: [known] }, wish, 0)).toEqual({
      kind: "adopt",
      provision: known,
      threadId: 60,
    });
  });

  it("one whose instance has left for good holds nobody back", () => {
    const view = { ...nothing, provisions: [begun({ status: "unwanted" })] };
    expect(decideThread(view, wish, 0)).toMatchObject({ kind: "create", abandons: null, provision: { slot: "B" } });
  });

  it("threads/OP-8 other seats, and other chats of the seat, are not held back", () => {
    for (const differs of [{ seat: other }, { chatId: chatId(-5) }])
      expect(decideThread({ ...nothing, provisions: [begun(differs)] }, wish, 0)).toMatchObject({ kind: "create" });
  });
});

describe("a thread that an instance brings along", () => {
  const carried = thread(77, "Q", "Quartz");
  const brings = { ...wish, carried };

  it("threads/S-15 gives the seat its name only if it can be one", () => {
    const nameless = { ...brings, carried: { ...carried, threadName: "  " } };
    expect(decideThread(nothing, nameless, 0)).toMatchObject({
      candidate: { binding: { thread: { threadName: "" } } },
    });
  });

  it.each([
    ["threads/S-14, FP-8", "who has it", { bindings: [binding(other, thread(6, "Q", "Quill"))] }],
    ["threads/OP-38", "the creation that is under way with it", { provisions: [begun({ seat: other, slot: "Q" })] }],
  ])("%s leaves its letter to %s", (_id, _who, taken) => {
    expect(decideThread({ ...nothing, ...taken }, brings, 0)).toMatchObject({
      kind: "probe",
      candidate: { binding: { thread: { slot: "" } } },
    });
    expect(decideThread(nothing, brings, 0)).toMatchObject({ candidate: { binding: { thread: { slot: "Q" } } } });
  });

  it("threads/S-17, FP-10 is its own already, from the time when it led: it has it unchanged, and nothing is asked", () => {
    const view = { ...nothing, bindings: [binding()] };
    expect(decideThread(view, { ...wish, carried: thread() }, 0)).toEqual({ kind: "reuse", thread: thread() });
  });

  it("threads/S-16 is not its when another seat is bound to it", () => {
    const view = { ...nothing, bindings: [binding(other, carried)] };
    expect(decideThread(view, brings, 0)).toMatchObject({ kind: "create" });
    expect(decideThread(view, { ...brings, previous: rival }, 0)).toMatchObject({ kind: "create" });
  });

  it("threads/S-18 threads/FP-4a is ignored in another chat", () => {
    const elsewhere = { ...carried, target: { chatId: chatId(-5), threadId: threadId(77) } };
    expect(decideThread(nothing, { ...wish, carried: elsewhere }, 0)).toMatchObject({ kind: "create" });
  });

  it("is not asked for again once it is known as lost, as left over, or as made by a creation", () => {
    const lost = { seat: mySeat, thread: carried, reason: "", atMs: 0 };
    const leftover = { target: carried.target, threadName: "", seat: null, reason: "", atMs: 0 };
    expect(decideThread({ ...nothing, lost: [lost] }, brings, 0)).toMatchObject({ kind: "create" });
    expect(decideThread({ ...nothing, leftovers: [leftover] }, brings, 0)).toMatchObject({ kind: "create" });
    const made = begun({ threadId: threadId(77) });
    expect(decideThread({ ...nothing, provisions: [made] }, brings, 0)).toMatchObject({ kind: "adopt" });
  });

  it("threads/FP-14 does not replace the leader's own", () => {
    const view = { ...nothing, bindings: [binding()] };
    expect(decideThread(view, { ...brings, role: "leader" }, 0)).toMatchObject({ kind: "reuse" });
  });
});

describe("a new thread", () => {
  const lost = (differs = {}) => ({ seat: mySeat, thread: thread(4, "D", "Mine"), reason: "", atMs: 0, ...differs });

  it("threads/OP-7, OP-45, TP-7, TP-8 has the letter and the name of the one that the seat lost last", () => {
    const view = { ...nothing, lost: [lost({ thread: thread(3, "C", "Old") }), lost(), lost({ seat: other })] };
    expect(decideThread(view, { ...wish, threadName: "Wished" }, 0)).toMatchObject({
      provision: { slot: "D", threadName: "Mine" },
    });
  });

  it("threads/OP-16, OP-45 has the first free letter when that one is taken by now", () => {
    const view = { ...nothing, lost: [lost()], bindings: [binding(other, thread(6, "D", "Dune"))] };
    expect(decideThread(view, wish, 0)).toMatchObject({ provision: { slot: "A", threadName: "Mine" } });
  });
});

describe("what proves that a thread is gone", () => {
  it.each([
    "Bad Request: topic not found",
    "Bad Request: message thread not found",
    "Bad Request: TOPIC_DELETED",
    "Bad Request: TOPIC_ID_INVALID",
    "thread not found",
  ])("%j does", (text) => {
    expect(provesThreadGone(text)).toBe(true);
  });

  it.each([
    "Bad Request: TOPIC_NOT_MODIFIED",
    "Bad Request: TOPIC_CLOSED",
    "Bad Request: chat not found",
    "Forbidden",
    "",
  ])("%j does not", (text) => {
    expect(provesThreadGone(text)).toBe(false);
  });
});
