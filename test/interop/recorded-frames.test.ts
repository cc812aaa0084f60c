/**
 * Every frame of a recorded session of a v1 leader and two v1 followers goes through our parser and encoder.
 */
import { describe, expect, test } from "vitest";
import { encodeEnvelope, fingerprintOf, ledgerKeyOf, parseEnvelope } from "../../adapters/transport/wire/parse.ts";
import { recordedFrames } from "./lab/recording.ts";

const frames = recordedFrames;

/** What our whitelist drops from the recording: the recorded leader sends these with `oldTarget`, and §3.6 knows none. */
const withoutExtras = (sent: unknown): unknown =>
  JSON.parse(JSON.stringify(sent), function (this: unknown, key, value: unknown) {
    return key === "oldTarget" && typeof value === "object"
      ? { ...value, slot: undefined, threadName: undefined }
      : value;
  });
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("recorded v1 session", () => {
  test("holds what it should", () => {
    expect(frames.length).toBeGreaterThan(40);
    for (const { bytes } of frames) expect(bytes.indexOf("\n")).toBe(bytes.length - 1);
  });
  test.each(frames.map((frame, index) => [index + 1, frame.step, frame.dir, frame.bytes] as const))(
    "frame %i (%s, %s) parses to what was sent and encodes to an equal one",
    (_, __, direction, bytes) => {
      const parsed = parseEnvelope(bytes.trimEnd());
      expect(parsed).not.toBeNull();
      if (parsed === null) return;
      expect(parsed.kind === "bus.ack").toBe(direction === "S>C");
      expect(plain(parsed)).toEqual(plain(withoutExtras(JSON.parse(bytes))));
      const again = parseEnvelope(encodeEnvelope(parsed).trimEnd());
      expect(again).toEqual(parsed);
      expect(again !== null && fingerprintOf(again)).toBe(fingerprintOf(parsed));
    },
  );
  test("W-21: every request of the recording has a ledger key of its own at its endpoint", () => {
    const keys = frames.flatMap(({ dir, bytes, to }) => {
      const parsed = dir === "C>S" ? parseEnvelope(bytes.trimEnd()) : null;
      return parsed === null ? [] : [`${to} ${ledgerKeyOf(parsed)}`];
    });
    expect(new Set(keys).size).toBe(keys.length);
  });
});
