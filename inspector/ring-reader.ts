/**
 * Takes one client through a ring: what is kept first, then what comes.
 *
 * Owns: how far the client is, joining frames into messages, not sending faster than it reads.
 * Does not own: the ring.
 *
 * Invariants: nothing is queued for the client beyond `bufferedMax` and one message. Frames that left the ring before the
 * client got to them are told as `dropped`.
 */
import { protocolName, protocolVersion } from "./frames.ts";
import type { Outlet } from "./outlet.ts";
import type { Ring } from "./ring.ts";

const everyMs = 40;
const messageCharsMax = 131_072;
const bufferedMax = 1_048_576;

export class RingReader {
  readonly #ring: Ring;
  readonly #outlet: Outlet;
  /** Frames that come before those of the ring, once. */
  #preamble: readonly string[];
  #next: number;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #isJoining: boolean;

  /** `isJoining`: several frames in one message, one a line. */
  constructor(
    ring: Ring,
    outlet: Outlet,
    options: { readonly preamble: readonly string[]; readonly isJoining: boolean },
  ) {
    this.#ring = ring;
    this.#outlet = outlet;
    this.#preamble = options.preamble;
    this.#isJoining = options.isJoining;
    this.#next = ring.first;
    this.pump();
  }

  /** There is more. */
  wake(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.pump();
    }, everyMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Hands over as much as the client takes. */
  pump(): void {
    while (!this.#isClosed && this.#outlet.isOpen && this.#outlet.bufferedBytes < bufferedMax) {
      const texts = this.#take();
      if (texts.length === 0) return;
      const isLast = this.#next >= this.#ring.end;
      const messages = this.#isJoining ? [texts.join("\n")] : texts;
      // The one that fills the buffer calls for more when it has gone.
      for (const message of messages)
        this.#outlet.send(message, (error) => {
          if (!error && !isLast) this.wake();
        });
    }
  }

  #take(): string[] {
    const texts = [...this.#preamble];
    this.#preamble = [];
    const missed = this.#ring.first - this.#next;
    if (missed > 0) {
      this.#next = this.#ring.first;
      const head = { protocol: protocolName, version: protocolVersion, seq: 0 };
      texts.push(JSON.stringify({ ...head, kind: "dropped", dropped: missed }));
    }
    for (let chars = 0; chars < messageCharsMax; this.#next += 1) {
      const text = this.#ring.get(this.#next);
      if (text === undefined) break;
      texts.push(text);
      chars += text.length;
    }
    return texts;
  }
}
