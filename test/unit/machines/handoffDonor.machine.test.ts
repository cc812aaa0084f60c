/** The donor's chart: frozen until the store has said whose the work is; every way out of an offer. */
import { describe, expect, it } from "vitest";
import { handoffDonorMachine } from "../../../machines/handoffDonor.machine.ts";
import { offerBudgetMs } from "../../../machines/handoff.rules.ts";
import { offerId } from "../../../machines/ids.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";

const id = offerId("handoff-1");
const start = () => playChart(handoffDonorMachine, { id, budgetMs: offerBudgetMs });
type Play = ReturnType<typeof start>;
const offered = () => start().answer("makeOffer", { kind: "offered" });
const looking = () => offered().after("lookInterval");
const cancelling = () => offered().after("budget");
const frozen = () => cancelling().answer("cancelOffer", { kind: "conflict" });
const recall = (play: Play) => play.send({ type: "offer.recall" });
const returned = (reason: string) => ({ kind: "returned", reason });

describe("an offer that stands", () => {
  it("protocol/P-46: is looked at until the store says that another instance has the work", () => {
    const play = looking();
    expect(play.requests).toEqual({ findStanding: { id } });
    play.answer("findStanding", { kind: "open" }).after("lookInterval").fail("findStanding");
    expect(play.state).toBe("offered.waiting");
    play.after("lookInterval").answer("findStanding", { kind: "gone" });
    expect([play.status, play.output]).toEqual(["done", { kind: "transferred" }]);
  });

  it("updates/Q-57: comes back when the store has ended it with its recipient", () => {
    expect(looking().answer("findStanding", { kind: "returned" }).output).toEqual(returned("notAccepted"));
  });

  it("updates/T-82, Q-57: is taken back when nobody accepts it in time, also while it is looked at", () => {
    for (const play of [cancelling(), looking().after("budget")]) {
      expect(play.requests).toEqual({ cancelOffer: { id } });
      play.answer("cancelOffer", { kind: "cancelled" });
      // Only the journal says whose it is, also now.
      expect([play.state, play.requests]).toEqual(["frozen.looking", { findStanding: { id } }]);
      expect(play.answer("findStanding", { kind: "returned" }).output).toEqual(returned("notAccepted"));
    }
  });

  it("is taken back on a recall", () => {
    const play = recall(offered()).answer("cancelOffer", { kind: "cancelled" });
    expect(play.answer("findStanding", { kind: "returned" }).output).toEqual(returned("recalled"));
  });
});

describe("an offer that was not made", () => {
  it.each(["self", "nobody", "notHeld", "ended"] as const)("comes back at once: %s", (reason) => {
    const play = start().answer("makeOffer", { kind: "refused", reason });
    expect([play.status, play.output]).toEqual(["done", returned(reason)]);
  });

  it("updates/Q-55: is cancelled when its making was not observed, and when it is recalled before", () => {
    expect(start().fail("makeOffer").requests).toEqual({ cancelOffer: { id } });
    expect(recall(start()).requests).toEqual({ cancelOffer: { id } });
  });
});

describe("a cancellation", () => {
  it("is repeated until it was observed: before that the offer may still be made", () => {
    const play = recall(cancelling()).fail("cancelOffer");
    expect(play.requests).toEqual({});
    recall(play).after("retryInterval");
    expect(play.requests).toEqual({ cancelOffer: { id } });
  });

  it("updates/T-83, OP-3, Q-49: that lost against the acceptance leaves the item frozen until the journal says that it is gone", () => {
    const play = recall(frozen());
    expect(play.state).toBe("frozen.looking");
    play.fail("findStanding");
    expect([play.status, play.requests]).toEqual(["active", {}]);
    play.after("retryInterval").answer("findStanding", { kind: "gone" });
    expect(play.output).toEqual({ kind: "transferred" });
  });

  it("is asked for again if the offer stands after all", () => {
    expect(frozen().answer("findStanding", { kind: "open" }).requests).toEqual({ cancelOffer: { id } });
  });
});

describe("the donor's chart", () => {
  it("has every transition taken", () => {
    expect(faultsOfCoverage(handoffDonorMachine)).toEqual(noFaults);
  });
});
