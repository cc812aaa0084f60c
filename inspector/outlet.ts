/**
 * Where frames of one client go.
 *
 * Owns: the shape that client bookkeeping needs of a connection, and joining many small frames into few messages.
 * Does not own: the connection's life.
 */
import type { Socket } from "node:net";
import type { WebSocket } from "ws";

export interface Outlet {
  readonly isOpen: boolean;
  /** Bytes (or characters) handed over and not yet on their way. */
  readonly bufferedBytes: number;
  /** `done` runs when the frame has left this process, or could not. */
  send(text: string, done: (error?: Error | null) => void): void;
}

/** One frame, one WebSocket message. */
export const webSocketOutlet = (socket: WebSocket): Outlet => ({
  get isOpen() {
    return socket.readyState === socket.OPEN;
  },
  get bufferedBytes() {
    return socket.bufferedAmount;
  },
  send: (text, done) => socket.send(text, done),
});

/** One frame, one line. */
export const lineOutlet = (socket: Socket): Outlet => ({
  get isOpen() {
    return socket.writable;
  },
  get bufferedBytes() {
    return socket.writableLength;
  },
  send: (text, done) => void socket.write(`${text}\n`, done),
});

/** A viewer refreshes ten times a second at most. */
const batchEveryMs = 40;
const batchCharsMax = 131_072;

/** Frames joined by line feeds, sent when enough of them wait or the time has come. */
export class BatchingOutlet implements Outlet {
  readonly #inner: Outlet;
  #waiting: string[] = [];
  #chars = 0;
  #dones: ((error?: Error | null) => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(inner: Outlet) {
    this.#inner = inner;
  }

  get isOpen(): boolean {
    return this.#inner.isOpen;
  }

  get bufferedBytes(): number {
    return this.#inner.bufferedBytes + this.#chars;
  }

  send(text: string, done: (error?: Error | null) => void): void {
    this.#waiting.push(text);
    this.#dones.push(done);
    this.#chars += text.length;
    if (this.#chars >= batchCharsMax) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), batchEveryMs).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    const dones = this.#dones;
    this.#waiting = [];
    this.#dones = [];
    this.#chars = 0;
    this.#inner.send(waiting.join("\n"), (error) => {
      for (const done of dones) done(error);
    });
  }
}
