/**
 * Frames kept as text, the newest up to a size.
 *
 * Owns: which frames are kept. Does not own: what is in them.
 *
 * Kept in segments: each should begin with frames that say how everything stands (`onSegment` asks for them), so that what
 * is left after the oldest segment went can be read by itself.
 *
 * Invariants: at most `charsMax` and one segment are kept; numbers of frames only grow.
 */

/** Segments at full size: dropping one loses a quarter. */
const segmentsMax = 4;

interface Segment {
  readonly first: number;
  readonly texts: string[];
  chars: number;
}

export class Ring {
  readonly #segmentCharsMax: number;
  readonly #onSegment: () => void;
  readonly #segments: Segment[] = [{ first: 0, texts: [], chars: 0 }];

  constructor(charsMax: number, onSegment: () => void = () => undefined) {
    this.#segmentCharsMax = charsMax / segmentsMax;
    this.#onSegment = onSegment;
  }

  /** Number of the oldest frame kept. */
  get first(): number {
    return this.#segments[0]?.first ?? 0;
  }

  /** Number that the next frame will have. */
  get end(): number {
    const last = this.#last;
    return last.first + last.texts.length;
  }

  add(text: string): void {
    const last = this.#last;
    last.texts.push(text);
    last.chars += text.length;
    if (last.chars < this.#segmentCharsMax) return;
    this.#segments.push({ first: this.end, texts: [], chars: 0 });
    if (this.#segments.length > segmentsMax + 1) this.#segments.shift();
    this.#onSegment();
  }

  /** Undefined when it is not kept (any more). */
  get(number: number): string | undefined {
    for (const { first, texts } of this.#segments)
      if (number >= first && number < first + texts.length) return texts[number - first];
    return undefined;
  }

  *[Symbol.iterator](): IterableIterator<string> {
    for (const { texts } of this.#segments) yield* texts;
  }

  get #last(): Segment {
    const last = this.#segments.at(-1);
    if (last === undefined) throw new Error("a ring has a segment at all times");
    return last;
  }
}
