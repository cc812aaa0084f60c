/** What is spoken between processes: an endpoint that answers, a link that asks. */
import type { InstanceId } from "../../machines/ids.ts";
import type { Ack, Envelope, RequestEnvelope } from "../../machines/wire/envelopes.ts";

export type RequestOutcome =
  | { readonly kind: "answered"; readonly ack: Ack }
  /** No byte left: safe to repeat. */
  | { readonly kind: "notSent"; readonly reason: string }
  /**
   * Sent, and no answer came: the peer may have acted. `timedOut`: it did not answer in time; `closed`: it ended the
   * connection, or said something that is no answer; `broken`: the connection failed.
   */
  | { readonly kind: "lost"; readonly how: LossOfAnswer; readonly reason: string };

export type LossOfAnswer = "timedOut" | "closed" | "broken";

/** One pipelined connection to a peer. Answers arrive in completion order and are matched by `requestId`. */
export interface Link {
  request(envelope: RequestEnvelope, timeoutMs: number): Promise<RequestOutcome>;
  /** Resolves once, when the connection is gone for whatever reason. A hint to look at the peer, never a proof. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Where a request came in: which connection, so that its end can be tied to the peer that spoke on it. */
export interface Inbound {
  readonly closed: Promise<void>;
}

export interface Endpoint {
  /** The address peers dial, unresolved. */
  readonly address: string;
  /** Binds again if the published address has vanished; true when it did. */
  ensure(): Promise<boolean>;
  /** Destroys all connections and stops listening. Never touches a successor's address. */
  close(): Promise<void>;
}

/** Answers whatever parses, an ack that somebody sent as a request included. Rejecting answers "handler failed". */
export type RequestHandler = (request: Envelope, from: Inbound) => Promise<Ack>;

export interface ListenRequest {
  readonly address: string;
  readonly handle: RequestHandler;
  /** Publishes the address by running `commit` where ownership is certain; resolves false = ownership was lost. */
  readonly publish: (commit: () => void) => Promise<boolean>;
}

export interface Transport {
  readonly leaderAddress: string;
  followerAddress(instance: InstanceId): string;
  /** Serves requests at an address. Rejects when the address cannot be bound or publication lost ownership. */
  listen(request: ListenRequest): Promise<Endpoint>;
  /** Connects; rejects when nobody serves there within `timeoutMs`. */
  dial(address: string, timeoutMs: number): Promise<Link>;
}
