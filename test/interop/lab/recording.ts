/**
 * The recorded session of a v1 leader and two v1 followers, by connection.
 *
 * Fixture: fixtures/wire-v1.ndjson, one JSON object a line (`conn`, `to`, `step`, `dir`, `bytes`); `<DIR>` stands for the
 * folder of the sockets. One connection for each request; the client closes first.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";

const recorded = z.object({
  conn: z.number(),
  to: z.string(),
  step: z.string(),
  dir: z.enum(["C>S", "S>C"]),
  bytes: z.string(),
});
export type RecordedFrame = z.infer<typeof recorded>;

export interface RecordedConnection {
  readonly conn: number;
  readonly to: string;
  readonly step: string;
  /** Both with their LF. */
  readonly request: string;
  readonly answer: string;
}

export const recordedFrames: readonly RecordedFrame[] = readFileSync(
  new URL("../fixtures/wire-v1.ndjson", import.meta.url),
  "utf8",
)
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => recorded.parse(JSON.parse(line)));

export const recordedConnections: readonly RecordedConnection[] = [...new Set(recordedFrames.map(({ conn }) => conn))]
  .sort((a, b) => a - b)
  .map((conn) => {
    const [first, ...rest] = recordedFrames.filter((frame) => frame.conn === conn);
    const answer = rest[0];
    if (first?.dir !== "C>S" || answer?.dir !== "S>C" || rest.length !== 1)
      throw new Error(`connection ${String(conn)} of the recording is no request with its answer`);
    return { conn, to: first.to, step: first.step, request: first.bytes, answer: answer.bytes };
  });

export const connection = (conn: number): RecordedConnection => {
  const found = recordedConnections.find((each) => each.conn === conn);
  if (found === undefined) throw new Error(`the recording has no connection ${String(conn)}`);
  return found;
};

/** A frame as a plain object. */
export const framed = (bytes: string): Readonly<Record<string, unknown>> => {
  const value: unknown = JSON.parse(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`no frame: ${bytes}`);
  return Object.fromEntries(Object.entries(value));
};

export interface Comparison {
  /** Ours, with the listed fields replaced by the recorded ones; key order is ours. */
  readonly ours: string;
  readonly recorded: string;
}

/**
 * Two frames with the values at `differing` (dotted paths) taken from the recording. A path counts only where both frames
 * have a value of one type: a field that is missing or of another type stays a difference.
 */
export function compared(ours: string, recordedBytes: string, differing: readonly string[]): Comparison {
  const own: unknown = JSON.parse(ours);
  const theirs: unknown = JSON.parse(recordedBytes);
  for (const path of differing) {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    const [into, from] = [at(own, keys), at(theirs, keys)];
    if (into === null || from === null || typeof into[last] !== typeof from[last]) continue;
    into[last] = from[last];
  }
  return { ours: `${JSON.stringify(own)}\n`, recorded: recordedBytes };
}

function at(value: unknown, keys: readonly string[]): Record<string, unknown> | null {
  let current: unknown = value;
  for (const key of keys) current = typeof current === "object" && current !== null ? Reflect.get(current, key) : null;
  // What is left is an object whose fields may be read and set by name.
  return typeof current === "object" && current !== null ? (current as Record<string, unknown>) : null;
}
