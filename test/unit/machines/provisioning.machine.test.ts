/** The provisioning chart: intent before call, and no second thread after an unknown outcome. */
import { describe, expect, it } from "vitest";
import { epoch, seatKey, threadId } from "../../../machines/ids.ts";
import { conflictsMax, probeWaitMaxMs, provisioningMachine } from "../../../machines/provisioning.machine.ts";
import type { CreateAnswer, ThreadDoubt } from "../../../machines/provisioning.machine.ts";
import type { BegunProvision, HeldBinding, ThreadView, ThreadWish } from "../../../machines/threads.rules.ts";
import { ambiguousProvisionMs } from "../../../machines/threads.rules.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { bound, chat, me, mySeat, noThreads, reused, rival, thread } from "../../support/charts/samples.ts";

const nowMs = 1_000;
const wish: ThreadWish = {
  seat: mySeat,
  instanceId: me,
  chatId: chat,
  threadName: "Work",
  role: "follower",
  carried: null,
  previous: null,
};
const start = (doubt: ThreadDoubt | null = null, differs: Partial<ThreadWish> = {}) =>
  playChart(provisioningMachine, { epoch: epoch(4), wish: { ...wish, ...differs }, doubt });
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
    expect(chart.output).toEqual(reused());
  });

  it("threads/TP-4 threads/S-29 refuses, with the reason, while an earlier creation is unresolved", () => {
    const chart = intending({ ...nothing, provisions: [{ ...provision, status: "ambiguous", threadId: null }] });
    expect(chart.state).toBe("rejected");
    expect(chart.output).toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("15 more minutes") as string,
    });
  });

  it("threads/FP-2 decides nothing without a look at the store", () => {
    expect(start().fail("viewThreads").output).toEqual(rejected("the store could not be read"));
  });
});

