/** The cleanup chart: the instruction before the deletion, removed only when confirmed, nothing under an epoch that is over. */
import { describe, expect, it } from "vitest";
import { cleanupMachine } from "../../../machines/cleanup.machine.ts";
import { epoch } from "../../../machines/ids.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { mySeat, thread } from "../../support/charts/samples.ts";

const input = { epoch: epoch(4), seat: mySeat, target: thread().target };
const start = () => playChart(cleanupMachine, input);
const deleting = () => start().answer("intendCleanup", { kind: "intended" });
const failed = (reason: string) => ({ kind: "failed", reason });

describe("giving a thread up", () => {
  it("writes the instruction, and asks for no deletion before it is on disk", () => {
    expect(start().requests).toEqual({ intendCleanup: input });
    expect(deleting().requests).toEqual({ deleteThread: input });
    expect(deleting().status).toBe("active");
  });

  it("is done when the deletion is confirmed", () => {
    const cleanup = deleting().answer("deleteThread", { kind: "removed" });
    expect(cleanup.status).toBe("done");
    expect(cleanup.output).toEqual({ kind: "removed" });
  });
});

describe("an epoch that is over", () => {
  it("lets nothing be deleted when the store refuses the instruction", () => {
    const cleanup = start().answer("intendCleanup", { kind: "fenced" });
    expect(cleanup.status).toBe("done");
    expect(cleanup.requests).toEqual({});
    expect(cleanup.output).toEqual({ kind: "lostOwnership" });
  });

  it("is no removal, even after the deletion: the store refused to write it down", () => {
    const cleanup = deleting().answer("deleteThread", { kind: "fenced" });
    expect(cleanup.status).toBe("done");
    expect(cleanup.output).toEqual({ kind: "lostOwnership" });
  });
});

describe("what was not confirmed is not removed", () => {
  it.each([
    ["the instruction was not observed", () => start().fail("intendCleanup", new Error("busy")), "Error: busy"],
    ["the deletion was not confirmed", () => deleting().fail("deleteThread", new Error("429")), "Error: 429"],
    [
      "a newer registration of the seat was there first",
      () => deleting().answer("deleteThread", { kind: "superseded" }),
      "a newer registration has cancelled the clean-up",
    ],
  ])("it ends, with the reason, when %s", (_, ended, reason) => {
    const cleanup = ended();
    expect(cleanup.status).toBe("done");
    expect(cleanup.requests).toEqual({});
    expect(cleanup.output).toEqual(failed(reason));
  });
});

it("reads like this from the instruction to the removal", () => {
  const cleanup = deleting().answer("deleteThread", { kind: "removed" });
  expect(cleanup.trace()).toMatchInlineSnapshot(`
    "start → intending
      asks intendCleanup (epoch: 4, seat: manual:profile:one, target: …)
    intendCleanup answered intended → deleting
      asks deleteThread (epoch: 4, seat: manual:profile:one, target: …)
    deleteThread answered removed → ended"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(cleanupMachine)).toEqual(noFaults);
});
