/** Which thread a seat gets, and what proves that a thread is gone. */
import { describe, expect, it } from "vitest";
import { chatId, seatKey, threadId } from "../../../machines/ids.ts";
import { ambiguousProvisionMs, decideThread, provesThreadGone, seatOfThread } from "../../../machines/threads.rules.ts";
import type { PendingProvision, ThreadView } from "../../../machines/threads.rules.ts";
import { bound, chat, me, mySeat, noThreads, thread } from "../../support/charts/samples.ts";

const other = seatKey("manual:profile:two");
const wish = { seat: mySeat, instanceId: me, chatId: chat, threadName: null };
const nothing: ThreadView = noThreads;
const binding = (seat = mySeat, has = thread()) => bound({ seat, thread: has });
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
  it("its own, if it has one in this chat", () => {
    expect(decideThread({ ...nothing, bindings: [binding()] }, wish, 0)).toEqual({ kind: "reuse", thread: thread() });
  });

  it("its own even while a creation of the seat is unresolved", () => {
    const view = { ...nothing, bindings: [binding()], provisions: [begun()] };
    expect(decideThread(view, wish, 0)).toMatchObject({ kind: "reuse" });
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
        'an earlier attempt to create the thread "Amber" had an unknown outcome; no second one is created for 1 more minutes',
    });
  });

  it("one is created after fifteen minutes, in place of the expired one, whose letter is free again", () => {
    expect(decideThread({ ...nothing, provisions: [begun()] }, wish, ambiguousProvisionMs)).toMatchObject({
      kind: "create",
      abandons: "begun",
      provision: { slot: "A" },
    });
  });

  it("other seats, and other chats of the seat, are not held back", () => {
    for (const differs of [{ seat: other }, { chatId: chatId(-5) }])
      expect(decideThread({ ...nothing, provisions: [begun(differs)] }, wish, 0)).toMatchObject({ kind: "create" });
  });
});

describe("what proves that a thread is gone", () => {
  it.each([
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

describe("whose thread it is", () => {
  it("is told by chat and thread together", () => {
    const bindings = [binding(), binding(other, thread(6))];
    expect(seatOfThread(bindings, thread(6).target)).toBe(other);
    expect(seatOfThread(bindings, thread(7).target)).toBeNull();
    expect(seatOfThread(bindings, { chatId: chatId(-5), threadId: threadId(5) })).toBeNull();
  });
});
