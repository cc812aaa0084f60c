/**
 * The guard of a v1 store transaction: a folder at a fixed path that holds one file with its owner (protocol §5.6 T-1…T-6).
 *
 * Owns: publishing, releasing, recovering the guard of a process that is gone.
 * Does not own: what happens inside the transaction (owners-file.ts, index.ts).
 * Invariants:
 *  - a guard appears and vanishes whole, by one rename of its folder;
 *  - only the guard of a proven-dead process is recovered; one that is empty, malformed or of a foreign kind never is;
 *  - a recovery claims the owner file first: a guard that was replaced meanwhile has another file name, and survives.
 *
 * Beyond v1: a pid that runs counts as another program's when that started after the guard was taken, and the guard has
 * been seen unchanged for half of the patience (v1 waits for ever). Guards that are plain files (of writers before v1's
 * present form) are never recovered here.
 */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Clock } from "../../../services/ports.ts";
import { codeOf, isAbsent, isSharing } from "./errors.ts";
import type { PidLook } from "./pids.ts";

const attemptsMax = 80;
const attemptEveryMs = 25;
/** Start times are exact to a second or two. */
const startToleranceMs = 3_000;

export interface GuardOwner {
  readonly pid: number;
  readonly acquiredAtMs: number;
  readonly generation: string;
}

export type GuardLook =
  | { readonly kind: "none" }
  | {
      readonly kind: "held";
      readonly file: string;
      readonly owner: GuardOwner;
      /** Process that began to recover it. */
      readonly reclaimer: number | null;
    }
  | { readonly kind: "unverifiable"; readonly reason: string };

const uuid = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
const ownerName = new RegExp(`^owner\\.(${uuid})\\.json$`);
const reclaimName = new RegExp(`^owner\\.reclaim\\.(\\d+)\\.${uuid}\\.json$`);

/** Markers of recoveries that this process is in the middle of. */
const activeReclaims = new Set<string>();

export interface GuardSurroundings {
  readonly clock: Clock;
  readonly pids: PidLook;
}

export class TransactionGuard {
  readonly path: string;
  private readonly clock: Clock;
  private readonly pids: PidLook;

  constructor(guardPath: string, { clock, pids }: GuardSurroundings) {
    this.path = guardPath;
    this.clock = clock;
    this.pids = pids;
  }

