/** The activation chart: the order of becoming leader, rollback, classic, and the switch to the bus. */
import { describe, expect, it } from "vitest";
import { activationMachine } from "../../../machines/activation.machine.ts";
import { chatId, updateId } from "../../../machines/ids.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { chat, me, mySeat, thread } from "../../support/charts/samples.ts";
import {
  start,
  bound,
  committed,
  answered,
  troubled,
  broke,
  fenced,
  provisioning,
  seating,
  listening,
  polled,
  active,
  classic,
  scheduled,
  rejected,
  activeThreadless,
  switching,
  companions,
  running,
} from "./activation-scenes.ts";

describe("reconciliation", () => {
  it("threads/T-48, LP-4: runs beside the poller, and what it reports moves nothing", () => {
    const chart = active();
    expect(chart.requests).toMatchObject({ reconciliation: { epoch: 4 } });
    const { state } = chart;
    chart.send({ type: "reconciliation.planned", phase: "stable", actions: 0 });
    chart.send({ type: "capability.judged", verdict: "on" });
    const cancel = { kind: "cancelCleanup", target: thread().target } as const;
    chart.send({ type: "reconciliation.acted", action: cancel, outcome: "done" });
    expect(chart.state).toBe(state);
  });

  it("ends the leadership when the store holds a newer epoch; a late word of it does nothing", () => {
    const chart = active().send({ type: "reconciliation.fenced" });
    expect(chart.state).toBe("fencedOff");
    expect(chart.send({ type: "reconciliation.fenced" }).state).toBe("fencedOff");
  });
});

describe("becoming the bus leader, in order", () => {
  it("threads/T-31, S-59 thread, seat, endpoint, then dispatcher and poller; active when the poller has started", () => {
    const chart = start();
    expect(chart.requests).toEqual({ identify: undefined });
    chart.answer("identify", { kind: "topics" });
    const wish = {
      seat: mySeat,
      instanceId: me,
      chatId: chat,
      threadName: "Work",
      role: "leader",
      carried: null,
      previous: null,
    };
    expect(chart.requests).toEqual({ provisioning: { epoch: 4, wish, doubt: null } });
    chart.answer("provisioning", bound);
    expect(chart.requests).toEqual({
      seatOwn: { epoch: 4, seat: mySeat, thread: thread(), origin: "reused", isClassic: false },
    });
    chart.answer("seatOwn", committed);
    expect(chart.requests).toEqual({ endpoint: { epoch: 4 } });
    chart.send({ type: "endpoint.open" });
    expect(running(chart)).toEqual(companions);
    expect(chart.facts).toEqual([]);
    expect(chart.send({ type: "polling.started" }).facts).toEqual([{ type: "activation.active", thread: thread() }]);
  });

  it("asks nobody for topics when it had a thread as a follower a moment ago", () => {
    expect(Object.keys(start(true).requests)).toEqual(["provisioning"]);
  });

  it("asks all the same after a step that failed: the thread may have been the reason", () => {
    const chart = start(true).fail("provisioning").after("retryPause");
    expect(chart.requests).toEqual({ identify: undefined });
  });

  it("ignores words of companions that do not run yet", () => {
    const chart = start().send({ type: "endpoint.open" }).send({ type: "polling.started" }).send(answered);
    chart.send({ type: "endpoint.failed", reason: "late" }).send({ type: "polling.fenced" }).send(troubled("conflict"));
    chart.send({ type: "dispatcher.fenced" });
    expect(chart.send({ type: "polling.stopped" }).state).toBe("identifying");
    expect(chart.facts).toEqual([]);
  });
});

describe("leading", () => {
  it("nudges the dispatcher when updates were admitted", () => {
    expect(active().send(answered).told).toEqual([{ to: "dispatcher", event: { type: "journal.changed" } }]);
  });

  it("leaves what the poller made of Telegram's ids to the log", () => {
    const idsAccepted = {
      type: "polling.idsAccepted",
      from: updateId(900),
      to: updateId(502),
      why: "a restart",
    } as const;
    const chart = active().send(idsAccepted);
    expect(chart.state).toBe(active().state);
    expect(chart.told).toEqual(active().told);
  });

  it("updates/OP-31: doubts its lease at once when somebody else polls, and not for other trouble", () => {
    expect(active().send(troubled("conflict")).latest).toEqual([{ type: "activation.doubted" }]);
    const chart = active().send(troubled("failed"));
    expect(chart.latest).toEqual([]);
    expect(chart.state).toBe("serving.polled.active.settled");
  });

  it.each([
    ["its poller while it starts", polled, "polling.fenced"],
    ["its poller while it runs", active, "polling.fenced"],
    ["its dispatcher while the poller starts", polled, "dispatcher.fenced"],
    ["its dispatcher while it runs", active, "dispatcher.fenced"],
    ["its dispatcher while it leads without a thread", activeThreadless, "dispatcher.fenced"],
  ] as const)("stands still when the store fences %s", (_, reached, type) => {
    const chart = reached().send({ type });
    expect(chart.state).toBe("fencedOff");
    expect(chart.latest).toEqual([{ type: "activation.doubted" }, fenced]);
    expect(chart.requests).toEqual({});
    expect(chart.timers).toEqual({});
  });
});

