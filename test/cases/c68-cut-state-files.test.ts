/** C68: an empty or cut file where the owner is written down: every start throws until a person deletes it. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import { createInstance } from "../../index.ts";
import { owner, token } from "../support/line/fixtures.ts";

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
