/** The owner chart: looking, standing, keeping both the v1 record and the lease, and giving both up together. */
import { describe, expect, it } from "vitest";
import { epoch } from "../../../machines/ids.ts";
import { defaultOwnerTimings } from "../../../machines/owner.contract.ts";
import { ownerMachine } from "../../../machines/owner.machine.ts";
import { takenRecord } from "../../../machines/owner.rules.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { ownerRecord, ownSelf, sight } from "../../support/charts/owner-samples.ts";
import { playChart } from "../../support/charts/play.ts";
import { leader } from "../../support/charts/samples.ts";

const start = () =>
  playChart(ownerMachine, {
    self: ownSelf,
    leaderAddress: "/v1/bus.sock",
    timings: { ...defaultOwnerTimings, proofLooksMax: 2 },
  });
const mine = takenRecord(ownSelf, "e-mine", 5);
const mineSeen = sight("own", { record: mine });
const taken = { kind: "taken", record: mine, remainingMs: 7_990 } as const;
const damaged = { kind: "damaged", reason: "owners.json is no JSON object" } as const;
const granted = { type: "lease.granted", epoch: epoch(4), remainingMs: 5_900 } as const;
const renewed = { type: "lease.renewed", epoch: epoch(4), remainingMs: 6_000 } as const;
const lost = { type: "lease.lost", epoch: epoch(4) } as const;
const observed = { type: "lease.observed", epoch: epoch(3), holder: leader() } as const;
const broke = { type: "companion.failed", companion: "lease", reason: "a defect" } as const;
const release = { type: "lease.release" } as const;
const released = { type: "lease.released" } as const;
const check = { type: "lease.check" } as const;

const observing = () => start().answer("readOwner", sight());
const standing = () => start().answer("readOwner", sight("inactive"));
const owning = () => standing().answer("takeOwner", taken);
const leading = () => owning().send(granted);
const revoking = () => leading().send(lost);
const returning = () => revoking().send(released);
const letting = () => leading().send(release);
const confirming = () => start().answer("readOwner", sight("stale"));
const said = (play: ReturnType<typeof start>) => play.latest.map((fact) => fact.type);

describe("finding out who leads", () => {
  it("begins with a look, and looks again after a while, or at a hint, when the store is silent", () => {
    const owner = start().fail("readOwner");
    expect(owner.state).toBe("unknown.waiting");
    expect(owner.latest).toEqual([{ type: "lease.troubled", reason: "Error: not observed" }]);
    expect(owner.send(check).state).toBe("unknown.looking");
    expect(start().fail("readOwner").after("retryInterval").state).toBe("unknown.looking");
  });

  it("protocol/S-73 observes a live v1 owner as a leader to follow, and takes nothing over", () => {
    const owner = observing();
    expect(owner.state).toBe("observing.resting");
    expect(owner.facts).toMatchObject([
      { type: "lease.observed", epoch: 0, holder: { endpoint: "/v1/bus.sock", secret: "v1-secret", dialect: "v1" } },
    ]);
    expect(owner.timers).toEqual({ observeInterval: 1_000 });
  });

  it("protocol/O-28 attaches to another runtime of its own process as to any leader, and keeps a record that is its own", () => {
    const owner = start().answer("readOwner", sight("sibling"));
    expect(owner.state).toBe("observing.resting");
    expect(said(owner)).toEqual(["lease.observed"]);
    expect(
      start()
        .answer("readOwner", mineSeen)
        .answer("takeOwner", { ...taken, kind: "kept" }).requests,
    ).toEqual({
      lease: undefined,
    });
  });

  it("looks again and again, and tells of the leader each time", () => {
    const owner = observing().after("observeInterval").answer("readOwner", sight("sibling"));
    expect(said(owner)).toEqual(["lease.observed"]);
    expect(owner.after("observeInterval").fail("readOwner").state).toBe("observing.resting");
  });

  it("ignores words of a lease chart that does not run, and hints while it looks", () => {
    const owner = start();
    for (const late of [
      observed,
      { type: "lease.standing" },
      granted,
      renewed,
      lost,
      { type: "lease.releasing" },
      { type: "lease.troubled", reason: "late" },
      released,
      broke,
      check,
    ] as const)
      expect(owner.send(late).state).toBe("unknown.looking");
    expect(owner.facts).toEqual([]);
  });
});

