/** The instance chart: its seat and its roles. Stopping and leaving are in `instance-stopping.ts`. */
import { describe, expect, it } from "vitest";
import { epoch, instanceId, seatKey } from "../../../machines/ids.ts";
import { instanceMachine } from "../../../machines/instance.machine.ts";
import type { InstanceEvent } from "../../../machines/instance.machine.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { leader, me, mySeat, rival, thread } from "../../support/charts/samples.ts";
import {
  activated,
  activatedThreadless,
  bus,
  choosing,
  classic,
  claiming,
  electing,
  following,
  freeSeat,
  granted,
  joined,
  lastFact,
  leading,
  leave,
  observed,
  refused,
  registeredAs,
  seeking,
  start,
  stop,
  taken,
  threadlessBus,
} from "./instance-scenes.ts";

const troubled = (trouble: string, reason: string) => ({ type: "instance.troubled", trouble, reason });

describe("taking a seat", () => {
  it("looks at the claims on the wished name, then claims against what it saw", () => {
    expect(start("one").requests).toEqual({ readSeatClaims: { name: "one" } });
    expect(claiming().requests).toEqual({ claimSeat: { seat: mySeat, expected: null } });
    const dead = choosing([{ seat: mySeat, instanceId: rival, liveness: "dead" }]);
    expect(dead.requests).toEqual({ claimSeat: { seat: mySeat, expected: rival } });
  });

  it("is refused, with the reason, when a live instance has the name and keeps it for ten more looks", () => {
    const instance = refused();
    expect(instance.status).toBe("done");
    expect(instance.output).toMatchObject({ kind: "refused", reason: expect.stringContaining("is running") as string });
    expect(instance.told).toEqual([]);
  });

  it("doubts at first that the name is taken: a killed predecessor takes a moment to vanish", () => {
    const instance = choosing([taken]);
    expect(instance.timers).toEqual({ doubtInterval: 100 });
    expect(instance.after("doubtInterval").answer("readSeatClaims", freeSeat).state).toBe("starting.claiming");
  });

  it("looks again when somebody was faster", () => {
    expect(claiming().answer("claimSeat", { kind: "taken" }).state).toBe("starting.looking");
  });

  it.each([
    ["look", () => start("one").fail("readSeatClaims", new Error("busy"))],
    ["claim", () => claiming().fail("claimSeat", new Error("busy"))],
  ])("says so and looks again when a %s was not observed", (_, failed) => {
    const instance = failed();
    expect(instance.facts).toEqual([troubled("store", "Error: busy")]);
    expect(instance.timers).toEqual({ retryInterval: 250 });
    expect(instance.after("retryInterval").state).toBe("starting.looking");
  });

  it("goes online with its seat: the lease chart starts", () => {
    expect(seeking().requests).toEqual({ lease: undefined });
    expect(seeking().context.seat).toBe(mySeat);
  });

  it("an unnamed one takes the lowest free number", () => {
    const claims = [{ seat: seatKey("manual:parent:0"), instanceId: rival, liveness: "alive" } as const];
    const instance = start(null).answer("readSeatClaims", { request: { me, owner: "parent", name: null }, claims });
    expect(instance.requests).toEqual({ claimSeat: { seat: "manual:parent:1", expected: null } });
  });
});

