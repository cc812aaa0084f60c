/** docs/coverage.md keeps its word: what it calls checked is checked, and every id in a title is a rule that exists. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { claims, declaredIn, drawTable, idsIn, isListed, listedIds } from "../../../scripts/lib/coverage.mjs";

const lists = listedIds(".");
const found = claims(".");

describe("the table of rules and their tests", () => {
  it("names no rule whose test is gone (npm run coverage-table draws it anew)", () => {
    const covered = new Set(found.map(({ id }) => id));
    const declared = declaredIn(readFileSync("docs/coverage.md", "utf8"));
    expect(declared.length).toBeGreaterThan(0);
    expect(declared.filter((id) => !covered.has(id))).toEqual([]);
  });

  it("knows every rule that a test or an invariant names", () => {
    expect(found.filter(({ id }) => !isListed(lists, id))).toEqual([]);
  });

  it("counts what docs/invariants.md tells of beside its invariants, with a link to its section", () => {
    const decided = found.filter(({ where }) => where.includes("#what-was-decided-otherwise"));
    expect(decided.map(({ id }) => id)).toContain("updates/Q-25");
    const page = drawTable(lists, [{ id: "protocol/P-10", where: "[in time](invariants.md#in-time)" }]);
    expect(page).toContain("| protocol/P-10 | [in time](invariants.md#in-time) |");
    for (const { where } of found) {
      const heading = /^\[([^\]]+)\]\(invariants\.md#/.exec(where)?.[1];
      if (heading !== undefined) expect(readFileSync("docs/invariants.md", "utf8")).toContain(`\n## ${heading}\n`);
    }
  });

  it("lists a rule once, and draws each either as a row or as missing", () => {
    const page = drawTable(lists, [{ id: "protocol/S-13", where: "test/unit/some.test.ts" }]);
    expect(declaredIn(page)).toEqual(["protocol/S-13"]);
    expect(page).toContain("### S: scenarios (1 of 100)");
    expect(page).toMatch(/Not by name: .*S-12, S-14,/);
  });
});

describe("ids in a title", () => {
  it("may follow each other in short", () => {
    expect(idsIn("protocol/S-13, S-14 and P-20: the same request twice, as in threads/T-1")).toEqual([
      "protocol/S-13",
      "protocol/S-14",
      "protocol/P-20",
      "threads/T-1",
    ]);
  });

  it("are of the lists, or strangers", () => {
    expect(isListed(lists, "protocol/S-100")).toBe(true);
    expect(isListed(lists, "protocol/S-101")).toBe(false);
    expect(isListed(lists, "threads/Q-1")).toBe(false);
  });
});