describe("rolling back", () => {
  it.each([
    [
      "Telegram cannot be asked",
      () => start().answer("identify", { kind: "unavailable", reason: "502", afterMs: 0 }),
      "unavailable",
    ],
    ["asking breaks", () => start().fail("identify"), "unavailable"],
    ["provisioning breaks", () => provisioning().fail("provisioning"), "thread"],
    ["the seat cannot be written", () => seating().fail("seatOwn"), "unavailable"],
    ["the endpoint cannot open", () => listening().send({ type: "endpoint.failed", reason: "in use" }), "endpoint"],
    ["the endpoint breaks later", () => active().send({ type: "endpoint.failed", reason: "gone" }), "endpoint"],
    ["a companion breaks", () => active().send(broke), "unavailable"],
    [
      "the seat cannot be written in classic",
      () => start().answer("identify", { kind: "noTopics" }).fail("seatOwn"),
      "unavailable",
    ],
    ["a companion breaks in classic", () => classic().send(broke), "unavailable"],
  ])("undoes everything when %s, says so, and tries again", (_, failed, trouble) => {
    const chart = failed();
    expect(chart.state).toBe("rollingBack");
    expect(chart.latest).toMatchObject([{ type: "activation.troubled", trouble }]);
    expect(chart.requests).toEqual({});
    expect(chart.timers).toEqual({ retryPause: 250 });
    expect(chart.after("retryPause").requests).toEqual({ identify: undefined });
  });

  it("protocol/S-98 closes the endpoint again when the poller does not start, and begins anew", () => {
    const chart = polled();
    expect(running(chart)).toContain("endpoint");
    expect(running(chart.send(broke))).toEqual([]);
    expect(chart.facts).not.toContainEqual({ type: "activation.active", thread: thread() });
    expect(chart.after("retryPause").state).toBe("identifying");
  });

  it("waits longer each time, up to half a minute, and as long as Telegram asks", () => {
    const chart = start();
    const pauses = Array.from({ length: 9 }, () => {
      const { retryPause } = chart.fail("identify").timers;
      chart.after("retryPause");
      return retryPause;
    });
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    const asked = start().answer("identify", { kind: "unavailable", reason: "429", afterMs: 7_000 });
    expect(asked.timers).toEqual({ retryPause: 7_000 });
  });

  it("waits what Telegram asked for once, and not again for a failure of another kind", () => {
    const asked = () =>
      start().answer("identify", { kind: "unavailable", reason: "429", afterMs: 20_000 }).after("retryPause");
    const topics = asked().answer("identify", { kind: "topics" }).answer("provisioning", bound).fail("seatOwn");
    expect(topics.timers).toEqual({ retryPause: 500 });
    const noTopics = asked().answer("identify", { kind: "noTopics" }).fail("seatOwn");
    expect(noTopics.timers).toEqual({ retryPause: 500 });
    expect(asked().fail("identify").timers).toEqual({ retryPause: 500 });
  });

  it("counts its failures anew once it polls in classic, not sooner", () => {
    const chart = start().fail("identify").after("retryPause").answer("identify", { kind: "noTopics" });
    chart.answer("seatOwn", committed);
    expect(chart.context.failures).toBe(1);
    expect(chart.send({ type: "polling.started" }).send(broke).timers).toEqual({ retryPause: 250 });
  });

  it("counts its failures anew once it was active", () => {
    const chart = start().fail("identify").after("retryPause").answer("identify", { kind: "topics" });
    chart.answer("provisioning", bound).answer("seatOwn", committed).send({ type: "endpoint.open" });
    expect(chart.send({ type: "polling.started" }).send(broke).timers).toEqual({ retryPause: 250 });
  });
});