describe("an owner that is said to be gone", () => {
  const proving = () => observing().send(check);

  it("protocol/S-46, EL-1 is looked at a few times; while it is there nobody stands, whatever the network said", () => {
    const owner = proving().answer("readOwner", sight());
    expect(owner.state).toBe("proving.pausing");
    expect(owner.after("proofInterval").answer("readOwner", sight()).state).toBe("observing.resting");
  });

  it("protocol/S-47, EL-1, EL-4 is stood for with the very record that was seen, once its process is gone", () => {
    const owner = proving().answer("readOwner", sight("gone"));
    expect(owner.state).toBe("standing.standing");
    expect(owner.requests).toEqual({ takeOwner: { expected: ownerRecord() } });
  });

  it("is no observation when the look failed", () => {
    expect(proving().fail("readOwner").state).toBe("unknown.waiting");
  });
});

describe("standing", () => {
  it("stands at once for an empty slot, and for a record of its own whose take was not answered", () => {
    expect(standing().requests).toEqual({ takeOwner: { expected: null } });
    expect(said(standing())).toEqual(["lease.standing"]);
    expect(start().answer("readOwner", mineSeen).state).toBe("standing.standing");
  });

  it("protocol/O-42 stands for a record that only a clock calls stale after a second look that finds it untouched", () => {
    expect(confirming().state).toBe("confirming.waiting");
    expect(confirming().timers).toEqual({ agreementInterval: 2_250 });
    const second = () => confirming().after("agreementInterval");
    expect(second().answer("readOwner", sight("stale")).state).toBe("standing.standing");
    const refreshed = sight("held", { record: ownerRecord({ heartbeatMs: 9_000 }) });
    expect(second().answer("readOwner", refreshed).state).toBe("observing.resting");
    const stillLate = sight("stale", { record: ownerRecord({ heartbeatMs: 101 }) });
    expect(second().answer("readOwner", stillLate).state).toBe("confirming.waiting");
    expect(second().fail("readOwner").state).toBe("confirming.waiting");
  });

  it("protocol/S-48 lets a candidate with a lower slot go first, and follows it when it won", () => {
    const owner = start().answer("readOwner", sight("gone", { isPreceded: true }));
    expect(owner.timers).toEqual({ agreementInterval: 2_500 });
    owner.after("agreementInterval").answer("readOwner", sight("held", { record: ownerRecord({ pid: 800 }) }));
    expect(owner.state).toBe("observing.resting");
  });

  it("protocol/S-49, EL-3, P-55 waits for it one grace, not longer", () => {
    const owner = start().answer("readOwner", sight("inactive", { isPreceded: true }));
    owner.after("agreementInterval").answer("readOwner", sight("inactive", { isPreceded: true }));
    expect(owner.state).toBe("standing.standing");
  });

  it("protocol/S-50 looks who was faster when it lost, and tells of it as the leader", () => {
    const owner = standing().answer("takeOwner", { kind: "refused", record: ownerRecord(), remainingMs: 0 });
    expect(owner.state).toBe("unknown.looking");
    expect(owner.answer("readOwner", sight()).latest).toMatchObject([{ type: "lease.observed" }]);
  });

  it("protocol/O-27 looks again when standing broke: the election counts as lost, and recovery goes on", () => {
    expect(standing().fail("takeOwner").state).toBe("unknown.waiting");
  });

  it("gives a record back that it gets after it was asked to let go", () => {
    const withdrawing = () => standing().send(release).send(release);
    expect(withdrawing().answer("takeOwner", taken).requests).toEqual({ releaseOwner: { mine } });
    const none = { kind: "refused", record: null, remainingMs: 0 } as const;
    expect(withdrawing().answer("takeOwner", none).status).toBe("done");
    expect(withdrawing().fail("takeOwner").status).toBe("done");
  });
});

