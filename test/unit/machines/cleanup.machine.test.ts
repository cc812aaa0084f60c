/**
 * The cleanup chart: the instruction and the proof before the calls, removed only when confirmed, nothing under an epoch
 * that is over.
 */
import { describe, expect, it } from "vitest";
import { cleanupMachine } from "../../../machines/cleanup.machine.ts";
import type { CleanupInput, DeleteAnswer } from "../../../machines/cleanup.machine.ts";
import { chatId, epoch } from "../../../machines/ids.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { mySeat, rival, thread } from "../../support/charts/samples.ts";

const inPrivate = { ...thread().target, chatId: chatId(42) };
const input: CleanupInput = { epoch: epoch(4), seat: mySeat, target: inPrivate, asks: "left", seenDead: null };
const order = { epoch: epoch(4), target: inPrivate };
const start = (differs: Partial<CleanupInput> = {}) => playChart(cleanupMachine, { ...input, ...differs });
const proving = (differs: Partial<CleanupInput> = {}) => start(differs).answer("intendCleanup", { kind: "intended" });
const begun = (attempts = 1) => ({ kind: "begun", attempts }) as const;
const deleting = (attempts = 1) => proving().answer("beginCleanup", begun(attempts));
const kept = (reason: string, isCertain = true, retryAfterMs = 0): DeleteAnswer => ({
  kind: "kept",
  reason,
  isCertain,
  retryAfterMs,
});
const confirming = () => deleting().answer("deleteThread", { kind: "gone" });
const postponing = () => deleting().answer("deleteThread", kept("429"));
const failed = (reason: string, retryAfterMs = 2_000) => ({ kind: "failed", reason, retryAfterMs });

describe("giving a thread up", () => {
  it("threads/T-14, S-62, CL-4: writes the instruction and has it proven before any call", () => {
    expect(start().requests).toEqual({ intendCleanup: { ...order, seat: mySeat, reason: "left" } });
    expect(proving().requests).toEqual({ beginCleanup: { ...order, seenDead: null } });
    expect(deleting().requests).toEqual({ deleteThread: order });
  });

  it("takes an instruction that is on disk already as it is, with the proof of death that was found", () => {
    const cleanup = start({ asks: null, seenDead: rival });
    expect(cleanup.requests).toEqual({ beginCleanup: { ...order, seenDead: rival } });
  });

  it("threads/T-17: is done when the deletion is confirmed and that is on disk", () => {
    expect(confirming().requests).toEqual({ confirmCleanup: order });
    const cleanup = confirming().answer("confirmCleanup", { kind: "removed" });
    expect(cleanup.status).toBe("done");
    expect(cleanup.output).toEqual({ kind: "removed" });
  });

  it("threads/S-42, S-62 in a private chat: deletes directly, without closing first", () => {
    expect(deleting().requests).not.toHaveProperty("closeThread");
  });

  it.each([
    ["was closed", (closing: ReturnType<typeof start>) => closing.answer("closeThread", undefined)],
    ["could not be closed", (closing: ReturnType<typeof start>) => closing.fail("closeThread")],
  ])("threads/S-62, S-88, RC-A1 in a supergroup: deletes it next, when it %s", (_, close) => {
    const closing = proving({ target: thread().target }).answer("beginCleanup", begun());
    expect(closing.requests).toEqual({ closeThread: { epoch: epoch(4), target: thread().target } });
    expect(close(closing).requests).toEqual({ deleteThread: { epoch: epoch(4), target: thread().target } });
  });

  it("writes the confirmation again until the store answers: the thread is gone", () => {
    const again = confirming().fail("confirmCleanup", new Error("busy")).after("retryInterval");
    expect(again.requests).toEqual({ confirmCleanup: order });
    expect(again.answer("confirmCleanup", { kind: "superseded" }).output).toEqual({ kind: "removed" });
  });
});

describe("what holds the thread", () => {
  it.each(["superseded", "held"] as const)("makes no call when the store says that it is %s", (kind) => {
    const cleanup = proving().answer("beginCleanup", { kind });
    expect(cleanup.status).toBe("done");
    expect(cleanup.requests).toEqual({});
    expect(cleanup.output).toEqual({ kind });
  });
});

describe("an epoch that is over", () => {
  it.each([
    ["the instruction", () => start().answer("intendCleanup", { kind: "fenced" })],
    ["the proof", () => proving().answer("beginCleanup", { kind: "fenced" })],
    ["the confirmation", () => confirming().answer("confirmCleanup", { kind: "fenced" })],
    ["the postponement", () => postponing().answer("postponeCleanup", { kind: "fenced" })],
  ])("threads/T-19, S-85, OP-37, CL-2, CL-7: ends it at %s, and nothing more is asked for", (_, ended) => {
    const cleanup = ended();
    expect(cleanup.status).toBe("done");
    expect(cleanup.requests).toEqual({});
    expect(cleanup.output).toEqual({ kind: "lostOwnership" });
  });
});

describe("what was not confirmed is not removed", () => {
  it("threads/T-16, S-64: the instruction stays, due later, with the reason", () => {
    const cleanup = deleting(3).answer("deleteThread", kept("500"));
    expect(cleanup.requests).toEqual({
      postponeCleanup: { ...order, reason: "500", isCertain: true, delayMs: 8_000 },
    });
    expect(cleanup.answer("postponeCleanup", { kind: "noted" }).output).toEqual(failed("500", 8_000));
  });

  it("holds the thread back when the outcome is unknown", () => {
    const lost = deleting().fail("deleteThread", new Error("broken"));
    expect(lost.requests).toMatchObject({ postponeCleanup: { reason: "Error: broken", isCertain: false } });
    expect(lost.fail("postponeCleanup").output).toEqual(failed("Error: broken"));
  });

  it.each([
    ["the instruction was not observed", () => start().fail("intendCleanup", new Error("busy")), "Error: busy"],
    ["the proof was not observed", () => proving().fail("beginCleanup", new Error("busy")), "Error: busy"],
  ])("threads/CL-4: it ends without a call, with the reason, when %s", (_, ended, reason) => {
    expect(ended().output).toEqual(failed(reason));
  });
});

it("reads like this from the instruction to the removal", () => {
  const cleanup = confirming().answer("confirmCleanup", { kind: "removed" });
  expect(cleanup.trace()).toMatchInlineSnapshot(`
    "start → intending
      asks intendCleanup (epoch: 4, target: …, seat: manual:profile:one, reason: left)
    intendCleanup answered intended → proving
      asks beginCleanup (epoch: 4, target: …, seenDead: null)
    beginCleanup answered begun (attempts: 1) → deleting
      asks deleteThread (epoch: 4, target: …)
    deleteThread answered gone → confirming
      asks confirmCleanup (epoch: 4, target: …)
    confirmCleanup answered removed → ended"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(cleanupMachine)).toEqual(noFaults);
});