describe("which role", () => {
  it.each([
    ["follower of whoever is observed", () => seeking().send(observed(3)), "online.following.joining"],
    ["one who stands", () => seeking().send({ type: "lease.standing" }), "online.electing"],
    ["leader when granted", () => electing().send(granted(4)), "online.leading.activating"],
    ["follower when another was faster", () => electing().send(observed(4)), "online.following.joining"],
    ["one who stands, after following", () => joined().send({ type: "lease.standing" }), "online.electing"],
    ["leader, granted while following", () => joined().send(granted(4)), "online.leading.activating"],
    ["seeking when the lease is lost", () => bus().send({ type: "lease.lost", epoch: epoch(4) }), "online.seeking"],
    ["follower of a newer epoch, even from leading", () => bus().send(observed(5)), "online.following.joining"],
  ])("is a %s", (_, reached, state) => {
    expect(reached().state).toBe(state);
  });

  it("does not follow, while leading, what is not newer than its own grant", () => {
    const instance = leading().send(observed(4)).send(observed(3)).send({ type: "lease.standing" });
    expect(instance.state).toBe("online.leading.activating");
    expect(instance.send({ type: "lease.renewed", epoch: epoch(4), remainingMs: 1 }).state).toBe(
      "online.leading.activating",
    );
  });

  it("leads under the grant it was given, with its seat, and stops following", () => {
    const activation = { epoch: 4, seat: mySeat, hadThread: true };
    expect(joined().send(granted(4)).requests).toEqual({ lease: undefined, activation });
  });

  it.each([
    ["was told of none", leading, false],
    ["only knocked at a leader", () => following().send(granted(4)), false],
    ["followed with one", () => joined().send(granted(4)), true],
    [
      "led with one",
      () =>
        bus()
          .send({ type: "lease.lost", epoch: epoch(4) })
          .send(granted(5)),
      true,
    ],
    [
      "led in classic",
      () =>
        classic()
          .send({ type: "lease.lost", epoch: epoch(4) })
          .send(granted(5)),
      false,
    ],
  ])("tells its activation whether it has a thread, when it %s", (_, reached, hadThread) => {
    expect(reached().requests).toMatchObject({ activation: { hadThread } });
  });

  // Shortest trace: activation.active (thread) → bus, activation.classic → classic, lease.lost, lease.granted → the next
  // activation is asked with hadThread: true, so it asks for a thread instead of whether the bot has topics: `classic`
  // leaves the thread of before in the context.
  it("does not tell its activation that it has a thread, after the bus went classic", () => {
    const lost = { type: "lease.lost", epoch: epoch(4) } as const;
    const instance = bus().send({ type: "activation.classic" }).send(lost).send(granted(5));
    expect(instance.requests).toMatchObject({ activation: { hadThread: false } });
  });

  it("stops leading at once when the lease is lost, and keeps the lease chart", () => {
    expect(bus().send({ type: "lease.lost", epoch: epoch(4) }).requests).toEqual({ lease: undefined });
  });

  it("leads anew under the next grant", () => {
    const instance = bus()
      .send({ type: "lease.lost", epoch: epoch(4) })
      .send({ type: "lease.standing" });
    expect(instance.send(granted(5)).requests).toMatchObject({ activation: { epoch: 5 } });
  });
});

describe("following", () => {
  it("registers at the leader it observed", () => {
    const wanted = { lease: undefined, membership: { leader: leader(), seat: mySeat } };
    expect(following().requests).toEqual(wanted);
  });

  it("is ready when registered", () => {
    expect(joined().latest).toEqual([{ type: "instance.ready", thread: thread() }]);
  });

  it("protocol/§3.2 registered without a thread it is joined and says so; it is ready once the leader gives it one", () => {
    const instance = following().send({ ...registeredAs("g1"), thread: null });
    expect(instance.state).toBe("online.following.joined");
    expect(instance.latest).toEqual([
      troubled("thread", expect.stringContaining("knows of no thread for it") as unknown as string),
    ]);
    expect(instance.send({ type: "membership.moved", thread: thread() }).latest).toEqual([
      { type: "instance.ready", thread: thread() },
    ]);
  });

  it.each([
    ["joining", following],
    ["joined", joined],
  ])("asks the lease chart to look when it loses its leader from sight while %s, and joins again", (_, reached) => {
    const instance = reached().send({ type: "membership.lost", reason: "closed" });
    expect(instance.told).toEqual([{ to: "lease", event: { type: "lease.check" } }]);
    expect(instance.state).toBe("online.following.joining");
    expect(instance.send(registeredAs("g2")).state).toBe("online.following.joined");
  });

  it("protocol/§6.15 has another thread once its leader moved it there", () => {
    const instance = joined().send({ type: "membership.moved", thread: thread(9) });
    expect(instance.state).toBe("online.following.joined");
    expect(instance.latest).toEqual([{ type: "instance.ready", thread: thread(9) }]);
  });

  it("protocol/S-43 follows a v1 leader anew when its instance or its secret is another", () => {
    const v1 = (secret: string) =>
      ({ type: "lease.observed", epoch: epoch(0), holder: { ...leader("v1"), secret } }) as const;
    const instance = joined().send(v1("s1")).send(registeredAs("g2"));
    expect(instance.send(v1("s1")).state).toBe("online.following.joined");
    expect(instance.send(v1("s2")).state).toBe("online.following.joining");
    expect(instance.requests).toMatchObject({ membership: { leader: { secret: "s2", dialect: "v1" } } });
  });

  it("reports a refusal and goes on joining", () => {
    const instance = following().send({ type: "membership.refused", reason: "no threads" });
    expect(instance.latest).toEqual([troubled("membership.refused", "no threads")]);
    expect(instance.state).toBe("online.following.joining");
  });

  it("follows a new leader with a new membership, and stays with the same one", () => {
    const same = joined().send(observed(3));
    expect(same.state).toBe("online.following.joined");
    const other = { ...leader(), instanceId: instanceId("300:3") };
    const instance = joined().send({ type: "lease.observed", epoch: epoch(5), holder: other });
    expect(instance.state).toBe("online.following.joining");
    expect(instance.requests).toMatchObject({ membership: { leader: other } });
  });
});

