/**
 * Gates over all charts. That every transition is taken is checked at the end of each chart's own test file; here: that
 * no chart goes without one, and what must hold of every chart's shape. The gates are shown to fail on broken charts.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fromPromise, setup } from "xstate";
import { charts } from "../../support/charts/catalogue.ts";
import { faultsOfCoverage, noFaults, partsOf } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { requestsWithoutErrorPath, unknownEvents, vanishingEvents, wildcards } from "../../support/charts/shape.ts";
import { unreached } from "../../support/charts/unreached.ts";

const machines = new URL("../../../machines/", import.meta.url);
const filesOf = (folder: URL, suffix: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .sort();

describe("no chart is forgotten", () => {
  it("every chart file is in the catalogue", () => {
    expect(filesOf(machines, ".machine.ts")).toEqual(charts.map((each) => each.file));
  });

  it.each(charts.map((each) => each.file))("%s has a test file that gates its coverage", (file) => {
    const test = readFileSync(new URL(file.replace(".ts", ".test.ts"), import.meta.url), "utf8");
    expect(test).toMatch(/faultsOfCoverage\(\w+Machine\)\)\.toEqual\(noFaults\)/);
  });

  it("every rules file has a test file", () => {
    const tested = [new URL("./", import.meta.url), new URL("../host/", import.meta.url)].flatMap((folder) =>
      filesOf(folder, ".rules.test.ts"),
    );
    for (const file of filesOf(machines, ".rules.ts")) expect(tested).toContain(file.replace(".ts", ".test.ts"));
  });

  it("only charts that exist have unreached transitions, each with a reason", () => {
    expect(charts.map((each) => each.machine.id)).toEqual(expect.arrayContaining(Object.keys(unreached)));
    for (const reasons of Object.values(unreached))
      for (const reason of Object.values(reasons)) expect(reason.length).toBeGreaterThan(20);
  });
});

describe.each(charts)("$file", (chart) => {
  it("handles or ignores by declaration every event in every state it can rest in", () => {
    expect(vanishingEvents(chart)).toEqual([]);
  });

  it("handles no event that its type does not know", () => {
    expect(unknownEvents(chart)).toEqual([]);
  });

  it("has no wildcard transition", () => {
    expect(wildcards(chart.machine)).toEqual([]);
  });

  it("has an error path for every request", () => {
    expect(requestsWithoutErrorPath(chart)).toEqual([]);
  });
});

describe("the gates can fail", () => {
  const broken = setup({ actors: { ask: fromPromise<string>(() => Promise.resolve("")) } }).createMachine({
    id: "broken",
    initial: "first",
    states: {
      first: {
        invoke: { src: "ask", onDone: [{ guard: ({ event }) => event.output === "on", target: "second" }, "third"] },
        on: { heard: { guard: () => false }, "*": "third" },
      },
      second: { on: { heard: {} } },
      third: { type: "final" },
    },
  });

  it("on an event that only a guard takes", () => {
    expect(vanishingEvents({ machine: broken, events: ["heard", "unheardOf"] })).toEqual([
      "heard in first",
      "unheardOf in first",
      "unheardOf in second",
    ]);
  });

  it("on an event nobody declared", () => {
    expect(unknownEvents({ machine: broken, events: [] })).toEqual(["heard in first", "* in first", "heard in second"]);
  });

  it("on a wildcard and on a request without an error path", () => {
    expect(wildcards(broken)).toEqual(["* in first"]);
    expect(requestsWithoutErrorPath({ machine: broken, companions: [] })).toEqual(["ask in first"]);
    expect(requestsWithoutErrorPath({ machine: broken, companions: ["ask"] })).toEqual([]);
  });

  it("on a transition that no test takes, and on a reason that is out of date", () => {
    playChart(broken, undefined).answer("ask", "on").send({ type: "heard" });
    expect(partsOf(broken)).toHaveLength(5);
    expect(faultsOfCoverage(broken)).toEqual({
      neverTaken: ["first on heard [0] → stays", "first on * [0] → third", "first on ask answered [1] → third"],
      wronglyListed: [],
    });
    const reasons = {
      "first on ask answered [0] → second": "taken after all",
      "first on ask answered [1] → third": "given",
      "first on heard [0] → stays": "given",
      "first on * [0] → third": "given",
      "nowhere on heard [0] → stays": "names nothing",
    };
    expect(faultsOfCoverage(broken, reasons)).toEqual({
      ...noFaults,
      wronglyListed: ["first on ask answered [0] → second", "nowhere on heard [0] → stays"],
    });
  });
});
