/**
 * The transport over unix sockets, on Windows named pipes, for processes of one host.
 *
 * Owns: wiring of endpoints and links to one folder. Does not own: who may publish (the `publish` of a listen request),
 * authentication (the handler), reconnecting.
 */
import os from "node:os";
import process from "node:process";
import type { Clock, Transport } from "../../../services/ports.ts";
import type { TransportCounters } from "../wire/counters.ts";
import { followerPath, followerPipe, leaderPath, leaderPipe } from "./address.ts";
import { connect } from "./connect.ts";
import { UnixEndpoint } from "./endpoint.ts";
import { tapOf, type FrameTap } from "./frame-tap.ts";
import { UnixLink } from "./link.ts";

export interface UnixTransportOptions {
  /** Where the sockets of this profile go; absolute. Created and made private (0700) when something is served. */
  readonly folder: string;
  /** Profile that shares the folder with others, as v1 peers do; null = the folder is this profile's own. Default null. */
  readonly profile?: string | null;
  readonly clock: Clock;
  readonly counters: TransportCounters;
  /** Where overlong paths go, and those on drives without sockets. Default: the system's; peers must agree on it. */
  readonly tmpFolder?: string;
  /** The v1 agent folder by which pipes are named on Windows; null = the addresses in `folder` name them. Default null. */
  readonly agentDir?: string | null;
  /** Whether addresses stand for named pipes. Default: on Windows. */
  readonly isWindows?: boolean;
  /** Where a pipe is on this host; for tests where there are no pipes. Default: at its name. */
  readonly pipePlace?: (pipe: string) => string;
  /** Where the leader serves; absolute. Default: `bus.sock` in the folder, or the pipe of it. */
  readonly leaderAddress?: string;
  /** Sees every line that passes, for showing an exchange. Default: nobody looks. */
  readonly tap?: FrameTap;
}

export function createUnixTransport({
  folder,
  profile = null,
  clock,
  counters,
  tmpFolder = os.tmpdir(),
  agentDir = null,
  isWindows = process.platform === "win32",
  pipePlace = (pipe) => pipe,
  leaderAddress = isWindows && agentDir !== null ? leaderPipe(agentDir, profile) : leaderPath({ folder, profile }),
  tap,
}: UnixTransportOptions): Transport {
  const context = { clock, tmpFolder, isWindows, pipePlace, counters, tap: tap ?? null };
  const place = { folder, profile };
  return {
    leaderAddress,
    followerAddress: (instance) =>
      isWindows && agentDir !== null ? followerPipe(agentDir, profile, instance) : followerPath(place, instance),
    async listen(request) {
      const endpoint = new UnixEndpoint(request, context);
      await endpoint.start();
      return endpoint;
    },
    async dial(address, timeoutMs) {
      const socket = await connect(address, timeoutMs, { timers: clock, tmpFolder, isWindows, pipePlace });
      return new UnixLink(socket, { timers: clock, counters, tap: tapOf(context.tap, address, "client") });
    },
  };
}