describe("an epoch that is over", () => {
  it.each([
    ["its thread", () => provisioning().answer("provisioning", { kind: "fenced" })],
    ["its seat", () => seating().answer("seatOwn", { kind: "fenced" })],
    [
      "its seat in classic",
      () => start().answer("identify", { kind: "noTopics" }).answer("seatOwn", { kind: "fenced" }),
    ],
    ["its poll in classic", () => classic().send({ type: "polling.fenced" })],
    ["its dispatcher in classic", () => classic().send({ type: "dispatcher.fenced" })],
    ["its dispatcher on the way to the bus", () => switching().send({ type: "dispatcher.fenced" })],
    [
      "its seat without a thread",
      () => provisioning().answer("provisioning", rejected).answer("seatOwn", { kind: "fenced" }),
    ],
  ])("threads/LP-7, EB-9 stops everything when the store refuses %s", (_, refused) => {
    const chart = refused();
    expect(chart.state).toBe("fencedOff");
    expect(chart.latest).toEqual([{ type: "activation.doubted" }, fenced]);
    expect(running(chart)).toEqual([]);
  });
});

describe("fenced off", () => {
  it("stays still, whatever a companion of the past says", () => {
    const chart = classic().send({ type: "polling.fenced" }).send(broke).send(answered).send(troubled("conflict"));
    chart.send({ type: "polling.started" }).send({ type: "endpoint.failed", reason: "late" });
    chart.send({ type: "dispatcher.fenced" });
    expect(chart.state).toBe("fencedOff");
    expect(chart.latest).toEqual([]);
    expect(chart.facts.slice(-2)).toEqual([{ type: "activation.doubted" }, fenced]);
    expect(chart.timers).toEqual({});
  });
});

describe("classic: a bot without topics", () => {
  it("threads/CP-7: takes its seat without a thread, then dispatches and polls for itself, with no endpoint: nobody follows", () => {
    const chart = start().answer("identify", { kind: "noTopics" });
    expect(chart.requests).toEqual({
      seatOwn: { epoch: 4, seat: mySeat, thread: null, origin: "reused", isClassic: true },
    });
    expect(chart.answer("seatOwn", committed).facts).toEqual([{ type: "activation.classic" }]);
    expect(running(chart)).toEqual(["dispatcher", "poller"]);
    expect(chart.send(answered).told).toEqual([{ to: "dispatcher", event: { type: "journal.changed" } }]);
  });

  it("updates/OP-31: doubts its lease at once when somebody else polls, and not for other trouble", () => {
    for (const reached of [classic, scheduled, switching]) {
      const { state } = reached();
      const chart = reached().send(troubled("conflict"));
      expect(chart.latest).toEqual([{ type: "activation.doubted" }]);
      expect(chart.send(troubled("failed")).latest).toEqual([]);
      expect(chart.state).toBe(state);
    }
  });

  it.each([
    ["has none", (chart: ReturnType<typeof start>) => chart.answer("identify", { kind: "noTopics" })],
    ["is unknown", (chart: ReturnType<typeof start>) => chart.fail("identify")],
  ])("looks for topics now and then, and goes on polling while the answer %s", (_, answer) => {
    expect(classic().timers).toEqual({ capabilityInterval: 2_500 });
    const chart = answer(scheduled());
    expect(chart.state).toBe("dormant.polled.resting");
    expect(running(chart)).toEqual(["dispatcher", "poller"]);
  });

  it("protocol/S-99, H-4 switches to the bus only after its poller is silent", () => {
    const chart = switching();
    expect(chart.told).toEqual([{ to: "poller", event: { type: "polling.stop" } }]);
    expect(chart.state).toBe("dormant.polled.stoppingClassic");
    chart.send({ type: "polling.stopped" });
    expect(chart.state).toBe("provisioning.wanted");
    expect(running(chart)).toEqual([]);
  });

  it("cuts a poller off that does not say that it stopped", () => {
    expect(switching().timers).toEqual({ quiesceLimit: 1_000 });
    const chart = switching().after("quiesceLimit");
    expect(chart.state).toBe("provisioning.wanted");
    expect(running(chart)).toEqual([]);
  });

  it("never has two pollers on the way to the bus", () => {
    const chart = switching().send({ type: "polling.stopped" }).answer("provisioning", bound);
    chart.answer("seatOwn", committed);
    expect(running(chart)).toEqual(["endpoint"]);
    expect(running(chart.send({ type: "endpoint.open" }))).toEqual(companions);
  });
});

