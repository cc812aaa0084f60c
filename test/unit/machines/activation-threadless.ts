/** The tests of `activation.machine.test.ts` about leading without a thread of our own, until one can be had. */
import { describe, expect, it } from "vitest";
import { seatKey } from "../../../machines/ids.ts";
import type { ReconciliationAction } from "../../../machines/reconciliation.rules.ts";
import type { OperatorRequest } from "../../../machines/reconciliation.types.ts";
import { chat, mySeat, thread } from "../../support/charts/samples.ts";
import {
  active,
  activeThreadless,
  bound,
  broke,
  committed,
  companions,
  provisioning,
  rejected,
  running,
  start,
} from "./activation-scenes.ts";

const acted = (action: ReconciliationAction, outcome = "done") =>
  ({ type: "reconciliation.acted", action, outcome }) as const;
const begun = (seat = mySeat) => ({
  id: "p",
  seat,
  chatId: chat,
  slot: "A",
  threadName: "Work",
  startedAtMs: 0,
  status: "ambiguous" as const,
  doubts: 0,
  threadId: null,
});
const forget: OperatorRequest = { id: "r", wish: { kind: "forgetCreation", seat: mySeat }, atMs: 0 };
const doubt = () => ({ target: thread().target, kind: "gone", reason: "gone" }) as const;

describe("leading without a thread of its own: the others are served all the same", () => {
  it("threads/EB-7: says so, seats itself without one, and goes on", () => {
    const chart = provisioning().answer("provisioning", rejected);
    expect(chart.latest).toEqual([{ type: "activation.troubled", trouble: "thread", reason: "no rights" }]);
    expect(chart.requests).toEqual({
      seatOwn: { epoch: 4, seat: mySeat, thread: null, origin: "reused", isClassic: false },
    });
    chart.answer("seatOwn", committed).send({ type: "endpoint.open" });
    expect(running(chart)).toEqual(companions);
    expect(chart.send({ type: "polling.started" }).latest).toEqual([{ type: "activation.active", thread: null }]);
  });

  it("threads/OP-20 asks for the thread again after a while, less often each time, and serves meanwhile", () => {
    const chart = activeThreadless();
    const pauses = Array.from({ length: 6 }, () => {
      const { threadRetry } = chart.timers;
      chart.after("threadRetry");
      expect(running(chart)).toEqual(companions);
      expect(chart.requests).toMatchObject({ provisioning: { epoch: 4, doubt: null, wish: { role: "leader" } } });
      expect(chart.answer("provisioning", rejected).latest).toMatchObject([{ trouble: "thread", reason: "no rights" }]);
      return threadRetry;
    });
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    chart.after("threadRetry").answer("provisioning", bound);
    expect(chart.requests).toMatchObject({ seatOwn: { thread: thread(), origin: "reused", isClassic: false } });
    expect(running(chart)).toEqual(companions);
    expect(chart.answer("seatOwn", committed).latest).toEqual([{ type: "activation.active", thread: thread() }]);
    expect(chart.timers).toEqual({});
  });

  it("goes on without it when asking breaks, and asks again later", () => {
    const chart = activeThreadless().after("threadRetry").fail("provisioning");
    expect([chart.state, chart.timers]).toEqual(["serving.polled.active.lacking", { threadRetry: 10_000 }]);
    expect(activeThreadless().after("threadRetry").answer("provisioning", { kind: "fenced" }).state).toBe("fencedOff");
  });

  it.each([
    [
      "its creation was found to have made one",
      acted({ kind: "adoptCreated", provision: begun(), target: thread().target }),
    ],
    [
      "the operator had a say",
      acted({ kind: "carryOut", request: forget, order: { kind: "abandon", provisionId: "p" } }),
    ],
    ["topics are on again", { type: "capability.judged", verdict: "on" }],
  ] as const)("threads/OP-8, S-61, CP-5 asks for it at once when %s", (_, fact) => {
    expect(Object.keys(activeThreadless().send(fact).requests)).toContain("provisioning");
    expect(active().send(fact).state).toBe("serving.polled.active.settled");
  });

  it.each([
    [
      "another seat's thread was found",
      acted({ kind: "adoptCreated", provision: begun(seatKey("manual:x:1")), target: thread().target }),
    ],
    ["something else was done", acted({ kind: "cancelCleanup", target: thread().target })],
    ["it came to nothing", acted({ kind: "adoptCreated", provision: begun(), target: thread().target }, "refused")],
    ["topics are off", { type: "capability.judged", verdict: "off" }],
    ["one look said so", { type: "capability.judged", verdict: "doubted" }],
  ] as const)("goes on waiting when %s", (_, fact) => {
    expect(activeThreadless().send(fact).state).toBe("serving.polled.active.lacking");
  });

  it("has nothing to replace: a late word against a thread is settled at once", () => {
    const chart = activeThreadless().send({ type: "thread.doubted", doubt: doubt() });
    expect(chart.told.at(-1)).toEqual({ to: "ownThread", event: { type: "thread.settled" } });
  });

  it("threads/CP-2 looks at the topics again, once, when a refusal may mean that there are none", () => {
    const noForum = { kind: "rejected", reason: "Bad Request: the chat is not a forum" } as const;
    const chart = start(true).answer("provisioning", noForum);
    expect(chart.state).toBe("rollingBack");
    chart.after("retryPause");
    const classicNow = start(true)
      .answer("provisioning", noForum)
      .after("retryPause")
      .answer("identify", { kind: "noTopics" });
    expect(classicNow.answer("seatOwn", committed).latest).toEqual([{ type: "activation.classic" }]);
    // The bot has them, and this chat does not, or has too many: then we serve without one.
    chart.answer("identify", { kind: "topics" }).answer("provisioning", noForum);
    expect(chart.requests).toMatchObject({ seatOwn: { thread: null, isClassic: false } });
  });

  it("does not ask again for a thread that it has", () => {
    expect(active().timers).toEqual({});
  });

  it("is not what follows a thread that is lost with the epoch, nor a provisioning that broke", () => {
    expect(provisioning().answer("provisioning", { kind: "fenced" }).state).toBe("fencedOff");
    expect(provisioning().fail("provisioning").state).toBe("rollingBack");
  });

  it("serves without the thread of earlier, when that is refused after a rollback", () => {
    const chart = active().send(broke).after("retryPause").answer("identify", { kind: "topics" });
    chart.answer("provisioning", rejected);
    expect(chart.requests).toEqual({
      seatOwn: { epoch: 4, seat: mySeat, thread: null, origin: "reused", isClassic: false },
    });
  });

  it("becomes classic when the topics themselves are gone after a rollback", () => {
    const chart = activeThreadless().send(broke).after("retryPause").answer("identify", { kind: "noTopics" });
    expect(chart.answer("seatOwn", committed).latest).toEqual([{ type: "activation.classic" }]);
  });
});
