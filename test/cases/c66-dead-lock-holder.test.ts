/** C66: the lock of a dead process blocks for days, or its pid belongs to another program by now and looks alive. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import Database from "better-sqlite3";
import { systemProcesses } from "../../adapters/host/processes.ts";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import { createInstance, stateFolder } from "../../index.ts";
import type { Incarnation } from "../../machines/ids.ts";
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
const leaseMs = 6_000;

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

/** A line whose lease, by its store, is held by `holder` for as long as it says; nobody of it runs. */
async function leaseHeldBy(holder: Incarnation, forMs: number) {
  const home = mkdtempSync(path.join(os.tmpdir(), "pl-c66-"));
  const emulator = await startEmulator({ token });
  onTestFinished(async () => {
    await emulator.close();
    rmSync(home, { recursive: true, force: true });
  });
  const start = () => createInstance({ token, user: owner, home, apiRoot: emulator.apiRoot, name: "ours" });
  const first = await start();
  await first.ready;
  await first.stop();
  const db = new Database(path.join(stateFolder({ token, home }), "store.db"));
  const expiresAtMs = Date.now() + forMs;
  db.prepare("UPDATE lease SET instance_id = ?, incarnation = ?, endpoint = ?, secret = ?, expires_at_ms = ?").run(
    "1:1",
    JSON.stringify(holder),
    path.join(home, "nobody.sock"),
    "x",
    expiresAtMs,
  );
  db.close();
  return { start, expiresAtMs };
}

/** This host's facts about a process that is not ours: its start is another one's. */
const heldFrom = (pid: number): Incarnation => ({ ...systemProcesses().own(), pid, startTicks: "1", counter: 1 });

test.each([
  { what: "whose pid another program has by now", holderOf: () => Promise.resolve(heldFrom(strangerPid())) },
  {
    what: "of another boot",
    holderOf: () => Promise.resolve({ ...heldFrom(strangerPid()), bootId: "00000000-0000-0000-0000-000000000000" }),
  },
  { what: "of a process that is gone", holderOf: async () => heldFrom(await deadPid()) },
])(
  "C66 our own lease $what, with a day to run, is taken over within the time of a lease, unasked",
  async ({ holderOf }) => {
    const { start } = await leaseHeldBy(await holderOf(), dayMs);
    const startedAt = performance.now();
    const ours = await start();
    onTestFinished(() => ours.stop());
    expect(await ours.ready).toMatchObject({ role: "leader" });
    expect(performance.now() - startedAt).toBeLessThan(leaseMs);
    expect(ours.epoch).toBe(2);
  },
  40_000,
);

test("C66 a holder whose start cannot be read is respected until its lease has ended", async () => {
  const { start, expiresAtMs } = await leaseHeldBy({ ...heldFrom(strangerPid()), startTicks: "" }, 4_000);
  const ours = await start();
  onTestFinished(() => ours.stop());
  expect(await ours.ready).toMatchObject({ role: "leader" });
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs);
}, 40_000);
