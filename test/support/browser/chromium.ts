/** The headless Chromium that the browser tests drive: one for a file, with a fresh profile, closed at the end. */
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { chromiumPath } from "../tools.ts";

const args = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Tests that need a Chromium. Where there is none they are skipped, which the project's set-up (require-browser-tools.ts)
 * tells with the reason, or turns into a failure in CI.
 */
export function describeInBrowser(name: string, tests: (browser: () => Browser) => void): void {
  const executablePath = chromiumPath();
  describe.skipIf(executablePath === undefined)(name, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      // Playwright makes a profile folder of its own and removes it on close.
      browser = await chromium.launch({ executablePath: executablePath!, args, chromiumSandbox: false });
    });
    afterAll(async () => {
      await browser?.close();
    });
    tests(() => {
      if (browser === undefined) throw new Error("the browser has not been started");
      return browser;
    });
  });
}
