/** The choice of a seat, named and unnamed, and what can be a name. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instanceId, seatKey } from "../../../machines/ids.ts";
import type { Liveness } from "../../../machines/ids.ts";
import { chooseSeat, faultOfName, unnamedSeatsMax } from "../../../machines/seat.rules.ts";

const me = instanceId("1:1");
const named = { me, owner: "profile", name: "one" };
const unnamed = { me, owner: "parent", name: null };
const claim = (seat: string, liveness: Liveness, by = "9:9") => ({
  seat: seatKey(seat),
  instanceId: instanceId(by),
  liveness,
});

describe("a named seat (protocol/O-33)", () => {
  const seat = "manual:profile:one";

  it("is the profile's and the name's, so it survives any restart", () => {
    expect(chooseSeat(named, [])).toEqual({ kind: "take", seat, expected: null });
  });

  it("is taken over from a holder that is dead, and only from that one", () => {
    expect(chooseSeat(named, [claim(seat, "dead")])).toEqual({ kind: "take", seat, expected: "9:9" });
  });

  it("is refused while a live instance has it, naming it", () => {
    expect(chooseSeat(named, [claim(seat, "alive")])).toEqual({
      kind: "refuse",
      reason: 'the name "one" is taken by instance 9:9, which is running: stop it or choose another name',
    });
  });

  it("is refused while its holder can be proven neither alive nor dead", () => {
    expect(chooseSeat(named, [claim(seat, "unverifiable")])).toMatchObject({
      kind: "refuse",
      reason: expect.stringContaining("neither alive nor dead") as string,
    });
  });

  it.each<Liveness>(["alive", "dead", "unverifiable"])(
    "is taken again when the claim is one's own, whatever is seen of the process (%s): the answer to it was lost",
    (liveness) => {
      expect(chooseSeat(named, [claim(seat, liveness, me)])).toEqual({ kind: "take", seat, expected: me });
    },
  );

  it("is not disturbed by claims on other seats", () => {
    const others = [claim("manual:profile:two", "alive"), claim("manual:other:one", "alive")];
    expect(chooseSeat(named, others)).toMatchObject({ kind: "take", expected: null });
  });
});

describe("an unnamed seat (protocol/O-33)", () => {
  const numbered = (number: number) => `manual:parent:${number}`;

  it("has the lowest number that nobody holds under the parent", () => {
    expect(chooseSeat(unnamed, [])).toEqual({ kind: "take", seat: numbered(0), expected: null });
    expect(chooseSeat(unnamed, [claim(numbered(0), "alive"), claim(numbered(2), "alive")])).toMatchObject({
      seat: numbered(1),
    });
  });

  it("prefers a dead one's lower number to a fresh one", () => {
    expect(chooseSeat(unnamed, [claim(numbered(0), "alive"), claim(numbered(1), "dead", "8:8")])).toEqual({
      kind: "take",
      seat: numbered(1),
      expected: "8:8",
    });
  });

  it("is the one that one has claimed already, even when a lower number is free or dead by now", () => {
    const mine = { kind: "take", seat: numbered(2), expected: me };
    expect(chooseSeat(unnamed, [claim(numbered(2), "alive", me)])).toEqual(mine);
    expect(chooseSeat(unnamed, [claim(numbered(0), "dead"), claim(numbered(2), "alive", me)])).toEqual(mine);
    expect(chooseSeat(unnamed, [claim(numbered(2), "unverifiable", me)])).toEqual(mine);
  });

  it("goes round what cannot be proven", () => {
    expect(chooseSeat(unnamed, [claim(numbered(0), "unverifiable")])).toMatchObject({ seat: numbered(1) });
  });

  it("is refused to a parent that started ten thousand", () => {
    const all = Array.from({ length: unnamedSeatsMax }, (_, number) => claim(numbered(number), "alive"));
    expect(chooseSeat(unnamed, all)).toMatchObject({ kind: "refuse" });
    expect(chooseSeat(unnamed, all.slice(0, -1))).toMatchObject({ kind: "take" });
  });

  it("is never one that a live or unprovable instance holds, and no lower one was to be had", () => {
    const liveness = fc.constantFrom<Liveness>("alive", "dead", "unverifiable");
    fc.assert(
      fc.property(fc.dictionary(fc.nat(12).map(String), liveness), (held) => {
        const claims = Object.entries(held).map(([number, each]) => claim(numbered(Number(number)), each));
        const free = Array.from({ length: 14 }, (_, number) => number).filter(
          (number) => (held[String(number)] ?? "dead") === "dead",
        );
        expect(chooseSeat(unnamed, claims)).toMatchObject({ kind: "take", seat: numbered(free[0] ?? -1) });
      }),
    );
  });
});

describe("a name", () => {
  it.each(["a", "Z9", "work-1", "a.b_c", "0", "x".repeat(64)])("can be %j", (name) => {
    expect(faultOfName(name)).toBeNull();
  });

  it.each([
    ["", /empty/],
    ["x".repeat(65), /at most 64/],
    ["-a", /start with/],
    [".a", /start with/],
    ["a b", /only letters/],
    ["a:b", /only letters/],
    ["é", /letter or digit/],
    ["a\n", /only letters/],
  ])("cannot be %j", (name, why) => {
    expect(faultOfName(name)).toMatch(why);
  });
});
