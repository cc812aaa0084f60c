/**
 * Binds a private socket and publishes it under a stable path (protocol §2.8, P-16, P-17).
 *
 * Owns: private sockets, the symlink, permissions, waiting for a legacy peer. Does not own: connections, who may publish.
 * Invariants:
 *  - the stable path is never bound and never unlinked; it changes by one rename, inside the owner's `commit`;
 *  - a failure before the rename leaves the stable path as it was, and nothing else behind;
 *  - the folder is 0700 and the socket 0600 before anyone can find it.
 */
import { randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { chmod, lstat, mkdir, rm, symlink } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import type { Clock, ListenRequest } from "../../../services/ports.ts";
import type { TransportCounters } from "../wire/counters.ts";
import { lostOwnership } from "../wire/ownership.ts";
import { isOverflowPath } from "./address.ts";
import { isReachable, requirePrivateFolder } from "./connect.ts";
import { codeOf } from "./errors.ts";
import type { FrameTap } from "./frame-tap.ts";

const legacyProbeEveryMs = 25;
const legacyProbeTimeoutMs = 50;
const legacyWaitMs = 2000;

export interface PublicationContext {
  readonly clock: Clock;
  readonly tmpFolder: string;
  /** Addresses stand for named pipes. */
  readonly isWindows: boolean;
  readonly pipePlace: (pipe: string) => string;
  readonly counters: TransportCounters;
  readonly tap: FrameTap | null;
}

export interface PublicationRequest {
  readonly stablePath: string;
  readonly publish: ListenRequest["publish"];
  readonly isWanted: () => boolean;
  readonly onConnection: (socket: net.Socket) => void;
}

export interface Publication {
  readonly stablePath: string;
  readonly server: net.Server;
}

/** What is at the path itself, links not followed; null when nothing is. */
export async function lstatOrNull(target: string) {
  try {
    return await lstat(target);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

async function preparedFolder(stablePath: string, tmpFolder: string): Promise<string> {
  const folder = path.dirname(stablePath);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  if (isOverflowPath(stablePath, tmpFolder)) await requirePrivateFolder(folder);
  return folder;
}

/** Step 4: an older peer bound the stable path itself; replacing it while it serves would steal its clients. */
async function waitForLegacyPeer(stablePath: string, { clock, tmpFolder }: PublicationContext): Promise<void> {
  if ((await lstatOrNull(stablePath))?.isSocket() !== true) return;
  const startedMs = clock.elapsedMs();
  while (await isReachable(stablePath, legacyProbeTimeoutMs, { timers: clock, tmpFolder })) {
    if (clock.elapsedMs() - startedMs >= legacyWaitMs) {
      throw new Error(`Timed out waiting for legacy Telegram bus endpoint: ${stablePath}`);
    }
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, legacyProbeEveryMs));
  }
}

/** A server that does not listen yet, and a promise that it does, or why it cannot. */
export function newServer(onConnection: (socket: net.Socket) => void, counters: TransportCounters) {
  const server = net.createServer(onConnection);
  const listening = new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      server.on("error", (error) => counters.count("listener-error", error));
      resolve();
    });
  });
  return { server, listening };
}

/**
 * Steps 2 to 9: a listening server behind `stablePath`. Rejects with `lostOwnership` when `publish` resolves false or does
 * not run its commit; `isWanted` is asked inside the commit, and false there publishes nothing.
 */
export async function bindAndPublish(
  { stablePath, publish, isWanted, onConnection }: PublicationRequest,
  context: PublicationContext,
): Promise<Publication> {
  const folder = await preparedFolder(stablePath, context.tmpFolder);
  const hex = randomBytes(8).toString("hex");
  const privateName = `.pt-${hex}.sock`;
  const privatePath = path.join(folder, privateName);
  const linkPath = `${stablePath}.link.${hex}`;
  await rm(privatePath, { force: true });
  await waitForLegacyPeer(stablePath, context);
  const { server, listening } = newServer(onConnection, context.counters);
  server.listen({ path: privatePath });
  await listening;
  try {
    await chmod(privatePath, 0o600);
    await symlink(privateName, linkPath);
    const published = { times: 0 };
    const isOwner = await publish(() => {
      if (published.times > 0 || !isWanted()) return;
      renameSync(linkPath, stablePath);
      published.times += 1;
    });
    if (!isOwner || published.times === 0) throw new Error(lostOwnership);
    return { stablePath, server };
  } catch (error) {
    server.close();
    if ((await lstatOrNull(linkPath))?.isSymbolicLink() === true) await rm(linkPath, { force: true });
    throw error;
  }
}