describe("leading", () => {
  it("is ready on the bus with its thread", () => {
    expect(bus().latest).toEqual([{ type: "instance.ready", thread: thread() }]);
  });

  it("serves its followers without one, and is ready when it is there, not sooner", () => {
    const instance = threadlessBus();
    expect(instance.state).toBe("online.leading.bus");
    expect(instance.facts).toEqual([]);
    expect(instance.send(activatedThreadless).latest).toEqual([]);
    expect(instance.send(activated).latest).toEqual([{ type: "instance.ready", thread: thread() }]);
    expect(instance.state).toBe("online.leading.bus");
  });

  it("is told its thread again on the bus after a rollback of its activation, and keeps the one it knows", () => {
    const instance = bus().send({ type: "activation.active", thread: thread(6) });
    expect(instance.latest).toEqual([{ type: "instance.ready", thread: thread(6) }]);
    expect(instance.send(activatedThreadless).latest).toEqual([]);
    expect(instance.context.thread).toEqual(thread(6));
  });

  it("goes from the bus to classic when the bot lost its topics, and is ready without one", () => {
    for (const reached of [bus, threadlessBus]) {
      const instance = reached().send({ type: "activation.classic" });
      expect(instance.state).toBe("online.leading.classic");
      expect(instance.latest).toEqual([{ type: "instance.ready", thread: null }]);
      expect(Object.keys(instance.requests)).toEqual(["lease", "activation"]);
    }
  });

  // Shortest trace: activation.classic → classic, activation.active (thread: null) → bus emits instance.ready once more and
  // forgets the thread: `classic` does not ask `hasThread` as its neighbours do.
  it("from classic to the bus without a thread says nothing new", () => {
    expect(classic().send(activatedThreadless).latest).toEqual([]);
  });

  it("is ready in classic without one, and again when the bus comes", () => {
    expect(classic().latest).toEqual([{ type: "instance.ready", thread: null }]);
    const instance = classic().send(activated);
    expect(instance.state).toBe("online.leading.bus");
    expect(instance.latest).toEqual([{ type: "instance.ready", thread: thread() }]);
  });

  it("asks the lease chart to look when its activation doubts", () => {
    expect(bus().send({ type: "activation.doubted" }).told).toEqual([{ to: "lease", event: { type: "lease.check" } }]);
  });

  it("passes its activation's troubles on", () => {
    const trouble = { type: "activation.troubled", trouble: "endpoint", reason: "in use" } as const;
    expect(leading().send(trouble).latest).toEqual([troubled("endpoint", "in use")]);
  });
});

describe("a chat that becomes another", () => {
  const moved = { type: "chat.moved" } as const;

  it.each([
    ["activating", leading],
    ["on the bus", bus],
    ["in classic", classic],
  ])("makes a leader, %s, begin anew under its grant, without the thread of the old chat", (_, reached) => {
    const instance = reached().send(moved);
    expect(instance.state).toBe("online.leading.activating");
    expect(instance.requests).toMatchObject({ activation: { epoch: 4, seat: mySeat, hadThread: false } });
    expect(instance.context.thread).toBeNull();
  });

  it("means nothing to a follower, whose leader brings it there, nor to one that goes", () => {
    for (const reached of [joined, () => bus().send(stop), () => bus().send(leave)])
      expect(reached().send(moved).state).toBe(reached().state);
  });
});

describe("facts that the state at hand has no use for", () => {
  const late: readonly InstanceEvent[] = [
    observed(9),
    { type: "lease.standing" },
    granted(9),
    { type: "lease.renewed", epoch: epoch(9), remainingMs: 1 },
    { type: "lease.lost", epoch: epoch(9) },
    { type: "lease.releasing" },
    { type: "lease.released" },
    { type: "owner.refreshed", remainingMs: 1 },
    { type: "membership.moved", thread: thread() },
    { type: "lease.troubled", reason: "silent" },
    registeredAs("g9"),
    { type: "membership.lost", reason: "" },
    { type: "membership.refused", reason: "" },
    { type: "membership.left", confirmed: true, reason: "" },
    activated,
    { type: "activation.classic" },
    { type: "activation.troubled", trouble: "thread", reason: "" },
    { type: "activation.doubted" },
    { type: "activation.stopped", thread: null },
    { type: "chat.moved" },
    { type: "companion.failed", companion: "lease", reason: "late" },
  ];

  it.each(late.map((fact) => [fact.type, fact] as const))(
    "%s changes nothing and causes nothing while starting",
    (_, fact) => {
      const instance = start("one").send(fact);
      expect(instance.state).toBe("starting.looking");
      expect([...instance.facts, ...instance.told]).toEqual([]);
    },
  );

  it("are ignored, all of them, while the seat goes back", () => {
    const instance = claiming().send(stop);
    for (const fact of late) instance.send(fact);
    expect(instance.send(leave).state).toBe("closing");
    expect([...instance.facts, ...instance.told]).toEqual([]);
  });

  it("are ignored, all of them, while handlers still run", () => {
    const instance = seeking().send(stop).send({ type: "lease.released" });
    const { facts, told } = instance;
    const before = [...facts, ...told];
    for (const fact of late) instance.send(fact);
    expect(instance.send(leave).state).toBe("draining");
    expect([...facts, ...told]).toEqual(before);
  });

  it("a store that is silent changes no role", () => {
    for (const reached of [seeking, electing, following, joined, leading, bus, classic]) {
      const instance = reached();
      const { state } = instance;
      expect(instance.send({ type: "lease.troubled", reason: "silent" }).state).toBe(state);
      expect(instance.latest).toEqual([]);
    }
  });
});

