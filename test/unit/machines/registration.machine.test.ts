/** The registration chart: who sits on a seat. Silence and death are in `registration-death.ts`, news of its thread in
 * `registration-threads.ts`, lost answers and claims in `registration-doubts.ts`. */
import { describe, expect, it } from "vitest";
import { registrationMachine, routableSitter } from "../../../machines/registration.machine.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { chat, follower, me, mySeat, rival, thread } from "../../support/charts/samples.ts";
import {
  answered,
  beat,
  bound,
  closed,
  committed,
  confirming,
  disconnect,
  disconnecting,
  ending,
  fencing,
  heard,
  inherited,
  live,
  preserved,
  provisioning,
  refencing,
  rethreading,
  register,
  replacing,
  repliesTo,
  sitter,
  suspect,
  vacant,
} from "./registration-scenes.ts";

const superseded = { kind: "superseded" } as const;

describe("a seat that the store knows somebody on, from an earlier leader's time", () => {
  it("is suspect, not routable, and nothing is said of it: nobody has heard of the sitter yet", () => {
    const seat = inherited();
    expect(seat.state).toBe("suspect.resting");
    expect(seat.context.sitter).toEqual(sitter("g1"));
    expect(routableSitter(seat.view)).toBeNull();
    expect(seat.facts).toEqual([]);
    expect(seat.requests).toEqual({});
  });

  it("tells its sitter that it is unknown, so that it registers anew", () => {
    expect(inherited().send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "unknown" })]);
    expect(inherited().send(disconnect("g1")).latest).toEqual([answered("disconnect g1", { kind: "unknown" })]);
    const seat = inherited().send(register("g2")).answer("provisioning", bound);
    expect(seat.answer("commitRegistration", committed).state).toBe("live.heard");
    expect(seat.context.sitter).toEqual(sitter("g2"));
  });

  it("is ended when the sitter is proven dead: its thread is kept, its updates wait", () => {
    const seat = inherited().after("suspectInterval").answer("proveDeath", "dead");
    expect(seat.requests).toEqual({ endRegistration: { epoch: 4, seat: mySeat, sitter: sitter("g1") } });
    expect(seat.answer("endRegistration", { kind: "ended" }).latest).toEqual([
      { type: "seat.gone", instanceId: rival, why: "died" },
    ]);
    expect(seat.state).toBe("preserved");
  });

  it("stays suspect when a registration of it is refused", () => {
    const seat = inherited().send(register("g2")).answer("provisioning", { kind: "rejected", reason: "no" });
    expect(seat.state).toBe("suspect.resting");
    expect(seat.context.sitter).toEqual(sitter("g1"));
  });
});

describe("a vacant seat", () => {
  it("knows nobody", () => {
    const seat = vacant().send(beat("g1")).send(disconnect("g1"));
    expect(seat.facts).toEqual([
      answered("beat g1", { kind: "unknown" }),
      answered("disconnect g1", { kind: "unknown" }),
    ]);
    expect(seat.state).toBe("vacant");
  });

  it("takes no sign of life or death for a registration", () => {
    const seat = vacant().send(heard("g1")).send(closed("g1"));
    seat.send({ type: "companion.failed", companion: "watchFollower", reason: "late" });
    expect(seat.state).toBe("vacant");
    expect(seat.facts).toEqual([]);
  });
});

