/**
 * The flight recorder: the last megabytes of frames, in memory, for the moment after something went wrong.
 *
 * Owns: the ring and its text as a recording. Does not own: when it is asked for (crash, signal, `partyline record`).
 *
 * It is a client like any other, within the same share of the process's time; what did not fit is told as `dropped`.
 */
import { wholeWish } from "./client.ts";
import type { Outlet } from "./outlet.ts";
import { chartNameIn, recordingHeader } from "./recorder.ts";
import { Ring } from "./ring.ts";
import type { Watch } from "./watch.ts";

export class FlightRecorder {
  readonly #ring: Ring;
  readonly #nowMs: () => number;
  /** Charts come once and must outlive the ring: by name. */
  readonly #charts = new Map<string, string>();

  constructor(charsMax: number, watch: Watch, nowMs: () => number) {
    this.#nowMs = nowMs;
    const outlet: Outlet = {
      isOpen: true,
      bufferedBytes: 0,
      send: (text, done) => {
        this.#take(text);
        done();
      },
    };
    this.#ring = new Ring(charsMax, () => {
      // Not from within a frame: this one is being handed out.
      queueMicrotask(() => watch.attach(outlet, wholeWish));
    });
    watch.attach(outlet, wholeWish);
  }

  /** A whole recording, line by line, header first. */
  lines(): readonly string[] {
    const header = recordingHeader({ source: "flight recorder", createdAtMs: this.#nowMs() });
    return [header, ...this.#charts.values(), ...this.#ring];
  }

  #take(text: string): void {
    const chart = chartNameIn(text);
    if (chart === null) this.#ring.add(text);
    else this.#charts.set(chart, text);
  }
}
