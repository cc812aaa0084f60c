/**
 * Contents of the files that were sent, for `getFile` and its download.
 *
 * Owns: keeping them by their id, within a bound. Does not own: messages, HTTP.
 * Invariant: never more than `bytesMax` are kept; the oldest go first, and then `getFile` does not know them.
 */
const BYTES_MAX = 128 * 1024 * 1024;

export class FileShelf {
  readonly #bytesMax: number;
  readonly #contents = new Map<string, Buffer>();
  #bytes = 0;

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  put(id: string, content: Buffer): void {
    this.#drop(id);
    // A copy: what is given is a part of a whole request.
    this.#contents.set(id, Buffer.from(content));
    this.#bytes += content.length;
    for (const oldest of this.#contents.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#drop(oldest);
    }
  }

  get(id: string): Buffer | undefined {
    return this.#contents.get(id);
  }

  #drop(id: string): void {
    this.#bytes -= this.#contents.get(id)?.length ?? 0;
    this.#contents.delete(id);
  }
}

/** The id that a sent file gets: equal contents, equal id. */
export const fileIdOf = (sha256: string): string => `emulated-${sha256.slice(0, 32)}`;
