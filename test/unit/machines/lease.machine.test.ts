/** The lease chart: looking, proving, confirming, standing, holding, letting go; what the store may answer to each. */
import { describe, expect, it } from "vitest";
import { epoch } from "../../../machines/ids.ts";
import { leaseMachine } from "../../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../../machines/lease.rules.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { holder, me, record } from "../../support/charts/samples.ts";

const timings = { ...defaultLeaseTimings, proofLooksMax: 2 };
const start = () => playChart(leaseMachine, { me, timings });
const vacant = record({ holder: null });
const expired = record({ remainingMs: 0 });
const mine = record({ epoch: epoch(4), renewals: 0, holder: holder(me), remainingMs: 6_000 });

const observing = () => start().answer("readLease", record());
const proving = () => observing().send({ type: "lease.check" }).answer("readLease", record());
const confirming = () => start().answer("readLease", expired);
const acquiring = () => start().answer("readLease", vacant);
const holding = () => acquiring().answer("acquireLease", { kind: "granted", record: mine, remainingMs: 5_900 });
const refused = { kind: "refused", record: record(), remainingMs: 0 } as const;
const granted = { type: "lease.granted", epoch: 4, remainingMs: 5_900 };
const silent = { type: "lease.troubled", reason: "Error: not observed" };

describe("finding out who leads", () => {
  it("begins with a look at the store, and asks again after a while when that does not answer", () => {
    expect(start().requests).toEqual({ readLease: undefined });
    const lease = start().fail("readLease");
    expect(lease.state).toBe("unknown.waiting");
    expect(lease.timers).toEqual({ retryInterval: 250 });
    expect(lease.after("retryInterval").state).toBe("unknown.looking");
  });

  it("asks again at once on a hint while it waits, and ignores the hint while it looks", () => {
    expect(start().fail("readLease").send({ type: "lease.check" }).state).toBe("unknown.looking");
    expect(start().send({ type: "lease.check" }).state).toBe("unknown.looking");
  });

  it("observes whoever holds it", () => {
    const lease = observing();
    expect(lease.state).toBe("observing.resting");
    expect(lease.facts).toEqual([{ type: "lease.observed", epoch: 3, holder: { ...holder(), dialect: "own" } }]);
  });

  it.each([
    ["vacant", vacant, "vacant"],
    ["its own, of an earlier grant", record({ holder: holder(me) }), "own"],
  ])("stands at once for a lease that is %s", (_, seen, evidence) => {
    const lease = start().answer("readLease", seen);
    expect(lease.state).toBe("acquiring.standing");
    expect(lease.facts).toEqual([{ type: "lease.standing" }]);
    expect(lease.requests).toEqual({ acquireLease: { expected: seen, evidence, durationMs: 6_000 } });
  });

  it("does not stand for an expired one before a second look", () => {
    expect(confirming().state).toBe("confirming.waiting");
    expect(confirming().facts).toEqual([]);
  });
});

describe("a store that is silent", () => {
  it.each([
    ["the first look", () => start().fail("readLease"), "unknown.waiting"],
    ["a look at a rival", () => observing().after("observeInterval").fail("readLease"), "observing.resting"],
    [
      "a look at a holder who is said to be gone",
      () => observing().send({ type: "lease.check" }).fail("readLease"),
      "unknown.waiting",
    ],
    ["the second look", () => confirming().after("agreementInterval").fail("readLease"), "confirming.waiting"],
    ["an attempt to take the lease", () => acquiring().fail("acquireLease"), "unknown.waiting"],
    ["a renewal", () => holding().after("renewInterval").fail("renewLease"), "holding.retrying"],
  ])("is told about at %s, and asked again", (_, reached, state) => {
    const lease = reached();
    expect(lease.facts.at(-1)).toEqual(silent);
    expect(lease.facts.filter((fact) => fact.type === "lease.troubled")).toHaveLength(1);
    expect(lease.state).toBe(state);
    expect(lease.timers).not.toEqual({});
  });

  it("is none when a look at a process failed", () => {
    expect(proving().fail("proveHolder").facts).not.toContainEqual(expect.objectContaining({ type: "lease.troubled" }));
  });
});

