/**
 * `npm run interop`: its two sides as processes, against each other.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";

function interop(...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["scripts/run-ts.mjs", "test/interop/interop.ts", ...args], (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr}`));
    });
  });
}

test("a follower registers, sends into its thread and leaves; both sides print every line and no secret", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const common = ["--socket", path.join(folder, "bus.sock"), "--secret", "hush-hush"];
  const [leader, follower] = await Promise.all([
    interop("--as", "leader", ...common, "--seconds", "20"),
    interop("--as", "follower", ...common, "--seconds", "12", "--say", "hello", "--leave"),
  ]);
  for (const printed of [leader, follower]) {
    for (const kind of ["follower.register", "follower.heartbeat", "follower.callApi", "follower.disconnect"])
      expect(printed).toContain(`"kind":"${kind}"`);
    expect(printed).not.toContain("hush-hush");
  }
  expect(follower).toMatch(/the call: \{"kind":"ok","result":\{"message_id":\d+\}\}/);
});
