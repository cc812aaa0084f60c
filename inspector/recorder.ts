/**
 * Recordings on disk: NDJSON, a header, then frames.
 *
 * Owns: the header, the file, starting the next one when it is large. Does not own: frames; where they come from.
 *
 * Each file can be read by itself: it begins with the header, the charts known so far and how everything stands.
 *
 *     {"format":"partyline-recording","version":1,"source":"live","createdAtMs":…}
 *     {"protocol":"partyline-inspect","version":1,"seq":0,"kind":"chart",…}
 *     {"protocol":"partyline-inspect","version":1,"seq":17,"atMs":…,"kind":"event",…}
 *
 * Invariants:
 * 1. At most `filesMax` files of about `fileBytesMax` are kept: FILE is the newest, FILE.1 the one before, …
 * 2. They are for their owner alone (0600): redacted is not public.
 * 3. A disk that fails stops the recording and is told once; it never reaches the runtime.
 */
import { createWriteStream, openSync, renameSync, rmSync } from "node:fs";
import type { WriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import type { Outlet } from "./outlet.ts";

export const recordingFormat = "partyline-recording";
export const recordingVersion = 1;

export interface RecordingHeader {
  readonly source: "live" | "flight recorder" | "explorer" | "simulator";
  readonly createdAtMs?: number;
  /** What the page's title says. */
  readonly title?: string;
  /** Name of the property that this recording shows broken. */
  readonly property?: string;
}

export const recordingHeader = (header: RecordingHeader): string =>
  JSON.stringify({ format: recordingFormat, version: recordingVersion, ...header });

const head = String.raw`^\{(?:"from":"(?:[^"\\]|\\.)*",)?"protocol":"partyline-inspect","version":\d+,"seq":\d+,(?:"atMs":[\d.]+,)?`;
const chartForm = new RegExp(String.raw`${head}"kind":"chart","chart":("(?:[^"\\]|\\.)*")`);

/** The name of the chart that a frame describes; null for every other frame. Frames are long, so only these are parsed. */
export function chartNameIn(text: string): string | null {
  const name = chartForm.exec(text)?.[1];
  return name === undefined ? null : String(JSON.parse(name));
}

export interface RecorderOptions {
  readonly file: string;
  readonly header: RecordingHeader;
  /** Default 64 MB. */
  readonly fileBytesMax?: number;
  /** Files kept, the newest included; default 4. */
  readonly filesMax?: number;
  /** Frames that say how everything stands are wanted: a new file has begun. */
  readonly onFile?: () => void;
  readonly onError?: (error: Error) => void;
}

export class Recorder implements Outlet {
  readonly #options: RecorderOptions;
  readonly #charts = new Map<string, string>();
  #stream: WriteStream;
  #bytes = 0;
  #frames = 0;
  #hasFailed = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#stream = this.#open();
  }

  get isOpen(): boolean {
    return !this.#hasFailed;
  }

  get bufferedBytes(): number {
    return this.#stream.writableLength;
  }

  get frames(): number {
    return this.#frames;
  }

  /** One frame, or several joined by line feeds. */
  send(text: string, done: (error?: Error | null) => void): void {
    if (this.#hasFailed) {
      done(new Error("the recording has ended"));
      return;
    }
    for (const line of text.split("\n")) this.#write(line);
    done();
  }

  async close(): Promise<void> {
    this.#stream.end();
    if (!this.#hasFailed) await finished(this.#stream);
  }

  #write(line: string): void {
    const from = /^\{"from":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? "";
    const chart = chartNameIn(line);
    if (chart !== null) {
      // A chart stands at the head of each file; in this one it may be there already.
      const key = `${from}/${chart}`;
      if (this.#charts.get(key) === line) return;
      this.#charts.set(key, line);
    }
    if (this.#hasFailed) return;
    this.#put(line);
    this.#frames += 1;
    if (this.#bytes < (this.#options.fileBytesMax ?? 64 * 1_048_576)) return;
    this.#rotate();
    this.#options.onFile?.();
  }

  #put(line: string): void {
    this.#stream.write(`${line}\n`);
    this.#bytes += Buffer.byteLength(line) + 1;
  }

  #open(): WriteStream {
    // Opened at once, so that a rename that comes soon finds it, and a folder that is not there is told to the caller.
    const stream = createWriteStream("", { fd: openSync(this.#options.file, "w", 0o600) });
    stream.on("error", (error) => {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      this.#options.onError?.(error);
    });
    stream.write(`${recordingHeader(this.#options.header)}\n`);
    return stream;
  }

  #rotate(): void {
    const { file, filesMax = 4 } = this.#options;
    this.#stream.end();
    // What is under way to the old file follows the file, not its name.
    try {
      rmSync(`${file}.${filesMax - 1}`, { force: true });
      for (let number = filesMax - 2; number >= 0; number -= 1)
        moveIfThere(nameOf(file, number), nameOf(file, number + 1));
      this.#stream = this.#open();
    } catch (error) {
      this.#hasFailed = true;
      this.#options.onError?.(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.#bytes = 0;
    for (const chart of this.#charts.values()) this.#put(chart);
  }
}

const nameOf = (file: string, number: number): string => (number === 0 ? file : `${file}.${number}`);

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