describe("observing a rival", () => {
  it.each([
    ["in between", 4_000, 1_000],
    ["when it will end, if that is sooner", 300, 300],
    ["and not faster than looks at a dying holder", 1, 15],
  ])("looks again %s", (_, remainingMs, delay) => {
    const lease = start().answer("readLease", record({ remainingMs }));
    expect(lease.timers).toEqual({ observeInterval: delay });
    expect(lease.after("observeInterval").requests).toEqual({ readLease: undefined });
  });

  it("judges each look anew and reports it", () => {
    const lease = observing()
      .after("observeInterval")
      .answer("readLease", record({ epoch: epoch(9) }));
    expect(lease.latest).toEqual([{ type: "lease.observed", epoch: 9, holder: { ...holder(), dialect: "own" } }]);
    expect(lease.after("observeInterval").answer("readLease", vacant).state).toBe("acquiring.standing");
  });

  it("rests again when a look failed: no observation", () => {
    expect(observing().after("observeInterval").fail("readLease").state).toBe("observing.resting");
  });
});

describe("proving the holder gone", () => {
  it("reads the record again before it proves anything", () => {
    const lease = observing().send({ type: "lease.check" });
    expect(lease.state).toBe("proving.looking");
    expect(lease.answer("readLease", record()).requests).toEqual({ proveHolder: holder() });
  });

  it("judges the record when the hint was about a holder of the past", () => {
    expect(observing().send({ type: "lease.check" }).answer("readLease", vacant).state).toBe("acquiring.standing");
    expect(observing().send({ type: "lease.check" }).answer("readLease", expired).state).toBe("confirming.waiting");
  });

  it("goes back to the first look when the store does not answer", () => {
    expect(observing().send({ type: "lease.check" }).fail("readLease").state).toBe("unknown.waiting");
  });

  it("stands with the evidence that the holder is dead", () => {
    const lease = proving().answer("proveHolder", "dead");
    expect(lease.requests).toEqual({ acquireLease: { expected: record(), evidence: "holderGone", durationMs: 6_000 } });
  });

  it("looks a few times at a holder that still runs, then observes", () => {
    const lease = proving().answer("proveHolder", "alive");
    expect(lease.timers).toEqual({ proofInterval: 15 });
    lease.after("proofInterval").answer("readLease", record()).answer("proveHolder", "alive");
    expect(lease.state).toBe("observing.resting");
  });

  it("counts the looks anew for a new hint", () => {
    const lease = proving().answer("proveHolder", "alive").after("proofInterval").answer("readLease", record());
    lease.answer("proveHolder", "alive").send({ type: "lease.check" }).answer("readLease", record());
    expect(lease.answer("proveHolder", "alive").state).toBe("proving.pausing");
  });

  it("never takes `unverifiable` for dead, nor a look that failed", () => {
    expect(proving().answer("proveHolder", "unverifiable").state).toBe("observing.resting");
    expect(proving().fail("proveHolder").state).toBe("observing.resting");
  });
});

describe("an expired lease", () => {
  it("is taken after a second look finds it unchanged, one renewal later", () => {
    const lease = confirming();
    expect(lease.timers).toEqual({ agreementInterval: 1_500 });
    lease.after("agreementInterval").answer("readLease", record({ remainingMs: -1_500 }));
    expect(lease.requests).toMatchObject({ acquireLease: { evidence: "expired", expected: { remainingMs: -1_500 } } });
  });

  it.each([
    ["renewed and running", record({ renewals: 8 }), "observing.resting"],
    ["renewed and expired once more", record({ renewals: 8, remainingMs: 0 }), "confirming.waiting"],
    ["granted anew", record({ epoch: epoch(4), remainingMs: 0 }), "confirming.waiting"],
    ["unchanged, and running by a clock that was set back", record(), "observing.resting"],
    ["vacant", vacant, "acquiring.standing"],
  ])("is judged anew when the second look finds it %s", (_, second, state) => {
    expect(confirming().after("agreementInterval").answer("readLease", second).state).toBe(state);
  });

  it("is waited for again when the second look failed", () => {
    expect(confirming().after("agreementInterval").fail("readLease").state).toBe("confirming.waiting");
  });

  it("is not waited for any longer for hints, which can come for ever", () => {
    const lease = confirming().send({ type: "lease.check" });
    expect(lease.state).toBe("confirming.waiting");
    expect(lease.armed).toEqual([]);
  });
});

