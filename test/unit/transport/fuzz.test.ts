import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { encodeEnvelope, parseEnvelope } from "../../../adapters/transport/wire/parse.ts";
import type { Link } from "../../../services/ports.ts";
import { callApi, forwardMessage, heartbeat, offer, okAck, register } from "./support/envelopes.ts";
import { hostileBytes, hostileLine as hostileLineOf } from "../../support/wire/hostile.ts";
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

const hostileLine = hostileLineOf(samples);

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
