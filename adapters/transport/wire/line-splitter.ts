/**
 * Cuts a byte stream into lines (protocol W-1 to W-5, W-13, O-24).
 *
 * Owns: the unfinished line of one connection. Does not own: what a line means.
 * Invariants:
 *  - only complete lines come out; what follows the last LF waits, and is dropped with the splitter (W-4);
 *  - bytes are decoded line by line, so a character split across chunks is whole (W-1);
 *  - never holds more than `lineBytesMax` and one chunk: beyond that `push` answers null and the stream is to be cut.
 */
import { Buffer } from "node:buffer";

const lineFeed = 0x0a;
const chunksMax = 1024;

export class LineSplitter {
  readonly #lineBytesMax: number;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** Whether a line has begun and not ended. */
  get isMidLine(): boolean {
    return this.#restBytes > 0;
  }

  /** The lines that this chunk completes, without LF; null when a line is longer than allowed. */
  push(chunk: Buffer): readonly string[] | null {
    const last = chunk.lastIndexOf(lineFeed);
    if (last < 0) return this.#keep(chunk) ? [] : null;
    if (this.#restBytes + chunk.indexOf(lineFeed) > this.#lineBytesMax) return null;
    const head = chunk.subarray(0, last);
    const complete = this.#restBytes === 0 ? head : Buffer.concat([...this.#rest, head]);
    this.#rest = [];
    this.#restBytes = 0;
    if (last + 1 < chunk.length && !this.#keep(chunk.subarray(last + 1))) return null;
    const lines = complete.toString("utf8").split("\n");
    return chunk.length <= this.#lineBytesMax || lines.every((line) => Buffer.byteLength(line) <= this.#lineBytesMax)
      ? lines
      : null;
  }

  #keep(bytes: Buffer): boolean {
    this.#rest.push(bytes);
    // A peer that sends byte by byte costs bytes, not objects.
    if (this.#rest.length > chunksMax) this.#rest = [Buffer.concat(this.#rest)];
    this.#restBytes += bytes.length;
    return this.#restBytes <= this.#lineBytesMax;
  }
}