describe("standing for the lease", () => {
  it("holds it when granted", () => {
    const lease = holding();
    expect(lease.state).toBe("holding.held");
    expect(lease.latest).toEqual([granted]);
    expect(lease.timers).toEqual({ leaseRemaining: 5_900, renewInterval: 1_500 });
  });

  it("judges the record it was refused over", () => {
    expect(acquiring().answer("acquireLease", refused).state).toBe("observing.resting");
  });

  it("looks first when the answer is lost, and takes its own lost grant again", () => {
    const lease = acquiring().fail("acquireLease");
    expect(lease.state).toBe("unknown.waiting");
    lease.after("retryInterval").answer("readLease", mine);
    expect(lease.requests).toMatchObject({ acquireLease: { evidence: "own", expected: mine } });
  });
});

describe("holding the lease", () => {
  it("renews in time, and the watchdog counts from the renewal", () => {
    const lease = holding().after("renewInterval");
    expect(lease.requests).toEqual({ renewLease: { epoch: 4, durationMs: 6_000 } });
    lease.answer("renewLease", { kind: "renewed", record: record({ ...mine, renewals: 1 }), remainingMs: 5_950 });
    expect(lease.latest).toEqual([{ type: "lease.renewed", epoch: 4, remainingMs: 5_950 }]);
    expect(lease.timers).toEqual({ leaseRemaining: 5_950, renewInterval: 1_500 });
    expect([...lease.armed].sort()).toEqual(["leaseRemaining", "renewInterval"]);
  });

  it("updates/OP-31: renews at once on a doubt, and the watchdog counts on until the store has answered", () => {
    const lease = holding().send({ type: "lease.check" });
    expect(lease.requests).toEqual({ renewLease: { epoch: 4, durationMs: 6_000 } });
    expect(lease.timers).toEqual({ leaseRemaining: 5_900 });
    expect(lease.armed).toEqual([]);
    expect(lease.latest).toEqual([]);
    expect(lease.answer("renewLease", { kind: "fenced", record: record(), remainingMs: 0 }).latest).toEqual([
      { type: "lease.lost", epoch: 4 },
    ]);
  });

  it.each([
    ["a renewal is under way", () => holding().after("renewInterval")],
    ["a renewal is about to be asked again", () => holding().after("renewInterval").fail("renewLease")],
  ])("takes no second doubt while %s: the answer is on its way", (_, reached) => {
    const { state } = reached();
    const lease = reached().send({ type: "lease.check" });
    expect(lease.state).toBe(state);
    expect(lease.armed).toEqual([]);
  });

  it("asks again soon when a renewal was not observed", () => {
    const lease = holding().after("renewInterval").fail("renewLease");
    expect(lease.timers).toEqual({ leaseRemaining: 5_900, retryInterval: 250 });
    expect(lease.after("retryInterval").state).toBe("holding.renewing");
  });

  it.each([
    ["while held", holding],
    ["while a renewal is under way", () => holding().after("renewInterval")],
    ["while it retries", () => holding().after("renewInterval").fail("renewLease")],
  ])("is over when its time has passed %s", (_, held) => {
    const lease = held().after("leaseRemaining");
    expect(lease.latest).toEqual([{ type: "lease.lost", epoch: 4 }]);
    expect(lease.requests).toEqual({ readLease: undefined });
  });

  it.each(["lapsed", "fenced"] as const)("is over when a renewal is answered %s", (kind) => {
    const lease = holding().after("renewInterval").answer("renewLease", { kind, record: mine, remainingMs: 0 });
    expect(lease.latest).toEqual([{ type: "lease.lost", epoch: 4 }]);
    expect(lease.state).toBe("unknown.looking");
  });

  it("drops the answer to a renewal that comes after the watchdog", () => {
    const lease = holding().after("renewInterval").after("leaseRemaining");
    expect(() => lease.answer("renewLease", { kind: "renewed", record: mine, remainingMs: 6_000 })).toThrow(
      /0 requests/,
    );
  });

  it("takes a lapsed lease without a rival again, under a new epoch", () => {
    const lease = holding().after("leaseRemaining").answer("readLease", mine);
    lease.answer("acquireLease", { kind: "granted", record: { ...mine, epoch: epoch(5) }, remainingMs: 6_000 });
    expect(lease.latest).toEqual([{ type: "lease.granted", epoch: 5, remainingMs: 6_000 }]);
  });

  it("follows a rival after the loss", () => {
    expect(
      holding()
        .after("leaseRemaining")
        .answer("readLease", record({ epoch: epoch(5) })).state,
    ).toBe("observing.resting");
  });
});

