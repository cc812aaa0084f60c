/** The delivery chart: authorisation before any effect, then routing, forwarding and the ways an update ends. */
import { describe, expect, it } from "vitest";
import { attemptDelayMs, attemptsMax } from "../../../machines/attempts.rules.ts";
import { deliveryMachine, patienceMaxMs } from "../../../machines/delivery.machine.ts";
import type { DeliveryInput, Route } from "../../../machines/delivery.machine.ts";
import { epoch, generation, journalSeq } from "../../../machines/ids.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { chat, facts, mySeat, person, rival } from "../../support/charts/samples.ts";

const start = (differs: Partial<DeliveryInput> = {}) =>
  playChart(deliveryMachine, {
    epoch: epoch(4),
    seq: journalSeq(9),
    facts: facts(),
    audience: { user: person, chat, former: [] },
    attempts: 0,
    notBeforeMs: 0,
    patienceMs: patienceMaxMs,
    refusals: 0,
    ...differs,
  });
const patience = 24 * 60 * 60_000;
const stranger = facts({ user: 666 });
const recipient = { kind: "follower", instanceId: rival, generation: generation("g1") } as const;
const toFollower: Route = { kind: "seat", seat: mySeat, recipient };
const toAbsent: Route = { kind: "seat", seat: mySeat, recipient: { kind: "absent" } };
const nobody: Route = { kind: "nobody", reason: "no thread" };
const unowned: Route = { kind: "unowned", isAsked: true, reason: "nobody has it" };
const refusal = { kind: "refused", reason: "stale" } as const;
const unknown = { kind: "unknown", reason: "cut" } as const;

const returned = (refusals: number) => ({ type: "delivery.returned", refusals });

const forwarding = () => start().answer("findOwner", toFollower);
const awaiting = () => start().answer("findOwner", toAbsent);
const choosing = () => start().answer("findOwner", unowned);
const pausing = () => forwarding().answer("forwardUpdate", refusal);

describe("authorisation, before any effect (updates/OP-33)", () => {
  it("asks for nothing but the drop of a stranger's update", () => {
    const delivery = start({ facts: stranger });
    expect(delivery.requests).toEqual({ dropUpdate: { epoch: 4, seq: 9, reason: "unauthorized" } });
    expect(delivery.facts).toEqual([]);
  });

  it("comes before a retry and before a dead letter, too", () => {
    expect(start({ facts: stranger, notBeforeMs: 5_000 }).state).toBe("dropping.ending");
    expect(start({ facts: stranger, attempts: attemptsMax }).state).toBe("dropping.ending");
  });

  it("drops with its reason, once", () => {
    const delivery = start({ facts: stranger }).answer("dropUpdate", { kind: "ended" });
    expect(delivery.status).toBe("done");
    expect(delivery.facts).toEqual([{ type: "delivery.dropped", reason: "unauthorized" }]);
    expect(Object.keys(delivery.requests)).toEqual([]);
  });

  it("drops everything while nobody is paired", () => {
    expect(start({ audience: null }).requests).toEqual({ dropUpdate: { epoch: 4, seq: 9, reason: "unpaired" } });
  });

  it("lets an update pass that the audience may cause", () => {
    expect(start().requests).toEqual({ findOwner: { seq: 9, facts: facts() } });
  });

  it("asks the store again when the drop was not observed, and is fenced when the epoch is over", () => {
    const delivery = start({ facts: stranger }).fail("dropUpdate");
    expect(delivery.timers).toEqual({ retryInterval: 250 });
    delivery.after("retryInterval").answer("dropUpdate", { kind: "fenced" });
    expect(delivery.facts).toEqual([{ type: "delivery.fenced" }]);
  });
});

