/**
 * How `npm run interop` ends: one sentence for each way in which two processes do not find each other.
 */
import { describe, expect, test } from "vitest";
import { instanceId } from "../../machines/ids.ts";
import type { Ack, RegisterRequest, RequestEnvelope } from "../../machines/wire/envelopes.ts";
import { wireText } from "../../machines/wire/texts.ts";
import type { RequestOutcome } from "../../services/ports.ts";
import { identityOf, v1Capabilities } from "./lab/lab.ts";
import { Verdict, type Finding, type Meeting } from "./lab/verdict.ts";

const identity = identityOf("ours", v1Capabilities);
const register: RegisterRequest = {
  kind: "follower.register",
  requestId: "1:1:1",
  registration: { instanceId: instanceId("1:1"), connectedAtMs: 0 },
};
const heartbeat: RequestEnvelope = {
  kind: "follower.heartbeat",
  requestId: "1:1:2",
  instanceId: instanceId("1:1"),
  sentAtMs: 0,
};
const ack = (fields: Partial<Ack>): Ack => ({ kind: "bus.ack", requestId: "1:1:1", ok: false, ...fields });
const asked = (outcome: RequestOutcome, request: RequestEnvelope = register): Finding => ({
  kind: "asked",
  request,
  outcome,
});
const answered = (fields: Partial<Ack>, request: RequestEnvelope = register): Finding =>
  asked({ kind: "answered", ack: ack(fields) }, request);
const lost = (how: "timedOut" | "closed", request: RequestEnvelope = register): Finding =>
  asked({ kind: "lost", how, reason: how }, request);
const welcome = answered({ ok: true, protocol: identity });

const ready = "ready";
function verdictOf(as: Meeting["as"], steps: readonly (Finding | typeof ready)[]): Verdict {
  const verdict = new Verdict({ as, socket: "/bus.sock", identity });
  for (const step of steps) {
    if (step === ready) verdict.ready();
    else verdict.note(step);
  }
  return verdict;
}

describe("as follower", () => {
  test.each<readonly [string, readonly (Finding | typeof ready)[], RegExp]>([
    [
      "nobody listens",
      [{ kind: "unreached", reason: "connect ENOENT /bus.sock" }],
      /^Nobody serves at .*ENOENT.*: start/,
    ],
    [
      "the socket is closed to us",
      [{ kind: "unreached", reason: "connect EACCES /bus.sock" }],
      /as the user of the leader/,
    ],
    ["another secret", [answered({ message: wireText.unauthorized })], /does not know this secret: give as --secret/],
    [
      "a refusal",
      [answered({ message: "no room", protocol: identity })],
      /refused our registration \(no room\): remove/,
    ],
    ["another protocol", [answered({ ok: true, protocol: { ...identity, protocolVersion: 2 } })], /version-mismatch/],
    ["no identity", [answered({ ok: true })], /missing-identity.*: compare/],
    ["it hangs up", [lost("closed")], /hung up without an answer to our registration: look whether v1/],
    ["it does not answer", [lost("timedOut")], /does not answer: look whether it hangs/],
    ["it hangs up later", [welcome, ready, { kind: "closed" }], /hung up after we had registered: look/],
    ["it forgets us", [welcome, ready, answered({ message: wireText.unknownFollower }, heartbeat)], /does not know us/],
    ["it falls silent", [welcome, ready, lost("timedOut", heartbeat)], /does not answer our heartbeats any more/],
    ["nothing at all", [], /did not come to ask at .*: give it more --seconds/],
  ])("%s", (_, steps, words) => {
    expect(verdictOf("follower", steps).sentence()).toMatch(words);
  });

  test("once registered nothing is wrong, whatever went before; our own going away is nobody's fault", () => {
    const verdict = verdictOf("follower", [{ kind: "unreached", reason: "ENOENT" }, welcome, ready]);
    expect(verdict.sentence()).toBeNull();
    verdict.close();
    verdict.note({ kind: "closed" });
    expect(verdict.sentence()).toBeNull();
  });

  test("waits no longer for another secret or another protocol, and goes on otherwise", async () => {
    const settled = async (step: Finding): Promise<boolean> => {
      let isFinal = false;
      void verdictOf("follower", [step]).final.then(() => (isFinal = true));
      await Promise.resolve();
      return isFinal;
    };
    expect(await settled(answered({ message: wireText.unauthorized }))).toBe(true);
    expect(await settled(answered({ ok: true }))).toBe(true);
    expect(await settled(answered({ message: "no room", protocol: identity }))).toBe(false);
    expect(await settled(lost("closed"))).toBe(false);
  });
});

describe("as leader", () => {
  const ours = (fields: Partial<Ack>): Finding => ({ kind: "answered", request: register, ack: ack(fields) });
  test.each<readonly [string, readonly (Finding | typeof ready)[], RegExp]>([
    ["it cannot serve", [{ kind: "troubled", trouble: "endpoint", reason: "EACCES" }], /cannot serve at .*EACCES/],
    ["nobody comes", [ready], /Nobody asked to register at \/bus.sock: point the follower/],
    ["another secret", [ready, ours({ message: wireText.unauthorized })], /with another secret: give it the --secret/],
    ["a refusal of ours", [ready, ours({ message: "no" })], /We refused who asked at .*\(no\): send/],
    ["no envelopes", [ready, { kind: "garbled" }], /no v1 envelopes/],
  ])("%s", (_, steps, words) => {
    expect(verdictOf("leader", steps).sentence()).toMatch(words);
  });

  test("one that registered is enough", () => {
    const steps = [ready, ours({ message: "no" }), ours({ ok: true }), ours({ message: "no" })] as const;
    expect(verdictOf("leader", steps).sentence()).toBeNull();
  });
});
