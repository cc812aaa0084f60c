/** The tests of `registration.machine.test.ts` about the thread of a seat: when the user hears of it, and when it is lost. */
import { describe, expect, it } from "vitest";
import { epoch, generation } from "../../../machines/ids.ts";
import { mySeat, reused, thread } from "../../support/charts/samples.ts";
import {
  beat,
  bound,
  closed,
  committed,
  disconnect,
  heard,
  live,
  provisioning,
  register,
  repliesTo,
  sitter,
  suspect,
} from "./registration-scenes.ts";

describe("the user hears of a thread", () => {
  it.each(["created", "proven"] as const)("threads/FP-B1 tells that a thread is %s, once it is committed", (origin) => {
    const seat = provisioning().answer("provisioning", { ...bound, origin });
    expect(seat.trace()).not.toContain("seat.connected");
    seat.answer("commitRegistration", committed);
    expect(seat.trace()).toContain("emits seat.connected (thread: …)");
  });

  it.each(["reused", "handedOver"] as const)(
    "threads/S-1 threads/S-4 says nothing of a thread that is %s",
    (origin) => {
      const seat = provisioning()
        .answer("provisioning", { ...bound, origin })
        .answer("commitRegistration", committed);
      expect(seat.trace()).not.toContain("seat.connected");
    },
  );
});

describe("its thread is reported gone", () => {
  const doubt = { target: thread().target, kind: "gone", reason: "message thread not found" } as const;
  const doubted = (gen = "g1") => ({ type: "thread.doubted", generation: generation(gen), doubt }) as const;
  const replacing = () => live().send(doubted());
  const another = { ...reused(thread(9)), origin: "created" } as const;
  const moving = () => replacing().answer("provisioning", another);
  const moved = { ...sitter("g1"), thread: thread(9) };

  it("threads/OP-24 another one is asked for, once, by the seat itself, and its holder stays live", () => {
    const seat = replacing();
    expect(seat.requests).toMatchObject({
      provisioning: { epoch: epoch(4), doubt, wish: { seat: mySeat, role: "follower", carried: null } },
    });
    expect(seat.send(doubted()).state).toBe("live.replacing.provisioning");
    seat.send(beat("g1")).send(heard("g1")).send(beat("g0"));
    expect(repliesTo(seat, "beat g1")).toEqual([{ kind: "alive" }]);
    expect(repliesTo(seat, "beat g0")).toEqual([{ kind: "stale" }]);
  });

  it("it moves there under the same registration, in one transaction, and that is told", () => {
    const seat = moving();
    expect(seat.requests).toMatchObject({ commitRegistration: { epoch: 4, seat: mySeat, sitter: moved } });
    seat.answer("commitRegistration", committed);
    expect(seat.state).toBe("live.heard");
    expect(seat.context.sitter).toEqual(moved);
    expect(seat.facts.at(-1)).toEqual({ type: "seat.moved", sitter: moved, from: thread().target });
  });

  it("writes it again when the answer was lost", () => {
    const seat = moving().fail("commitRegistration");
    expect(seat.after("retryInterval").requests).toMatchObject({ commitRegistration: { sitter: moved } });
  });

  it.each([
    ["it exists", () => replacing().answer("provisioning", bound), "the thread exists"],
    ["there is no other", () => replacing().answer("provisioning", { kind: "rejected", reason: "429" }), "429"],
    ["the epoch is over", () => replacing().answer("provisioning", { kind: "fenced" }), "fenced"],
    ["the epoch is over at the end", () => moving().answer("commitRegistration", { kind: "fenced" }), "fenced"],
    ["the effect broke", () => replacing().fail("provisioning"), "the thread was to be replaced, and that failed"],
  ])("keeps its thread when %s, and says why", (_, kept, reason) => {
    const seat = kept();
    expect([seat.state, seat.context.sitter?.thread]).toEqual(["live.heard", thread()]);
    expect(seat.facts.at(-1)).toMatchObject({ type: "seat.notMoved", reason });
  });

  it("is suspect when another process holds its seat by now", () => {
    const seat = moving().answer("commitRegistration", { kind: "superseded" });
    expect(seat.state).toBe("suspect.resting");
    expect(seat.facts.slice(-2)).toMatchObject([
      { type: "seat.notMoved", reason: "superseded" },
      { type: "seat.gone", why: "superseded" },
    ]);
  });

  it("threads/FP-W2 registration and disconnect wait for the end of it", () => {
    const seat = replacing().send(register("g2")).send(disconnect("g1"));
    expect(seat.state).toBe("live.replacing.provisioning");
    expect(seat.answer("provisioning", bound).state).toBe("provisioning");
  });

  it("answers what is beyond the bound of waiting requests", () => {
    const seat = replacing();
    for (let at = 0; at < 64; at += 1) seat.send(register(`g${at}`));
    seat.send(register("late")).send(disconnect("g1", "late too"));
    for (const late of ["register late", "late too"]) expect(repliesTo(seat, late)).toMatchObject([{ kind: "failed" }]);
  });

  it("a connection that closes meanwhile is looked into", () => {
    expect(moving().send(closed("g1")).state).toBe("confirmingDeath.looking");
  });

  it("a word of another registration, or when nobody is live, changes nothing", () => {
    expect(live().send(doubted("g0")).state).toBe("live.heard");
    expect(suspect().send(doubted()).state).toBe("suspect.resting");
  });
});
