/**
 * The client's end of a persistent, pipelined connection.
 *
 * Owns: its socket, batching of requests, and what a broken stream means for what is in flight.
 * Does not own: matching and time-outs (wire/pending.ts), reconnecting (whoever dialled).
 * Invariants:
 *  - `notSent` only when no byte of the request was handed to the socket;
 *  - a line that is no envelope destroys the link, and everything in flight is lost: a peer that breaks framing once
 *    cannot be matched to requests again. The "malformed" answer of W-9 is an envelope with an id that is not ours: it
 *    is counted and ignored, and the request that it meant runs into its time-out;
 *  - requests of one turn of the event loop leave in one write.
 */
import type net from "node:net";
import process from "node:process";
import { lineBytesMax } from "../../../machines/wire/constants.ts";
import type { RequestEnvelope } from "../../../machines/wire/envelopes.ts";
import type { Link, RequestOutcome } from "../../../services/ports.ts";
import type { TransportCounters } from "../wire/counters.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import { PendingRequests, type Timers } from "../wire/pending.ts";
import type { LineTap } from "./frame-tap.ts";

/** Beyond this the peer is not reading: further requests are `notSent`. */
const unsentBytesMax = 64 * 1024 * 1024;

export interface LinkContext {
  readonly timers: Timers;
  readonly counters: TransportCounters;
  readonly tap: LineTap | null;
}

export class UnixLink implements Link {
  readonly closed: Promise<void>;
  readonly #socket: net.Socket;
  readonly #counters: TransportCounters;
  readonly #tap: LineTap | null;
  readonly #pending: PendingRequests;
  readonly #splitter = new LineSplitter(lineBytesMax);
  #outbox = "";

  /** Takes a socket that is connected already. */
  constructor(socket: net.Socket, { timers, counters, tap }: LinkContext) {
    this.#socket = socket;
    this.#counters = counters;
    this.#tap = tap;
    this.#pending = new PendingRequests(timers, counters);
    this.closed = new Promise((resolve) => {
      const end = (isBroken: boolean) => {
        this.#pending.loseAll(isBroken ? "broken" : "closed", "the connection closed");
        resolve();
      };
      if (socket.closed) end(false);
      else socket.on("close", end);
    });
    socket.on("error", (error) => counters.count("connection-error", error));
    socket.on("end", () => socket.destroy());
    socket.on("data", (chunk) => this.#read(chunk));
  }

  request(envelope: RequestEnvelope, timeoutMs: number): Promise<RequestOutcome> {
    if (!this.#socket.writable) return Promise.resolve({ kind: "notSent", reason: "the connection is closed" });
    if (this.#socket.writableLength + this.#outbox.length > unsentBytesMax) {
      return Promise.resolve({ kind: "notSent", reason: "the peer does not read" });
    }
    return this.#pending.add(envelope, timeoutMs, (line) => {
      // The tick queue runs after all microtasks of this turn: what they request leaves together.
      if (this.#outbox === "") process.nextTick(() => this.#flush());
      this.#outbox += line;
      this.#tap?.("out", line);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #flush(): void {
    const text = this.#outbox;
    this.#outbox = "";
    // Not writable: its close is on the way, and says `notSent` for these.
    if (!this.#socket.writable) return;
    this.#pending.markSent();
    this.#socket.write(text);
  }

  #read(chunk: Buffer): void {
    const lines = this.#splitter.push(chunk);
    if (lines === null) this.#counters.count("line-too-long");
    if (this.#tap !== null) for (const line of lines ?? []) this.#tap("in", line);
    if (lines?.every((line) => this.#pending.accept(line)) !== true) this.#socket.destroy();
  }
}