describe("a companion that broke ends the instance, loudly: it is not what it says it is without", () => {
  const broke = (companion: string) => ({ type: "companion.failed", companion, reason: "defect" }) as const;

  it.each([
    ["lease, while seeking", seeking, "lease"],
    ["lease, while electing", electing, "lease"],
    ["lease, while following", joined, "lease"],
    ["lease, while it leads on the bus: nobody would tell it that the lease is lost", bus, "lease"],
    ["lease, in classic", classic, "lease"],
    ["membership, while joining", following, "membership"],
    ["membership, while joined", joined, "membership"],
    ["membership, while leaving", () => joined().send(leave), "membership"],
    ["activation, while activating", leading, "activation"],
    ["activation, on the bus", bus, "activation"],
    ["activation, while it deletes its thread", () => bus().send(leave), "activation"],
    ["activation, while stopping", () => bus().send(stop), "activation"],
  ])("%s", (_, reached, companion) => {
    const instance = reached().send(broke(companion));
    expect(instance.state).toBe("online.releasing");
    expect(instance.latest).toEqual([troubled("companion.failed", "defect")]);
    expect(instance.told.at(-1)).toEqual({ to: "lease", event: { type: "lease.release" } });
    expect(Object.keys(instance.requests)).toEqual(["lease"]);
    instance.send({ type: "lease.released" }).answer("drainHost", undefined).answer("releaseSeat", undefined);
    expect(instance.status).toBe("done");
    expect(instance.output).toEqual({ kind: "broken", reason: `${companion}: defect` });
  });

  it("does not wait for ever for a lease chart that broke", () => {
    const instance = bus().send(broke("lease")).after("farewellLimit").after("drainLimit").fail("releaseSeat");
    expect(instance.output).toEqual({ kind: "broken", reason: "lease: defect" });
  });

  it("says so, and goes on letting go, when the lease chart breaks while it does", () => {
    const instance = joined().send(stop).send(broke("lease"));
    expect(lastFact(instance)).toEqual(troubled("companion.failed", "defect"));
    expect(instance.state).toBe("online.releasing");
    expect(instance.after("farewellLimit").state).toBe("draining");
  });
});

it("reads like this from the start to leading", () => {
  const instance = playChart(instanceMachine, { me, name: "one" }).answer("readSeatClaims", freeSeat);
  instance.answer("claimSeat", { kind: "claimed" }).send(observed(3)).send(registeredAs("g1"));
  instance.send({ type: "membership.lost", reason: "closed" }).send({ type: "lease.standing" }).send(granted(4));
  expect(instance.send(activated).trace()).toMatchInlineSnapshot(`
    "start → starting.looking
      asks readSeatClaims (name: one)
    readSeatClaims answered (request: …, claims: [0]) → starting.claiming
      asks claimSeat (seat: manual:profile:one, expected: null)
    claimSeat answered claimed → online.seeking
      asks lease
    lease.observed (epoch: 3, holder: …) → online.following.joining
      asks membership (leader: …, seat: manual:profile:one)
    membership.registered (generation: g1, thread: …) → online.following.joined
      emits instance.ready (thread: …)
    membership.lost (reason: closed) → online.following.joining
      tells lease lease.check
    lease.standing → online.electing
    lease.granted (epoch: 4, remainingMs: 6000) → online.leading.activating
      asks activation (epoch: 4, seat: manual:profile:one, hadThread: true)
    activation.active (thread: …) → online.leading.bus
      emits instance.ready (thread: …)"
  `);
});

// The second half of its life.
await import("./instance-stopping.ts");

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(instanceMachine)).toEqual(noFaults);
});
