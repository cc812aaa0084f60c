/** The tests of `instance.machine.test.ts` about stopping and leaving, in every role. */
import { describe, expect, it } from "vitest";
import { mySeat } from "../../support/charts/samples.ts";
import {
  activated,
  bus,
  claiming,
  classic,
  electing,
  following,
  granted,
  joined,
  lastFact,
  leading,
  leave,
  observed,
  seeking,
  start,
  stop,
} from "./instance-scenes.ts";

const release = { to: "lease", event: { type: "lease.release" } };
const releasing = () => seeking().send(stop);
const stopping = () => bus().send(stop);
const givingUp = () => bus().send(leave);
const leavingSeat = () => joined().send(leave);

describe("stopping", () => {
  it.each([
    ["looking", () => start("one"), ""],
    ["claiming", claiming, mySeat],
    ["waiting for the store", () => claiming().fail("claimSeat"), mySeat],
  ])("while %s gives the seat back and needs no lease", (_, reached, seat) => {
    const instance = reached().send(stop);
    expect(instance.requests).toEqual({ releaseSeat: { seat } });
    expect(instance.told).toEqual([]);
  });

  it.each([
    ["seeking", seeking],
    ["electing", electing],
    ["joining", following],
    ["joined", joined],
  ])("while %s leaves the role and lets the lease go", (_, reached) => {
    const instance = reached().send(stop);
    expect(instance.state).toBe("online.releasing");
    expect(instance.told.at(-1)).toEqual(release);
    expect(Object.keys(instance.requests)).toEqual(["lease"]);
  });

  it.each([
    ["activating", leading],
    ["on the bus", bus],
    ["in classic", classic],
  ])("while leading %s stops the activation before the lease goes", (_, reached) => {
    const instance = reached().send(stop);
    expect(instance.state).toBe("online.leading.stopping");
    expect(instance.told).toEqual([{ to: "activation", event: { type: "activation.stop" } }]);
    expect(instance.send({ type: "activation.stopped" }).told.at(-1)).toEqual(release);
  });

  it("cuts an activation off that does not stop in time", () => {
    expect(stopping().timers).toEqual({ farewellLimit: 1_200 });
    expect(stopping().after("farewellLimit").state).toBe("online.releasing");
  });

  it("is over when the lease is released and the seat went back", () => {
    const instance = releasing().send({ type: "lease.released" });
    expect(instance.requests).toEqual({ releaseSeat: { seat: mySeat } });
    expect(instance.answer("releaseSeat", undefined).output).toEqual({ kind: "stopped" });
  });

  it("does not wait for ever for the lease, nor for the seat", () => {
    const instance = releasing().after("farewellLimit");
    expect(instance.state).toBe("closing");
    expect(instance.fail("releaseSeat").output).toEqual({ kind: "stopped" });
  });

  it("takes no role any more while it lets the lease go", () => {
    const instance = releasing().send(observed(9)).send({ type: "lease.standing" }).send(granted(9)).send(stop);
    expect(instance.state).toBe("online.releasing");
    expect(instance.facts).toEqual([]);
    expect(instance.told).toEqual([release]);
  });

  it("is asked once: a second request changes nothing", () => {
    for (const instance of [stopping(), givingUp(), leavingSeat(), claiming().send(stop)]) {
      const { state } = instance;
      expect(instance.send(leave).state).toBe(state);
    }
  });
});

describe("leaving for good", () => {
  it.each([
    ["joining", following],
    ["joined", joined],
  ])("as a follower, while %s, tells the leader first", (_, reached) => {
    const instance = reached().send(leave);
    expect(instance.state).toBe("online.following.leaving");
    expect(instance.told.at(-1)).toEqual({ to: "membership", event: { type: "membership.leave" } });
  });

  it("goes on when the leader confirmed, without a word", () => {
    const instance = leavingSeat().send({ type: "membership.left", confirmed: true, reason: "" });
    expect(instance.told.at(-1)).toEqual(release);
    expect(instance.latest).toEqual([]);
  });

  it("goes on, and says why the thread stays, when the leader did not confirm", () => {
    const instance = leavingSeat().send({ type: "membership.left", confirmed: false, reason: "stale" });
    expect(instance.state).toBe("online.releasing");
    expect(lastFact(instance)).toEqual({ type: "instance.troubled", trouble: "membership.left", reason: "stale" });
  });

  it("does not wait for ever for the leader", () => {
    expect(leavingSeat().timers).toEqual({ farewellLimit: 1_200 });
    expect(leavingSeat().after("farewellLimit").state).toBe("online.releasing");
  });

  it("as the leader, deletes the own thread under its epoch, while it still leads", () => {
    const instance = givingUp();
    expect(instance.requests).toMatchObject({ giveUpOwnThread: { epoch: 4, seat: mySeat }, activation: {} });
    expect(instance.answer("giveUpOwnThread", undefined).state).toBe("online.leading.stopping");
  });

  it("goes on, and says so, when the own thread could not be deleted", () => {
    const instance = givingUp().fail("giveUpOwnThread", new Error("429"));
    expect(instance.state).toBe("online.leading.stopping");
    expect(lastFact(instance)).toEqual({
      type: "instance.troubled",
      trouble: "thread",
      reason: "the own thread could not be deleted: Error: 429",
    });
  });

  it("does not wait for ever for the own thread", () => {
    expect(givingUp().after("farewellLimit").state).toBe("online.leading.stopping");
  });

  it.each([
    ["activating", leading],
    ["in classic", classic],
    ["seeking", seeking],
  ])("is no more than stopping while %s: there is no thread to delete", (_, reached) => {
    expect(reached().send(leave).state).toBe(reached().send(stop).state);
  });

  it("goes on leaving whatever its activation says meanwhile", () => {
    expect(givingUp().send(activated).state).toBe("online.leading.givingUp");
  });
});
