/** The membership chart: registering, beating, recovering, leaving; nothing of an ended generation has an effect. */
import { describe, expect, it } from "vitest";
import { generation } from "../../../machines/ids.ts";
import { defaultMembershipTimings, membershipMachine } from "../../../machines/membership.machine.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { leader, mySeat, thread } from "../../support/charts/samples.ts";

const start = () => playChart(membershipMachine, { leader: leader(), seat: mySeat, timings: defaultMembershipTimings });
const accepted = (gen = "g1") => ({ kind: "accepted", generation: generation(gen), thread: thread() }) as const;
const unreachable = { kind: "unreachable", reason: "nobody there" } as const;

const beating = () => start().answer("register", accepted());
const registered = () => beating().answer("heartbeat", { kind: "alive" });
const leaving = () => registered().send({ type: "membership.leave" });
const closed = (gen = "g1") => ({ type: "link.closed", generation: generation(gen) }) as const;

describe("registering", () => {
  it("asks the leader for its seat", () => {
    expect(start().requests).toEqual({ register: { leader: leader(), seat: mySeat } });
  });

  it("is registered only by a positive answer", () => {
    const member = beating();
    expect(member.state).toBe("registered.beating");
    expect(member.facts).toEqual([{ type: "membership.registered", generation: "g1", thread: thread() }]);
    expect(member.requests).toEqual({ watchLeader: { generation: "g1" }, heartbeat: { generation: "g1" } });
  });

  it("protocol/§6.4.5 is registered by a yes that names no thread, and does not ask again", () => {
    const member = start().answer("register", { ...accepted(), thread: null });
    expect(member.state).toBe("registered.beating");
    expect(member.facts).toEqual([{ type: "membership.registered", generation: "g1", thread: null }]);
  });

  it("reports a refusal, doubts no leader, and knocks again", () => {
    const member = start().answer("register", { kind: "refused", reason: "no threads" });
    expect(member.state).toBe("recovering");
    expect(member.facts).toEqual([{ type: "membership.refused", reason: "no threads" }]);
  });

  it.each([
    ["does not answer", () => start().answer("register", unreachable), "nobody there"],
    ["could not be asked", () => start().fail("register", new Error("broken")), "Error: broken"],
  ])("doubts a leader that %s", (_, failed, reason) => {
    expect(failed().state).toBe("recovering");
    expect(failed().facts).toEqual([{ type: "membership.lost", reason }]);
  });

  it("is not disturbed by the end of some connection, or by a companion of the past", () => {
    expect(start().send(closed()).state).toBe("registering");
    expect(start().send({ type: "companion.failed", companion: "watchLeader", reason: "late" }).state).toBe(
      "registering",
    );
  });
});

describe("knocking again", () => {
  it("waits longer each time, from a hundredth of the longest pause to that", () => {
    const pauses: unknown[] = [];
    const member = start();
    for (let knock = 0; knock < 9; knock += 1) {
      pauses.push(member.answer("register", unreachable).timers["recoverPause"]);
      member.after("recoverPause");
    }
    expect(pauses).toEqual([25, 50, 100, 200, 400, 800, 1_600, 2_500, 2_500]);
  });

  it("starts from the shortest pause after it was registered", () => {
    const member = start().answer("register", unreachable).after("recoverPause").answer("register", unreachable);
    member.after("recoverPause").answer("register", accepted()).send(closed());
    expect(member.timers).toEqual({ recoverPause: 25 });
  });
});

describe("being registered", () => {
  it("protocol/HB-1 beats at once under its generation, rests a second, and beats again", () => {
    const member = beating();
    expect(member.requests).toMatchObject({ heartbeat: { generation: "g1" } });
    expect(member.answer("heartbeat", { kind: "alive" }).state).toBe("registered.resting");
    expect(member.timers).toEqual({ heartbeatInterval: 1_000 });
    expect(member.after("heartbeatInterval").requests).toMatchObject({ heartbeat: { generation: "g1" } });
  });

  it.each([
    ["refuses the heartbeat", () => beating().answer("heartbeat", { kind: "refused", reason: "unknown" }), "unknown"],
    ["does not answer it", () => beating().answer("heartbeat", unreachable), "nobody there"],
    ["could not be asked", () => beating().fail("heartbeat", new Error("broken")), "Error: broken"],
    ["closes the connection", () => registered().send(closed()), "the connection to the leader closed"],
    [
      "cannot be watched",
      () => registered().send({ type: "companion.failed", companion: "watchLeader", reason: "no socket" }),
      "no socket",
    ],
  ])("protocol/HB-4, HB-5 ends, in the same way and with its reason told, when the leader %s", (_, ended, reason) => {
    expect(ended().state).toBe("recovering");
    expect(ended().latest).toEqual([{ type: "membership.lost", reason }]);
  });

  it("protocol/§6.15 tells of another thread under its own generation, and of none under an earlier one", () => {
    const moved = (gen: string) => ({ type: "thread.moved", generation: generation(gen), thread: thread(9) }) as const;
    expect(registered().send(moved("g1")).latest).toEqual([{ type: "membership.moved", thread: thread(9) }]);
    expect(registered().send(moved("g1")).state).toBe("registered.resting");
    expect(registered().send(moved("g0")).latest).toEqual([]);
    expect(start().send(moved("g1")).latest).toEqual([]);
  });

  it("is not ended by the end of an earlier registration's connection", () => {
    const member = registered().send(closed()).after("recoverPause").answer("register", accepted("g2"));
    expect(member.send(closed("g1")).state).toBe("registered.beating");
    expect(member.latest).toEqual([]);
  });

  it("drops a heartbeat's outcome that comes after the connection closed", () => {
    const member = beating().send(closed());
    expect(() => member.answer("heartbeat", { kind: "alive" })).toThrow(/0 requests/);
  });
});

