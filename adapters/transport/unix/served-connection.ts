/**
 * The server's end of one connection (protocol §2.2).
 *
 * Owns: its socket, its unfinished line, the order and batching of its answers, and its pressure.
 * Does not own: what a line is answered (wire/answering.ts).
 * Invariants:
 *  - lines are started at once and concurrently; answers leave in completion order (W-6);
 *  - while `requestsInFlightMax` requests, or `inFlightLengthMax` of them, run or `unreadBytesMax` of answers are unread, nothing is read: one greedy peer costs a
 *    bounded amount of memory and no other peer notices;
 *  - answers of one turn of the event loop leave in one write;
 *  - after the peer's FIN nothing is written (W-8).
 */
import type { Buffer } from "node:buffer";
import type net from "node:net";
import process from "node:process";
import { lineBytesMax, requestsInFlightMax } from "../../../machines/wire/constants.ts";
import type { Inbound } from "../../../services/ports.ts";
import type { Answering } from "../wire/answering.ts";
import type { TransportCounters } from "../wire/counters.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import type { Timers } from "../wire/pending.ts";
import type { LineTap } from "./frame-tap.ts";

/** Of all requests in flight, in UTF-16 units; the one that exceeds it still runs. */
const inFlightLengthMax = 32 * 1024 * 1024;
const unreadBytesMax = 1024 * 1024;
/** A peer may be silent for ever between lines, but not in the middle of one. */
const stallMs = 60_000;

export interface ServingContext {
  readonly answering: Answering;
  readonly counters: TransportCounters;
  readonly timers: Timers;
  readonly tap: LineTap | null;
}

export class ServedConnection implements Inbound {
  readonly closed: Promise<void>;
  readonly #socket: net.Socket;
  readonly #context: ServingContext;
  readonly #splitter = new LineSplitter(lineBytesMax);
  #inFlight = 0;
  #inFlightLength = 0;
  #outbox = "";
  #stallTimer: unknown = null;

  constructor(socket: net.Socket, context: ServingContext) {
    this.#socket = socket;
    this.#context = context;
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#disarm();
        resolve();
      });
    });
    socket.on("error", (error) => context.counters.count("connection-error", error));
    socket.on("end", () => socket.destroy());
    socket.on("drain", () => this.#relieve());
    socket.on("data", (chunk) => this.#read(chunk));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#disarm();
    const lines = this.#splitter.push(chunk);
    if (lines === null) {
      this.#context.counters.count("line-too-long");
      this.#socket.destroy();
      return;
    }
    for (const line of lines) this.#start(line);
    if (!this.#isPressed()) {
      this.#arm();
    } else if (!this.#socket.isPaused()) {
      this.#context.counters.count("connection-paused");
      this.#socket.pause();
    }
  }

  #start(line: string): void {
    this.#context.tap?.("in", line);
    const answer = this.#context.answering.answer(line, this);
    if (typeof answer === "string") {
      this.#enqueue(answer);
      return;
    }
    this.#inFlight += 1;
    this.#inFlightLength += line.length;
    void answer.then((text) => {
      this.#inFlight -= 1;
      this.#inFlightLength -= line.length;
      this.#enqueue(text);
    });
  }

  #enqueue(answer: string): void {
    // The tick queue runs after all microtasks of this turn: what they answer leaves together.
    if (this.#outbox === "") process.nextTick(() => this.#flush());
    this.#outbox += answer;
    this.#context.tap?.("out", answer);
  }

  #flush(): void {
    const text = this.#outbox;
    this.#outbox = "";
    if (!this.#socket.writable) return;
    this.#socket.write(text);
    this.#relieve();
  }

  #isPressed(): boolean {
    return (
      this.#inFlight >= requestsInFlightMax ||
      this.#inFlightLength > inFlightLengthMax ||
      this.#socket.writableLength + this.#outbox.length > unreadBytesMax
    );
  }

  #relieve(): void {
    if (!this.#socket.isPaused() || this.#isPressed()) return;
    this.#socket.resume();
    this.#arm();
  }

  /** Runs only while we read: what we do not read is not the peer's stall. */
  #arm(): void {
    if (!this.#splitter.isMidLine || this.#socket.destroyed) return;
    this.#stallTimer = this.#context.timers.setTimeout(() => {
      this.#context.counters.count("connection-stalled");
      this.#socket.destroy();
    }, stallMs);
  }

  #disarm(): void {
    if (this.#stallTimer !== null) this.#context.timers.clearTimeout(this.#stallTimer);
    this.#stallTimer = null;
  }
}