describe("a handler that failed", () => {
  it("updates/T-23 is given the update again after the wait, and nothing is asked meanwhile", () => {
    const delivery = start({ attempts: 1, notBeforeMs: 1_000 });
    expect(delivery.state).toBe("trying.retryWait");
    expect(delivery.requests).toEqual({});
    expect(delivery.timers).toEqual({ untilNextAttempt: 1_000, patience });
    expect(delivery.send({ type: "seats.changed" }).state).toBe("trying.retryWait");
    expect(delivery.after("untilNextAttempt").requests).toEqual({ findOwner: { seq: 9, facts: facts() } });
  });

  it("updates/OP-46: has a last attempt; after it the update is a dead letter", () => {
    expect(start({ attempts: attemptsMax - 1, notBeforeMs: 1 }).state).toBe("trying.retryWait");
    const delivery = start({ attempts: attemptsMax, notBeforeMs: 1 });
    expect(delivery.requests).toEqual({
      deadLetterUpdate: { epoch: 4, seq: 9, reason: "its handler failed 12 times" },
    });
  });

  it("updates/T-24, OP-46 waits 1, 2, 4, … seconds, at most a minute", () => {
    expect([1, 2, 3, 6, 7, 12].map(attemptDelayMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
    expect(attemptDelayMs(0)).toBe(1_000);
  });
});

describe("routing", () => {
  it("sets aside what belongs to a thread that no seat has", () => {
    expect(start().answer("findOwner", nobody).requests).toEqual({
      deadLetterUpdate: { epoch: 4, seq: 9, reason: "no thread" },
    });
  });

  it("drops, with the reason, what belongs to no thread at all", () => {
    const delivery = start().answer("findOwner", { kind: "nowhere", reason: "no thread" });
    expect(delivery.requests).toEqual({ dropUpdate: { epoch: 4, seq: 9, reason: "no thread" } });
  });

  it("waits for a seat without a live holder, and says so", () => {
    expect(awaiting().state).toBe("trying.awaitingSeat");
    expect(awaiting().facts).toEqual([{ type: "delivery.waiting", seat: mySeat }]);
    expect(awaiting().timers).toEqual({ patience });
  });

  it.each([
    ["a follower", recipient],
    ["the leader itself", { kind: "self" } as const],
  ])("forwards to %s", (_, to) => {
    const delivery = start().answer("findOwner", { kind: "seat", seat: mySeat, recipient: to });
    expect(delivery.requests).toEqual({ forwardUpdate: { seq: 9, seat: mySeat, recipient: to } });
  });

  it("looks again, later each time, when the owner could not be looked up", () => {
    const delivery = start().fail("findOwner");
    expect(delivery.timers).toEqual({ refusalPause: 40, patience });
    expect(delivery.after("refusalPause").fail("findOwner").timers).toEqual({ refusalPause: 80, patience });
    expect(delivery.facts).toEqual([]);
  });

  const overtaken = () => start().send({ type: "seats.changed" });

  it("goes on looking while a seat changes hands, however often", () => {
    const delivery = overtaken().send({ type: "seats.changed" });
    expect(delivery.requests).toEqual({ findOwner: { seq: 9, facts: facts() } });
    expect(delivery.state).toBe("trying.routing.outdated");
  });

  it("looks again when it found nobody and a seat changed hands meanwhile: the answer may be older", () => {
    const delivery = overtaken().answer("findOwner", toAbsent);
    expect(delivery.state).toBe("trying.routing.current");
    expect(delivery.requests).toEqual({ findOwner: { seq: 9, facts: facts() } });
    expect(delivery.facts).toEqual([]);
    delivery.answer("findOwner", toAbsent);
    expect(delivery.facts).toEqual([{ type: "delivery.waiting", seat: mySeat }]);
  });

  it.each([
    ["a live holder", toFollower, "trying.forwarding"],
    ["no seat", nobody, "deadLettering.ending"],
    ["no thread", { kind: "nowhere", reason: "no thread" } as const, "dropping.ending"],
  ])("takes an answer that found %s, whatever changed meanwhile", (_, route, state) => {
    expect(overtaken().answer("findOwner", route).state).toBe(state);
    expect(start().answer("findOwner", route).state).toBe(state);
  });

  it("looks again when nobody had the thread and a seat changed hands meanwhile: somebody may have it now", () => {
    const delivery = overtaken().answer("findOwner", unowned);
    expect(delivery.state).toBe("trying.routing.current");
    expect(delivery.facts).toEqual([]);
  });

  it("forgets that something changed once it looks anew", () => {
    const delivery = overtaken().fail("findOwner").after("refusalPause");
    expect(delivery.state).toBe("trying.routing.current");
    expect(delivery.answer("findOwner", toAbsent).state).toBe("trying.awaitingSeat");
  });
});

describe("waiting for a seat", () => {
  it("gives the update back when a seat changed hands: an earlier one may have come back to its lane", () => {
    expect(awaiting().send({ type: "seats.changed" }).latest).toEqual([returned(0)]);
  });

  it("sets the update aside when nobody came for it", () => {
    const delivery = awaiting().after("patience");
    expect(delivery.requests).toEqual({
      deadLetterUpdate: { epoch: 4, seq: 9, reason: "nobody took it for 24 hours" },
    });
  });
});

describe("waiting for the user's choice", () => {
  it("updates/T-47: keeps what belongs to a thread that nobody has, and says whether somebody is to be asked", () => {
    expect(choosing().state).toBe("trying.awaitingChoice");
    expect(choosing().requests).toEqual({});
    expect(choosing().facts).toEqual([{ type: "delivery.unowned", isAsked: true }]);
    const behind = start().answer("findOwner", { ...unowned, isAsked: false });
    expect(behind.facts).toEqual([{ type: "delivery.unowned", isAsked: false }]);
  });

  it("gives the update back when a seat changed hands, and once a minute: somebody may have the thread by then", () => {
    expect(choosing().timers).toEqual({ choiceInterval: 60_000, patience });
    expect(choosing().send({ type: "seats.changed" }).latest).toEqual([returned(0)]);
    expect(choosing().after("choiceInterval").latest).toEqual([returned(0)]);
  });

  it("sets the update aside when nobody was chosen for it", () => {
    expect(choosing().after("patience").requests).toEqual({
      deadLetterUpdate: { epoch: 4, seq: 9, reason: "nobody has it" },
    });
  });
});

describe("forwarding", () => {
  it("is settled by an acceptance, once", () => {
    const delivery = forwarding().answer("forwardUpdate", { kind: "accepted" });
    expect(delivery.status).toBe("done");
    expect(delivery.facts).toEqual([{ type: "delivery.accepted", seat: mySeat }]);
  });

  it("after a refusal and a pause the update is given back: another may be the lane's head by then", () => {
    for (const delivery of [pausing().after("refusalPause"), pausing().send({ type: "seats.changed" })]) {
      expect(delivery.status).toBe("done");
      expect(delivery.facts).toEqual([returned(1)]);
    }
  });

  it.each([
    ["the answer was lost", () => forwarding().answer("forwardUpdate", unknown)],
    ["the forward broke", () => forwarding().fail("forwardUpdate")],
  ])("keeps the update, which is perhaps taken, and asks again when %s", (_, lost) => {
    const delivery = lost();
    expect(delivery.state).toBe("trying.asking");
    expect(delivery.send({ type: "seats.changed" }).state).toBe("trying.asking");
    expect(delivery.after("refusalPause").requests).toEqual({ findOwner: { seq: 9, facts: facts() } });
    delivery.answer("findOwner", toFollower).answer("forwardUpdate", { kind: "accepted" });
    expect(delivery.facts).toEqual([{ type: "delivery.accepted", seat: mySeat }]);
  });

  it("pauses longer the more often its lane was refused, up to a second; none of them is an attempt", () => {
    const refused = (refusals: number) =>
      start({ refusals }).answer("findOwner", toFollower).answer("forwardUpdate", refusal);
    expect([0, 1, 2, 3, 4, 5, 99].map((times) => refused(times).timers["refusalPause"])).toEqual([
      40, 80, 160, 320, 640, 1_000, 1_000,
    ]);
    expect(refused(2).after("refusalPause").facts).toEqual([returned(3)]);
    expect(refused(2).context.attempts).toBe(0);
  });

  it("gives an update back at once that came before an earlier one of its thread was taken, and counts nothing", () => {
    const delivery = forwarding().answer("forwardUpdate", { kind: "early" });
    expect(delivery.facts).toEqual([returned(0)]);
  });

  it("never has two forwards under way", () => {
    const delivery = forwarding().send({ type: "seats.changed" });
    expect(Object.keys(delivery.requests)).toEqual(["forwardUpdate"]);
  });
});

describe("patience", () => {
  it.each([
    ["waits for its next attempt", () => start({ attempts: 1, notBeforeMs: 1_000 })],
    ["is looked up", () => start()],
    ["waits for a seat", awaiting],
    ["is under way", forwarding],
    ["was refused", pausing],
    ["is perhaps taken", () => forwarding().answer("forwardUpdate", unknown)],
  ])("updates/OP-24 ends after 24 hours, also while the update %s", (_, waiting) => {
    const delivery = waiting().after("patience");
    expect(delivery.requests["deadLetterUpdate"]).toEqual({
      epoch: 4,
      seq: 9,
      reason: "nobody took it for 24 hours",
    });
  });

  it("takes nothing from whoever has it by then: there is nothing to end", () => {
    const delivery = forwarding().after("patience").answer("deadLetterUpdate", { kind: "gone" });
    expect(delivery.facts).toEqual([returned(0)]);
    expect(start({ facts: stranger }).answer("dropUpdate", { kind: "gone" }).facts).toEqual([returned(0)]);
  });
});

describe("a dead letter", () => {
  const ending = () => start().answer("findOwner", nobody);

  it("is one when it is written, with its reason", () => {
    const delivery = ending().answer("deadLetterUpdate", { kind: "ended" });
    expect(delivery.facts).toEqual([{ type: "delivery.deadLettered", reason: "no thread" }]);
  });

  it("is written again when the store did not answer, and is none when the epoch is over", () => {
    const delivery = ending().fail("deadLetterUpdate");
    expect(delivery.state).toBe("deadLettering.waiting");
    delivery.after("retryInterval").answer("deadLetterUpdate", { kind: "fenced" });
    expect(delivery.facts).toEqual([{ type: "delivery.fenced" }]);
  });
});

it("reads like this from a retry to being given back", () => {
  const delivery = start({ attempts: 1, notBeforeMs: 1_000 }).after("untilNextAttempt").answer("findOwner", toFollower);
  delivery.answer("forwardUpdate", refusal).after("refusalPause");
  expect(delivery.trace()).toMatchInlineSnapshot(`
    "start → trying.retryWait
    after untilNextAttempt → trying.routing.current
      asks findOwner (seq: 9, facts: …)
    findOwner answered seat (seat: manual:profile:one, recipient: …) → trying.forwarding
      asks forwardUpdate (seq: 9, seat: manual:profile:one, recipient: …)
    forwardUpdate answered refused (reason: stale) → trying.pausing
    after refusalPause → returned
      emits delivery.returned (refusals: 1)"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(deliveryMachine)).toEqual(noFaults);
});
