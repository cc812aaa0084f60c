/** Looking into what came from outside. */
import { describe, expect, it } from "vitest";
import { fieldsOf, textOf } from "../../../machines/fields.rules.ts";

describe("fieldsOf", () => {
  it("gives an object back, with whatever it holds", () => {
    const given = { chat: { id: 1 } };
    expect(fieldsOf(given)).toBe(given);
    expect(fieldsOf({})).toEqual({});
  });
  it.each([undefined, null, 1, "text", true, [], [{ chat: 1 }]])("takes %j for no object", (given) => {
    expect(fieldsOf(given)).toBeNull();
  });
});

describe("textOf", () => {
  it("gives a text back, the empty one too, and null for everything else", () => {
    expect([textOf("a"), textOf(""), textOf(1), textOf(null), textOf(["a"])]).toEqual(["a", "", null, null, null]);
  });
});
