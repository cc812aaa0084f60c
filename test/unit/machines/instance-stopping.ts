/** The tests of `instance.machine.test.ts` about stopping and leaving, in every role. */
import { describe, expect, it } from "vitest";
import { epoch } from "../../../machines/ids.ts";
import { mySeat, thread } from "../../support/charts/samples.ts";
import {
  activated,
  activatedThreadless,
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
  threadlessBus,
} from "./instance-scenes.ts";

const release = { to: "lease", event: { type: "lease.release" } };
const releasing = () => seeking().send(stop);
const draining = () => releasing().send({ type: "lease.released" });
const stopping = () => bus().send(stop);
const stopped = (own = thread()) => ({ type: "activation.stopped", thread: own }) as const;
const stoppedThreadless = { type: "activation.stopped", thread: null } as const;
const leavingLead = () => bus().send(leave);
const givingUp = () => leavingLead().send(stopped());
const disowning = () => givingUp().answer("cleanup", { kind: "removed" });
const leavingSeat = () => joined().send(leave);
const lost = { type: "lease.lost", epoch: epoch(4) } as const;
const standing = { type: "lease.standing" } as const;

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
    expect(instance.send(stopped()).told.at(-1)).toEqual(release);
  });

  it("cuts an activation off that does not stop in time", () => {
    expect(stopping().timers).toEqual({ farewellLimit: 1_000 });
    expect(stopping().after("farewellLimit").state).toBe("online.releasing");
  });

  it("lets its handlers end when the lease is released: until then its seat stays its own", () => {
    const instance = releasing().send({ type: "lease.released" });
    expect(instance.state).toBe("draining");
    expect(instance.requests).toEqual({ drainHost: undefined });
    expect(instance.timers).toEqual({ drainLimit: 500 });
  });

  it.each([
    ["no handler runs any more", () => draining().answer("drainHost", undefined)],
    ["a handler does not end in time", () => draining().after("drainLimit")],
    ["nobody knows whether one runs", () => draining().fail("drainHost")],
  ])("gives the seat up when %s, and is over when it went back", (_, drained) => {
    const instance = drained();
    expect(instance.state).toBe("closing");
    expect(instance.requests).toEqual({ releaseSeat: { seat: mySeat } });
    expect(instance.answer("releaseSeat", undefined).output).toEqual({ kind: "stopped" });
  });

  it("does not wait for ever for the lease, nor for the seat", () => {
    const instance = releasing().after("farewellLimit");
    expect(instance.state).toBe("draining");
    instance.answer("drainHost", undefined);
    expect(instance.fail("releaseSeat").output).toEqual({ kind: "stopped" });
  });

  it("takes no role any more while it lets the lease go", () => {
    const instance = releasing().send(observed(9)).send({ type: "lease.standing" }).send(granted(9)).send(stop);
    expect(instance.state).toBe("online.releasing");
    expect(instance.facts).toEqual([]);
    expect(instance.told).toEqual([release]);
  });

  it("is asked once: a second request changes nothing", () => {
    for (const instance of [
      stopping(),
      leavingLead(),
      givingUp(),
      disowning(),
      leavingSeat(),
      draining(),
      claiming().send(stop),
    ]) {
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

  it("threads/S-77 and CL-10 superseded, threads/OP-21: goes on, and says why the thread stays, when the leader did not confirm", () => {
    const instance = leavingSeat().send({ type: "membership.left", confirmed: false, reason: "stale" });
    expect(instance.state).toBe("online.releasing");
    expect(lastFact(instance)).toEqual({ type: "instance.troubled", trouble: "membership.left", reason: "stale" });
  });

  it.each([
    ["is on disk", () => leavingSeat().answer("disownSeat", undefined)],
    ["could not be written", () => leavingSeat().fail("disownSeat")],
  ])("C38 no longer wants what is still being created for it; whether that %s, it goes on", (_, reached) => {
    expect(leavingSeat().requests).toMatchObject({ disownSeat: { seat: mySeat } });
    expect(reached().state).toBe("online.following.leaving");
  });

  it("does not wait for ever for the leader", () => {
    expect(leavingSeat().timers).toEqual({ farewellLimit: 1_000 });
    const instance = leavingSeat().after("farewellLimit");
    expect(instance.state).toBe("online.releasing");
    const reason = "the leader did not answer in time";
    expect(lastFact(instance)).toEqual({ type: "instance.troubled", trouble: "membership.left", reason });
  });

  it("threads/CL-11: as the leader, deletes the own thread under its epoch, once nothing of its own is under way", () => {
    const leaving = leavingLead();
    expect(leaving.state).toBe("online.leading.leaving");
    expect(leaving.told.at(-1)).toEqual({ to: "activation", event: { type: "activation.stop" } });
    const instance = leaving.send(stopped());
    const cleanup = { epoch: 4, seat: mySeat, target: thread().target, asks: "left", seenDead: null };
    expect(instance.requests).toMatchObject({ cleanup });
    expect(instance.answer("cleanup", { kind: "removed" }).state).toBe("online.disowning");
    expect(instance.latest).toEqual([]);
  });

  it("C38 as the leader, deletes the thread that was made for it on the way out", () => {
    for (const reached of [leading, threadlessBus, bus])
      expect(
        reached()
          .send(leave)
          .send(stopped(thread(9))).requests,
      ).toMatchObject({
        cleanup: { target: thread(9).target },
      });
  });

  it.each([
    ["activating", leading],
    ["in classic", classic],
    ["on the bus without a thread", threadlessBus],
  ])("C38 threads/CL-9 as the leader, while %s, does not want what is still being created for it", (_, reached) => {
    for (const instance of [
      reached().send(leave).send(stoppedThreadless),
      reached().send(leave).after("farewellLimit"),
    ]) {
      expect(instance.state).toBe("online.disowning");
      expect(instance.requests).toMatchObject({ disownSeat: { seat: mySeat } });
    }
  });

  it.each([
    ["is on disk", () => disowning().answer("disownSeat", undefined)],
    ["could not be written", () => disowning().fail("disownSeat")],
    ["takes too long", () => disowning().after("farewellLimit")],
  ])("as the leader, lets the lease go when that %s", (_, reached) => {
    expect(reached().state).toBe("online.releasing");
    expect(reached().told.at(-1)).toEqual(release);
  });

  it.each([
    [
      "it was not confirmed",
      () => givingUp().answer("cleanup", { kind: "failed", reason: "429", retryAfterMs: 1 }),
      "429",
    ],
    ["the store fenced it", () => givingUp().answer("cleanup", { kind: "lostOwnership" }), "the lease was lost"],
    ["it has the thread again", () => givingUp().answer("cleanup", { kind: "held" }), "a newer registration has it"],
    ["giving it up broke", () => givingUp().fail("cleanup", new Error("broken")), "Error: broken"],
  ])(
    "threads/T-49, S-76, S-79, OP-42, CL-12, CL-14 goes on, and says so, when the own thread could not be deleted: %s",
    (_, failed, reason) => {
      const instance = failed();
      expect(instance.state).toBe("online.disowning");
      expect(lastFact(instance)).toEqual({
        type: "instance.troubled",
        trouble: "thread",
        reason: `the own thread could not be deleted: ${reason}`,
      });
    },
  );

  it("threads/T-49 does not wait for ever for the own thread", () => {
    const instance = givingUp().after("farewellLimit");
    expect(instance.state).toBe("online.disowning");
    const reason = "the own thread could not be deleted: there was no answer in time";
    expect(lastFact(instance)).toEqual({ type: "instance.troubled", trouble: "thread", reason });
    expect(leavingLead().after("farewellLimit").state).toBe("online.leading.givingUp");
  });

  it("is no more than stopping while seeking: there is no thread to delete", () => {
    expect(seeking().send(leave).state).toBe(seeking().send(stop).state);
  });

  it("threads/S-78 deletes the thread that it had as a follower, even if it could not be had again as the leader", () => {
    const instance = joined().send(granted(4)).send(activatedThreadless).send(leave).send(stoppedThreadless);
    expect(instance.state).toBe("online.leading.givingUp");
    expect(instance.requests).toMatchObject({ cleanup: { epoch: 4, seat: mySeat, target: thread().target } });
  });

  it("goes on leaving whatever its activation says meanwhile", () => {
    expect(leavingLead().send(activated).state).toBe("online.leading.leaving");
    expect(givingUp().send(activated).state).toBe("online.leading.givingUp");
  });
});

describe("nothing leads back in on the way out", () => {
  const ways = [
    ["stopping to lead", stopping],
    ["stopping to lead for good", leavingLead],
    ["giving its thread up", givingUp],
    ["leaving its leader", leavingSeat],
  ] as const;

  it.each([...ways, ["disowning its seat", disowning] as const])(
    "while %s, neither a new leader nor an election changes anything",
    (_, reached) => {
      const instance = reached();
      const { state, requests, told } = instance;
      instance.send(observed(5)).send(standing).send(stop);
      expect([instance.state, instance.requests, instance.told]).toEqual([state, requests, told]);
    },
  );

  it.each([...ways, ["disowning its seat", disowning] as const])(
    "while %s, a lease that is lost or granted anew is let go of at once",
    (_, reached) => {
      for (const fact of [lost, granted(9)]) {
        const instance = reached().send(fact);
        // What is under way for one who leaves for good is disowned on the way.
        if (instance.state === "online.disowning") instance.answer("disownSeat", undefined);
        expect(instance.state).toBe("online.releasing");
        expect(instance.told.at(-1)).toEqual(release);
        expect(Object.keys(instance.requests)).toEqual(["lease"]);
      }
    },
  );
});
