/**
 * Where a database may live.
 *
 * Owns: the verdict on a state folder: its file system, its mode, whether it can be written. Does not own: the database.
 * A write-ahead log is shared through mapped memory, which network and pass-through mounts do not keep coherent: there,
 * two processes damage the database. FUSE is refused as a whole because virtiofs reports FUSE's type.
 * Source: sqlite.org/wal.html §1, statfs(2). Types are Linux's; elsewhere the numbers mean nothing and are not judged.
 */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  statfsSync,
  statSync,
} from "node:fs";
import path from "node:path";
import { refused, type Refused } from "../errors.ts";

const unsuitable: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x01021997, "9p"],
  [0x65735546, "FUSE or virtiofs"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x00c36400, "Ceph"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x786f4256, "a VirtualBox shared folder"],
  [0x0bd00bd0, "Lustre"],
]);

/** Name of an unsuitable file system by its statfs type, null when it is not known to be one. */
export function unsuitableFileSystem(type: number): string | null {
  return unsuitable.get(type >>> 0) ?? null;
}

export function fileSystemRefusal(folder: string, type: number): Refused | null {
  const name = unsuitableFileSystem(type);
  if (name === null) return null;
  return refused(
    `The state folder ${folder} is on ${name}, where processes that share a database damage it: ` +
      "move the folder to a local disk (--home or PARTYLINE_HOME).",
  );
}

/** Makes the folder if it is missing (0700) and says why it cannot hold a store, or null. */
export function prepareFolder(folder: string): Refused | null {
  try {
    makeFolders(path.resolve(folder));
    const state = statSync(folder);
    if (!state.isDirectory())
      return refused(`The state folder ${folder} is a file: remove it or choose another folder.`);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    if (isTooOpen(state.mode))
      return refused(`The state folder ${folder} can be entered by other users: run chmod 700 ${folder}.`);
    return process.platform === "linux" ? fileSystemRefusal(folder, statfsSync(folder).type) : null;
  } catch (error) {
    return refused(folderSentence(folder, codeOf(error)));
  }
}

/** Not mkdir's `recursive`: Node 20 never returns where mkdir says ENOENT under a parent that exists (/proc). */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(path.dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error; // another process was faster
  }
}

/** Makes the file if it is missing, readable by its owner alone; SQLite gives its side files the same mode. */
export function prepareFile(file: string): Refused | null {
  try {
    try {
      closeSync(openSync(file, "wx", 0o600));
      chmodSync(file, 0o600);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    accessSync(file, constants.R_OK | constants.W_OK);
    if (isTooOpen(statSync(file).mode))
      return refused(`The store ${file} can be read by other users: run chmod 600 ${file}.`);
    return null;
  } catch (error) {
    return refused(folderSentence(file, codeOf(error)));
  }
}

function isTooOpen(mode: number): boolean {
  return process.platform !== "win32" && (mode & 0o077) !== 0;
}

function folderSentence(where: string, code: string): string {
  switch (code) {
    case "EACCES":
    case "EPERM":
      return `${where} cannot be written by this user: change its owner or mode, or choose another folder (PARTYLINE_HOME).`;
    case "EROFS":
      return `${where} is on a read-only drive: choose another folder (PARTYLINE_HOME).`;
    case "ENOSPC":
    case "EDQUOT":
      return `${where} is on a full drive: free some space and start again.`;
    case "EEXIST":
    case "ENOTDIR":
      return `${where} cannot be a folder because a file is in the way: remove it or choose another folder (PARTYLINE_HOME).`;
    default:
      return `${where} cannot be used (${code}): choose another folder (PARTYLINE_HOME).`;
  }
}

/** The system's error code, or a word for its absence. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error";
}
