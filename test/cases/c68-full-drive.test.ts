/** C68: no room on the drive. What cannot be written is said with the remedy, and nothing that Telegram holds is lost by it. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { fillDrive, onSmallDrive, seenBy } from "../support/line/drive.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();

/** False, and the reason is told, where a drive of one's own cannot be had. */
function hasDrives(what: string): boolean {
  if (process.platform === "linux") return true;
  report(`C68, ${what}: not run here, it needs Linux`);
  return false;
}

test.each(["4k", "16k", "64k"])(
  "C68 a start on a drive that is full after %s is refused in one sentence that says to free some space",
  async (size) => {
    if (!hasDrives("a start on a full drive")) return;
    const line = await open();
    const agent = line.start({ name: "L", startedBy: onSmallDrive(line.home, size) });
    const { code } = await agent.whenExited();
    expect(code).not.toBe(0);
    expect(agent.output.trim().split("\n")).toEqual([expect.stringMatching(/drive is full.*: free some space/)]);
  },
);

test("C68 a drive that fills up while an instance leads: updates stay at Telegram, and come once, in the same thread, when there is room", async () => {
  if (!hasDrives("a drive that fills up")) return;
  const line = await open();
  const leader = await line.start({ name: "L", startedBy: onSmallDrive(line.home, "8m") }).whenReady();
  const free = fillDrive(seenBy(leader.pid, line.home));
  const missed = line.say(leader.threadId, "meanwhile");
  // Longer than the lease: it cannot be renewed either.
  await until("it leads no more", () => leader.role !== "leader", { state: () => leader.output });
  expect(leader.texts).toEqual([]);
  const { length, firstId } = line.control.state().queue;
  expect(length).toBeGreaterThan(0);
  expect(firstId ?? 0).toBeLessThanOrEqual(missed);
  expect(leader.output).toContain("The store's drive is full; nothing was written: free some space.");

  free();
  await until("the update is there", () => leader.texts.length > 0, { state: () => leader.output });
  expect(leader.role).toBe("leader");
  line.say(leader.threadId, "later");
  await until("the next one, too", () => leader.texts.length > 1, { state: () => leader.output });
  expect(leader.texts).toEqual(["meanwhile", "later"]);
  expect(line.control.state().queue.length).toBe(0);
});

test("C68 a full drive under the v1 owner file: the record is given up, nothing is left lying about, and it leads again when there is room", async () => {
  if (!hasDrives("a full drive under the v1 owner file")) return;
  const line = await open();
  const agentDir = path.join(line.home, "v1");
  mkdirSync(agentDir);
  const startedBy = onSmallDrive(agentDir, "256k");
  const leader = await line.start({ name: "L", flags: ["--v1-home", agentDir], startedBy }).whenReady();
  const folder = path.join(seenBy(leader.pid, agentDir), "tmp", "telegram");
  const owners = (): unknown => JSON.parse(readFileSync(path.join(folder, "owners.json"), "utf8"));
  const before = owners();
  expect(before).toMatchObject({ default: { pid: leader.pid } });
  const free = fillDrive(folder);
  await until("it leads no more", () => leader.role !== "leader", { state: () => leader.output });
  expect(owners()).toMatchObject({ default: { pid: leader.pid } });
  line.say(leader.threadId, "meanwhile");

  free();
  await until("the update is there", () => leader.texts.length > 0, { state: () => leader.output });
  expect(leader.texts).toEqual(["meanwhile"]);
  expect(leader.role).toBe("leader");
  expect(owners()).toMatchObject({ default: { pid: leader.pid } });
  await until("no transaction is under way", () => !existsSync(path.join(folder, "owners.json.transaction")));
  expect(readdirSync(folder).filter((each) => /staged|\.tmp$|stale|released/.test(each))).toEqual([]);
});
