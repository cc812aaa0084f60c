/** Recordings that grow: the next file begins, the oldest goes, each can be read by itself. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Recorder } from "../../../inspector/recorder.ts";
import { readRecording } from "../../../inspector/replay.ts";

function folder(): string {
  const made = mkdtempSync(path.join(os.tmpdir(), "partyline-recorder-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const chart = '{"protocol":"partyline-inspect","version":1,"seq":0,"kind":"chart","chart":"door","nodes":[]}';
const note = (seq: number): string =>
  JSON.stringify({ protocol: "partyline-inspect", version: 1, seq, kind: "note", text: "x".repeat(200) });

test("a recording begins a new file when one is full, keeps so many, and each has its header and the charts", async () => {
  const home = folder();
  const file = path.join(home, "night.ndjson");
  const onFile = vi.fn();
  const recorder = new Recorder({ file, header: { source: "live" }, fileBytesMax: 2_000, filesMax: 3, onFile });
  recorder.send([chart, ...Array.from({ length: 60 }, (_, index) => note(index + 1))].join("\n"), () => undefined);
  await recorder.close();
  expect(onFile.mock.calls.length).toBeGreaterThan(3);
  expect(readdirSync(home).sort()).toEqual(["night.ndjson", "night.ndjson.1", "night.ndjson.2"]);
  for (const name of [file, `${file}.1`, `${file}.2`]) {
    // The frame that fills a file still goes into it.
    expect(statSync(name).size, name).toBeLessThan(2_000 + 500);
    expect(statSync(name).mode & 0o777, name).toBe(0o600);
    const { header, frames } = await readRecording(name);
    expect(header).toMatchObject({ format: "partyline-recording", version: 1 });
    expect(
      frames.filter((frame) => frame === chart),
      name,
    ).toHaveLength(1);
  }
  const { frames } = await readRecording(`${file}.1`);
  expect(frames.at(-1)).toMatch(/"kind":"note"/);
});

test("a recording whose folder goes away ends, and tells so once; whoever is recorded goes on", async () => {
  const home = folder();
  const file = path.join(home, "night.ndjson");
  const onError = vi.fn();
  const recorder = new Recorder({ file, header: { source: "live" }, fileBytesMax: 1_000, onError });
  rmSync(home, { recursive: true });
  const done = vi.fn();
  for (let seq = 1; seq <= 20; seq += 1) expect(() => recorder.send(note(seq), done)).not.toThrow();
  expect(onError).toHaveBeenCalledOnce();
  expect(recorder.isOpen).toBe(false);
  expect(done.mock.lastCall?.[0]).toBeInstanceOf(Error);
  await recorder.close();
});
