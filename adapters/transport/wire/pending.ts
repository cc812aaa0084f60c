/**
 * Requests of one link that wait for their answers, on any medium.
 *
 * Owns: matching answers to requests by id, and the time-out of each. Does not own: bytes and connections.
 * Invariants:
 *  - each request ends exactly once: answered, lost (time-out or `loseAll`), or notSent (`loseAll` before `markSent`);
 *  - an answer that matches nothing changes nothing but a counter;
 *  - at most `inFlightMax` requests wait.
 */
import { Buffer } from "node:buffer";
import { lineBytesMax } from "../../../machines/wire/constants.ts";
import type { RequestEnvelope } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { Clock, RequestOutcome } from "../../../services/ports.ts";
import type { TransportCounters } from "./counters.ts";
import { encodeEnvelope, parseEnvelope } from "./parse.ts";

export type Timers = Pick<Clock, "setTimeout" | "clearTimeout">;

/** Requests that one link carries at a time; more are `notSent`. */
const inFlightMax = 8192;

/** A UTF-16 unit is at most three bytes, so short lines need no counting. */
const isTooLong = (line: string): boolean => line.length * 3 > lineBytesMax && Buffer.byteLength(line) > lineBytesMax;

interface Waiting {
  readonly resolve: (outcome: RequestOutcome) => void;
  timer: unknown;
  sent: boolean;
}

export class PendingRequests {
  readonly #timers: Timers;
  readonly #counters: TransportCounters;
  readonly #waiting = new Map<string, Waiting>();
  /** Ids that were enqueued and not yet handed to the connection. */
  #unsent: string[] = [];

  constructor(timers: Timers, counters: TransportCounters) {
    this.#timers = timers;
    this.#counters = counters;
  }

  /** Registers a request and hands its line to `enqueue`; the outcome is `notSent` when it cannot be sent at all. */
  add(envelope: RequestEnvelope, timeoutMs: number, enqueue: (line: string) => void): Promise<RequestOutcome> {
    const notSent = (reason: string) => Promise.resolve<RequestOutcome>({ kind: "notSent", reason });
    const id = envelope.requestId;
    if (this.#waiting.has(id)) return notSent("a request with this id is in flight");
    if (this.#waiting.size >= inFlightMax) return notSent("too many requests are in flight");
    let line: string;
    try {
      line = encodeEnvelope(envelope);
    } catch (error) {
      return notSent(`the request cannot be encoded: ${String(error)}`);
    }
    if (isTooLong(line)) return notSent("the request is longer than a line may be");
    return new Promise((resolve) => {
      const waiting: Waiting = { resolve, timer: null, sent: false };
      waiting.timer = this.#timers.setTimeout(
        () => this.#end(id, { kind: "lost", how: "timedOut", reason: wireText.timedOut }),
        timeoutMs,
      );
      this.#waiting.set(id, waiting);
      this.#unsent.push(id);
      enqueue(line);
    });
  }

  /** Everything enqueued so far has been handed to the connection: from here on it may have reached the peer. */
  markSent(): void {
    for (const id of this.#unsent) {
      const waiting = this.#waiting.get(id);
      if (waiting !== undefined) waiting.sent = true;
    }
    this.#unsent = [];
  }

  /** Takes a line from the peer; false when it is no envelope, and then the stream is not to be trusted further. */
  accept(line: string): boolean {
    const envelope = parseEnvelope(line);
    if (envelope === null) {
      this.#counters.count("answer-malformed");
      return false;
    }
    if (envelope.kind !== "bus.ack") this.#counters.count("request-on-link");
    else if (!this.#end(envelope.requestId, { kind: "answered", ack: envelope })) {
      this.#counters.count("answer-unmatched");
    }
    return true;
  }

  /** The connection is gone. */
  loseAll(how: "closed" | "broken", reason: string): void {
    for (const [id, waiting] of [...this.#waiting])
      this.#end(id, waiting.sent ? { kind: "lost", how, reason } : { kind: "notSent", reason });
    this.#unsent = [];
  }

  #end(id: string, outcome: RequestOutcome): boolean {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return false;
    this.#waiting.delete(id);
    this.#timers.clearTimeout(waiting.timer);
    waiting.resolve(outcome);
    return true;
  }
}
