/**
 * Diagnostics, one line per event.
 *
 * Owns: the line's form (NDJSON for machines, readable for people), its maximum length, the level below which nothing
 * is written. Does not own: what counts as a secret (`redact.ts`), the names of events.
 *
 * Invariants:
 * 1. `event` never throws and never waits: a log that cannot be written is lost, the work goes on.
 * 2. Everything that is written has passed the redactor.
 * 3. A line is one line: line breaks inside values are escaped.
 */
import type { Log } from "../../services/ports.ts";
import type { Redactor } from "./redact.ts";

export type LogLevel = Parameters<Log["event"]>[0];

export interface LogSettings {
  /** Takes one finished line, line break included. What it throws is ignored. */
  readonly write: (line: string) => void;
  /** The lowest level that is written. */
  readonly level: LogLevel;
  readonly format: "ndjson" | "readable";
  readonly redact: Redactor;
  readonly nowMs: () => number;
}

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
const valueCharsMax = 1000;
const lineCharsMax = 8192;

export function createLog(settings: LogSettings): Log {
  return {
    event(level, phase, fields) {
      if (rank[level] < rank[settings.level]) return;
      try {
        const at = new Date(settings.nowMs()).toISOString();
        const safePhase = settings.redact.text(phase);
        const safeFields = settings.redact.value(fields);
        const line = settings.format === "ndjson" ? ndjson : readable;
        settings.write(`${line(at, level, safePhase, Object.entries(safeFields ?? {}))}\n`);
      } catch {
        // A full disk or a closed pipe. There is nowhere left to say so, and the caller's work matters more.
      }
    },
  };
}

/**
 * Writes lines to this process's stderr. Once more than 1 MiB waits for a slow reader, lines are dropped; the number
 * of dropped lines is written when it reads again.
 */
export function stderrWriter(): (line: string) => void {
  const waitingBytesMax = 1_048_576;
  let dropped = 0;
  // Without a listener a reader that has gone (EPIPE) would end the process. Later lines are dropped by the stream.
  process.stderr.on("error", () => undefined);
  return (line) => {
    if (process.stderr.writableLength > waitingBytesMax) {
      dropped += 1;
      return;
    }
    if (dropped > 0) process.stderr.write(`partyline: ${dropped} log lines were dropped, the reader was too slow\n`);
    dropped = 0;
    process.stderr.write(line);
  };
}

type Fields = readonly (readonly [string, unknown])[];

function ndjson(at: string, level: LogLevel, phase: string, fields: Fields): string {
  const head = { at, level, phase };
  const whole = JSON.stringify({ ...head, fields: Object.fromEntries(fields.map(([key, v]) => [key, trim(v)])) });
  if (whole.length <= lineCharsMax) return whole;
  // Still valid JSON: the fields as a cut text.
  const text = JSON.stringify(Object.fromEntries(fields.map(([key, v]) => [key, trim(v)])));
  return JSON.stringify({ ...head, cut: text.slice(0, lineCharsMax / 4), cutChars: text.length });
}

function readable(at: string, level: LogLevel, phase: string, fields: Fields): string {
  const shown = fields.map(([key, value]) => `${oneLine(key)}=${readableValue(trim(value))}`).join(" ");
  const line = `${at} ${level.toUpperCase().padEnd(5)} ${oneLine(phase)}${shown === "" ? "" : ` ${shown}`}`;
  return line.length <= lineCharsMax ? line : `${line.slice(0, lineCharsMax)}…`;
}

function readableValue(value: unknown): string {
  if (value === undefined) return "undefined";
  return typeof value === "string" && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}

/** Cuts long texts, at whatever depth; the redactor has already bounded depth and breadth. */
function trim(value: unknown): unknown {
  if (typeof value === "string") return value.length <= valueCharsMax ? value : `${value.slice(0, valueCharsMax)}…`;
  if (Array.isArray(value)) return value.map(trim);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, trim(item)]));
}

// The control characters are what this is about: they would break the line, or speak to the terminal.
const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "?");
