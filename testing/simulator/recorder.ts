/**
 * The trace: one NDJSON line for each step, and their hash.
 *
 * Owns: the form of a line, the hash over all lines, the tail kept for a report.
 * Does not own: where lines go (`sink`), what a step is (`scheduler.ts`).
 * Invariant: a line is written after the step and everything that followed from it by promises, so its notes are
 * complete; the hash covers every byte of every line.
 */
import { createHash } from "node:crypto";

export interface Recorder {
  /** Something that happened within the present step. */
  readonly note: (text: string) => void;
  /** Closes the step. `atUs` is true time. */
  step(atUs: number, who: string, what: string): void;
  readonly steps: () => number;
  /** The last lines, oldest first. */
  readonly tail: () => readonly string[];
  /** Hex SHA-256 over everything recorded; the recorder is closed by it. */
  readonly hash: () => string;
}

const tailMax = 400;
const chunkMax = 256;

export function createRecorder(sink: (line: string) => void = () => undefined): Recorder {
  const digest = createHash("sha256");
  const tail: string[] = [];
  let chunk: string[] = [];
  let notes: string[] = [];
  let steps = 0;
  const flush = () => {
    if (chunk.length > 0) digest.update(`${chunk.join("\n")}\n`);
    chunk = [];
  };
  return {
    note: (text) => {
      notes.push(text);
    },
    step(atUs, who, what) {
      steps += 1;
      const line = JSON.stringify({ n: steps, at: atUs / 1000, who, what, ...(notes.length > 0 ? { notes } : {}) });
      notes = [];
      chunk.push(line);
      if (chunk.length >= chunkMax) flush();
      tail.push(line);
      if (tail.length > tailMax * 2) tail.splice(0, tailMax);
      sink(line);
    },
    steps: () => steps,
    tail: () => tail.slice(-tailMax),
    hash() {
      flush();
      return digest.digest("hex");
    },
  };
}
