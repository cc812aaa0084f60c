/** C68: an empty or cut file where the owner is written down: every start throws until a person deletes it. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import { createInstance, recoverDamagedStore, stateFolder } from "../../index.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { withoutOverride } from "../support/line/rights.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

const folderOf = (prefix: string): string => {
  const folder = mkdtempSync(path.join(os.tmpdir(), prefix));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
};

test.each([
  { what: "empty", content: "" },
  { what: "cut in the middle", content: '{\n  "default": {\n    "pid": 17' },
  { what: "4 KB of zeros", content: "\0".repeat(4096) },
  { what: "a list", content: "[]\n" },
])(
  "C68 an owner file that is $what is set aside by itself, kept for whoever asks, and the instance leads",
  async ({ content }) => {
    const home = folderOf("pl-c68-");
    const agentDir = path.join(home, "agent");
    const folder = path.join(agentDir, "tmp", "telegram");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = path.join(folder, "owners.json");
    writeFileSync(file, content);
    const emulator = await startEmulator({ token });
    onTestFinished(() => emulator.close());
    const ours = await createInstance({ token, user: owner, home, apiRoot: emulator.apiRoot, compat: { agentDir } });
    onTestFinished(() => ours.stop());

    expect(await ours.ready).toMatchObject({ role: "leader" });
    const owners = JSON.parse(readFileSync(file, "utf8")) as unknown; // our own file
    expect(owners).toMatchObject({ default: { pid: process.pid, instanceId: ours.id } });
    const recovery = path.join(folder, "recovery");
    expect(existsSync(recovery)).toBe(true);
    const kept = readdirSync(recovery).map((each) => readFileSync(path.join(recovery, each, "owners.json"), "utf8"));
    expect(kept).toEqual([content]);
  },
  40_000,
);

/** A stopped line that has been led once, and what became of a file of its store. */
async function ledOnce() {
  const home = folderOf("pl-c68-");
  const emulator = await startEmulator({ token });
  onTestFinished(() => emulator.close());
  const start = () => createInstance({ token, user: owner, home, apiRoot: emulator.apiRoot, name: "ours" });
  const first = await start();
  const { thread } = await first.ready;
  await first.stop();
  return { start, folder: stateFolder({ token, home }), line: { token, home }, thread, emulator };
}

const damages = [
  { what: "empty", content: "" },
  { what: "cut", content: "{" },
  { what: "4 KB of zeros", content: "\0".repeat(4096) },
];

test.each(damages)(
  "C68 a store that is $what is refused in one sentence with the remedy, and is left as it is",
  async ({ content }) => {
    const { start, folder, emulator, line } = await ledOnce();
    const file = path.join(folder, "store.db");
    for (const each of ["store.db-wal", "store.db-shm"]) rmSync(path.join(folder, each), { force: true });
    writeFileSync(file, content);
    await expect(start()).rejects.toThrow(/^The store .* is damaged \(.*\): stop all instances, .*$/);
    expect(readFileSync(file, "utf8")).toBe(content);

    // The remedy, to the letter; what Telegram holds is not lost by it.
    expect(await recoverDamagedStore(line)).toMatchObject({ kind: "recovered" });
    const missed = emulator.control.userSends({ text: "meanwhile" });
    const ours = await start();
    onTestFinished(() => ours.stop());
    expect(await ours.ready).toMatchObject({ role: "leader" });
    await until("the update has been taken in", () => emulator.control.state().queue.length === 0);
    expect(missed.updateId).toBeDefined();
  },
  40_000,
);

test.each(damages)(
  "C68 a marker that is $what is written anew: the instance leads, with the thread that it had",
  async ({ content }) => {
    const { start, folder, thread } = await ledOnce();
    writeFileSync(path.join(folder, "store.marker.json"), content);
    const ours = await start();
    onTestFinished(() => ours.stop());
    expect(await ours.ready).toEqual({ role: "leader", thread });
    expect(JSON.parse(readFileSync(path.join(folder, "store.marker.json"), "utf8"))).toMatchObject({
      createdAtMs: expect.any(Number) as number,
    });
  },
  40_000,
);

test("C68 a store of a newer Partyline is refused in one sentence, and is left as it is", async () => {
  const { start, folder } = await ledOnce();
  const db = new Database(path.join(folder, "store.db"));
  db.exec("UPDATE meta SET value = 999 WHERE key = 'compatibility'");
  db.close();
  await expect(start()).rejects.toThrow(/was written by a newer Partyline .*: update this one\.$/);
}, 40_000);

test("C68 a store that may not be written is refused in one sentence, and is left as it is", async () => {
  const line = await open();
  const [first] = await line.startAll(["L"]);
  await first?.stop();
  const file = path.join(line.folder, "store.db");
  chmodSync(file, 0o400);
  const before = readFileSync(file);
  const second = line.start({ name: "L", startedBy: withoutOverride() });
  const { code } = await second.whenExited();
  expect(code).not.toBe(0);
  const said = second.output.split("\n").filter((each) => each.includes("store.db"));
  expect(said).toHaveLength(1);
  expect(readFileSync(file).equals(before)).toBe(true);
  chmodSync(file, 0o600);
  expect((await line.start({ name: "L" }).whenReady()).threadId).toBe(first?.threadId);
});
