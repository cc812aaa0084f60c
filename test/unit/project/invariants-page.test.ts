/** docs/invariants.md says what the code says, every rule is told of, and whatever is named is there. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { invariants } from "../../../machines/invariants.ts";
import { bounds, elsewhere } from "../../../machines/invariants/beyond.ts";
import { listedIds } from "../../../scripts/lib/coverage.mjs";
import { judgesOf, rulesTold, worlds } from "../../../scripts/lib/invariants-page.mjs";

const squeezed = (text: string) => text.replaceAll(/\s+/g, " ");
const page = squeezed(readFileSync("docs/invariants.md", "utf8"));
/** The families of rules that are invariants, by specification. */
const families = [
  ["protocol", "P"],
  ["threads", "T"],
  ["updates", "Q"],
] as const;

describe("the page of invariants (npm run coverage-table draws it anew)", () => {
  it("has each invariant with its sentence, its rules and its judges, and no other", () => {
    const told = [...page.matchAll(/\| `([a-z]+\/[A-Za-z]+)` \|/g)].map(([, name]) => name);
    expect(told).toEqual(invariants.map((each) => each.name));
    for (const each of invariants)
      expect(page).toContain(
        squeezed(`| \`${each.name}\` | ${each.sentence} | ${each.ids.join("<br>")} | ${judgesOf(each).join("<br>")} |`),
      );
  });

  it("tells of every rule that is an invariant", () => {
    const told = new Set(rulesTold());
    const lists = listedIds(".");
    for (const [spec, letters] of families) {
      const family = lists.find((each) => each.spec === spec)?.families.find((each) => each.letters === letters);
      const ids = Array.from({ length: family?.last ?? 0 }, (_, index) => `${spec}/${letters}-${index + 1}`);
      expect(ids.length).toBeGreaterThan(50);
      expect(ids.filter((id) => !told.has(id))).toEqual([]);
    }
  });

  it("names no invariant that nobody judges, and no world that judges nothing", () => {
    expect(invariants.filter((each) => judgesOf(each).length === 0).map((each) => each.name)).toEqual([]);
    for (const [world] of worlds) expect(invariants.some((each) => judgesOf(each).includes(world))).toBe(true);
  });

  it("names only checks that there are", () => {
    const named = [...bounds, ...elsewhere].flatMap(({ checks }) => checks);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
  });
});
