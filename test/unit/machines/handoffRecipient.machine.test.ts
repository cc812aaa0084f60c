/** The recipient's chart: nothing is published before acceptance, and what was accepted is published or given back. */
import { describe, expect, it } from "vitest";
import { handoffRecipientMachine } from "../../../machines/handoffRecipient.machine.ts";
import { offerId } from "../../../machines/ids.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";

const id = offerId("handoff-1");
const start = (triesMax = 2) => playChart(handoffRecipientMachine, { id, triesMax });
const accepted = (triesMax = 2) => start(triesMax).answer("acceptOffer", { kind: "accepted" });

describe("staged", () => {
  it("updates/Q-50: nothing is published before the acceptance is on disk", () => {
    expect(start().requests).toEqual({ acceptOffer: { id } });
    expect(accepted().requests).toEqual({ publish: { id } });
  });

  it("updates/T-84: an offer that has ended never was ours", () => {
    const play = start().answer("acceptOffer", { kind: "conflict" });
    expect([play.status, play.output]).toEqual(["done", { kind: "unstaged" }]);
  });

  it("updates/T-85: under a registration that is another one by now it is asked again: an earlier request may still win", () => {
    const play = start().fail("acceptOffer").after("retryInterval").answer("acceptOffer", { kind: "stale" });
    expect(play.after("retryInterval").requests).toEqual({ acceptOffer: { id } });
  });

  it("updates/Q-55: an acceptance that was not observed is asked for again", () => {
    const play = start().fail("acceptOffer");
    expect(play.state).toBe("staged.unsure");
    expect(play.after("retryInterval").requests).toEqual({ acceptOffer: { id } });
  });
});

describe("accepted", () => {
  it("is live once it is published", () => {
    const play = accepted().answer("publish", undefined);
    expect([play.status, play.output]).toEqual(["done", { kind: "live" }]);
  });

  it("updates/OP-4, Q-59: a publication that fails is retried, then the work is given back, and that is retried for ever", () => {
    const play = accepted().fail("publish").after("retryInterval");
    expect(play.requests).toEqual({ publish: { id } });
    play.fail("publish").fail("giveBack").after("retryInterval");
    expect(play.requests).toEqual({ giveBack: { id } });
    expect(play.answer("giveBack", undefined).output).toEqual({ kind: "givenBack" });
  });
});

describe("the recipient's chart", () => {
  it("has every transition taken", () => {
    expect(faultsOfCoverage(handoffRecipientMachine)).toEqual(noFaults);
  });
});
