/**
 * Reads of this host's process table.
 *
 * Owns: the system calls and commands, and which of their errors mean "not there" or "may not look".
 * Does not own: what a read proves (`processes.ts`).
 *
 * Invariants: any other error (EIO, EMFILE, a command that fails to start) is thrown: the look failed and says nothing.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";

export type Read = { readonly kind: "text"; readonly text: string } | { readonly kind: "absent" | "forbidden" };

export interface ProcessTable {
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  /** As it was at the start: when a parent ends, the system names another. */
  readonly parentPid: number;
  /** Reads a small file. */
  file(path: string): Read;
  link(path: string): Read;
  /** `ps -o lstart=` for a pid; `fixed` = in UTC and the C locale, else as this process's environment has it. */
  psStart(pid: number, environment: "fixed" | "inherited"): Read;
  /** macOS's id of the running boot. */
  bootSession(): Read;
  /** Whether the pid is in use: signal 0. A process of another user counts as there. */
  exists(pid: number): boolean;
}

const commandTimeoutMs = 5000;
const absentCodes = new Set(["ENOENT", "ESRCH"]);
const forbiddenCodes = new Set(["EACCES", "EPERM"]);

export function systemProcessTable(): ProcessTable {
  return {
    platform: process.platform,
    pid: process.pid,
    parentPid: process.ppid,
    file: (path) => attempt(() => readFileSync(path, "utf8")),
    link: (path) => attempt(() => readlinkSync(path)),
    psStart: (pid, environment) =>
      attempt(() => {
        const fixed = environment === "fixed" ? { LC_ALL: "C", TZ: "UTC" } : {};
        return command("ps", ["-o", "lstart=", "-p", String(pid)], { ...process.env, ...fixed });
      }),
    bootSession: () => attempt(() => command("sysctl", ["-n", "kern.bootsessionuuid"], process.env)),
    exists(pid) {
      try {
        process.kill(pid, 0);
        return true;
      } catch (error) {
        if (codeOf(error) === "ESRCH") return false;
        if (codeOf(error) === "EPERM") return true;
        throw error;
      }
    },
  };
}

function attempt(read: () => string): Read {
  try {
    return { kind: "text", text: read() };
  } catch (error) {
    const code = codeOf(error);
    if (absentCodes.has(code)) return { kind: "absent" };
    if (forbiddenCodes.has(code)) return { kind: "forbidden" };
    throw error;
  }
}

/** The command's output; "" when it exits with a status of its own (`ps` does for a pid that is not there). */
function command(name: string, args: readonly string[], env: NodeJS.ProcessEnv): string {
  try {
    return execFileSync(name, args, {
      encoding: "utf8",
      env,
      timeout: commandTimeoutMs,
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch (error) {
    if (error instanceof Error && "status" in error && typeof error.status === "number") return "";
    throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
