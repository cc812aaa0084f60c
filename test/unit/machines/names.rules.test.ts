/** Slots A to ZZ in order, and the names of threads. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareSlots, freeSlot, isThreadName, nameFor } from "../../../machines/names.rules.ts";

/** Every slot, in the order they are given out: A to Z, AA to ZZ. Built otherwise than the rule does it. */
const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));
const slots = [...letters, ...letters.flatMap((first) => letters.map((second) => first + second))];

describe("slots (threads/OP-6: names, not a limit)", () => {
  it("threads/T-52, S-34: are given out from A to Z, then AA, AB, … to ZZ, and then there are none", () => {
    const taken: string[] = [];
    for (let slot = freeSlot(taken); slot !== null; slot = freeSlot(taken)) taken.push(slot);
    expect(taken).toEqual(slots);
    expect(taken).toHaveLength(702);
    expect([taken[25], taken[26], taken[51], taken[52], taken.at(-1)]).toEqual(["Z", "AA", "AZ", "BA", "ZZ"]);
  });

  it("the first free one is the lowest that is not taken", () => {
    fc.assert(
      fc.property(fc.subarray(slots, { minLength: 0, maxLength: 702 }), (taken) => {
        expect(freeSlot(taken)).toBe(slots.find((slot) => !taken.includes(slot)) ?? null);
      }),
    );
  });

  it("is not confused by what is no slot", () => {
    expect(freeSlot(["", "a", "AAA", "1", "A"])).toBe("B");
  });

  it("are ordered by length, then text", () => {
    const shuffled = [...slots].reverse();
    expect(shuffled.sort(compareSlots)).toEqual(slots);
    expect(compareSlots("A", "A")).toBe(0);
  });
});

describe("the name of a thread", () => {
  const name = (differs: Partial<Parameters<typeof nameFor>[0]>) =>
    nameFor({ slot: "A", wish: null, taken: [], turn: 0, ...differs });

  it("is the wish, if that can be a name", () => {
    expect(name({ wish: "Work" })).toBe("Work");
    expect(name({ wish: "  " })).toBe("Amber");
  });

  it("is else one of the slot's palette, chosen by the turn", () => {
    expect([0, 1, 4, 5, -1].map((turn) => name({ turn }))).toEqual(["Amber", "Aspen", "Azure", "Amber", "Aspen"]);
    expect(name({ slot: "QB" })).toBe("Quartz");
  });

  it("is one that nobody has, while there is one", () => {
    expect(name({ taken: ["Amber"] })).toBe("Aspen");
    expect(name({ taken: ["Amber", "Aspen", "Atlas", "Alder"], turn: 3 })).toBe("Azure");
    expect(name({ taken: ["Amber", "Aspen", "Atlas", "Alder", "Azure"], turn: 1 })).toBe("Aspen");
  });

  it("is plain without a slot", () => {
    expect(name({ slot: "" })).toBe("Thread");
  });

  it("has five of its own for each letter, each beginning with it, none given twice", () => {
    const palette = letters.flatMap((slot) => [0, 1, 2, 3, 4].map((turn) => name({ slot, turn })));
    expect(new Set(palette).size).toBe(130);
    for (const [index, each] of palette.entries()) expect(each[0]).toBe(letters[Math.floor(index / 5)]);
  });

  it("the same turn gives the same name, and always one that Telegram takes", () => {
    fc.assert(
      fc.property(fc.constantFrom(...slots), fc.array(fc.string()), fc.integer(), (slot, taken, turn) => {
        const given = name({ slot, taken, turn });
        expect(given).toBe(name({ slot, taken, turn }));
        expect(isThreadName(given)).toBe(true);
      }),
    );
  });
});

describe("what can stand as a title", () => {
  it.each(["x", "two words", "x".repeat(128), "é"])("%j can", (text) => {
    expect(isThreadName(text)).toBe(true);
  });

  it.each(["", " ", "\t", "a\nb", "a\r", "x".repeat(129)])("%j cannot", (text) => {
    expect(isThreadName(text)).toBe(false);
  });
});
