/**
 * `npm run interop`: its two sides as processes, against each other.
 */
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { wireText } from "../../machines/wire/texts.ts";
import { serveScript } from "../interop/lab/sockets.ts";

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function ended(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["scripts/run-ts.mjs", "test/interop/interop.ts", ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

async function interop(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await ended(...args);
  if (code !== 0) throw new Error(`it ended with ${String(code)}\n${stderr}`);
  return stdout;
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
  // What v1 leaders are told: where we work, and no capability that only our own leaders have a use for.
  expect(follower).toContain(`"cwd":${JSON.stringify(process.cwd())}`);
  expect(follower).toMatch(/the call: \{"kind":"ok","result":\{"message_id":\d+\}\}/);
});

test("serving closes no folder that is open to others and replaces nothing that is no socket; who never registered ends with 1", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const shared = path.join(folder, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o755);
  const notes = path.join(folder, "notes.txt");
  writeFileSync(notes, "mine");
  const rest = ["--secret", "hush-hush", "--seconds", "1"];
  const [open, taken, alone] = await Promise.all([
    ended("--as", "leader", "--socket", path.join(shared, "bus.sock"), ...rest),
    ended("--as", "leader", "--socket", notes, ...rest),
    ended("--as", "follower", "--socket", path.join(folder, "bus.sock"), "--say", "hello", ...rest),
  ]);
  expect([open.code, taken.code, alone.code]).toEqual([2, 2, 1]);
  expect(open.stderr).toContain("is open to others");
  expect(statSync(shared).mode & 0o777).toBe(0o755);
  expect(taken.stderr).toContain("is no socket");
  expect(readFileSync(notes, "utf8")).toBe("mine");
  expect(alone.stdout).toContain(`Nobody serves at ${path.join(folder, "bus.sock")}`);
});

test("whom the leader does not know by the secret ends at once, with a sentence and 1", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const socket = path.join(folder, "bus.sock");
  const leader = await serveScript(socket, (line) => {
    const { requestId } = JSON.parse(line) as { readonly requestId: string }; // what ours has sent
    return `${JSON.stringify({ kind: "bus.ack", requestId, ok: false, message: wireText.unauthorized })}\n`;
  });
  onTestFinished(() => leader.close());
  const { code, stdout } = await ended("--as", "follower", "--socket", socket, "--secret", "hush-hush");
  expect(code).toBe(1);
  expect(stdout).toContain(`"message":"${wireText.unauthorized}"`);
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/ does not know this secret: give as --secret the busSecret /);
  expect(stdout).not.toContain("hush-hush");
});
