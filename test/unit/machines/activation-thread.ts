/** The tests of `activation.machine.test.ts` about our own thread, when it is reported gone. */
import { describe, expect, it } from "vitest";
import { reused, thread } from "../../support/charts/samples.ts";
import { committed, polled, active, rejected, running, seating } from "./activation-scenes.ts";

it("threads/S-56, EB-2, EB-3: asks for another thread when its own is being deleted, or has been", () => {
  const chart = seating().answer("seatOwn", { kind: "threadGone" });
  expect(chart.state).toBe("rollingBack");
  expect(chart.latest).toMatchObject([{ type: "activation.troubled", trouble: "thread" }]);
});

it("threads/T-48: serves without a thread when its own is still being deleted: only one that serves can end that", () => {
  const chart = seating().answer("seatOwn", { kind: "threadGone" }).after("retryPause");
  chart.answer("identify", { kind: "topics" }).answer("provisioning", reused(thread()));
  expect(chart.requests).toMatchObject({ seatOwn: { thread: thread() } });
  chart.answer("seatOwn", { kind: "threadGone" });
  expect(chart.requests).toMatchObject({ seatOwn: { thread: null, isClassic: false } });
  expect(chart.answer("seatOwn", committed).state).toBe("serving.listening");
});

describe("our own thread is reported gone while we lead", () => {
  const doubt = { target: thread().target, kind: "gone", reason: "message thread not found" } as const;
  const settled = { type: "thread.settled" } as const;
  const replacing = () => active().send({ type: "thread.doubted", doubt });
  const moving = () => replacing().answer("provisioning", { ...reused(thread(9)), origin: "created" });

  it("another one is asked for, once, and we lead on meanwhile", () => {
    const chart = replacing();
    expect(chart.requests).toMatchObject({
      provisioning: { epoch: 4, doubt, wish: { role: "leader", carried: null } },
    });
    expect(running(chart)).toEqual([...running(active())]);
    chart.send({ type: "thread.doubted", doubt });
    expect(chart.state).toBe("serving.polled.active.replacing.wanted");
  });

  it("we sit with the new one, tell it, and whoever waits goes on", () => {
    const chart = moving();
    expect(chart.requests).toMatchObject({ seatOwn: { thread: thread(9), origin: "created", isClassic: false } });
    chart.answer("seatOwn", committed);
    expect(chart.state).toBe("serving.polled.active.settled");
    expect(chart.facts.at(-1)).toEqual({ type: "activation.active", thread: thread(9) });
    expect(chart.told.at(-1)).toEqual({ to: "ownThread", event: settled });
  });

  it("goes on without one, and asks again, when that one is being deleted: its lease is not in doubt", () => {
    const chart = moving().answer("seatOwn", { kind: "threadGone" });
    expect(chart.state).toBe("serving.polled.active.lacking");
    expect(chart.told.at(-1)).toEqual({ to: "ownThread", event: settled });
    expect(chart.facts.at(-1)).toMatchObject({ type: "activation.troubled", trouble: "thread" });
    expect(running(chart)).toEqual([...running(active())]);
    chart.after("threadRetry");
    expect(chart.requests).toMatchObject({ provisioning: { wish: { role: "leader" } } });
  });

  it("writes it again when the answer was lost, and nothing under an epoch that is over", () => {
    expect(moving().fail("seatOwn").after("retryInterval").state).toBe("serving.polled.active.moving");
    expect(moving().answer("seatOwn", { kind: "fenced" }).state).toBe("fencedOff");
    expect(replacing().answer("provisioning", { kind: "fenced" }).state).toBe("fencedOff");
  });

  it("keeps it when it exists, or when there is no other, and says so", () => {
    const kept = replacing().answer("provisioning", reused());
    expect([kept.state, kept.told.at(-1)]).toEqual([
      "serving.polled.active.settled",
      { to: "ownThread", event: settled },
    ]);
    for (const chart of [replacing().answer("provisioning", rejected), replacing().fail("provisioning")]) {
      expect(chart.state).toBe("serving.polled.active.settled");
      expect(chart.facts.at(-1)).toMatchObject({ type: "activation.troubled", trouble: "thread" });
      expect(chart.told.at(-1)).toEqual({ to: "ownThread", event: settled });
    }
  });

  it("a word against a thread that we have no longer changes nothing", () => {
    const old = { ...doubt, target: thread(3).target };
    const chart = active().send({ type: "thread.doubted", doubt: old });
    expect([chart.state, chart.told.at(-1)]).toEqual([
      "serving.polled.active.settled",
      { to: "ownThread", event: settled },
    ]);
    expect(polled().send({ type: "thread.doubted", doubt }).state).toBe("serving.polled.polling");
  });
});
