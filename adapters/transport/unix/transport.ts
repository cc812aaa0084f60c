/**
 * The transport over unix sockets, for processes of one host.
 *
 * Owns: wiring of endpoints and links to one folder. Does not own: who may publish (the `publish` of a listen request),
 * authentication (the handler), reconnecting.
 */
import os from "node:os";
import type { Clock, Transport } from "../../../services/ports.ts";
import type { TransportCounters } from "../wire/counters.ts";
import { followerPath, leaderPath } from "./address.ts";
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
  /** Where the leader serves; absolute. Default: `bus.sock` in the folder. */
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
  leaderAddress = leaderPath({ folder, profile }),
  tap,
}: UnixTransportOptions): Transport {
  const context = { clock, tmpFolder, counters, tap: tap ?? null };
  const place = { folder, profile };
  return {
    leaderAddress,
    followerAddress: (instance) => followerPath(place, instance),
    async listen(request) {
      const endpoint = new UnixEndpoint(request, context);
      await endpoint.start();
      return endpoint;
    },
    async dial(address, timeoutMs) {
      const socket = await connect(address, timeoutMs, { timers: clock, tmpFolder });
      return new UnixLink(socket, { timers: clock, counters, tap: tapOf(context.tap, address, "client") });
    },
  };
}
