/**
 * The leader's connections to its followers' endpoints.
 *
 * Owns: dialling; one pipelined connection for each seat of our own peers, kept as long as they sit; one connection for
 * each request to a v1 peer, whose connections end by themselves and say nothing about it.
 * Does not own: what a closed connection means (the seat's chart), the envelopes but the one that tells of a thread.
 */
import type { Generation, SeatKey, ThreadTarget } from "../machines/ids.ts";
import type { Sitter } from "../machines/registration.machine.ts";
import { capability, timeoutMs } from "../machines/wire/constants.ts";
import type { LeaderToFollower } from "../machines/wire/envelopes.ts";
import type { Link, RequestOutcome, Transport } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

const dialTimeoutMs = 1_000;

/** Whether the end of a connection says something about this peer. */
export const isTied = ({ capabilities }: Pick<Sitter, "capabilities">): boolean =>
  capabilities.includes(capability.sharedStore);

interface Watched {
  readonly sitter: Sitter;
  /** Kept open; null for peers that are dialled for each request. */
  readonly link: Promise<Link | null> | null;
}

export class FollowerLinks {
  private readonly watched = new Map<SeatKey, Watched>();
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Connects to the one who sits; `onClosed` runs once, when that connection is gone or could not be made. */
  watch(seat: SeatKey, sitter: Sitter, onClosed: () => void): () => void {
    let isWatching = true;
    const link = isTied(sitter) ? this.dial(sitter.endpoint) : null;
    const mine: Watched = { sitter, link };
    this.watched.set(seat, mine);
    const report = (): void => {
      if (isWatching) onClosed();
    };
    void link?.then((opened) => {
      if (opened === null) report();
      else void opened.closed.then(report);
    });
    return () => {
      isWatching = false;
      if (this.watched.get(seat) === mine) this.watched.delete(seat);
      void link?.then((opened) => opened?.close());
    };
  }

  /** Sends to exactly this registration; `notSent` when there is no way to it (yet). */
  async request(
    to: { readonly seat: SeatKey; readonly generation: Generation },
    envelope: LeaderToFollower,
    timeoutMs: number,
  ): Promise<RequestOutcome> {
    const found = this.watched.get(to.seat);
    if (found?.sitter.generation !== to.generation)
      return { kind: "notSent", reason: "the follower is not connected (any more)" };
    const link = await (found.link ?? this.dial(found.sitter.endpoint));
    if (link === null) return { kind: "notSent", reason: "nobody answers at the follower's address" };
    const outcome = await link.request(envelope, timeoutMs);
    if (found.link === null) link.close();
    return outcome;
  }

  private async dial(address: string): Promise<Link | null> {
    try {
      return await this.transport.dial(address, dialTimeoutMs);
    } catch {
      // Nobody there: the caller learns it as a connection that is gone, and its chart looks at the process.
      return null;
    }
  }
}

export interface NewsOfThread {
  readonly seat: SeatKey;
  readonly sitter: Sitter;
  readonly from: ThreadTarget;
  readonly to: ThreadTarget;
}

/** `refused` is the holder's own word; after `lost` it may believe in either thread. */
export type Told = { readonly kind: "told" } | { readonly kind: "refused" | "lost"; readonly reason: string };

/** Tells a seat's holder which thread it has, or shall have (protocol §6.15). */
export async function tellOfThread(
  { ports, settings }: Runtime,
  links: FollowerLinks,
  { seat, sitter: { instanceId, generation }, from, to }: NewsOfThread,
): Promise<Told> {
  const outcome = await links.request(
    { seat, generation },
    {
      kind: "leader.replaceFollowerTarget",
      requestId: ports.ids.requestId(settings.me),
      auth: settings.secret,
      recipientInstanceId: instanceId,
      recipientRegistrationGeneration: generation,
      target: to,
      oldTarget: from,
      reason: "thread-restore",
      sentAtMs: ports.stage.clock.nowMs(),
    },
    timeoutMs.forward,
  );
  if (outcome.kind !== "answered") return { kind: "lost", reason: outcome.reason };
  if (outcome.ack.ok) return { kind: "told" };
  return { kind: "refused", reason: outcome.ack.message ?? "refused without a reason" };
}
