/**
 * Names of endpoints, and the path or pipe that a name stands for (protocol §2.6, §2.7, Appendix A).
 *
 * Owns: both rules. Does not own: whether anything serves there.
 * Invariants: server and client derive the same paths from the same address, without asking each other.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import path from "node:path";
import process from "node:process";
import type { InstanceId } from "../../../machines/ids.ts";
import { historicalPrefix, socketPathBytesMax } from "../../../machines/wire/constants.ts";

/** The `san` of §2.6: at most 80 characters of `[A-Za-z0-9_.-]`. */
export const sanitised = (text: string): string => text.replace(/[^A-Za-z0-9_.-]/gu, "_").slice(0, 80);

/** Where a profile's endpoints go; `profile` null = the unnamed one, or a folder that is one profile's own. */
export interface EndpointPlace {
  readonly folder: string;
  readonly profile: string | null;
}

export const leaderPath = ({ folder, profile }: EndpointPlace): string =>
  path.join(folder, profile === null ? "bus.sock" : `bus.${sanitised(profile)}.sock`);
export const followerPath = ({ folder, profile }: EndpointPlace, instance: InstanceId): string =>
  path.join(folder, "followers", ...(profile === null ? [] : [sanitised(profile)]), `${sanitised(instance)}.sock`);

const pipePrefix = `\\\\.\\pipe\\${historicalPrefix}-`;

/** Whether an endpoint is a named pipe of Windows. */
export const isPipe = (endpoint: string): boolean => /^\\\\[.?]\\pipe\\/i.test(endpoint);

/** The pipe of a scope (`bus`, `follower-<instance>`) under an agent folder, both as they are given. */
export const pipeName = (agentDir: string, scope: string): string =>
  `${pipePrefix}${createHash("sha256").update(agentDir).digest("base64url").slice(0, 16)}-${sanitised(scope)}`;

const ofProfile = (scope: string, profile: string | null): string =>
  profile === null ? scope : `${scope}-${sanitised(profile)}`;

/** §2.6 on Windows: as v1 peers of this agent folder name them. */
export const leaderPipe = (agentDir: string, profile: string | null): string =>
  pipeName(agentDir, ofProfile("bus", profile));
export const followerPipe = (agentDir: string, profile: string | null, instance: InstanceId): string =>
  pipeName(agentDir, `${ofProfile("follower", profile)}-${sanitised(instance)}`);

/** §2.7 on Windows: the pipe that an address stands for. Resolving twice changes nothing. */
export const resolvedPipe = (address: string): string =>
  isPipe(address) ? address : pipeName(path.win32.dirname(address), path.win32.basename(address));

/** Where endpoints go whose own path is too long, or on a drive that has no sockets. */
export const overflowFolder = (tmpFolder: string): string =>
  path.join(tmpFolder, `${historicalPrefix}-${String(process.getuid?.() ?? "user")}`);

export const overflowPath = (address: string, tmpFolder: string): string =>
  path.join(overflowFolder(tmpFolder), `${createHash("sha256").update(address).digest("hex").slice(0, 16)}.sock`);

/** Whether a path lies in the overflow folder and is named as its entries are. */
export const isOverflowPath = (candidate: string, tmpFolder: string): boolean =>
  path.dirname(candidate) === overflowFolder(tmpFolder) && /^[0-9a-f]{16}\.sock$/.test(path.basename(candidate));

/** §2.7: the path to bind or dial for an address. Resolving twice changes nothing. */
export function resolvedPath(address: string, tmpFolder: string): string {
  if (isOverflowPath(address, tmpFolder) || Buffer.byteLength(address) <= socketPathBytesMax) return address;
  return overflowPath(address, tmpFolder);
}

/**
 * The paths at which an address may be served, in the order to try them: the second one is where a server goes whose
 * drive has no sockets.
 */
export function pathsOf(address: string, tmpFolder: string, isWindows = false): readonly string[] {
  if (isWindows) return [resolvedPipe(address)];
  const first = resolvedPath(address, tmpFolder);
  return isOverflowPath(first, tmpFolder) ? [first] : [first, overflowPath(address, tmpFolder)];
}