  /** Runs `work` while this process holds the guard. Rejects when it could not be had within 2 s. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const owner = await this.acquire();
    let result: Result;
    try {
      result = await work();
    } catch (error) {
      await this.release(owner);
      throw error;
    }
    await this.release(owner);
    return result;
  }

  async acquire(): Promise<GuardOwner> {
    const owner: GuardOwner = { pid: process.pid, acquiredAtMs: this.clock.nowMs(), generation: randomUUID() };
    const staged = `${this.path}.staged.${randomUUID()}`;
    try {
      await stage(staged, owner);
      const seen = { generation: "", times: 0 };
      for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
        const look = await this.look();
        if (look.kind === "none" && (await this.publish(staged))) return owner;
        if (look.kind === "held") {
          seen.times = look.owner.generation === seen.generation ? seen.times + 1 : 1;
          seen.generation = look.owner.generation;
          // Freed: the next attempt need not wait.
          if (await this.recover(look, seen.times > attemptsMax / 2)) continue;
        }
        await new Promise<void>((resolve) => void this.clock.setTimeout(resolve, attemptEveryMs));
      }
    } finally {
      // Published, it is there no longer; a drive that is full may have taken the folder and not the file.
      await rm(staged, { recursive: true, force: true });
    }
    throw new Error(`Timed out acquiring Telegram lock transaction: ${this.path}`);
  }

  async release(owner: GuardOwner): Promise<void> {
    const look = await this.look();
    if (look.kind === "none") return;
    if (look.kind === "unverifiable") throw new Error(`The guard ${this.path} cannot be released: ${look.reason}.`);
    const { pid, acquiredAtMs, generation } = look.owner;
    if (pid !== owner.pid || acquiredAtMs !== owner.acquiredAtMs || generation !== owner.generation)
      throw new Error(`The guard ${this.path} is held by process ${pid} by now; it is left alone.`);
    const released = `${this.path}.released.${randomUUID()}`;
    await rename(this.path, released);
    await rm(released, { recursive: true, force: true });
  }

  async look(): Promise<GuardLook> {
    let names: readonly string[];
    try {
      names = await readdir(this.path);
    } catch (error) {
      if (isAbsent(error)) return { kind: "none" };
      if (codeOf(error) === "ENOTDIR") return { kind: "unverifiable", reason: "it is a file, not a folder" };
      throw error;
    }
    const [name] = names;
    if (name === undefined || names.length > 1)
      return { kind: "unverifiable", reason: `it holds ${names.length} entries instead of one` };
    return this.lookAt(name);
  }

  private async lookAt(name: string): Promise<GuardLook> {
    const reclaim = reclaimName.exec(name);
    const named = ownerName.exec(name);
    if (reclaim === null && named === null) return { kind: "unverifiable", reason: `it holds a foreign entry ${name}` };
    let text: string;
    try {
      text = await readFile(path.join(this.path, name), "utf8");
    } catch (error) {
      // Released or claimed since the folder was read.
      if (isAbsent(error)) return { kind: "unverifiable", reason: "it is just changing" };
      throw error;
    }
    const owner = readOwner(text);
    if (owner === null || (named !== null && named[1] !== owner.generation))
      return { kind: "unverifiable", reason: `its entry ${name} does not say whose it is` };
    return { kind: "held", file: name, owner, reclaimer: reclaim === null ? null : Number(reclaim[1]) };
  }

  /** False = somebody else was faster. An *empty* folder in the way would be replaced by the rename: `look` saw none. */
  private async publish(staged: string): Promise<boolean> {
    try {
      await rename(staged, this.path);
      return true;
    } catch (error) {
      if (["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(codeOf(error)) || isSharing(error)) return false;
      throw error;
    }
  }

  /** True when it removed the guard of a process that is gone. */
  private async recover(
    { file, owner, reclaimer }: Extract<GuardLook, { kind: "held" }>,
    isPatienceSpent: boolean,
  ): Promise<boolean> {
    if (!this.isGone(owner, isPatienceSpent) || !this.mayResume(file, reclaimer)) return false;
    const id = `${process.pid}.${randomUUID()}`;
    const marker = `owner.reclaim.${id}.json`;
    activeReclaims.add(marker);
    try {
      if (!(await renamed(path.join(this.path, file), path.join(this.path, marker)))) return false;
      const stale = `${this.path}.stale.${id}`;
      try {
        await rename(this.path, stale);
      } catch (error) {
        await rename(path.join(this.path, marker), path.join(this.path, file));
        throw error;
      }
      await rm(stale, { recursive: true, force: true });
      return true;
    } finally {
      activeReclaims.delete(marker);
    }
  }

  private isGone({ pid, acquiredAtMs }: GuardOwner, isPatienceSpent: boolean): boolean {
    if (!this.pids.isRunning(pid)) return true;
    const startedAtMs = this.pids.startedAtMs(pid);
    return isPatienceSpent && startedAtMs !== null && startedAtMs > acquiredAtMs + startToleranceMs;
  }

  private mayResume(marker: string, reclaimer: number | null): boolean {
    if (reclaimer === null) return true;
    return reclaimer === process.pid ? !activeReclaims.has(marker) : !this.pids.isRunning(reclaimer);
  }
}

async function stage(folder: string, owner: GuardOwner): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  await writeFile(path.join(folder, `owner.${owner.generation}.json`), `${JSON.stringify(owner)}\n`, { mode: 0o600 });
}

/** False when the file is not there any more. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

function readOwner(text: string): GuardOwner | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // Not JSON: it names no owner.
  }
  if (typeof value !== "object" || value === null) return null;
  const { pid, acquiredAtMs, generation } = value as Readonly<Record<string, unknown>>; // Each is checked below.
  return Number.isSafeInteger(pid) &&
    Number(pid) > 0 &&
    typeof acquiredAtMs === "number" &&
    typeof generation === "string"
    ? { pid: Number(pid), acquiredAtMs, generation }
    : null;
}

/** When the guard's folder was last touched; null when there is none. */
export async function guardTouchedAtMs(guardPath: string): Promise<number | null> {
  try {
    return (await lstat(guardPath)).mtimeMs;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