describe("letting go", () => {
  it.each([
    ["unknown.looking", start],
    ["observing.resting", observing],
    ["proving.proving", proving],
    ["confirming.waiting", confirming],
  ])("ends at once in %s", (state, reached) => {
    const lease = reached();
    expect(lease.state).toBe(state);
    lease.send({ type: "lease.release" });
    expect(lease.status).toBe("done");
    expect(lease.latest).toEqual([{ type: "lease.released" }]);
  });

  it.each([
    ["while held", holding],
    ["while renewing", () => holding().after("renewInterval")],
    ["while it retries", () => holding().after("renewInterval").fail("renewLease")],
  ])("gives a lease back %s: nothing may be done under it from then on", (_, held) => {
    const lease = held().send({ type: "lease.release" });
    expect(lease.latest).toEqual([{ type: "lease.releasing" }]);
    expect(lease.requests).toEqual({ releaseLease: { epoch: 4 } });
    expect(lease.send({ type: "lease.release" }).state).toBe("releasing");
    expect(lease.answer("releaseLease", undefined).facts.at(-1)).toEqual({ type: "lease.released" });
    expect(held().send({ type: "lease.release" }).fail("releaseLease").state).toBe("released");
  });

  it("gives back, under its epoch, a grant that arrives after the request to let go, and never reports it", () => {
    const lease = acquiring().send({ type: "lease.release" }).send({ type: "lease.release" });
    expect(lease.state).toBe("acquiring.withdrawing");
    lease.answer("acquireLease", { kind: "granted", record: mine, remainingMs: 6_000 });
    expect(lease.latest).toEqual([{ type: "lease.releasing" }]);
    expect(lease.requests).toEqual({ releaseLease: { epoch: 4 } });
    expect(lease.facts).not.toContainEqual(expect.objectContaining({ type: "lease.granted" }));
  });

  it("ignores hints while it lets go", () => {
    const lease = holding().send({ type: "lease.release" }).send({ type: "lease.check" });
    expect(lease.state).toBe("releasing");
    expect(lease.latest).toEqual([]);
  });

  it("ends when the attempt under way is refused or its answer is lost", () => {
    const withdrawing = () => acquiring().send({ type: "lease.release" });
    expect(withdrawing().answer("acquireLease", refused).state).toBe("released");
    expect(withdrawing().fail("acquireLease").state).toBe("released");
  });
});

it("reads like this from the first look to a lost lease", () => {
  const lease = start().answer("readLease", expired).after("agreementInterval").answer("readLease", expired);
  lease.answer("acquireLease", { kind: "granted", record: mine, remainingMs: 5_900 }).after("renewInterval");
  lease
    .fail("renewLease")
    .after("retryInterval")
    .answer("renewLease", { kind: "fenced", record: mine, remainingMs: 0 });
  expect(lease.trace()).toMatchInlineSnapshot(`
    "start → unknown.looking
      asks readLease
    readLease answered (epoch: 3, renewals: 7, holder: …, remainingMs: 0) → confirming.waiting
    after agreementInterval → confirming.looking
      asks readLease
    readLease answered (epoch: 3, renewals: 7, holder: …, remainingMs: 0) → acquiring.standing
      emits lease.standing
      asks acquireLease (expected: …, evidence: expired, durationMs: 6000)
    acquireLease answered granted (record: …, remainingMs: 5900) → holding.held
      emits lease.granted (epoch: 4, remainingMs: 5900)
    after renewInterval → holding.renewing
      asks renewLease (epoch: 4, durationMs: 6000)
    renewLease failed not observed → holding.retrying
      emits lease.troubled (reason: Error: not observed)
    after retryInterval → holding.renewing
      asks renewLease (epoch: 4, durationMs: 6000)
    renewLease answered fenced (record: …, remainingMs: 0) → unknown.looking
      emits lease.lost (epoch: 4)
      asks readLease"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(leaseMachine)).toEqual(noFaults);
});
