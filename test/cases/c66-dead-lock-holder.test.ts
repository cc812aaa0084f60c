/** C66: the lock of a dead process blocks for days, or its pid belongs to another program by now and looks alive. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import { createInstance } from "../../index.ts";
import { owner, token } from "../support/line/fixtures.ts";

const startBody = (): ReturnType<typeof spawn> =>
  spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });

/** Pid of a process that was killed. */
async function deadPid(): Promise<number> {
  const body = startBody();
  const gone = new Promise((resolve) => body.once("exit", resolve));
  body.kill("SIGKILL");
  await gone;
  return body.pid ?? 0;
}

/** Pid of a program that has nothing to do with us and lives as long as the test. */
function strangerPid(): number {
  const body = startBody();
  onTestFinished(() => void body.kill("SIGKILL"));
  return body.pid ?? 0;
}

const dayMs = 86_400_000;

test.each([
  { what: "of a dead process", pidOf: deadPid },
  { what: "whose pid another program has by now", pidOf: strangerPid },
])(
  "C66 the lock $what, days old, stops nobody: the instance leads, and the lock is free",
  async ({ pidOf }) => {
    const home = mkdtempSync(path.join(os.tmpdir(), "pl-c66-"));
    onTestFinished(() => {
      rmSync(home, { recursive: true, force: true });
    });
    const pid = await pidOf();
    const agentDir = path.join(home, "agent");
    const folder = path.join(agentDir, "tmp", "telegram");
    const guard = path.join(folder, "owners.json.transaction");
    mkdirSync(guard, { recursive: true, mode: 0o700 });
    const acquiredAtMs = Date.now() - 3 * dayMs;
    const generation = randomUUID();
    const record = { pid, cwd: "/srv/v1", instanceId: `${pid}:1`, leaderEpoch: randomUUID(), runtimeGeneration: 1 };
    writeFileSync(
      path.join(folder, "owners.json"),
      JSON.stringify({ default: { ...record, heartbeatMs: acquiredAtMs } }),
    );
    writeFileSync(path.join(guard, `owner.${generation}.json`), JSON.stringify({ pid, acquiredAtMs, generation }));

    const emulator = await startEmulator({ token });
    onTestFinished(() => emulator.close());
    const ours = await createInstance({ token, user: owner, home, apiRoot: emulator.apiRoot, compat: { agentDir } });
    onTestFinished(() => ours.stop());
    expect(await ours.ready).toMatchObject({ role: "leader" });
    const owners = JSON.parse(readFileSync(path.join(folder, "owners.json"), "utf8")) as unknown; // our own file
    expect(owners).toMatchObject({ default: { pid: process.pid, instanceId: ours.id } });
    await ours.stop();
    expect(existsSync(guard)).toBe(false);
  },
  40_000,
);
