/** The tests of `registration.machine.test.ts` about writes that may stand, and a seat that another process holds by now. */
import { describe, expect, it } from "vitest";
import { routableSitter } from "../../../machines/registration.machine.ts";
import { mySeat, rival, thread } from "../../support/charts/samples.ts";
import { answered, beat, bound, committed, refencing, repliesTo, replacing, sitter } from "./registration-scenes.ts";

const superseded = { kind: "superseded" } as const;

describe("a commit that was not observed", () => {
  it("is written again until the store answers: it may stand, and nobody is told anything meanwhile", () => {
    const seat = refencing();
    expect(seat.state).toBe("refencing.pausing");
    expect(seat.timers).toEqual({ retryInterval: 250 });
    expect(seat.requests).toEqual({});
    seat.after("retryInterval").fail("commitRegistration").after("retryInterval");
    expect(seat.requests).toEqual({ commitRegistration: { epoch: 4, seat: mySeat, sitter: sitter("g1") } });
    expect(seat.facts).toEqual([]);
    seat.answer("commitRegistration", committed);
    expect(seat.state).toBe("live.heard");
    expect(repliesTo(seat, "register g1")).toEqual([{ kind: "registered", thread: thread(), origin: "reused" }]);
  });

  it.each([
    ["the epoch is over", { kind: "fenced" }, { kind: "lostOwnership" }],
    [
      "another process holds the seat",
      superseded,
      { kind: "refused", reason: "another process holds this seat by now" },
    ],
  ] as const)("is refused once it is known that %s", (_, outcome, reply) => {
    const seat = refencing().after("retryInterval").answer("commitRegistration", outcome);
    expect(seat.state).toBe("vacant");
    expect(repliesTo(seat, "register g1")).toEqual([reply]);
  });

  it.each([
    ["another process holds the seat", superseded],
    ["the thread is gone", { kind: "threadGone" }],
  ] as const)(
    "leaves nobody routable when it is refused because %s: whom the store had meanwhile is not known",
    (_, outcome) => {
      const seat = replacing().answer("provisioning", bound).fail("commitRegistration").after("retryInterval");
      seat.answer("commitRegistration", outcome);
      expect(seat.state).toBe("suspect.resting");
      expect(seat.latest).toMatchObject([
        { type: "seat.answered", reply: { kind: "refused" } },
        { type: "seat.gone", why: "superseded" },
      ]);
    },
  );

  it("leaves the one who sits there where it is, if the epoch is over in the end", () => {
    const seat = replacing().answer("provisioning", bound).fail("commitRegistration");
    expect(routableSitter(seat.view)).toBeNull();
    expect(seat.send(beat("g1")).latest).toEqual([answered("beat g1", { kind: "alive" })]);
    seat.after("retryInterval").answer("commitRegistration", { kind: "fenced" });
    expect(seat.state).toBe("live.heard");
    expect(seat.context.sitter).toEqual(sitter("g1"));
  });
});

describe("a seat that another process holds by now", () => {
  it("is suspect when the store says that another process holds the seat of the one who sits there", () => {
    const seat = replacing().answer("provisioning", bound).answer("commitRegistration", superseded);
    expect(seat.state).toBe("suspect.resting");
    expect(seat.latest).toEqual([
      answered("register g2", { kind: "refused", reason: "another process holds this seat by now" }),
      { type: "seat.gone", instanceId: rival, why: "superseded" },
    ]);
  });
});
