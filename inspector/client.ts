/**
 * One attached client.
 *
 * Owns: what this client was sent, what it missed, and telling it so.
 * Does not own: the frames, whether it may be here at all (`server.ts`).
 *
 * Invariants:
 * 1. At most `bufferedBytesMax` and one frame wait for a client: what comes on top is dropped, and counted.
 * 2. A client is told of dropped frames as soon as it has caught up, even when nothing else happens.
 */
import type { FrameBody } from "./frames.ts";
import type { Outlet } from "./outlet.ts";

/** Beyond it a client counts as slow. */
export const bufferedBytesMax = 4 * 1_048_576;
/** Charts remembered as sent. A client that saw more gets one again. */
const chartsMax = 1_000;

/** What a client asked for. */
export interface Wish {
  /** Kinds of live frames; null = all. */
  readonly kinds: ReadonlySet<string> | null;
  /** Beginning of the ids of the actors. */
  readonly actors: string;
}

export const wholeWish: Wish = { kinds: null, actors: "" };

export class Client {
  readonly #outlet: Outlet;
  readonly #wish: Wish;
  /** Writes the frame that tells of n dropped ones. */
  readonly #droppedFrame: (dropped: number) => string;
  readonly #charts = new Set<string>();
  #dropped = 0;

  constructor(outlet: Outlet, wish: Wish, droppedFrame: (dropped: number) => string) {
    this.#outlet = outlet;
    this.#wish = wish;
    this.#droppedFrame = droppedFrame;
  }

  wants(kind: FrameBody["kind"], actor: string | null): boolean {
    const { kinds, actors } = this.#wish;
    return (kinds === null || kinds.has(kind)) && (actors === "" || actor === null || actor.startsWith(actors));
  }

  /** More waits for it than may. */
  get isSlow(): boolean {
    return this.#outlet.bufferedBytes > bufferedBytesMax;
  }

  /** Sends a frame, or drops it; answers which. */
  send(text: string): boolean {
    if (!this.#outlet.isOpen) return false;
    this.#tellDropped();
    if (this.isSlow) {
      this.#dropped += 1;
      return false;
    }
    this.#write(text);
    return true;
  }

  /** Sends a chart unless it has it. A chart is no event: a dropped one is sent later, and not counted. */
  sendChart(chart: string, write: () => string | null): void {
    if (this.#charts.has(chart) || this.isSlow) return;
    const text = write();
    if (text === null) {
      this.missed();
    } else if (!this.send(text)) {
      return;
    }
    if (this.#charts.size >= chartsMax) this.#charts.clear();
    this.#charts.add(chart);
  }

  /** Frames that were not made. */
  missed(count = 1): void {
    this.#dropped += count;
    this.#tellDropped();
  }

  #tellDropped(): void {
    if (this.#dropped === 0 || this.isSlow || !this.#outlet.isOpen) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#write(this.#droppedFrame(dropped));
  }

  #write(text: string): void {
    this.#outlet.send(text, (error) => {
      // With an error the socket closes, and nothing is left to tell.
      if (!error) this.#tellDropped();
    });
  }
}
