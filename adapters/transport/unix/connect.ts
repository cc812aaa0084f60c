/**
 * Opens a connection to an address (protocol C-1, §2.5 probe, §2.7).
 *
 * Owns: which paths are tried, the time-out, and that nobody else's overflow folder is trusted.
 * Does not own: what is said on the connection.
 */
import { lstat } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import { wireText } from "../../../machines/wire/texts.ts";
import type { Timers } from "../wire/pending.ts";
import { isOverflowPath, isPipe, pathsOf } from "./address.ts";
import { codeOf, withCode } from "./errors.ts";

/** What says that nobody serves at a path, so that the next one is worth a try. */
const isNobody = (error: unknown): boolean =>
  ["ENOENT", "ECONNREFUSED", "ENOTSUP", "EOPNOTSUPP", "ENOTDIR"].includes(codeOf(error));

/** Rejects unless a folder under the shared temporary folder is a real folder of this user that nobody else may enter. */
export async function requirePrivateFolder(folder: string): Promise<void> {
  const found = await lstat(folder);
  const uid = process.getuid?.();
  if (found.isDirectory() && (uid === undefined || (found.uid === uid && (found.mode & 0o077) === 0))) return;
  throw withCode(`${folder} is not a private folder of this user: remove it and try again.`, "EACCES");
}

const asNamed = (name: string): string => name;

/** One attempt at one path. `onSocket` sees the socket before it is connected, so that a time-out can destroy it. */
async function connectPath(
  socketPath: string,
  placeOf: (name: string) => string,
  onSocket: (socket: net.Socket) => void,
): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path: placeOf(socketPath) });
    onSocket(socket);
    // Both stay for the life of the socket: an error between the connection and its next listener must not be unhandled.
    socket.on("error", reject);
    socket.on("close", () => reject(withCode(wireText.timedOut, "ETIMEDOUT")));
    socket.once("connect", () => resolve(socket));
  });
}

async function connectFirst(
  paths: readonly string[],
  { tmpFolder, pipePlace = asNamed }: Dialing,
  onSocket: (socket: net.Socket) => void,
): Promise<net.Socket> {
  let failure: unknown;
  for (const candidate of paths) {
    try {
      if (isOverflowPath(candidate, tmpFolder)) await requirePrivateFolder(path.dirname(candidate));
      return await connectPath(candidate, isPipe(candidate) ? pipePlace : asNamed, onSocket);
    } catch (error) {
      // The first failure is the one about the address that was asked for.
      failure ??= error;
      if (!isNobody(error)) break;
    }
  }
  throw failure;
}

export interface Dialing {
  readonly timers: Timers;
  readonly tmpFolder: string;
  /** Whether addresses stand for named pipes. Default: never. */
  readonly isWindows?: boolean;
  /** Where a pipe is on this host; for tests where there are no pipes. Default: at its name. */
  readonly pipePlace?: (pipe: string) => string;
}

async function connectWithin(paths: readonly string[], timeoutMs: number, dialing: Dialing): Promise<net.Socket> {
  const { timers } = dialing;
  let isOver = false;
  let current: net.Socket | null = null;
  let timer: unknown;
  const expired = new Promise<never>((_, reject) => {
    timer = timers.setTimeout(() => {
      isOver = true;
      current?.destroy();
      reject(withCode(wireText.timedOut, "ETIMEDOUT"));
    }, timeoutMs);
  });
  const connected = connectFirst(paths, dialing, (socket) => {
    current = socket;
    if (isOver) socket.destroy();
  });
  try {
    return await Promise.race([connected, expired]);
  } finally {
    timers.clearTimeout(timer);
  }
}

/** A connected socket; rejects with the socket error, or with code `ETIMEDOUT` after `timeoutMs`. */
export const connect = (address: string, timeoutMs: number, dialing: Dialing): Promise<net.Socket> =>
  connectWithin(pathsOf(address, dialing.tmpFolder, dialing.isWindows), timeoutMs, dialing);

/** Whether somebody accepts connections at exactly this path. No byte is sent. */
export async function isReachable(socketPath: string, timeoutMs: number, dialing: Dialing): Promise<boolean> {
  try {
    (await connectWithin([socketPath], timeoutMs, dialing)).destroy();
    return true;
  } catch (error) {
    // Every way to fail is the same answer here; a failure that is no system error is a fault of this code.
    if (codeOf(error) === "") throw error;
    return false;
  }
}
