/**
 * What a pid says: whether a process of that number runs here, and whether it can be the one that wrote it down.
 *
 * Owns: the looks. Does not own: what follows from them. The v1 store records pids, not incarnations, so this is all the
 * proof there is: another pid namespace that shares the folder looks dead (protocol O-16), which the documents say.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { codeOf } from "./errors.ts";

export interface PidLook {
  isRunning(pid: number): boolean;
  /** Wall clock of its start, in milliseconds, about a second exact; null where the platform does not tell. */
  startedAtMs(pid: number): number | null;
}

/** Field 22 of `/proc/<pid>/stat`, counted from field 3, which follows the last `)`. */
const startTicksIndex = 22 - 3;
/** USER_HZ: what the kernel promises to user space on every architecture that Node runs on. */
const ticksPerSecond = 100;

export const systemPids: PidLook = {
  isRunning(pid) {
    // Zero and negative numbers address groups (O-15): no process, and no proof of anything.
    if (!Number.isSafeInteger(pid) || pid <= 0) return true;
    const fields = statOf(pid);
    // A zombie runs no code any more.
    if (fields !== null) return !/^[ZXx]$/.test(fields[0] ?? "");
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      return codeOf(error) !== "ESRCH";
    }
  },
  startedAtMs(pid) {
    const ticks = Number(statOf(pid)?.[startTicksIndex]);
    const bootSeconds = Number(/^btime (\d+)$/m.exec(textOf("/proc/stat") ?? "")?.[1]);
    return Number.isFinite(ticks) && Number.isFinite(bootSeconds)
      ? bootSeconds * 1_000 + (ticks / ticksPerSecond) * 1_000
      : null;
  },
};

function statOf(pid: number): readonly string[] | null {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat === null
    ? null
    : stat
        .slice(stat.lastIndexOf(")") + 1)
        .trim()
        .split(/\s+/);
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Not there, or not ours to read: signal 0 tells the rest.
    return null;
  }
}
