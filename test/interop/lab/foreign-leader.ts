/**
 * Stands in the store for a leader that only speaks the wire.
 *
 * Our follower shares a store with the leader it follows. A foreign leader has no part in ours, so this writes there what
 * ours would have written: the lease that names its address and secret, our registration once it acknowledged one, and each
 * update before it is forwarded to us. What goes over the wire is untouched.
 */
import { epoch, instanceId, type Epoch, type Incarnation } from "../../../machines/ids.ts";
import { laneOf, readUpdate } from "../../../machines/updates.rules.ts";
import { sourceUpdateIdField } from "../../../machines/wire/constants.ts";
import type { AnyForwardRequest, Envelope, RegisterRequest } from "../../../machines/wire/envelopes.ts";
import type { Link, Store, Transport } from "../../../services/ports.ts";
import type { Ports } from "../../../services/runtime.ts";

const carried: Readonly<Record<AnyForwardRequest["kind"], string>> = {
  "leader.forwardMessage": "message",
  "leader.forwardEditedMessage": "edited_message",
  "leader.forwardCallback": "callback_query",
  "leader.forwardReaction": "message_reaction",
};

const isForward = (request: Envelope): request is AnyForwardRequest => request.kind in carried;

/** The update that a forward carries, as Telegram gave it. */
export function updateOf(request: AnyForwardRequest): Readonly<Record<string, unknown>> {
  const carrier: unknown =
    request.kind === "leader.forwardCallback"
      ? request.query
      : request.kind === "leader.forwardReaction"
        ? request.reactionUpdate
        : request.message;
  const fields = Object.entries(typeof carrier === "object" && carrier !== null ? carrier : {});
  return {
    update_id: request.delivery.sourceUpdateId,
    [carried[request.kind]]: Object.fromEntries(fields.filter(([key]) => key !== sourceUpdateIdField)),
  };
}

export class ForeignLeader {
  private readonly store: Store;
  private readonly epoch: Epoch;

  private constructor(store: Store, granted: Epoch) {
    this.store = store;
    this.epoch = granted;
  }

  /** Gives the lease to whoever serves at `endpoint`, for longer than any session. */
  static async lead(
    store: Store,
    at: { readonly endpoint: string; readonly secret: string; readonly incarnation: Incarnation },
  ): Promise<ForeignLeader> {
    const granted = await store.lease.acquire({
      me: { ...at, instanceId: instanceId("foreign:leader") },
      expected: { epoch: epoch(0), renewals: 0 },
      evidence: "vacant",
      durationMs: 10 * 24 * 60 * 60_000,
    });
    if (granted.kind !== "granted") throw new Error("the store has a leader already");
    return new ForeignLeader(store, granted.record.epoch);
  }

  /** The ports of a follower of this leader. */
  readonly around = ({ store, transport }: Pick<Ports, "store" | "transport">): Pick<Ports, "store" | "transport"> => ({
    store,
    transport: {
      ...transport,
      listen: (request) =>
        transport.listen({
          ...request,
          handle: async (envelope, from) => {
            if (isForward(envelope)) await this.admit(envelope);
            return request.handle(envelope, from);
          },
        }),
      dial: async (address, timeoutMs) => this.watched(await transport.dial(address, timeoutMs)),
    } satisfies Transport,
  });

  private watched(link: Link): Link {
    return {
      closed: link.closed,
      close: () => link.close(),
      request: async (envelope, timeoutMs) => {
        const outcome = await link.request(envelope, timeoutMs);
        if (envelope.kind === "follower.register" && outcome.kind === "answered" && outcome.ack.ok)
          await this.register(envelope);
        return outcome;
      },
    };
  }

  private async register({ registration }: RegisterRequest): Promise<void> {
    const { profileKey, registrationGeneration, instanceId: who, connectedAtMs } = registration;
    if (profileKey === undefined || registrationGeneration === undefined) throw new Error("our own word lacks a field");
    await this.store.registrations.commit({
      epoch: this.epoch,
      registration: {
        seat: profileKey,
        instanceId: who,
        generation: registrationGeneration,
        incarnation: null,
        thread: null,
        atMs: connectedAtMs,
        threadGraceMs: null,
      },
    });
  }

  private async admit(request: AnyForwardRequest): Promise<void> {
    const update = updateOf(request);
    const facts = readUpdate(update);
    if (facts === null) return;
    const { sourceUpdateId } = request.delivery;
    await this.store.journal.admit({
      epoch: this.epoch,
      updates: [{ updateId: sourceUpdateId, lane: laneOf(facts), body: JSON.stringify(update) }],
      cursor: sourceUpdateId,
      nowMs: request.sentAtMs,
    });
  }
}
