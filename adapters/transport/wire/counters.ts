/**
 * What a transport counts: everything that went wrong and was dealt with.
 *
 * Owns: the list of reasons. Does not own: where counts are kept.
 */

export type TransportCount =
  /** A line that is no envelope; it was answered. */
  | "line-malformed"
  /** A line longer than allowed; its connection was destroyed. */
  | "line-too-long"
  /** A connection that stopped in the middle of a line for too long; destroyed. */
  | "connection-stalled"
  /** A connection beyond the maximum; refused. */
  | "connection-excess"
  /** An error of one connection; its close follows. */
  | "connection-error"
  /** Reading from a connection was suspended until its answers drain. */
  | "connection-paused"
  /** An error of a listener that was already serving. */
  | "listener-error"
  /** A published address was gone; it is being served anew. */
  | "endpoint-missing"
  /** It is back. */
  | "endpoint-recovered"
  | "handler-failed"
  | "request-repeated"
  | "request-id-collision"
  | "ledger-full"
  /** An answer that matches no request in flight: late, or never ours. */
  | "answer-unmatched"
  /** A line on a link that is no envelope; the link was destroyed. */
  | "answer-malformed"
  /** A request that arrived on a link, where only answers belong; ignored. */
  | "request-on-link"
  /** A private socket or link of a process that is gone; removed. */
  | "leftover-removed"
  /** A removal of a leftover that failed; harmless. */
  | "leftover-kept";

export interface TransportCounters {
  /** Must not throw. `cause` may hold anything a peer or a handler said: redact it before it is shown. */
  count(reason: TransportCount, cause?: unknown): void;
}
