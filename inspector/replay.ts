/**
 * Recordings read back: as a feed for the page.
 *
 * Owns: reading a file, telling what is wrong with one, turning the model checker's traces into frames.
 * Does not own: writing them (`recorder.ts`, `testing/explorer/report.ts`).
 *
 * A last line without its end (the writer crashed) is left out; any other line that cannot be read is an error that names it.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parsed } from "./access.ts";
import { protocolName, protocolVersion } from "./frames.ts";
import type { FrameBody, SendRequest } from "./frames.ts";
import { BatchingOutlet } from "./outlet.ts";
import type { Outlet } from "./outlet.ts";
import { recordingFormat, recordingVersion } from "./recorder.ts";
import { Ring } from "./ring.ts";
import { RingReader } from "./ring-reader.ts";
import type { Feed } from "./web-server.ts";

/** A file cannot be replayed; the message says why. */
export class RecordingError extends Error {
  override readonly name = "RecordingError";
}

export interface Recording {
  readonly header: Readonly<Record<string, unknown>>;
  /** Frames, each as one line of JSON. */
  readonly frames: readonly string[];
}

export async function readRecording(file: string): Promise<Recording> {
  let header: Readonly<Record<string, unknown>> | undefined;
  let steps: StepFrames | undefined;
  const frames: string[] = [];
  let broken: number | undefined;
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity })) {
    number += 1;
    if (line.trim() === "") continue;
    if (broken !== undefined) throw new RecordingError(`${file}: line ${broken} is not a JSON object.`);
    const value = parsed(line);
    if (value === undefined) broken = number;
    else if (header === undefined) {
      header = checkHeader(file, value);
      if (header["source"] === "explorer") steps = new StepFrames(header);
    } else if (steps !== undefined && value["kind"] !== "chart") frames.push(...steps.framesOf(value));
    else frames.push(line);
  }
  if (header === undefined) throw new RecordingError(`${file} is empty, or not a recording.`);
  return { header, frames: [...frames, ...(steps?.end() ?? [])] };
}

function checkHeader(file: string, header: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (header["format"] !== recordingFormat)
    throw new RecordingError(`${file} is not a recording: its first line has no "format": "${recordingFormat}".`);
  if (header["version"] !== recordingVersion)
    throw new RecordingError(
      `${file} is a recording of version ${JSON.stringify(header["version"])}; this Partyline reads version ${recordingVersion}.`,
    );
  return header;
}

export class RecordingFeed implements Feed {
  readonly #ring = new Ring(Infinity);
  readonly #readers = new Map<Outlet, RingReader>();

  constructor({ frames }: Recording) {
    for (const frame of frames) this.#ring.add(frame);
  }

  attach(outlet: Outlet): void {
    const isJoining = outlet instanceof BatchingOutlet;
    this.#readers.set(outlet, new RingReader(this.#ring, outlet, { preamble: [], isJoining }));
  }

  detach(outlet: Outlet): void {
    this.#readers.get(outlet)?.close();
    this.#readers.delete(outlet);
  }

  send(_request: SendRequest): void {
    throw new Error("nothing can be sent to a recording");
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const rowsOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isRow) : [];
const isRow = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** The steps of a trace as frames: each place is an actor, the world is what it asks. */
class StepFrames {
  readonly #property: string;
  readonly #charts: Readonly<Record<string, unknown>>;
  readonly #values = new Map<string, string>();
  #lives = 0;
  #step = 0;
  #env = "";

  constructor(header: Readonly<Record<string, unknown>>) {
    this.#property = typeof header["property"] === "string" ? header["property"] : "";
    const charts = header["charts"];
    this.#charts = typeof charts === "object" && charts !== null ? (charts as Readonly<Record<string, unknown>>) : {};
  }

  framesOf(step: Readonly<Record<string, unknown>>): string[] {
    this.#step += 1;
    const place = typeof step["place"] === "string" ? step["place"] : null;
    const about = place === null ? {} : { about: place };
    const frames: FrameBody[] = [{ kind: "note", text: textOf(step["words"]), ...about }];
    if (place !== null && (step["kind"] === "answer" || step["kind"] === "fault"))
      frames.push(this.#message(place, textOf(step["words"]), "end"));
    for (const [name, value] of Object.entries((step["values"] ?? {}) as Readonly<Record<string, unknown>>))
      frames.push(...this.#changes(name, value, textOf(step["words"])));
    for (const issued of rowsOf(step["issued"]))
      frames.push(this.#message(textOf(issued["place"]), textOf(issued["words"]), "begin"));
    frames.push(...this.#environment(step["env"]));
    return frames.map((frame) => this.#text(frame));
  }

  /** The trace ends with what it shows. */
  end(): string[] {
    return this.#property === "" ? [] : [this.#text({ kind: "verdict", broken: [this.#property] })];
  }

  #changes(name: string, value: unknown, why: string): FrameBody[] {
    const text = JSON.stringify(value);
    if (this.#values.get(name) === text) return [];
    const isBirth = (this.#values.get(name) ?? "null") === "null";
    this.#values.set(name, text);
    if (isBirth && value !== null) this.#lives += 1;
    const chart = this.#charts[name];
    const shown = {
      actor: { id: name, session: name },
      ...(typeof chart === "string" ? { chart } : {}),
    };
    if (value === null) return [{ kind: "snapshot", ...shown, status: "stopped" }];
    const born: FrameBody[] = isBirth ? [{ kind: "actor", ...shown }] : [];
    return [
      ...born,
      { kind: "event", ...shown, event: { type: why } },
      { kind: "snapshot", ...shown, status: "active", value },
    ];
  }

  /** What the world is: shown as an actor without a chart. */
  #environment(env: unknown): FrameBody[] {
    const text = JSON.stringify(env ?? null);
    if (text === this.#env) return [];
    this.#env = text;
    return [
      {
        kind: "snapshot",
        actor: { id: "world", session: "world" },
        status: "active",
        value: "the world",
        context: env,
      },
    ];
  }

  #message(place: string, words: string, phase: "begin" | "end"): FrameBody {
    const [name = words] = words.split(" ");
    return {
      kind: "message",
      by: place,
      way: "out",
      peer: "world",
      name,
      id: `${place}/${name}`,
      phase,
      outcome: words,
    };
  }

  #text(body: FrameBody): string {
    // A trace has no time; a step stands for a second, so that it can be played.
    const head = { protocol: protocolName, version: protocolVersion, seq: this.#step, atMs: this.#step * 1_000 };
    return JSON.stringify({ ...head, ...body });
  }
}
