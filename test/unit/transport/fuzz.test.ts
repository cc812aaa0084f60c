import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { encodeEnvelope, parseEnvelope } from "../../../adapters/transport/wire/parse.ts";
import type { Link } from "../../../services/ports.ts";
import { callApi, forwardMessage, heartbeat, offer, okAck, register } from "./support/envelopes.ts";
import { UnixHarness, waiting } from "./support/harness.ts";

let harness: UnixHarness;
let neighbour: Link;

beforeAll(async () => {
  harness = new UnixHarness();
  await harness.serve(async (request) => okAck(request, request.kind));
  neighbour = await harness.dial();
});
afterAll(() => harness.dispose());

const samples = [register("r"), heartbeat("h"), callApi("c", [{ a: [1] }]), forwardMessage("f"), offer("o")].map(
  (each) => encodeEnvelope(each).trimEnd(),
);

const sample = fc.constantFrom(...samples);
/** One line without LF, as a broken or hostile peer may send it. */
const hostileLine = fc.oneof(
  fc.string().map((text) => text.replaceAll("\n", " ")),
  fc.json().map((text) => text.replaceAll("\n", " ")),
  fc.tuple(sample, fc.nat(600)).map(([line, end]) => line.slice(0, end)),
  fc
    .tuple(sample, fc.nat(600), fc.constantFrom('"', "{", "]", "\\", "\u0000", "0", "👍"))
    .map(([line, at, text]) => line.slice(0, at) + text + line.slice(at + 1)),
  // A field of another type, or of another name.
  fc.tuple(sample, fc.nat(20), fc.jsonValue()).map(([line, at, value]) => {
    const entries = Object.entries(JSON.parse(line) as object);
    return JSON.stringify(
      Object.fromEntries(entries.map(([key, old], index) => [key, index === at % entries.length ? value : old])),
    );
  }),
  fc
    .tuple(fc.constantFrom("[", '{"a":', '{"kind":['), fc.integer({ min: 1, max: 200_000 }))
    .map(([text, times]) => text.repeat(times)),
  fc.integer({ min: 1, max: 300_000 }).map((length) => `{"kind":"${"x".repeat(length)}"}`),
  fc
    .constantFrom("__proto__", "constructor", "hasOwnProperty")
    .map((kind) => JSON.stringify({ kind, requestId: kind })),
);
const hostileBytes = fc
  .uint8Array({ maxLength: 200 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 10 ? 11 : byte))));

test("protocol/V-1: no line makes the parser throw, and what it accepts it accepts again unchanged", () => {
  fc.assert(
    fc.property(hostileLine, (line) => {
      const parsed = parseEnvelope(line);
      if (parsed !== null) expect(parseEnvelope(encodeEnvelope(parsed).trimEnd())).toEqual(parsed);
    }),
    { numRuns: 500 },
  );
});

let round = 0;

test("protocol/V-1, W-9: hostile lines each get an answer, right ones between them the right answer, neighbours notice nothing", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(hostileLine, hostileBytes), { maxLength: 20 }),
      fc.nat(),
      async (lines, seed) => {
        round += 1;
        const id = `own ${String(round)}`;
        const at = seed % (lines.length + 1);
        const own = encodeEnvelope(heartbeat(id)).trimEnd();
        const all = [...lines.slice(0, at), own, ...lines.slice(at)];
        const peer = harness.raw();
        const cut = 1 + (seed % 5000);
        const bytes = Buffer.concat(all.flatMap((line) => [Buffer.from(line), Buffer.from("\n")]));
        peer.write(bytes.subarray(0, cut));
        peer.write(bytes.subarray(cut));
        const outcome = await neighbour.request(heartbeat(`neighbour ${String(round)}`), 1000);
        expect(outcome).toMatchObject({ kind: "answered", ack: { result: "follower.heartbeat" } });
        const answers = await peer.linesWhen(all.length);
        expect(answers).toContain(encodeEnvelope(okAck(heartbeat(id), "follower.heartbeat")).trimEnd());
        for (const answer of answers) expect(parseEnvelope(answer)?.kind).toBe("bus.ack");
        peer.socket.destroy();
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);

test("protocol/W-4: peers that vanish in the middle of anything leave nothing behind", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(hostileLine, { minLength: 1, maxLength: 5 }), fc.boolean(), async (lines, isAbrupt) => {
      const peer = harness.raw();
      peer.write(lines.join("\n"));
      if (isAbrupt) peer.socket.destroy();
      else peer.socket.end();
      await vi.waitFor(() => expect(peer.isClosed).toBe(true), waiting);
      round += 1;
      expect((await neighbour.request(heartbeat(`neighbour ${String(round)}`), 1000)).kind).toBe("answered");
    }),
    { numRuns: 60 },
  );
  await vi.waitFor(() => expect(harness.clock.pending).toBe(0), waiting);
}, 60_000);