describe("both or nothing", () => {
  it("owner/leadsOnlyWithBoth asks for the lease once the record is taken, and tells of nothing before it is granted", () => {
    const owner = owning();
    expect(owner.state).toBe("owning.both.record.kept.resting + lease.wanted.asked");
    expect(owner.requests).toEqual({ lease: undefined });
    expect(owner.latest).toEqual([{ type: "owner.refreshed", remainingMs: 7_990 }]);
    expect(owner.send(granted).latest).toEqual([granted]);
    expect(owner.send(renewed).latest).toEqual([renewed]);
  });

  it("has a holder of the lease without the record looked at, once", () => {
    const owner = owning().send(observed).send(observed);
    expect(owner.told).toEqual([{ to: "lease", event: check }]);
    expect(owner.send(granted).latest).toEqual([granted]);
  });

  it("passes hints on to the lease, and its troubles outwards", () => {
    expect(leading().send(check).told).toEqual([{ to: "lease", event: check }]);
    const troubled = { type: "lease.troubled", reason: "busy" } as const;
    expect(owning().send(troubled).latest).toEqual([troubled]);
    expect(leading().send(troubled).latest).toEqual([troubled]);
  });

  it.each([
    ["the lease is lost", () => leading().send(lost)],
    ["the lease is not to be had", () => owning().after("leaseLimit")],
    ["the lease chart broke", () => leading().send(broke)],
    [
      "protocol/S-68 the record is another's at a look",
      () => leading().after("checkInterval").answer("readOwner", sight()),
    ],
    ["the record has vanished", () => leading().after("checkInterval").answer("readOwner", sight("inactive"))],
    [
      "protocol/S-56 the record is another's at a refresh",
      () =>
        leading()
          .after("checkInterval")
          .answer("readOwner", mineSeen)
          .after("refreshInterval")
          .answer("refreshOwner", { kind: "lost" }),
    ],
    ["the record was not refreshed in time", () => leading().after("ownerRemaining")],
  ])("tells at once that it leads no more when %s, and gives both back", (_, reached) => {
    const owner = reached();
    expect(owner.state).toBe("owning.revoking");
    expect(said(owner)).toContain("lease.lost");
    expect(owner.told.at(-1)).toEqual({ to: "lease", event: release });
    expect(owner.send(released).requests).toEqual({ releaseOwner: { mine } });
    expect(owner.answer("releaseOwner", undefined).state).toBe("unknown.waiting");
    expect(owner.context.mine).toBeNull();
  });

  it("does not wait for a lease chart that is silent or broken", () => {
    expect(revoking().after("farewellLimit").state).toBe("returning.going");
    expect(revoking().send(broke).state).toBe("returning.going");
    expect(letting().after("farewellLimit").state).toBe("releasing");
    expect(letting().send(broke).state).toBe("releasing");
  });

  it("looks again when the record could not be given back", () => {
    expect(returning().fail("releaseOwner").state).toBe("unknown.waiting");
  });
});

describe("keeping the record", () => {
  const checked = () => leading().after("checkInterval").answer("readOwner", mineSeen);
  const refreshing = () => checked().after("refreshInterval");

  it("protocol/L-1 looks every second and refreshes every two, each refresh counting from its own request", () => {
    expect(leading().timers).toMatchObject({ checkInterval: 1_000, ownerRemaining: 7_990 });
    expect(checked().timers).toMatchObject({ refreshInterval: 1_000 });
    const owner = refreshing().answer("refreshOwner", { kind: "refreshed", remainingMs: 7_900 });
    expect(owner.timers).toMatchObject({ checkInterval: 1_000, ownerRemaining: 7_900 });
    expect(owner.armed).toContain("ownerRemaining");
    expect(owner.latest).toEqual([{ type: "owner.refreshed", remainingMs: 7_900 }]);
  });

  it("protocol/S-67 refreshes it while the lease is still being waited for", () => {
    const owner = owning().after("checkInterval").answer("readOwner", mineSeen).after("refreshInterval");
    expect(owner.requests).toHaveProperty("refreshOwner");
    expect(owner.timers).toHaveProperty("leaseLimit");
  });

  it("protocol/S-70, L-2 takes a refresh that failed for no observation and asks again; the watchdog ends it (v1: a loss at once)", () => {
    const owner = refreshing().fail("refreshOwner");
    expect(said(owner)).toEqual(["lease.troubled"]);
    expect(owner.timers).toHaveProperty("ownerRemaining");
    expect(owner.after("retryInterval").requests).toHaveProperty("refreshOwner");
  });

  it("lets the transaction tell when a look shows nothing", () => {
    expect(leading().after("checkInterval").answer("readOwner", damaged).timers).toHaveProperty("refreshInterval");
    expect(leading().after("checkInterval").fail("readOwner").timers).toHaveProperty("refreshInterval");
  });
});