describe("registering", () => {
  it("threads/FP-W7, FP-W8 provisions a thread, commits under the epoch, then answers and is live", () => {
    const seat = provisioning();
    const wish = {
      seat: mySeat,
      instanceId: rival,
      chatId: chat,
      threadName: null,
      role: "follower",
      carried: null,
      previous: null,
    };
    expect(seat.requests).toEqual({ provisioning: { epoch: 4, wish, doubt: null } });
    seat.answer("provisioning", bound);
    expect(seat.requests).toEqual({ commitRegistration: { epoch: 4, seat: mySeat, sitter: sitter("g1") } });
    expect(seat.facts).toEqual([]);
    seat.answer("commitRegistration", committed);
    expect(seat.state).toBe("live.heard");
    expect(seat.facts).toEqual([
      answered("register g1", { kind: "registered", thread: thread(), origin: "reused" }),
      { type: "seat.live", sitter: sitter("g1") },
    ]);
    expect(seat.requests).toEqual({ watchFollower: { seat: mySeat, sitter: sitter("g1") } });
  });

  it.each([
    [
      "no thread is to be had",
      () => provisioning().answer("provisioning", { kind: "rejected", reason: "no rights" }),
      { kind: "refused", reason: "no rights" },
    ],
    [
      "provisioning finds the epoch over",
      () => provisioning().answer("provisioning", { kind: "fenced" }),
      { kind: "lostOwnership" },
    ],
    [
      "provisioning breaks",
      () => provisioning().fail("provisioning", new Error("broken")),
      { kind: "failed", reason: "Error: broken" },
    ],
    [
      "the commit finds the epoch over",
      () => fencing().answer("commitRegistration", { kind: "fenced" }),
      { kind: "lostOwnership" },
    ],
    [
      "another process holds the seat by now",
      () => fencing().answer("commitRegistration", { kind: "superseded" }),
      { kind: "refused", reason: "another process holds this seat by now" },
    ],
  ] as const)("leaves the seat vacant when %s", (_, refused, reply) => {
    const seat = refused();
    expect(seat.state).toBe("vacant");
    expect(seat.facts).toEqual([answered("register g1", reply)]);
  });

  it.each([
    ["no thread is to be had", () => replacing().answer("provisioning", { kind: "rejected", reason: "no" })],
    [
      "the epoch is over",
      () => replacing().answer("provisioning", bound).answer("commitRegistration", { kind: "fenced" }),
    ],
    [
      "another instance, which held the seat, asked late",
      () =>
        live()
          .send({ ...register("g2"), follower: { ...follower("g2"), instanceId: me } })
          .answer("provisioning", bound)
          .answer("commitRegistration", { kind: "superseded" }),
    ],
  ] as const)("leaves the one who sits there where it is when %s", (_, refused) => {
    const seat = refused();
    expect(seat.state).toBe("live.heard");
    expect(seat.context.sitter).toEqual(sitter("g1"));
    expect(seat.send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "alive" })]);
    expect(seat.send(beat("g2")).latest).toEqual([answered("beat g2", { kind: "stale" })]);
  });

  it.each([
    ["suspect stays suspect", suspect],
    ["seat whose connection closed is not routable again", confirming],
  ])("a %s when the registration is refused: nobody has heard of the one who sits there", (_, reached) => {
    const ways = [
      () => reached().send(register("g2")).answer("provisioning", { kind: "rejected", reason: "no" }),
      () => reached().send(register("g2")).fail("provisioning"),
      () =>
        reached().send(register("g2")).answer("provisioning", bound).answer("commitRegistration", { kind: "fenced" }),
      () => reached().send(register("g2")).answer("provisioning", bound).answer("commitRegistration", superseded),
    ];
    for (const refused of ways) {
      const seat = refused();
      expect(seat.state).toBe("suspect.resting");
      expect(seat.context.sitter).toEqual(sitter("g1"));
      expect(seat.send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "unknown" })]);
    }
  });

  it("leaves a preserved seat without anybody when it is refused", () => {
    const seat = preserved().send(register("g2")).answer("provisioning", { kind: "rejected", reason: "no" });
    expect(seat.state).toBe("vacant");
    expect(seat.context.sitter).toBeNull();
  });

  it("puts the new generation in place of the old one", () => {
    const seat = replacing().answer("provisioning", bound).answer("commitRegistration", committed);
    expect(seat.context.sitter).toEqual(sitter("g2"));
    expect(seat.send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "stale" })]);
    expect(seat.requests).toMatchObject({ watchFollower: { sitter: sitter("g2") } });
  });

  it("answers the sitter's heartbeats meanwhile, a stranger's and an unknown one's in their own ways", () => {
    expect(replacing().send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "alive" })]);
    expect(replacing().send(beat("g2")).latest).toEqual([answered("beat g2", { kind: "stale" })]);
    expect(provisioning().send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "unknown" })]);
  });

  it.each([
    ["suspect", suspect],
    ["being looked at", confirming],
    ["preserved", preserved],
  ])("is possible on a seat that is %s", (_, reached) => {
    const seat = reached().send(register("g2")).answer("provisioning", bound).answer("commitRegistration", committed);
    expect(seat.state).toBe("live.heard");
    expect(seat.context.sitter).toEqual(sitter("g2"));
  });
});

