/** The tests of `activation.machine.test.ts` about the switch from classic polling to the bus (protocol §4.14). */
import { describe, expect, it } from "vitest";
import {
  active,
  classic,
  committed,
  rejected,
  running,
  scheduled,
  type start,
  switching,
} from "./activation-scenes.ts";

const isAsking = (chart: ReturnType<typeof start>) => "identify" in chart.requests;
const failed = () => switching().send({ type: "polling.stopped" }).fail("provisioning");
const undone = () => failed().after("retryPause").answer("identify", { kind: "noTopics" });

describe("the hot switch", () => {
  it("protocol/H-1: is thought of only while we poll in classic, and once at a time", () => {
    expect([classic(), scheduled(), switching(), active()].map(isAsking)).toEqual([false, true, false, false]);
    for (const chart of [scheduled(), switching(), switching().send({ type: "polling.stopped" }), active()])
      expect(chart.timers).not.toHaveProperty("capabilityInterval");
  });

  it("protocol/H-2 superseded: is thought of by looking, every 2500 ms, and the poll goes on meanwhile", () => {
    expect(classic().timers).toEqual({ capabilityInterval: 2_500 });
    expect(running(scheduled())).toEqual(["dispatcher", "poller"]);
  });

  it("protocol/H-3: does nothing when there are no topics after all, and stops everything when the lease is lost before it began", () => {
    const none = scheduled().answer("identify", { kind: "noTopics" });
    expect([none.state, running(none)]).toEqual(["dormant.polled.resting", ["dispatcher", "poller"]]);
    for (const lost of [scheduled(), switching()]) {
      lost.send({ type: "polling.fenced" });
      expect([lost.state, running(lost), lost.requests]).toEqual(["fencedOff", [], {}]);
    }
  });

  it("protocol/H-5: that fails is undone before classic goes on, with one poller, and not once the lease is another's", () => {
    expect([failed().timers, running(failed())]).toEqual([{ retryPause: 250 }, []]);
    expect(running(undone())).toEqual([]);
    expect(running(undone().answer("seatOwn", committed))).toEqual(["dispatcher", "poller"]);
    const lost = undone().answer("seatOwn", { kind: "fenced" });
    expect([lost.state, running(lost)]).toEqual(["fencedOff", []]);
  });

  it.each([
    ["there were no topics", () => scheduled().answer("identify", { kind: "noTopics" })],
    ["nobody could say", () => scheduled().fail("identify")],
    ["it failed", () => undone().answer("seatOwn", committed)],
  ])("protocol/H-6: is thought of again in every case: %s", (_, ended) => {
    expect(isAsking(ended())).toBe(false);
    expect(isAsking(ended().after("capabilityInterval"))).toBe(true);
  });

  it("is done with a thread or without one", () => {
    const chart = switching().send({ type: "polling.stopped" }).answer("provisioning", rejected);
    chart.answer("seatOwn", committed).send({ type: "endpoint.open" }).send({ type: "polling.started" });
    expect(chart.latest).toEqual([{ type: "activation.active", thread: null }]);
  });
});
