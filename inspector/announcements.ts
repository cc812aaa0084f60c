/**
 * Where the instances of a profile can be watched: one small file each, beside the store.
 *
 * Owns: the files' form, place and permissions. Does not own: what listens there (`tap.ts`).
 *
 * A file holds the tap's token, so folder and file are for their owner alone. One that a crashed process left behind names
 * a port that refuses, or a token that somebody else's listener does not know; the next instance to start removes it.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { parsed } from "./access.ts";

export interface Announcement {
  readonly version: 1;
  readonly instance: string;
  readonly name: string | null;
  readonly pid: number;
  /** On 127.0.0.1. */
  readonly port: number;
  readonly token: string;
}

const folderOf = (profileFolder: string): string => path.join(profileFolder, "inspect");
const fileOf = (profileFolder: string, instance: string): string =>
  path.join(folderOf(profileFolder), `${instance.replace(/[^A-Za-z0-9_-]/g, "_")}.json`);

export async function announce(profileFolder: string, announcement: Announcement): Promise<void> {
  await mkdir(folderOf(profileFolder), { recursive: true, mode: 0o700 });
  const file = fileOf(profileFolder, announcement.instance);
  const draft = `${file}.${randomBytes(6).toString("hex")}.draft`;
  await writeFile(draft, JSON.stringify(announcement), { mode: 0o600, flag: "wx" });
  await rename(draft, file);
}

export const withdraw = (profileFolder: string, instance: string): Promise<void> =>
  rm(fileOf(profileFolder, instance), { force: true });

/** Everybody who announced, in order of their ids; files that cannot be read are no announcements. */
export async function announcementsIn(profileFolder: string): Promise<readonly Announcement[]> {
  const found: Announcement[] = [];
  for (const name of await namesIn(folderOf(profileFolder))) {
    if (!name.endsWith(".json")) continue;
    const announcement = readAnnouncement(await textOf(path.join(folderOf(profileFolder), name)));
    if (announcement !== null) found.push(announcement);
  }
  return found;
}

/** Removes what processes that are gone have left. */
export async function sweepAnnouncements(profileFolder: string): Promise<void> {
  for (const { pid, instance } of await announcementsIn(profileFolder))
    if (!isRunning(pid)) await withdraw(profileFolder, instance);
}

function readAnnouncement(text: string): Announcement | null {
  const it = parsed(text);
  if (it === undefined || it["version"] !== 1) return null;
  const { instance, name, pid, port, token } = it;
  if (typeof instance !== "string" || typeof pid !== "number" || typeof port !== "number" || typeof token !== "string")
    return null;
  return { version: 1, instance, name: typeof name === "string" ? name : null, pid, port, token };
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    // No such folder: nobody has announced yet.
    return [];
  }
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch {
    // Withdrawn meanwhile.
    return "";
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not ours to signal is still running.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
