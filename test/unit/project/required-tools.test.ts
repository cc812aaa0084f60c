import type fs from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import requireBrowser from "../../support/vitest/require-browser-tools.ts";
import requireDist from "../../support/vitest/require-e2e-tools.ts";

const present = vi.hoisted(() => new Set<string>());
vi.mock("node:fs", async (original) => ({
  ...(await original<typeof fs>()),
  existsSync: (file: string) => present.has(file),
}));

const cli = `${process.cwd()}/dist/cli.js`;
const chromium = "/usr/bin/chromium";

function given(files: readonly string[], ci: boolean): void {
  for (const file of files) present.add(file);
  vi.stubEnv("CI", ci ? "true" : "");
  vi.stubEnv("PARTYLINE_CHROMIUM", undefined);
}

afterEach(() => {
  present.clear();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe("a missing tool is never passed over", () => {
  it.each([true, false])("without dist/, e2e tests fail (CI: %s)", (ci) => {
    given([chromium], ci);
    expect(requireDist).toThrow("dist/cli.js is missing");
  });

  it.each([true, false])("without dist/, browser tests fail (CI: %s)", (ci) => {
    given([chromium], ci);
    expect(requireBrowser).toThrow("dist/cli.js is missing");
  });

  it("without Chromium, browser tests fail in CI", () => {
    given([cli], true);
    expect(requireBrowser).toThrow("no Chromium at /usr/bin/chromium");
  });

  it("without Chromium, a developer is told that browser tests are skipped", () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    given([cli], false);
    requireBrowser();
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("are skipped: no Chromium"));
  });

  it("with both, nothing is said", () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    given([cli, chromium], true);
    requireBrowser();
    expect(warn).not.toHaveBeenCalled();
  });
});