describe("requests of one seat never interleave", () => {
  const mutations = [
    ["a thread is provisioned", provisioning],
    ["a registration is committed", fencing],
    ["a registration waits to be committed again", refencing],
    ["a registration waits for its former thread's deletion", rethreading],
    ["a death is written down", ending],
    ["a thread is given up", disconnecting],
  ] as const;

  it.each(mutations)("threads/S-22: registration and disconnect wait while %s, in order", (_, reached) => {
    const seat = reached();
    const { state, requests } = seat;
    seat.send(register("g8")).send(disconnect("g8")).send(register("g9"));
    expect(seat.state).toBe(state);
    expect(seat.requests).toEqual(requests);
    expect(seat.context.deferred.map((each) => each.requestId)).toEqual([
      "register g8",
      "disconnect g8",
      "register g9",
    ]);
  });

  it("threads/FP-W2 carries those that waited out one by one, in order", () => {
    const seat = provisioning().send(register("g2")).send(disconnect("g2")).send(register("g3"));
    seat.answer("provisioning", bound).answer("commitRegistration", committed);
    expect(seat.requests).toHaveProperty("provisioning");
    expect(seat.context.candidate?.requestId).toBe("register g2");
    seat.answer("provisioning", bound).answer("commitRegistration", committed);
    expect(seat.state).toBe("disconnecting");
    expect(seat.context.leaving).toBe("disconnect g2");
    seat.answer("cleanup", { kind: "removed" });
    expect(repliesTo(seat, "disconnect g2")).toEqual([{ kind: "left" }]);
    expect(seat.context.candidate?.requestId).toBe("register g3");
    seat.answer("provisioning", bound).answer("commitRegistration", committed);
    expect(seat.context.sitter?.generation).toBe("g3");
    for (const request of ["register g1", "register g2", "disconnect g2", "register g3"])
      expect(repliesTo(seat, request)).toHaveLength(1);
  });

  it("threads/T-50, S-21: carries them out after a refusal and after a death, too", () => {
    const refused = provisioning().send(register("g2")).answer("provisioning", { kind: "fenced" });
    expect(refused.context.candidate?.requestId).toBe("register g2");
    const dead = ending().send(register("g2")).answer("endRegistration", { kind: "ended" });
    expect(dead.context.candidate?.requestId).toBe("register g2");
  });

  it("carries them out after a disconnect that failed, too", () => {
    const seat = disconnecting().send(register("g2")).answer("cleanup", { kind: "lostOwnership" });
    expect(seat.context.candidate?.requestId).toBe("register g2");
  });

  it("carries them out after a refusal that leaves the seat suspect, too", () => {
    const seat = suspect().send(register("g2")).send(register("g3"));
    seat.answer("provisioning", { kind: "rejected", reason: "no" });
    expect(seat.context.candidate?.requestId).toBe("register g3");
  });

  it("answers them after a death that the store refused to write down, too", () => {
    const seat = ending().send(disconnect("g1")).answer("endRegistration", { kind: "fenced" });
    expect(repliesTo(seat, "disconnect g1")).toHaveLength(1);
  });

  it.each(mutations)("while %s, more than 64 are answered instead of kept", (_, reached) => {
    const seat = reached();
    for (let number = 0; number < 64; number += 1) seat.send(register("g2", `wait ${number}`));
    const busy = { kind: "failed", reason: "too many requests for one seat" } as const;
    expect(seat.send(register("g2", "late")).latest).toEqual([answered("late", busy)]);
    expect(seat.send(disconnect("g1", "later")).latest).toEqual([answered("later", busy)]);
    expect(seat.context.deferred).toHaveLength(64);
  });
});

describe("a live seat", () => {
  it("lives by heartbeats and traffic of its generation: the silence is counted anew", () => {
    for (const sign of [beat("g1"), heard("g1")]) {
      const seat = live().send(sign);
      expect(seat.state).toBe("live.heard");
      expect(seat.armed).toEqual(["silence"]);
      expect(seat.timers).toEqual({ silence: 5_000 });
    }
  });

  it("never lives longer by those of another generation", () => {
    const seat = live().send(beat("g0"));
    expect(seat.armed).toEqual([]);
    expect(seat.latest).toEqual([answered("beat g0", { kind: "stale" })]);
    expect(seat.send(heard("g0")).armed).toEqual([]);
  });

  it("is routable, and in no other state", () => {
    expect(routableSitter(live().view)).toEqual(sitter("g1"));
    for (const seat of [vacant(), replacing(), suspect(), confirming(), ending(), preserved(), disconnecting()])
      expect(routableSitter(seat.view)).toBeNull();
  });

  it("threads/S-70: refuses a disconnect of another generation, and nothing is cleaned up", () => {
    const seat = live().send(disconnect("g0"));
    expect(seat.state).toBe("live.heard");
    expect(seat.latest).toEqual([answered("disconnect g0", { kind: "stale" })]);
  });
});

