/**
 * An in-memory connection: a link at the dialling end, an inbound at the serving one.
 *
 * Owns: both ends and what travels between them, as encoded lines, so that both sides parse what real peers parse.
 * Does not own: the fate of a frame (network.ts), answers (wire/answering.ts), matching (wire/pending.ts).
 * Invariants: an end that closed sends and receives nothing more; the other end learns of it after everything that was
 * sent before.
 */
import type { RequestEnvelope } from "../../../machines/wire/envelopes.ts";
import type { Inbound, Link, RequestOutcome } from "../../../services/ports.ts";
import type { Answering } from "../wire/answering.ts";
import type { TransportCounters } from "../wire/counters.ts";
import { PendingRequests, type Timers } from "../wire/pending.ts";
import { Channel } from "./channel.ts";

export interface Frame {
  readonly from: string;
  readonly to: string;
  readonly kind: "request" | "answer";
  /** The encoded envelope with its LF. */
  readonly line: string;
}

export type Fate =
  { readonly kind: "deliver" | "drop" | "duplicate" } | { readonly kind: "delay"; readonly delayMs: number };

export interface ConnectionWorld {
  readonly timers: Timers;
  readonly counters: TransportCounters;
  readonly schedule: (deliver: () => void) => void;
  fateOf(frame: Frame): Fate;
  isPartitioned(a: string, b: string): boolean;
  /** Both ends are closed: the connection is over. */
  forget(connection: MemoryConnection): void;
}

/** A promise that resolves when `resolve` is called, and whether it was. */
class Closing {
  readonly promise: Promise<void>;
  isClosed = false;
  #resolve: () => void = () => {};

  constructor() {
    this.promise = new Promise((resolve) => (this.#resolve = resolve));
  }

  close(): void {
    this.isClosed = true;
    this.#resolve();
  }
}

export class MemoryConnection {
  readonly client: string;
  readonly server: string;
  readonly link: Link;
  readonly #world: ConnectionWorld;
  readonly #answering: Answering;
  readonly #pending: PendingRequests;
  readonly #clientEnd = new Closing();
  readonly #serverEnd = new Closing();
  readonly #inbound: Inbound = { closed: this.#serverEnd.promise };
  readonly #toServer: Channel;
  readonly #toClient: Channel;

  constructor(ends: { client: string; server: string; answering: Answering }, world: ConnectionWorld) {
    this.client = ends.client;
    this.server = ends.server;
    this.#answering = ends.answering;
    this.#world = world;
    this.#pending = new PendingRequests(world.timers, world.counters);
    this.#toServer = new Channel(world.schedule);
    this.#toClient = new Channel(world.schedule);
    this.link = {
      request: (envelope, timeoutMs) => this.#request(envelope, timeoutMs),
      closed: this.#clientEnd.promise,
      close: () => this.closeClient(),
    };
  }

  closeClient(): void {
    if (this.#clientEnd.isClosed) return;
    this.#clientEnd.close();
    this.#pending.loseAll("closed", "the connection closed");
    this.announceCloses();
  }

  closeServer(): void {
    if (this.#serverEnd.isClosed) return;
    this.#serverEnd.close();
    this.announceCloses();
  }

  /** Tells an end that is open of one that is closed, unless a partition is between them; again after it healed. */
  announceCloses(): void {
    const [client, server] = [this.#clientEnd.isClosed, this.#serverEnd.isClosed];
    if (client && server) this.#world.forget(this);
    else if (this.#world.isPartitioned(this.client, this.server)) return;
    else if (client) this.#toServer.push(() => this.closeServer());
    else if (server) this.#toClient.push(() => this.closeClient());
  }

  #request(envelope: RequestEnvelope, timeoutMs: number): Promise<RequestOutcome> {
    if (this.#clientEnd.isClosed) return Promise.resolve({ kind: "notSent", reason: "the connection is closed" });
    return this.#pending.add(envelope, timeoutMs, (line) => {
      this.#pending.markSent();
      this.#send(this.#toServer, { from: this.client, to: this.server, kind: "request", line }, () =>
        this.#serve(line),
      );
    });
  }

  #serve(line: string): void {
    if (this.#serverEnd.isClosed) return;
    const answer = this.#answering.answer(line.slice(0, -1), this.#inbound);
    void Promise.resolve(answer).then((text) => {
      if (this.#serverEnd.isClosed) return;
      this.#send(this.#toClient, { from: this.server, to: this.client, kind: "answer", line: text }, () => {
        if (!this.#clientEnd.isClosed && !this.#pending.accept(text.slice(0, -1))) this.closeClient();
      });
    });
  }

  #send(channel: Channel, frame: Frame, arrive: () => void): void {
    if (this.#world.isPartitioned(frame.from, frame.to)) return;
    const fate = this.#world.fateOf(frame);
    switch (fate.kind) {
      case "drop":
        return;
      case "duplicate":
        channel.push(arrive);
        channel.push(arrive);
        return;
      case "delay":
        channel.push(arrive, (then) => void this.#world.timers.setTimeout(then, fate.delayMs));
        return;
      case "deliver":
        channel.push(arrive);
    }
  }
}
