import { chromiumPath, isCi } from "../tools.ts";
import requireDist from "./require-e2e-tools.ts";

/** Browser tests need dist/ and a Chromium. A developer without one skips them and is told so; CI fails. */
export default function requireBrowser(): void {
  requireDist();
  if (chromiumPath() !== undefined) return;
  const reason = "no Chromium at /usr/bin/chromium (or at $PARTYLINE_CHROMIUM)";
  if (isCi()) throw new Error(`Browser tests cannot run: ${reason}.`);
  console.warn(`Browser tests that need Chromium are skipped: ${reason}.`);
}
