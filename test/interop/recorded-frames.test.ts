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

/** Appendix A; what its secret leaves out is left out here too. */
const sampleExchange = [
  `{"kind":"follower.register","requestId":"4711:1750000000000:1","auth":"q3…","registration":{"instanceId":"4711:1750000000000","profileKey":"manual:4700:start:88123","threadName":"repo","cwd":"/repo","pid":4711,"processBirthId":"4711:start:90210","sessionGeneration":1,"busSocketPath":"/home/u/.pi/agent/tmp/telegram/followers/4711_1750000000000.sock","registrationGeneration":"4711:1750000000000:1","protocol":{"protocolVersion":1,"runtimeBuild":"2.0.0","capabilities":["durable-follower-admission-v1","queue-handoff-v1"]},"connectedAtMs":1750000000100}}`,
  `{"kind":"bus.ack","requestId":"4711:1750000000000:1","ok":true,"protocol":{"protocolVersion":1,"runtimeBuild":"1.4.2","capabilities":["durable-follower-admission-v1","queue-handoff-v1"]},"result":{"chatId":7,"threadId":42,"slot":"B","threadName":"Beryl"}}`,
  `{"kind":"follower.heartbeat","requestId":"4711:1750000000000:2","auth":"q3…","instanceId":"4711:1750000000000","registrationGeneration":"4711:1750000000000:1","sentAtMs":1750000000200}`,
  `{"kind":"bus.ack","requestId":"4711:1750000000000:2","ok":true,"result":{"eligibleElectionSlots":["B"]}}`,
  `{"kind":"follower.callApi","requestId":"4711:1750000000000:3","auth":"q3…","instanceId":"4711:1750000000000","registrationGeneration":"4711:1750000000000:1","method":"call","args":["sendMessage",{"chat_id":7,"message_thread_id":42,"text":"hi"}],"sentAtMs":1750000000300}`,
  `{"kind":"bus.ack","requestId":"4711:1750000000000:3","ok":false,"message":"Telegram API sendMessage may have committed before transport failed.","error":{"code":"commit-unknown","method":"sendMessage"}}`,
];

test.each(sampleExchange)("Appendix A, sample exchange: nothing of %s is lost or changed", (line) => {
  const parsed = parseEnvelope(line);
  expect(parsed).not.toBeNull();
  expect(plain(parsed)).toEqual(JSON.parse(line));
});

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
  test("protocol/W-21: every request of the recording has a ledger key of its own at its endpoint", () => {
    const keys = frames.flatMap(({ dir, bytes, to }) => {
      const parsed = dir === "C>S" ? parseEnvelope(bytes.trimEnd()) : null;
      return parsed === null ? [] : [`${to} ${ledgerKeyOf(parsed)}`];
    });
    expect(new Set(keys).size).toBe(keys.length);
  });
});