describe("leaving for good", () => {
  it("tells the leader, under its generation, and is left once the leader confirmed", () => {
    const member = leaving();
    expect(member.requests).toEqual({ watchLeader: { generation: "g1" }, disconnect: { generation: "g1" } });
    expect(member.answer("disconnect", { kind: "left" }).status).toBe("done");
    expect(member.latest).toEqual([{ type: "membership.left", confirmed: true, reason: "" }]);
  });

  it("is left unconfirmed, with the reason, when the leader did not confirm", () => {
    expect(leaving().answer("disconnect", { kind: "notLeft", reason: "stale" }).latest).toEqual([
      { type: "membership.left", confirmed: false, reason: "stale" },
    ]);
    expect(leaving().fail("disconnect", new Error("broken")).latest).toEqual([
      { type: "membership.left", confirmed: false, reason: "Error: broken" },
    ]);
  });

  it("protocol/O-30 keeps the connection that the leader knows, and beats no more", () => {
    const member = beating().send({ type: "membership.leave" });
    expect(Object.keys(member.requests)).toEqual(["watchLeader", "disconnect"]);
    expect(member.timers).toEqual({});
  });

  it("ignores earlier connections and a second request from then on", () => {
    const member = leaving().send(closed("g0")).send({ type: "membership.leave" });
    expect(member.state).toBe("registered.leaving");
    expect(Object.keys(member.requests)).toEqual(["watchLeader", "disconnect"]);
    expect(member.latest).toEqual([]);
  });

  it("is left unconfirmed when the connection closes before the leader has answered", () => {
    expect(leaving().send(closed()).latest).toEqual([
      {
        type: "membership.left",
        confirmed: false,
        reason: "the connection to the leader closed before it answered",
      },
    ]);
  });

  it("is left unconfirmed when the connection cannot be watched any more", () => {
    const member = leaving().send({ type: "companion.failed", companion: "watchLeader", reason: "no socket" });
    expect(member.status).toBe("done");
    expect(member.latest).toEqual([{ type: "membership.left", confirmed: false, reason: "no socket" }]);
  });

  it("is left unconfirmed at once while it is not registered", () => {
    const reason = "not registered, so the leader could not be told";
    for (const member of [start(), start().answer("register", unreachable)])
      expect(member.send({ type: "membership.leave" }).latest).toEqual([
        { type: "membership.left", confirmed: false, reason },
      ]);
  });
});

it("reads like this from a refusal to leaving", () => {
  const member = start().answer("register", { kind: "refused", reason: "no threads" }).after("recoverPause");
  member.answer("register", accepted()).answer("heartbeat", { kind: "alive" });
  member.after("heartbeatInterval").answer("heartbeat", { kind: "alive" });
  member.send({ type: "membership.leave" }).answer("disconnect", { kind: "left" });
  expect(member.trace()).toMatchInlineSnapshot(`
    "start → registering
      asks register (leader: …, seat: manual:profile:one)
    register answered refused (reason: no threads) → recovering
      emits membership.refused (reason: no threads)
    after recoverPause → registering
      asks register (leader: …, seat: manual:profile:one)
    register answered accepted (generation: g1, thread: …) → registered.beating
      emits membership.registered (generation: g1, thread: …)
      asks watchLeader (generation: g1)
      asks heartbeat (generation: g1)
    heartbeat answered alive → registered.resting
    after heartbeatInterval → registered.beating
      asks heartbeat (generation: g1)
    heartbeat answered alive → registered.resting
    membership.leave → registered.leaving
      asks disconnect (generation: g1)
    disconnect answered left → left
      emits membership.left (confirmed: true, reason: )"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(membershipMachine)).toEqual(noFaults);
});
