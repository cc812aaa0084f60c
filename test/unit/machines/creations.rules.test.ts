/** Creations in doubt, matched with what service messages tell: adopted, dropped, or offered to the operator. */
import { describe, expect, it } from "vitest";
import { freshThreadMs, judgeCreations } from "../../../machines/creations.rules.ts";
import { chatId, threadId } from "../../../machines/ids.ts";
import type { Observation, ReconciliationView } from "../../../machines/reconciliation.types.ts";
import { ambiguousProvisionMs } from "../../../machines/threads.rules.ts";
import type { PendingProvision } from "../../../machines/threads.rules.ts";
import { bound, chat, mySeat, thread } from "../../support/charts/samples.ts";
import { empty } from "./reconciliation-scenes.ts";

const provision = (differs: Partial<PendingProvision> = {}): PendingProvision => ({
  id: "p",
  seat: mySeat,
  chatId: chat,
  slot: "A",
  threadName: "alpha",
  startedAtMs: 100,
  status: "ambiguous",
  doubts: 0,
  threadId: null,
  ...differs,
});
const seen = (id: number, differs: Partial<Observation> = {}): Observation => ({
  target: { chatId: chat, threadId: threadId(id) },
  status: "open",
  name: "alpha",
  isNamedByPerson: false,
  createdByBot: true,
  atMs: 200,
  ...differs,
});
const judge = (view: Partial<ReconciliationView>, { nowMs = 300, held = [mySeat].slice(1) } = {}) =>
  judgeCreations({ nowMs, chatId: chat, view: { ...empty, ...view }, heldSeats: new Set(held) });
const adopts = (id: number, of = provision()) => ({ kind: "adoptCreated", provision: of, target: seen(id).target });

describe("a creation in doubt", () => {
  it("threads/OP-8 threads/OP-20 C40 has made the thread of its name that the bot is seen to have made", () => {
    expect(judge({ provisions: [provision()], observations: [seen(60)] })).toEqual([adopts(60)]);
  });

  it("has not made one of another name, of before, of a person, of another chat, or one that is known or gone", () => {
    const elsewhere = { chatId: chatId(-5), threadId: threadId(60) };
    const others = [
      { name: "beta" },
      { atMs: 99 },
      { createdByBot: false },
      { target: elsewhere },
      { status: "deleted" },
    ] as const;
    for (const differs of others)
      expect(judge({ provisions: [provision()], observations: [seen(60, differs)] })).toEqual([]);
    const bindings = [bound({ thread: thread(60) })];
    expect(judge({ provisions: [provision()], observations: [seen(60)], bindings })).toEqual([]);
  });

  it("threads/LP-5: is left alone while its call may be answered, and so is what was seen", () => {
    const underWay = provision({ status: "inFlight" });
    expect(judge({ provisions: [underWay], observations: [seen(60)] }, { held: [mySeat] })).toEqual([]);
    expect(judge({ provisions: [underWay], observations: [seen(60)] })).toEqual([adopts(60, underWay)]);
    // Whoever began it died before the answer, and its seat is taken again.
    const late = { nowMs: 100 + freshThreadMs, held: [mySeat] };
    expect(judge({ provisions: [underWay], observations: [seen(60)] }, late)).toEqual([adopts(60, underWay)]);
  });

  it("each makes one thread, the older the older one", () => {
    const second = provision({ id: "q", startedAtMs: 150 });
    const view = { provisions: [provision(), second], observations: [seen(61), seen(60)] };
    expect(judge(view)).toEqual([adopts(60), adopts(61, second)]);
  });

  it("threads/S-26 threads/S-27 whose thread is on disk is adopted without a message", () => {
    const made = provision({ threadId: threadId(60) });
    expect(judge({ provisions: [made] })).toEqual([adopts(60, made)]);
  });

  it("C38 of one who has left is found as well, and dropped once nothing has shown up for long", () => {
    const unwanted = provision({ status: "unwanted" });
    expect(judge({ provisions: [unwanted], observations: [seen(60)] })).toEqual([adopts(60, unwanted)]);
    expect(judge({ provisions: [unwanted] })).toEqual([]);
    expect(judge({ provisions: [unwanted] }, { nowMs: 100 + ambiguousProvisionMs })).toEqual([
      { kind: "dropCreation", provisionId: "p" },
    ]);
  });
});

describe("a thread that the bot made for nobody", () => {
  it("C40 is offered to the operator, once nobody can still be waiting for it", () => {
    expect(judge({ observations: [seen(60)] }, { nowMs: 200 + freshThreadMs - 1 })).toEqual([]);
    expect(judge({ observations: [seen(60)] }, { nowMs: 200 + freshThreadMs })).toEqual([
      { kind: "offerThread", target: seen(60).target, threadName: "alpha" },
    ]);
  });

  it("C40 is all that is known of one that a person renamed before it was judged: offered, and bound to nobody", () => {
    const renamed = seen(60, { name: "Mine", isNamedByPerson: true });
    const view = { provisions: [provision()], observations: [renamed] };
    expect(judge(view, { nowMs: 200 + freshThreadMs - 1 })).toEqual([]);
    expect(judge(view, { nowMs: 200 + freshThreadMs })).toEqual([
      { kind: "offerThread", target: seen(60).target, threadName: "Mine" },
    ]);
    // Not even by the name of another's creation.
    const others = { provisions: [provision({ threadName: "Mine" })], observations: [renamed] };
    expect(judge(others, { nowMs: 200 + freshThreadMs })).toEqual([expect.objectContaining({ kind: "offerThread" })]);
  });

  it("threads/T-2 threads/S-80 is never deleted, and not offered twice", () => {
    const leftovers = [{ target: seen(60).target, threadName: "alpha", seat: null, reason: "", atMs: 0 }];
    expect(judge({ observations: [seen(60)], leftovers }, { nowMs: 200 + freshThreadMs })).toEqual([]);
    expect(judge({ observations: [seen(60)] }, { nowMs: 1_000_000 })).toEqual([]);
  });
});