describe("disconnecting for good", () => {
  it("threads/CL-5, RC-11: gives the thread up under the epoch, then answers: the seat is vacant", () => {
    const seat = disconnecting();
    expect(seat.requests).toEqual({
      cleanup: { epoch: 4, seat: mySeat, target: thread().target, asks: "left", seenDead: null },
    });
    expect(repliesTo(seat, "disconnect g1")).toEqual([]);
    seat.answer("cleanup", { kind: "removed" });
    expect(seat.latest).toEqual([
      { type: "seat.gone", instanceId: rival, why: "left" },
      answered("disconnect g1", { kind: "left" }),
    ]);
    expect(seat.state).toBe("vacant");
    expect(seat.context.sitter).toBeNull();
  });

  it.each([
    [
      "the store fenced it",
      () => disconnecting().answer("cleanup", { kind: "lostOwnership" }),
      { kind: "lostOwnership" },
    ],
    [
      "the deletion is not confirmed",
      () => disconnecting().answer("cleanup", { kind: "failed", reason: "429", retryAfterMs: 1 }),
      { kind: "failed", reason: "429" },
    ],
    [
      "it has the thread again",
      () => disconnecting().answer("cleanup", { kind: "superseded" }),
      { kind: "failed", reason: "a newer registration has it" },
    ],
    [
      "somebody else holds it",
      () => disconnecting().answer("cleanup", { kind: "held" }),
      { kind: "failed", reason: "a newer registration has it" },
    ],
    [
      "giving the thread up broke",
      () => disconnecting().fail("cleanup", new Error("broken")),
      { kind: "failed", reason: "Error: broken" },
    ],
  ] as const)("keeps the sitter and says so when %s; it may ask again", (_, failed, reply) => {
    const seat = failed();
    expect(seat.facts).not.toContainEqual(expect.objectContaining({ type: "seat.gone" }));
    expect(seat.context.sitter).toEqual(sitter("g1"));
    expect(seat.state).toBe("live.heard");
    expect(repliesTo(seat, "disconnect g1")).toEqual([reply]);
    expect(seat.send(disconnect("g1", "again")).state).toBe("disconnecting");
  });

  it("still answers heartbeats of the one who leaves", () => {
    expect(disconnecting().send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "alive" })]);
  });
});

it("reads like this from a registration to leaving", () => {
  const seat = disconnecting().send(register("g2")).answer("cleanup", { kind: "removed" });
  seat.answer("provisioning", { kind: "rejected", reason: "no rights" });
  expect(seat.trace()).toMatchInlineSnapshot(`
    "start → vacant
    follower.register (requestId: register g1, follower: …) → provisioning
      asks provisioning (epoch: 4, wish: …, doubt: null)
    provisioning answered bound (thread: …, origin: reused) → fencing
      asks commitRegistration (epoch: 4, seat: manual:profile:one, sitter: …)
    commitRegistration answered committed → live.heard
      emits seat.answered (requestId: register g1, reply: …)
      emits seat.live (sitter: …)
      asks watchFollower (seat: manual:profile:one, sitter: …)
    follower.disconnect (requestId: disconnect g1, generation: g1) → disconnecting
      asks cleanup (epoch: 4, seat: manual:profile:one, target: …, asks: left, seenDead: null)
    follower.register (requestId: register g2, follower: …) → disconnecting
    cleanup answered removed → provisioning
      emits seat.gone (instanceId: 200:2, why: left)
      emits seat.answered (requestId: disconnect g1, reply: …)
      asks provisioning (epoch: 4, wish: …, doubt: null)
    provisioning answered rejected (reason: no rights) → vacant
      emits seat.answered (requestId: register g2, reply: …)"
  `);
});

// How a follower dies, or seems to.
await import("./registration-death.ts");
await import("./registration-doubts.ts");
await import("./registration-threads.ts");

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(registrationMachine)).toEqual(noFaults);
});
