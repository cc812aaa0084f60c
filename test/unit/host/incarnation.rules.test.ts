import { describe, expect, it } from "vitest";
import type { Incarnation } from "../../../machines/ids.ts";
import {
  birthId,
  foreignIncarnation,
  incarnationText,
  parseBirthId,
  parseIncarnation,
} from "../../../machines/incarnation.rules.ts";

const who: Incarnation = {
  bootId: "5c5a8f3e-0b0e-4b4f-9a2e-d2f1a3b4c5d6",
  pidNamespace: "4026531836",
  pid: 4711,
  startTicks: "90210",
  counter: 2,
};

describe("the text form of an incarnation", () => {
  it("reads back what it wrote, unknown facts included", () => {
    const unknown = { ...who, bootId: "", pidNamespace: "", startTicks: "" };
    expect(parseIncarnation(incarnationText(who))).toEqual(who);
    expect(parseIncarnation(incarnationText(unknown))).toEqual(unknown);
  });

  it.each(["", "4711:start:90210", "a,b,1,c", "a,b,-1,c,1", "a,b,1,c,1,", " a,b,1,c,1", "a,b,9999999999999999,c,1"])(
    "is not %j",
    (text) => {
      expect(parseIncarnation(text)).toBeNull();
    },
  );

  it("refuses to write a field that would not come back", () => {
    expect(() => incarnationText({ ...who, bootId: "a,b" })).toThrow(/cannot hold/);
    expect(() => incarnationText({ ...who, pid: 1.5 })).toThrow(/cannot count/);
  });
});

describe("the v1 birth id", () => {
  it("is pid and start where the start is known", () => {
    expect(birthId(who, "4711:1750000000000")).toBe("4711:start:90210");
    expect(parseBirthId("4711:start:90210")).toEqual({ pid: 4711, startTicks: "90210" });
  });

  it("updates/OP-16 falls back to a generation, which proves nothing when it is read", () => {
    const text = birthId({ ...who, startTicks: "" }, "4711:1750000000000");
    expect(text).toBe("4711:generation:4711:1750000000000");
    expect(parseBirthId(text)).toEqual({ pid: 4711, startTicks: "" });
  });

  it.each(["", "4711", "4711:start:", "x:start:1", "4711:birth:1", "4711:start:a b"])("is not %j", (text) => {
    expect(parseBirthId(text)).toBeNull();
  });

  it("gives an incarnation whose boot is unknown", () => {
    expect(foreignIncarnation("4711:start:90210", "4026531836")).toEqual({ ...who, bootId: "", counter: 0 });
    expect(foreignIncarnation("nonsense", "4026531836")).toBeNull();
  });
});
