/**
 * What the charts and rules should do and do not do yet. Each test states the right behaviour and is marked `fails`: it
 * turns red the moment the fault is gone, and then moves, without the mark, to the test file of its chart.
 */
import { describe, expect, it } from "vitest";
import { activationMachine } from "../../../machines/activation.machine.ts";
import { confineOwnCall } from "../../../machines/calls.rules.ts";
import { epoch, updateId } from "../../../machines/ids.ts";
import { leaseMachine } from "../../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../../machines/lease.rules.ts";
import { pollingMachine } from "../../../machines/polling.machine.ts";
import { playChart } from "../../support/charts/play.ts";
import { chat, holder, me, mySeat, record, thread } from "../../support/charts/samples.ts";
import { bus, granted, joined, leave, observed, stop } from "./instance-scenes.ts";
import { answered, confirming, disconnect, live, register, suspect } from "./registration-scenes.ts";

describe("instance", () => {
  const lost = { type: "lease.lost", epoch: epoch(4) } as const;

  it.fails("a stop survives the loss of the lease while it stops", () => {
    expect(bus().send(stop).send(lost).state).not.toBe("online.seeking");
  });

  it.fails("a stop survives the loss of the lease while it deletes its own thread", () => {
    expect(bus().send(leave).send(lost).state).not.toBe("online.seeking");
  });

  it.fails("a leave survives a new leader", () => {
    expect(joined().send(leave).send(observed(5)).state).not.toBe("online.following.joining");
  });

  it.fails("a leave survives an election", () => {
    expect(joined().send(leave).send({ type: "lease.standing" }).state).not.toBe("online.electing");
  });

  it.fails("a leave survives a grant", () => {
    expect(joined().send(leave).send(granted(4)).state).not.toBe("online.leading.activating");
  });
});

describe("instance: a companion that broke is replaced, or its role is left", () => {
  const broke = (companion: string) => ({ type: "companion.failed", companion, reason: "defect" }) as const;

  it.fails("it does not lead on without a lease chart: nobody would tell it that the lease is lost", () => {
    expect(bus().send(broke("lease")).state).not.toBe("online.leading.bus");
  });

  it.fails("it does not count as joined without a membership", () => {
    expect(joined().send(broke("membership")).state).not.toBe("online.following.joined");
  });

  it.fails("it does not count as on the bus without an activation", () => {
    expect(bus().send(broke("activation")).state).not.toBe("online.leading.bus");
  });
});

describe("registration: a refused registration leaves the seat as it was", () => {
  it.fails("a suspect stays suspect: nobody has heard of it", () => {
    const seat = suspect().send(register("g2")).answer("provisioning", { kind: "rejected", reason: "no" });
    expect(seat.state).not.toBe("live.heard");
  });

  it.fails("one whose connection closed is not routable again", () => {
    const seat = confirming().send(register("g2")).answer("provisioning", { kind: "rejected", reason: "no" });
    expect(seat.state).not.toBe("live.heard");
  });
});

describe("registration", () => {
  it.fails("a suspect that wants to leave for good is not told that its current generation is stale", () => {
    expect(suspect().send(disconnect("g1")).latest).not.toEqual([answered("disconnect g1", { kind: "stale" })]);
  });

  it.fails("a deletion that the store fenced is not reported as done", () => {
    const seat = live().send(disconnect("g1")).answer("intendCleanup", { kind: "intended" });
    expect(seat.answer("deleteThread", { kind: "fenced" }).latest).not.toContainEqual(
      answered("disconnect g1", { kind: "left" }),
    );
  });

  it.fails("a follower that cannot be watched is reported as gone, like one whose connection closed", () => {
    const seat = live().send({ type: "companion.failed", companion: "watchFollower", reason: "no socket" });
    expect(seat.latest).toMatchObject([{ type: "seat.gone" }]);
  });
});

describe("lease", () => {
  const timings = defaultLeaseTimings;
  const mine = record({ epoch: epoch(4), holder: holder(me) });

  it.fails("updates/OP-31: a doubt while it holds the lease is an immediate look at the store", () => {
    const lease = playChart(leaseMachine, { me, timings }).answer("readLease", record({ holder: null }));
    lease.answer("acquireLease", { kind: "granted", record: mine, remainingMs: 6_000 });
    expect(lease.send({ type: "lease.check" }).requests).not.toEqual({});
  });
});

