/**
 * Literal constants of the v1 wire protocol. Every value is exact: deployed peers compare them byte for byte.
 */

/** Historical prefix of the protocol: the two letters `pi` and the nine characters `-telegram`. */
export const historicalPrefix = "pi-telegram";

export const protocolVersion = 1;

export const capability = {
  durableAdmission: "durable-follower-admission-v1",
  queueHandoff: "queue-handoff-v1",
  /** Ours alone: the peer shares this profile's store, so a claim on the journal row is the durable receipt. */
  sharedStore: "partyline-store-v1",
} as const;

export const deliveryIdPrefix = "telegram-follower-v1-";
/** Field that every forwarded carrier holds: the `update_id` it came from. */
export const sourceUpdateIdField = "pi_telegram_source_update_id";
/** Field of a message that another agent sent: the thread name it came from. */
export const agentSourceThreadField = "pi_telegram_agent_source_thread";
export const aggregateDeliveryMarker = "__piTelegramAggregateDelivery";
export const crossTargetDeliveryMarker = "__piTelegramCrossTargetDelivery";

/** Capacity of a server's request ledger, in entries. */
export const requestLedgerEntriesMax = 4096;

/** Requests of one connection that a server of ours runs at a time; it reads no further until one of them is answered. */
export const requestsInFlightMax = 256;
/** Longest unix socket path bound as it is, in bytes; longer ones move to the overflow folder. */
export const socketPathBytesMax = 80;
/** Longest handoff payload, in bytes of compact JSON. */
export const handoffPayloadBytesMax = 8_388_608;
/** Longest line a reader accepts, in bytes; a peer that sends more is cut off (protocol O-24). */
export const lineBytesMax = 16 * 1024 * 1024;

export const timeoutMs = {
  registration: 30_000,
  disconnect: 30_000,
  call: 30_000,
  heartbeat: 1_000,
  forward: 30_000,
  /** A handoff's hop to its recipient: below what the donor waits for the leader (protocol O-2). */
  handoffHop: 20_000,
  probe: 250,
} as const;

/** Identity of each end: `{ protocolVersion, runtimeBuild, capabilities }`, capabilities ascending by code unit. */
export interface ProtocolIdentity {
  readonly protocolVersion: number;
  readonly runtimeBuild: string;
  readonly capabilities: readonly string[];
}

export type Incompatibility = "missing-identity" | "version-mismatch" | "missing-capability";

/** First failing rule of protocol §2.11, or `null` when the two can talk. `runtimeBuild` never matters. */
export function incompatibilityOf(
  local: ProtocolIdentity,
  remote: ProtocolIdentity | undefined,
): Incompatibility | null {
  if (remote === undefined) return "missing-identity";
  if (remote.protocolVersion !== local.protocolVersion) return "version-mismatch";
  const needed = capability.durableAdmission;
  if (local.capabilities.includes(needed) && !remote.capabilities.includes(needed)) return "missing-capability";
  return null;
}