describe("the intent, before the call", () => {
  it("threads/TP-9 is written under the epoch, and nothing is created meanwhile", () => {
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
    expect(chart.answer("viewThreads", { view, nowMs }).output).toEqual(reused());
  });

  it("threads/T-21, S-54, EB-1, TP-1, LP-1 creates and writes nothing under an epoch that is over", () => {
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
    expect(binding().requests).toEqual({
      bindThread: { epoch: 4, provision, threadId: 9, reason: "made: its seat had none" },
    });
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

  it("threads/S-30 gives the intent up when Telegram refused", () => {
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
  ])("threads/TP-15 keeps the intent as ambiguous and refuses when %s", (_, unknown, detail) => {
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
    expect(chart.output).toEqual({ kind: "bound", thread: thread(9, "A", "Work"), origin: "created" });
  });

  it("threads/S-33 writes again until the store answers: the thread exists", () => {
    const chart = binding().fail("bindThread");
    expect(chart.timers).toEqual({ retryInterval: 250 });
    expect(chart.after("retryInterval").requests).toEqual({
      bindThread: { epoch: 4, provision, threadId: 9, reason: "made: its seat had none" },
    });
  });

  it("binds nothing under an epoch that is over", () => {
    expect(binding().answer("bindThread", { kind: "fenced" }).output).toEqual({ kind: "fenced" });
  });
});

const anothers = (differs: Partial<HeldBinding> = {}) => ({
  ...nothing,
  bindings: [bound({ holder: rival, ...differs })],
});
const probing = (view: ThreadView = anothers(), differs: Partial<ThreadWish> = {}) =>
  start(null, differs).answer("viewThreads", { view, nowMs });
const { holder: _holder, ...binding5 } = bound();
const unknown = { carried: thread(77, "Q", "Quartz") };

describe("a thread that another instance had is proven first", () => {
  it("threads/FP-9, FP-11, FP-13 is looked at, and neither written nor created meanwhile", () => {
    expect(probing().requests).toEqual({ probeThread: { epoch: 4, target: thread().target } });
  });

  it("threads/S-3 is the new instance's once it exists, and the user is told (design: an editForumTopic probe)", () => {
    const chart = probing().answer("probeThread", { kind: "exists" });
    const kept = { ...binding5, reason: "kept, and proven to exist" };
    expect(chart.requests).toEqual({ keepThread: { epoch: 4, binding: kept, from: "own" } });
    expect(chart.answer("keepThread", { kind: "kept" }).output).toEqual({ ...reused(), origin: "proven" });
  });

  it("threads/S-4, FP-12 is handed over silently within one process", () => {
    const chart = probing(anothers(), { carried: thread(), previous: rival });
    chart.answer("probeThread", { kind: "exists" }).answer("keepThread", { kind: "kept" });
    expect(chart.output).toEqual({ ...reused(), origin: "handedOver" });
  });

  it("threads/S-5, FP-5, FP-14 goes to the seat of the same session under another key, at its word and its thread's", () => {
    const view = { ...nothing, bindings: [bound({ seat: seatKey("manual:fallback"), holder: rival })] };
    const chart = probing(view, { carried: thread(), previous: rival }).answer("probeThread", { kind: "exists" });
    const passed = { ...binding5, reason: "passed on by manual:fallback, along with its instance" };
    expect(chart.requests).toEqual({ keepThread: { epoch: 4, binding: passed, from: "anothers" } });
  });

  it("threads/FP-14 threads/S-13 threads/OP-15 a suspect that exists is open again, for the instance that asked", () => {
    const chart = probing(anothers({ standing: "suspect", reason: "who knows" })).answer("probeThread", {
      kind: "exists",
    });
    const proven = { ...binding5, reason: "proven to exist after a doubt: who knows" };
    expect(chart.requests).toEqual({ keepThread: { epoch: 4, binding: proven, from: "own" } });
  });

  it("threads/S-11 a suspect is looked at again for whoever brings nothing along, and nothing takes its place meanwhile", () => {
    const suspects = anothers({ standing: "suspect", reason: "who knows", holder: me });
    const chart = probing(suspects);
    expect(chart.requests).toEqual({ probeThread: { epoch: 4, target: thread().target } });
    expect(chart.answer("probeThread", { kind: "unclear", reason: "cut" }).output).toMatchObject({ kind: "rejected" });
    expect(probing(suspects).requests).toEqual(probing().requests);
  });

  it("threads/S-12 a suspect that is gone is lost, and a fresh one is created", () => {
    const chart = probing(anothers({ standing: "suspect", reason: "who knows" })).answer("probeThread", {
      kind: "gone",
      reason: "TOPIC_DELETED",
    });
    chart.answer("loseThread", { kind: "lost" }).answer("viewThreads", { view: nothing, nowMs });
    chart.answer("intendThread", { kind: "intended" });
    expect(Object.keys(chart.requests)).toEqual(["createThread"]);
  });

  it("threads/OP-23 a closed one exists and stays closed", () => {
    const chart = probing().answer("probeThread", { kind: "closed" });
    expect(chart.requests).toMatchObject({ keepThread: { binding: { standing: "closed" } } });
  });

  it("threads/S-6, T-45, FP-15 one that is gone is written down as lost, and a new one takes its name", () => {
    const chart = probing().answer("probeThread", { kind: "gone", reason: "TOPIC_DELETED" });
    expect(chart.requests).toEqual({ loseThread: { epoch: 4, target: thread().target, reason: "TOPIC_DELETED" } });
    chart.answer("loseThread", { kind: "lost" });
    const lost = [{ seat: mySeat, thread: thread(5, "C", "Coral"), reason: "TOPIC_DELETED", atMs: nowMs }];
    chart.answer("viewThreads", { view: { ...nothing, lost }, nowMs });
    expect(chart.requests).toMatchObject({ intendThread: { provision: { slot: "C", threadName: "Coral" } } });
  });

  it.each([
    [
      "threads/S-7, T-24, FP-15 the answer is unclear",
      () => probing().answer("probeThread", { kind: "unclear", reason: "cut" }),
    ],
    ["threads/T-24 the look failed", () => probing().fail("probeThread")],
  ])("%s: it is refused, and nothing is changed or created", (_, doubtful) => {
    const chart = doubtful();
    expect(chart.state).toBe("rejected");
    expect(chart.output).toMatchObject({ reason: expect.stringContaining("is not known") as string });
  });

  it("a 429 is waited out within the registration's time, and only then is the answer unclear", () => {
    const chart = probing().answer("probeThread", { kind: "later", afterMs: probeWaitMaxMs, reason: "429" });
    expect(chart.timers).toEqual({ callDelay: probeWaitMaxMs });
    expect(chart.after("callDelay").requests).toEqual({ probeThread: { epoch: 4, target: thread().target } });
    expect(chart.answer("probeThread", { kind: "later", afterMs: 1, reason: "429" }).state).toBe("rejected");
  });

  it("is decided anew when the binding changed meanwhile, and not at all under an old epoch", () => {
    const keeping = () => probing().answer("probeThread", { kind: "exists" });
    expect(keeping().answer("keepThread", { kind: "missing" }).state).toBe("conflicted");
    expect(keeping().answer("keepThread", { kind: "fenced" }).output).toEqual({ kind: "fenced" });
    expect(keeping().fail("keepThread").output).toEqual(rejected("the store could not be written"));
    const losing = () => probing().answer("probeThread", { kind: "gone", reason: "" });
    expect(losing().answer("loseThread", { kind: "fenced" }).output).toEqual({ kind: "fenced" });
    expect(losing().fail("loseThread").output).toEqual(rejected("the store could not be written"));
  });
});

describe("a thread that the instance brings along and nobody knows", () => {
  const at = { createdAtMs: nowMs, provenAtMs: nowMs };
  const recovered = { ...binding5, ...at, thread: thread(77, "Q", "Quartz"), reason: "its instance brought it along" };

  it("threads/S-8, S-9, FP-6, FP-8 is nobody's until it is proven, then the seat's", () => {
    const chart = probing(nothing, unknown);
    expect(chart.requests).toEqual({ probeThread: { epoch: 4, target: thread(77).target } });
    expect(chart.answer("probeThread", { kind: "exists" }).requests).toEqual({
      keepThread: { epoch: 4, binding: recovered, from: "unknown" },
    });
  });

  it("threads/S-10, FP-15 is remembered as a suspect when the look is unclear, and the registration is refused", () => {
    const suspecting = () => probing(nothing, unknown).answer("probeThread", { kind: "unclear", reason: "cut" });
    const chart = suspecting();
    expect(chart.requests).toMatchObject({ keepThread: { binding: { standing: "suspect" }, from: "unknown" } });
    expect(chart.answer("keepThread", { kind: "kept" }).state).toBe("rejected");
    expect(suspecting().answer("keepThread", { kind: "fenced" }).state).toBe("fenced");
    expect(suspecting().fail("keepThread").state).toBe("rejected");
  });

  it("threads/FP-14 leaves the seat's own thread alone until it is proven", () => {
    const view = { ...nothing, bindings: [bound()] };
    expect(probing(view, unknown).answer("probeThread", { kind: "unclear", reason: "cut" }).state).toBe("rejected");
    const gone = probing(view, unknown).answer("probeThread", { kind: "gone", reason: "TOPIC_ID_INVALID" });
    gone.answer("loseThread", { kind: "missing" });
    expect(gone.answer("viewThreads", { view, nowMs }).output).toEqual(reused());
    const there = probing(view, unknown).answer("probeThread", { kind: "exists" });
    expect(there.requests).toMatchObject({ keepThread: { from: "rival" } });
  });

  it("threads/S-53 threads/T-32 is kept without a look by a follower that leads now", () => {
    const chart = probing(nothing, { ...unknown, role: "leader" });
    expect(chart.requests).toEqual({ keepThread: { epoch: 4, binding: recovered, from: "unknown" } });
    expect(chart.answer("keepThread", { kind: "kept" }).output).toMatchObject({ origin: "handedOver" });
  });
});

describe("the leader's own thread", () => {
  it("threads/T-33, S-39, EB-4, EB-5, OB-6 is re-used without a call, whoever had it", () => {
    expect(probing(anothers(), { role: "leader" }).output).toEqual(reused());
  });

  it("threads/LP-3 is looked at when it is in doubt", () => {
    const chart = probing(anothers({ standing: "suspect" }), { role: "leader" });
    expect(chart.requests).toEqual({ probeThread: { epoch: 4, target: thread().target } });
  });
});

describe("a thread that is reported gone", () => {
  const doubt = { target: thread().target, reason: "message thread not found" };

  it("threads/T-18 is lost at once when Telegram has said so, and another is created", () => {
    const chart = start({ ...doubt, kind: "gone" });
    expect(chart.requests).toEqual({
      loseThread: { epoch: 4, target: thread().target, reason: "message thread not found" },
    });
    chart.answer("loseThread", { kind: "lost" }).answer("viewThreads", { view: nothing, nowMs });
    expect(chart.state).toBe("intending");
  });

  it("threads/OP-24 is looked at first when it is only suspected, and kept when it exists", () => {
    const chart = start({ ...doubt, kind: "suspect" }).answer("probeThread", { kind: "exists" });
    expect(chart.answer("viewThreads", { view: { ...nothing, bindings: [bound()] }, nowMs }).output).toEqual(reused());
    expect(start({ ...doubt, kind: "suspect" }).answer("probeThread", { kind: "unclear", reason: "" }).state).toBe(
      "rejected",
    );
  });
});

describe("a creation that has made a thread after all", () => {
  const begun = { ...provision, status: "ambiguous", threadId: threadId(60) } as const;

  it("threads/TP-3 threads/S-27 is adopted without a call", () => {
    const chart = intending({ ...nothing, provisions: [begun] });
    expect(chart.requests).toMatchObject({ bindThread: { epoch: 4, threadId: 60 } });
    expect(chart.answer("bindThread", { kind: "bound" }).output).toEqual({
      kind: "bound",
      thread: thread(60, "A", "Work"),
      origin: "reused",
    });
  });

  it("is refused to an instance that has left for good", () => {
    expect(binding().answer("bindThread", { kind: "unwanted" }).output).toMatchObject({ kind: "rejected" });
  });
});

it("does not look again for ever when something else is faster each time", () => {
  const chart = intending();
  for (let looks = 1; looks < conflictsMax; looks += 1)
    chart
      .answer("intendThread", { kind: "conflict" })
      .after("conflictPause")
      .answer("viewThreads", { view: nothing, nowMs });
  expect(chart.answer("intendThread", { kind: "conflict" }).after("conflictPause").state).toBe("rejected");
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
      asks bindThread (epoch: 4, provision: …, threadId: 9, reason: made: its seat had none)
    bindThread answered bound → bound"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(provisioningMachine)).toEqual(noFaults);
});
