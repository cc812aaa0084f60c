import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";

const check = (root: string) => {
  const args = ["scripts/run-ts.mjs", "scripts/diagrams.mjs", "--check", "--root", root];
  return spawnSync(process.execPath, args, { encoding: "utf8" });
};

test("the drawn charts are those of the machines (npm run diagrams)", { timeout: 60_000 }, () => {
  const { status, stderr } = check(process.cwd());
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

test("a drawing that differs from its machine, or is missing, is found and named", { timeout: 60_000 }, () => {
  const root = mkdtempSync(path.join(os.tmpdir(), "partyline-diagrams-"));
  onTestFinished(() => {
    rmSync(root, { recursive: true });
  });
  cpSync("README.md", path.join(root, "README.md"));
  cpSync("docs/charts", path.join(root, "docs/charts"), { recursive: true });
  appendFileSync(path.join(root, "docs/charts/lease.md"), "edited by hand\n");
  rmSync(path.join(root, "docs/charts/polling.md"));
  const { status, stderr } = check(root);
  expect(status).toBe(1);
  expect(stderr).toContain("docs/charts/lease.md is stale");
  expect(stderr).toContain("docs/charts/polling.md is stale");
  expect(stderr).not.toContain("docs/charts/instance.md");
});
