/**
 * `partyline record`: what a profile's instances do, written to a file.
 *
 * Owns: the hub and recorder of one recording; asking flight recorders. Does not own: either.
 */
import { connect } from "node:net";
import type { Announcement } from "./announcements.ts";
import { parsed } from "./access.ts";
import { Hub } from "./hub.ts";
import type { HubOptions } from "./hub.ts";
import { recordingFormat, Recorder } from "./recorder.ts";
import { onLines } from "./tap.ts";

export interface RecordingUnderWay {
  /** Resolves with the number of frames when the file is complete. */
  close(): Promise<number>;
}

export interface RecordLineOptions extends Omit<HubOptions, "eager"> {
  readonly file: string;
  readonly fileBytesMax?: number;
  readonly filesMax?: number;
}

/** Records until it is closed. */
export function recordLine(options: RecordLineOptions): RecordingUnderWay {
  // A recording needs no past: what comes is written as it comes.
  const hub = new Hub({ ...options, eager: true, ringCharsMax: 8 * 1_048_576 });
  const recorder = new Recorder({
    ...options,
    header: { source: "live", createdAtMs: options.nowMs() },
    onFile: () => hub.askAgain(),
    onError: (error) => options.onTrouble?.(error.message),
  });
  hub.attach(recorder);
  return {
    async close() {
      // What was taken in waits for its next turn; it belongs into the file.
      hub.drain(recorder);
      hub.close();
      await recorder.close();
      return recorder.frames;
    },
  };
}

/** Writes what the flight recorders hold. Instances without one have nothing to say. */
export async function recordFlight(
  options: Pick<RecordLineOptions, "file" | "find" | "nowMs">,
): Promise<RecordingUnderWay> {
  const recorder = new Recorder({
    file: options.file,
    header: { source: "flight recorder", createdAtMs: options.nowMs() },
    fileBytesMax: Infinity,
  });
  for (const announcement of await options.find())
    for (const line of await flightOf(announcement)) recorder.send(line, () => undefined);
  return {
    async close() {
      await recorder.close();
      return recorder.frames;
    },
  };
}

function flightOf({ instance, port, token }: Announcement): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const lines: string[] = [];
    let isFlight = false;
    const socket = connect({ port, host: "127.0.0.1" });
    // No live frames: only what is asked for.
    const hello = { type: "hello", token, kinds: [] };
    socket.once("connect", () => socket.write(`${JSON.stringify(hello)}\n{"type":"flight"}\n`));
    // Gone, or gone in the middle: what has come is kept.
    socket.on("error", () => socket.destroy());
    socket.once("close", () => resolve(lines));
    onLines(
      socket,
      (line) => {
        const isHeader = !isFlight && parsed(line)?.["format"] === recordingFormat;
        if (line === '{"kind":"flight-end"}') socket.destroy();
        else if (isFlight) lines.push(`{"from":${JSON.stringify(instance)},${line.slice(1)}`);
        isFlight ||= isHeader;
      },
      4 * 1_048_576,
    );
  });
}
