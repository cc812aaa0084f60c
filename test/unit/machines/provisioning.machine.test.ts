/** The provisioning chart: intent before call, and no second thread after an unknown outcome. */
import { describe, expect, it } from "vitest";
import { epoch, threadId } from "../../../machines/ids.ts";
import { provisioningMachine } from "../../../machines/provisioning.machine.ts";
import type { CreateAnswer } from "../../../machines/provisioning.machine.ts";
import type { BegunProvision, ThreadView } from "../../../machines/threads.rules.ts";
import { ambiguousProvisionMs } from "../../../machines/threads.rules.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { bound, chat, me, mySeat, noThreads, thread } from "../../support/charts/samples.ts";

const nowMs = 1_000;
const start = () =>
  playChart(provisioningMachine, {
    epoch: epoch(4),
    wish: { seat: mySeat, instanceId: me, chatId: chat, threadName: "Work" },
  });
const nothing: ThreadView = noThreads;
const provision: BegunProvision = {
  id: `provision:${me}:A:1000`,
  seat: mySeat,
  chatId: chat,
  slot: "A",
  threadName: "Work",
  startedAtMs: nowMs,
  status: "inFlight",
  doubts: 0,
};
const later: CreateAnswer = { kind: "later", afterMs: 3_000, reason: "429" };

const intending = (view = nothing, at = nowMs) => start().answer("viewThreads", { view, nowMs: at });
const creating = () => intending().answer("intendThread", { kind: "intended" });
const binding = () => creating().answer("createThread", { kind: "created", threadId: threadId(9) });
const rejected = (reason: string) => ({ kind: "rejected", reason });

describe("deciding", () => {
  it("re-uses the seat's thread without a call or a write", () => {
    const view = { ...nothing, bindings: [bound()] };
    const chart = intending(view);
    expect(chart.status).toBe("done");
    expect(chart.output).toEqual({ kind: "bound", thread: thread() });
  });

  it("refuses, with the reason, while an earlier creation is unresolved", () => {
    const chart = intending({ ...nothing, provisions: [{ ...provision, status: "ambiguous", threadId: null }] });
    expect(chart.state).toBe("rejected");
    expect(chart.output).toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("15 more minutes") as string,
    });
  });

  it("decides nothing without a look at the store", () => {
    expect(start().fail("viewThreads").output).toEqual(rejected("the store could not be read"));
  });
});

describe("the intent, before the call", () => {
  it("is written under the epoch, and nothing is created meanwhile", () => {
    expect(intending().requests).toEqual({ intendThread: { epoch: 4, provision, abandons: null } });
  });

  it("names the expired creation it replaces", () => {
    const expired = { ...provision, id: "old", threadId: null, startedAtMs: nowMs - ambiguousProvisionMs };
    expect(intending({ ...nothing, provisions: [expired] }).requests).toMatchObject({
      intendThread: { abandons: "old" },
    });
  });

  it("looks again in a moment on a conflict, and takes what it finds then", () => {
    const chart = intending().answer("intendThread", { kind: "conflict" });
    expect(chart.requests).toEqual({});
    expect(chart.timers).toEqual({ conflictPause: 50 });
    expect(chart.after("conflictPause").requests).toEqual({ viewThreads: undefined });
    const view = { ...nothing, bindings: [bound()] };
    expect(chart.answer("viewThreads", { view, nowMs }).output).toEqual({ kind: "bound", thread: thread() });
  });

  it("creates nothing under an epoch that is over", () => {
    const chart = intending().answer("intendThread", { kind: "fenced" });
    expect(chart.state).toBe("fenced");
    expect(chart.output).toEqual({ kind: "fenced" });
  });

  it("creates nothing when it could not be written", () => {
    expect(intending().fail("intendThread").output).toEqual(rejected("the store could not be written"));
  });
});

