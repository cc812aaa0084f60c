/**
 * What a leader's desk for messages between agents can be asked.
 *
 * Owns: the contract. Does not own: how it is kept (`agents.ts`).
 */
import type { AgentMessage } from "../machines/agents.rules.ts";
import type { BoundThread, InstanceId } from "../machines/ids.ts";
import type { AgentSelector } from "../machines/wire/envelopes.ts";

/** Somebody with a thread, as the wire tells of them: a leader's own target comes without slot and name. */
export interface LiveAgent {
  readonly thread: BoundThread;
  readonly isLeader: boolean;
}

export interface RouteRequest {
  readonly sender: InstanceId;
  readonly from: BoundThread;
  readonly requestId: string;
  readonly message: AgentMessage;
}

export type RouteAnswer =
  | { readonly kind: "routed" }
  /** Nobody live has that thread any more, or it is the sender's own. */
  | { readonly kind: "gone" }
  /** Not admitted; asking again may help. */
  | { readonly kind: "failed"; readonly reason: string };

export interface Desk {
  /** Null when the selector means nobody, several, or the one who asks. */
  resolve(by: BoundThread, selector: AgentSelector): LiveAgent | null;
  /** Resolves once the message is on disk. Rejects only when the store did not answer. */
  route(request: RouteRequest): Promise<RouteAnswer>;
}
