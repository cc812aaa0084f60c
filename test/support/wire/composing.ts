/**
 * What instances that tests compose have in common: settings that nothing waits for, and a host that only takes updates.
 *
 * Does not own: the ports, which are what such a test is about.
 */
import { defaultLeaseTimings } from "../../../machines/lease.rules.ts";
import { defaultMembershipTimings } from "../../../machines/membership.machine.ts";
import { defaultSeatTimings } from "../../../machines/registration.machine.ts";
import type { Host } from "../../../services/instance.ts";
import type { HandedUpdate } from "../../../services/queue.ts";
import { defaultSeatsMax } from "../../../services/seats.ts";

export const plainSettings = {
  ack: "auto",
  host: "updates",
  lease: defaultLeaseTimings,
  seats: defaultSeatTimings,
  membership: defaultMembershipTimings,
  pollSeconds: 25,
  threadGraceMs: 600_000,
  unprovableAfterMs: null,
  lostThreads: "replace",
  closedThreads: "wait",
  seatsMax: defaultSeatsMax,
} as const;

export const hostOf = (
  onUpdate: (update: HandedUpdate) => void,
  isSecret: Host["isSecret"] = (given, expected) => given === expected,
): Host => ({
  handOut(update) {
    onUpdate(update);
    return Promise.resolve();
  },
  runTurn: () => Promise.resolve(),
  commandDone: () => undefined,
  drained: () => Promise.resolve(),
  isSecret,
});
