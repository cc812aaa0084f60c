/** Threads on or off in the chat: two looks that agree turn them off, one turns them on, and a failed look is none. */
import { describe, expect, it } from "vitest";
import { capabilityMachine } from "../../../machines/capability.machine.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";

const start = () => playChart(capabilityMachine, { capabilityMs: 2_500, healthMs: 60_000 });
const doubt = { type: "capability.doubted" } as const;
const judged = (verdict: "on" | "doubted" | "off") => [{ type: "capability.judged", verdict }];
const look = (chart: ReturnType<typeof start>, says: "on" | "off" | "unknown") => chart.answer("lookAtTopics", says);
const doubted = () => look(start().send(doubt), "off");
const off = () => look(doubted().after("capabilityInterval"), "off");

describe("threads/CP-3, CP-6, S-106: two looks in a row that say no", () => {
  it("turn threads off, the second one no sooner than the interval", () => {
    const chart = doubted();
    expect(chart.latest).toEqual(judged("doubted"));
    expect(chart.timers).toEqual({ capabilityInterval: 2_500 });
    expect(look(chart.after("capabilityInterval"), "off").latest).toEqual(judged("off"));
  });

  it("threads/S-107: begin anew after one that says yes", () => {
    const chart = look(doubted().after("capabilityInterval"), "on");
    expect(chart.latest).toEqual(judged("on"));
    expect(look(chart.send(doubt), "off").latest).toEqual(judged("doubted"));
  });

  it("are not made of looks that failed or said nothing", () => {
    for (const chart of [
      look(doubted().after("capabilityInterval"), "unknown"),
      doubted().after("capabilityInterval").fail("lookAtTopics", new Error("timed out")),
    ]) {
      expect(chart.latest).toEqual(judged("doubted"));
      expect(look(chart.after("capabilityInterval"), "off").latest).toEqual(judged("off"));
    }
  });
});

describe("while threads are on", () => {
  it("looks once a minute, and at once when a call makes it doubtful, once for all who doubt", () => {
    expect(start().timers).toEqual({ healthInterval: 60_000 });
    expect(start().after("healthInterval").requests).toHaveProperty("lookAtTopics");
    const chart = start().send(doubt).send(doubt);
    expect(look(chart, "on").latest).toEqual(judged("on"));
    expect(chart.requests).not.toHaveProperty("lookAtTopics");
  });

  it("a look that failed changes nothing, and whoever waits for it is told", () => {
    expect(start().send(doubt).fail("lookAtTopics", new Error("502")).latest).toEqual(judged("on"));
    expect(look(start().send(doubt), "unknown").latest).toEqual(judged("on"));
  });
});

describe("while threads are off", () => {
  it("looks every interval, and one yes turns them on", () => {
    const chart = off();
    expect(chart.timers).toEqual({ capabilityInterval: 2_500 });
    expect(look(chart.after("capabilityInterval"), "unknown").latest).toEqual(judged("off"));
    expect(chart.after("capabilityInterval").fail("lookAtTopics", new Error("x")).latest).toEqual(judged("off"));
    expect(look(chart.after("capabilityInterval"), "on").latest).toEqual(judged("on"));
  });

  it("nobody's doubt hurries it", () => {
    expect(off().send(doubt).requests).not.toHaveProperty("lookAtTopics");
    expect(doubted().send(doubt).requests).not.toHaveProperty("lookAtTopics");
  });
});

it("goes on without whoever tells of doubts", () => {
  const broke = { type: "companion.failed", companion: "watchDoubts", reason: "" } as const;
  expect(start().send(broke).state).toContain("on.resting");
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(capabilityMachine)).toEqual(noFaults);
});