describe("letting go", () => {
  it("protocol/S-69 gives the lease back first and the record after it", () => {
    const owner = letting();
    expect(said(owner)).toEqual(["lease.releasing"]);
    expect(owner.send(release).told).toEqual([{ to: "lease", event: release }]);
    expect(owner.send(released).requests).toEqual({ releaseOwner: { mine } });
    expect(owner.send(release).answer("releaseOwner", undefined).status).toBe("done");
    expect(said(owner)).toEqual(["lease.released"]);
  });

  it("ends as well when the record cannot be given back: it goes stale", () => {
    expect(letting().send(released).fail("releaseOwner").status).toBe("done");
  });

  it("ends at once when it owns nothing", () => {
    expect(observing().send(release).status).toBe("done");
  });

  it("ends on the way of a loss, too", () => {
    expect(revoking().send(release).state).toBe("owning.letting");
    expect(returning().send(release).send(release).answer("releaseOwner", undefined).status).toBe("done");
    expect(returning().send(release).fail("releaseOwner").status).toBe("done");
  });
});

describe("protocol/S-66 a store file that cannot be read", () => {
  it("is told about and not touched while somebody may own it", () => {
    const owner = start().answer("readOwner", damaged);
    expect(owner.latest).toEqual([{ type: "lease.troubled", reason: damaged.reason }]);
    expect(owner.timers).toEqual({ damageInterval: 9_000 });
    expect(owner.requests).toEqual({});
  });

  it("is set aside when it is still so at a second look, longer after than any owner lives without a refresh", () => {
    const again = () => start().answer("readOwner", damaged).after("damageInterval");
    expect(again().answer("readOwner", sight("inactive")).state).toBe("standing.standing");
    expect(again().fail("readOwner").state).toBe("damaged.waiting");
    const owner = again().answer("readOwner", damaged);
    expect(owner.requests).toEqual({ setAsideOwners: undefined });
    expect(owner.answer("setAsideOwners", undefined).state).toBe("unknown.looking");
    expect(again().answer("readOwner", damaged).fail("setAsideOwners").state).toBe("damaged.waiting");
  });
});

it("reads like this from a v1 leader's death to leading and back", () => {
  const owner = observing().send(check).answer("readOwner", sight("gone")).answer("takeOwner", taken).send(granted);
  owner.after("checkInterval").answer("readOwner", sight()).send(released).answer("releaseOwner", undefined);
  expect(owner.trace()).toMatchInlineSnapshot(`
    "start → unknown.looking
      asks readOwner
    readOwner answered seen (record: …, state: held, lease: …, isPreceded: false) → observing.resting
      emits lease.observed (epoch: 0, holder: …)
    lease.check → proving.looking
      asks readOwner
    readOwner answered seen (record: …, state: gone, lease: …, isPreceded: false) → standing.standing
      emits lease.standing
      asks takeOwner (expected: …)
    takeOwner answered taken (record: …, remainingMs: 7990) → owning.both.record.kept.resting + lease.wanted.asked
      emits owner.refreshed (remainingMs: 7990)
      asks lease
    lease.granted (epoch: 4, remainingMs: 5900) → owning.both.record.kept.resting + lease.granted
      emits lease.granted (epoch: 4, remainingMs: 5900)
    after checkInterval → owning.both.record.kept.checking + lease.granted
      asks readOwner
    readOwner answered seen (record: …, state: held, lease: …, isPreceded: false) → owning.revoking
      emits lease.lost (epoch: 4)
      tells lease lease.release
    lease.released → returning.going
      asks releaseOwner (mine: …)
    releaseOwner answered → unknown.waiting"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(ownerMachine)).toEqual(noFaults);
});