describe("creating", () => {
  it("creates what was intended, then binds what was created", () => {
    expect(creating().requests).toEqual({ createThread: { epoch: 4, provision } });
    expect(binding().requests).toEqual({ bindThread: { epoch: 4, provision, threadId: 9 } });
  });

  it("asks again after the delay when the call was put off", () => {
    const chart = creating().answer("createThread", later);
    expect(chart.timers).toEqual({ callDelay: 3_000 });
    expect(chart.after("callDelay").requests).toEqual({ createThread: { epoch: 4, provision } });
  });

  it("gives up when it was put off five times", () => {
    const chart = creating();
    for (let tries = 1; tries < 5; tries += 1) chart.answer("createThread", later).after("callDelay");
    expect(chart.answer("createThread", later).state).toBe("abandoning");
    chart.answer("giveUpThread", { kind: "noted" });
    expect(chart.output).toEqual(rejected("the thread could not be created: 429"));
  });

  it("gives the intent up when Telegram refused", () => {
    const chart = creating().answer("createThread", { kind: "rejected", reason: "not enough rights" });
    expect(chart.requests).toEqual({ giveUpThread: { epoch: 4, provisionId: provision.id, as: "abandoned" } });
    expect(chart.answer("giveUpThread", { kind: "noted" }).output).toEqual(
      rejected("the thread could not be created: not enough rights"),
    );
  });

  it("is refused all the same when giving up was not observed: the intent keeps the caution", () => {
    const chart = creating().answer("createThread", { kind: "rejected", reason: "no" }).fail("giveUpThread");
    expect(chart.state).toBe("rejected");
  });
});

describe("an unknown outcome never leads to a second thread", () => {
  it.each([
    ["the answer was lost", () => creating().answer("createThread", { kind: "ambiguous", reason: "cut" }), ": cut"],
    ["the effect broke", () => creating().fail("createThread"), ""],
  ])("keeps the intent as ambiguous and refuses when %s", (_, unknown, detail) => {
    const chart = unknown();
    expect(chart.requests).toEqual({ giveUpThread: { epoch: 4, provisionId: provision.id, as: "ambiguous" } });
    expect(chart.answer("giveUpThread", { kind: "noted" }).output).toEqual(
      rejected(`creating the thread had an unknown outcome${detail}`),
    );
  });

  it("refuses when the mark was not observed: an intent in flight reads as ambiguous", () => {
    const chart = creating().fail("createThread").fail("giveUpThread");
    expect(chart.state).toBe("rejected");
  });
});

describe("binding", () => {
  it("is bound when it is written", () => {
    const chart = binding().answer("bindThread", { kind: "bound" });
    expect(chart.status).toBe("done");
    expect(chart.output).toEqual({ kind: "bound", thread: thread(9, "A", "Work") });
  });

  it("writes again until the store answers: the thread exists", () => {
    const chart = binding().fail("bindThread");
    expect(chart.timers).toEqual({ retryInterval: 250 });
    expect(chart.after("retryInterval").requests).toEqual({ bindThread: { epoch: 4, provision, threadId: 9 } });
  });

  it("binds nothing under an epoch that is over", () => {
    expect(binding().answer("bindThread", { kind: "fenced" }).output).toEqual({ kind: "fenced" });
  });
});

it("reads like this from a conflict to a bound thread", () => {
  const chart = intending()
    .answer("intendThread", { kind: "conflict" })
    .after("conflictPause")
    .answer("viewThreads", { view: nothing, nowMs });
  chart.answer("intendThread", { kind: "intended" }).answer("createThread", later).after("callDelay");
  chart.answer("createThread", { kind: "created", threadId: threadId(9) }).answer("bindThread", { kind: "bound" });
  expect(chart.trace()).toMatchInlineSnapshot(`
    "start → deciding
      asks viewThreads
    viewThreads answered (view: …, nowMs: 1000) → intending
      asks intendThread (epoch: 4, provision: …, abandons: null)
    intendThread answered conflict → conflicted
    after conflictPause → deciding
      asks viewThreads
    viewThreads answered (view: …, nowMs: 1000) → intending
      asks intendThread (epoch: 4, provision: …, abandons: null)
    intendThread answered intended → creating
      asks createThread (epoch: 4, provision: …)
    createThread answered later (afterMs: 3000, reason: 429) → pausing
    after callDelay → creating
      asks createThread (epoch: 4, provision: …)
    createThread answered created (threadId: 9) → binding
      asks bindThread (epoch: 4, provision: …, threadId: 9)
    bindThread answered bound → bound"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(provisioningMachine)).toEqual(noFaults);
});