describe("stopping is leaving", () => {
  it.each([
    ["identifying", start],
    ["seating", seating],
    ["listening", listening],
    ["active", active],
    ["leading without a thread", activeThreadless],
    ["classic", classic],
    ["protocol/O-26 switching", switching],
    ["rolling back", () => start().fail("identify")],
    ["fenced off", () => active().send({ type: "polling.fenced" })],
  ])("from %s: endpoint closed, poll cut, said so", (_, reached) => {
    const chart = reached().send({ type: "activation.stop" });
    expect(chart.status).toBe("done");
    expect(chart.latest).toEqual([{ type: "activation.stopped", thread: chart.context.thread }]);
    expect(chart.requests).toEqual({});
  });

  const stop = { type: "activation.stop" } as const;
  const asking = { provisioning, replacing: () => activeThreadless().after("threadRetry") };

  it.each(Object.entries(asking))(
    "C38 waits a moment for a thread that may be under way while %s, and says which it is",
    (_, reached) => {
      const chart = reached().send(stop).send(stop);
      expect(chart.status).toBe("active");
      expect(chart.timers).toEqual({ quiesceLimit: 1_000 });
      chart.answer("provisioning", bound);
      expect([chart.status, chart.latest]).toEqual(["done", [{ type: "activation.stopped", thread: thread() }]]);
    },
  );

  it.each(Object.entries(asking))(
    "C38 whatever breaks or is fenced meanwhile, it stops and does not begin anew, while %s",
    (_, reached) => {
      const late = ["polling.fenced", "dispatcher.fenced", "reconciliation.fenced"] as const;
      const chart = reached().send(stop).send(broke).send({ type: "endpoint.failed", reason: "no socket" });
      for (const type of late) chart.send({ type });
      chart.send({ type: "pairing.missing" }).send({ type: "pairing.known", chatId: chatId(99) });
      expect(chart.timers).toEqual({ quiesceLimit: 1_000 });
      expect(chart.answer("provisioning", { kind: "fenced" }).status).toBe("done");
    },
  );

  it.each(Object.entries(asking))(
    "C38 goes without one when there is none, or none in time, while %s",
    (_, reached) => {
      const ends = [
        reached().send(stop).answer("provisioning", rejected),
        reached().send(stop).fail("provisioning"),
        reached().send(stop).after("quiesceLimit"),
      ];
      for (const chart of ends)
        expect([chart.status, chart.latest]).toEqual(["done", [{ type: "activation.stopped", thread: null }]]);
    },
  );
});

it("reads like this from classic to the bus", () => {
  const chart = switching()
    .send({ type: "polling.stopped" })
    .answer("provisioning", bound)
    .answer("seatOwn", committed);
  chart.send({ type: "endpoint.open" }).send({ type: "polling.started" }).send(answered);
  expect(chart.trace()).toMatchInlineSnapshot(`
    "start → identifying
      asks identify
    identify answered noTopics → dormant.seating
      asks seatOwn (epoch: 4, seat: manual:profile:one, thread: null, origin: reused, isClassic: true)
    seatOwn answered committed → dormant.polled.resting
      emits activation.classic
      asks dispatcher (epoch: 4)
      asks poller (epoch: 4)
      asks audience
    after capabilityInterval → dormant.polled.scheduled
      asks identify
    identify answered topics → dormant.polled.stoppingClassic
      tells poller polling.stop
    polling.stopped → provisioning.wanted
      asks provisioning (epoch: 4, wish: …, doubt: null)
    provisioning answered bound (thread: …, origin: reused) → seating
      asks seatOwn (epoch: 4, seat: manual:profile:one, thread: …, origin: reused, isClassic: false)
    seatOwn answered committed → serving.listening
      asks endpoint (epoch: 4)
    endpoint.open → serving.polled.polling
      asks dispatcher (epoch: 4)
      asks poller (epoch: 4)
      asks reconciliation (epoch: 4)
      asks capability
      asks audience
    polling.started → serving.polled.active.settled
      emits activation.active (thread: …)
      asks ownThread
    polling.answered (added: 1) → serving.polled.active.settled
      tells dispatcher journal.changed"
  `);
});

// Loaded here, so that the transitions they take count for the chart.
await import("./activation-thread.ts");
await import("./activation-switch.ts");
await import("./activation-threadless.ts");
await import("./activation-pairing.ts");
await import("./activation-token.ts");

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(activationMachine)).toEqual(noFaults);
});
