/** The tests of `registration.machine.test.ts` about silence, closed connections, proof of death and what comes after. */
import { describe, expect, it } from "vitest";
import { mySeat, rival, thread } from "../../support/charts/samples.ts";
import {
  answered,
  beat,
  bound,
  closed,
  committed,
  confirming,
  disconnect,
  ending,
  heard,
  live,
  preserved,
  register,
  repliesTo,
  rethreading,
  sitter,
  suspect,
} from "./registration-scenes.ts";

const gone = (why: string) => ({ type: "seat.gone", instanceId: rival, why });
const proof = { seat: mySeat, sitter: sitter("g1") };

describe("threads/S-74: a thread that is being deleted, or has been", () => {
  it("is waited for, and another one is asked for", () => {
    const seat = rethreading();
    expect(seat.timers).toEqual({ retryInterval: 250 });
    expect(seat.facts).toEqual([]);
    expect(seat.after("retryInterval").state).toBe("provisioning");
    seat.answer("provisioning", bound).answer("commitRegistration", committed);
    expect(repliesTo(seat, "register g1")).toEqual([{ kind: "registered", thread: thread(), origin: "reused" }]);
  });

  it("is a refusal when that takes too long: the follower may ask again", () => {
    const seat = rethreading().after("retryInterval").answer("provisioning", bound);
    seat.answer("commitRegistration", { kind: "threadGone" });
    expect(seat.state).toBe("vacant");
    const reason = "the seat's former thread is being deleted, and Telegram has not confirmed it yet";
    expect(repliesTo(seat, "register g1")).toEqual([{ kind: "refused", reason }]);
  });
});

describe("a connection that closed", () => {
  it("is a hint: the seat is routable no more, and its process is looked at", () => {
    expect(confirming().latest).toEqual([gone("closed")]);
    expect(confirming().requests).toEqual({ proveDeath: proof });
  });

  it("is none when it belonged to an earlier generation", () => {
    const seat = live().send(closed("g0"));
    expect(seat.state).toBe("live.heard");
    expect(seat.latest).toEqual([]);
  });

  it("is assumed when the follower cannot be watched", () => {
    const seat = live().send({ type: "companion.failed", companion: "watchFollower", reason: "no socket" });
    expect(seat.latest).toEqual([gone("closed")]);
    expect(seat.requests).toEqual({ proveDeath: proof });
  });

  it("is looked at a few times while the process still runs, then the seat is suspect", () => {
    const seat = confirming().answer("proveDeath", "alive");
    expect(seat.timers).toEqual({ proofInterval: 15 });
    expect(seat.after("proofInterval").answer("proveDeath", "alive").state).toBe("suspect.resting");
  });

  it("counts the looks anew each time", () => {
    const seat = confirming().answer("proveDeath", "alive").after("proofInterval").answer("proveDeath", "alive");
    seat.send(register("g2")).answer("provisioning", bound).answer("commitRegistration", committed);
    expect(seat.send(closed("g2")).answer("proveDeath", "alive").state).toBe("confirmingDeath.pausing");
  });

  it("proves nothing when the process is unverifiable or the look failed", () => {
    expect(confirming().answer("proveDeath", "unverifiable").state).toBe("suspect.resting");
    expect(confirming().fail("proveDeath").state).toBe("suspect.resting");
  });
});

describe("silence", () => {
  it("makes the seat suspect, not dead", () => {
    expect(suspect().latest).toEqual([gone("silent")]);
    expect(suspect().context.sitter).toEqual(sitter("g1"));
  });

  it("is looked at now and then, without end, while nothing is proven", () => {
    const seat = suspect();
    expect(seat.timers).toEqual({ suspectInterval: 1_000 });
    expect(seat.after("suspectInterval").requests).toEqual({ proveDeath: proof });
    expect(seat.answer("proveDeath", "alive").state).toBe("suspect.resting");
    expect(seat.after("suspectInterval").fail("proveDeath").state).toBe("suspect.resting");
    expect(seat.latest).toEqual([]);
  });

  it("of a process that can be proven neither alive nor dead is reported, and ends nothing", () => {
    const seat = suspect().after("suspectInterval").answer("proveDeath", "unverifiable");
    expect(seat.latest).toEqual([{ type: "seat.unprovable", instanceId: rival }]);
    expect(seat.state).toBe("suspect.resting");
  });

  it("updates/OP-15: of a process proven dead ends the registration, long after it registered", () => {
    expect(suspect().after("suspectInterval").answer("proveDeath", "dead").state).toBe("ending.writing");
  });

  it.each([
    ["suspect", suspect],
    ["whose connection closed", confirming],
  ])("a follower that is %s is told that it is unknown, so that it registers anew", (_, reached) => {
    const seat = reached();
    const { state } = seat;
    for (const gen of ["g1", "g0"]) {
      expect(seat.send(beat(gen)).latest).toEqual([answered(`beat ${gen}`, { kind: "unknown" })]);
      expect(seat.send(disconnect(gen)).latest).toEqual([answered(`disconnect ${gen}`, { kind: "unknown" })]);
    }
    expect(seat.send(heard("g1")).state).toBe(state);
  });
});

describe("a proven death", () => {
  it("is written down under the epoch before the seat is given up", () => {
    const seat = ending();
    expect(seat.requests).toEqual({ endRegistration: { epoch: 4, ...proof } });
    expect(seat.context.sitter).toEqual(sitter("g1"));
    seat.answer("endRegistration", { kind: "ended" });
    expect(seat.latest).toEqual([gone("died")]);
    expect(seat.state).toBe("preserved");
  });

  it("is none for the seat when the store refused to write it: the epoch is over, and nothing more is known", () => {
    const seat = ending().answer("endRegistration", { kind: "fenced" });
    expect(seat.latest).toEqual([]);
    expect(seat.state).toBe("suspect.resting");
    expect(seat.context.sitter).toEqual(sitter("g1"));
  });

  it("ends the seat here, too, when a newer registration is written already", () => {
    const seat = ending().answer("endRegistration", { kind: "superseded" });
    expect(seat.latest).toEqual([gone("died")]);
    expect(seat.state).toBe("preserved");
  });

  it("is written again until the store answers", () => {
    const seat = ending().fail("endRegistration");
    expect(seat.timers).toEqual({ retryInterval: 250 });
    expect(seat.after("retryInterval").state).toBe("ending.writing");
  });

  it("deletes nothing, and the seat knows nobody any more", () => {
    const seat = preserved();
    expect(seat.requests).toEqual({});
    expect(seat.send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "unknown" })]);
    expect(seat.send(disconnect("g1")).latest).toEqual([answered("disconnect g1", { kind: "unknown" })]);
  });
});
