/**
 * A process whose folder is on a small drive of its own, which can be filled and emptied from outside.
 *
 * Owns: the mount (Linux: a tmpfs in the process's own mount namespace, so nothing is left behind), reaching into it.
 * Needs util-linux; an ordinary user also needs user namespaces. Where they are missing the process does not start, and the
 * test fails.
 */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

/** Starts a program with `folder`, an absolute path without special characters, on a drive of `size` (as mount has it). */
export function onSmallDrive(folder: string, size: string): readonly string[] {
  const rights = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const script = `mount -t tmpfs -o mode=700,size=${size} tmpfs "$0" && exec "$@"`;
  return ["unshare", ...rights, "--mount", "sh", "-c", script, folder];
}

/** Where we find a folder that a process sees. */
export const seenBy = (pid: number, folder: string): string => path.join("/proc", String(pid), "root", folder);

const pageBytes = 4_096;

/** Takes all room that is left on the drive of a folder; the result gives it back. */
export function fillDrive(folder: string): () => void {
  const ballast = path.join(folder, "ballast");
  let bytes = 64 * 1024 * 1024;
  while (bytes >= pageBytes) {
    try {
      writeFileSync(ballast, Buffer.alloc(bytes), { flag: "a" });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      bytes /= 2;
    }
  }
  return () => {
    rmSync(ballast);
  };
}