describe("polling", () => {
  const fetching = () =>
    playChart(pollingMachine, { epoch: epoch(4), pollSeconds: 30 })
      .answer("clearWebhook", undefined)
      .answer("readCursor", null);
  const one = { kind: "batch", updates: [{ id: updateId(1), update: {} }], jitter: 1 } as const;

  it.fails("backs off longer and longer while the journal stays full", () => {
    const poller = fetching();
    const full = () => poller.answer("fetchUpdates", one).answer("admitUpdates", { kind: "full" });
    const first = full().timers["backOff"] ?? 0;
    poller.after("backOff");
    expect(full().timers["backOff"]).toBeGreaterThan(first);
  });

  it.fails("does not wait what a 429 asked for once more, after a poll that broke", () => {
    const poller = fetching().answer("fetchUpdates", {
      kind: "throttled",
      retryAfterMs: 20_000,
      reason: "",
      jitter: 1,
    });
    expect(poller.after("backOff").fail("fetchUpdates").timers["backOff"]).toBeLessThan(20_000);
  });
});

describe("activation", () => {
  const start = () =>
    playChart(activationMachine, {
      epoch: epoch(4),
      seat: mySeat,
      me,
      chatId: chat,
      threadName: null,
      capabilityMs: 1,
    });
  const classic = () => start().answer("identify", { kind: "noTopics" }).answer("seatOwn", { kind: "committed" });
  const broke = { type: "companion.failed", companion: "poller", reason: "late" } as const;

  it.fails("stays still under an epoch that is over, whatever a companion of the past says", () => {
    const chart = classic().send({ type: "polling.fenced" }).send(broke);
    expect(chart.state).toBe("fencedOff");
  });

  it.fails("updates/OP-31: doubts its lease in classic, too, when somebody else polls", () => {
    const chart = classic().send({ type: "polling.troubled", trouble: "conflict", reason: "409" });
    expect(chart.latest).toEqual([{ type: "activation.doubted" }]);
  });

  it.fails("says why when its seat could not be written in classic", () => {
    expect(start().answer("identify", { kind: "noTopics" }).fail("seatOwn").latest).not.toEqual([]);
  });

  it.fails("waits what Telegram asked for only once", () => {
    const chart = start().answer("identify", { kind: "unavailable", reason: "429", afterMs: 20_000 });
    chart
      .after("retryPause")
      .answer("identify", { kind: "topics" })
      .answer("provisioning", { kind: "bound", thread: thread() });
    expect(chart.fail("seatOwn").timers["retryPause"]).toBeLessThan(20_000);
  });

  it.fails("counts its failures anew once it polls in classic", () => {
    const chart = start().fail("identify").after("retryPause").answer("identify", { kind: "noTopics" });
    expect(chart.answer("seatOwn", { kind: "committed" }).context.failures).toBe(0);
  });
});

describe("calls of our own instances", () => {
  const confine = (method: string, body: Readonly<Record<string, unknown>>) =>
    confineOwnCall({ method, body }, { chatId: -1001, threadId: 5 }, false).kind;

  it.fails("delete no message of others by naming several", () => {
    expect(confine("deleteMessages", { chat_id: -1001, message_ids: [7] })).toBe("refused");
  });

  it.fails("do not forward out of a chat that is not their own", () => {
    expect(confine("forwardMessage", { from_chat_id: -1002, message_id: 7 })).toBe("refused");
  });

  it.fails("are confined however the method is written: Telegram ignores case", () => {
    expect(confine("getupdates", {})).toBe("refused");
  });

  it.fails("go into their own thread however the method is written", () => {
    expect(confineOwnCall({ method: "SendMessage", body: {} }, { chatId: -1001, threadId: 5 }, false)).toMatchObject({
      call: { body: { message_thread_id: 5 } },
    });
  });

  it.fails("do not unpin what somebody else pinned last", () => {
    expect(confine("unpinChatMessage", { chat_id: -1001 })).toBe("refused");
  });
});
