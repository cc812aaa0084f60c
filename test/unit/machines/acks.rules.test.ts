/** What a leader's answers mean to a follower, check by check. */
import { describe, expect, it } from "vitest";
import { readRegistration, readRoster } from "../../../machines/acks.rules.ts";
import { generation } from "../../../machines/ids.ts";
import { capability, type ProtocolIdentity } from "../../../machines/wire/constants.ts";
import type { Ack } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";

const identity: ProtocolIdentity = {
  protocolVersion: 1,
  runtimeBuild: "test",
  capabilities: [capability.durableAdmission],
};
const read = (fields: Partial<Ack>) =>
  readRegistration(identity, { kind: "bus.ack", requestId: "1", ok: true, ...fields }, generation("g1"));
const accepted = (thread: unknown) => ({ kind: "accepted", generation: "g1", thread });
const yes = (result?: unknown) => read({ protocol: identity, ...(result === undefined ? {} : { result }) });
const refused = (reason: string) => ({ kind: "refused", reason });

describe("protocol/§6.4 the answer to a registration is read in this order", () => {
  it.each([
    ["none", {}, "missing-identity"],
    ["of another version", { protocol: { ...identity, protocolVersion: 2 } }, "version-mismatch"],
    ["without durable admission", { protocol: { ...identity, capabilities: [] } }, "missing-capability"],
  ])("3 an identity %s is no leader of ours, even when it says yes and names a thread", (_, fields, reason) => {
    const result = { chatId: 7, threadId: 42 };
    const expected = refused(`Incompatible Telegram bus leader protocol: ${reason}.`);
    expect(read({ ...fields, result })).toEqual(expected);
    if (reason !== "missing-identity") expect(read({ ...fields, ok: false, message: "no" })).toEqual(expected);
  });

  it("4 a refusal is told in its own words, or in ours; without an identity too (O-1)", () => {
    expect(read({ ok: false, message: "no room", protocol: identity })).toEqual(refused("no room"));
    expect(read({ ok: false, message: wireText.handlerFailed })).toEqual(refused(wireText.handlerFailed));
    expect(read({ ok: false, protocol: identity })).toEqual(
      refused("Telegram bus follower registration was rejected."),
    );
  });

  it("another secret is no refusal of us: another leader is there by now", () => {
    const unauthorized = { ok: false, message: wireText.unauthorized };
    expect(read(unauthorized)).toEqual({ kind: "unreachable", reason: wireText.unauthorized });
  });

  it("5 a compatible yes is a yes, and its result says where", () => {
    const thread = { target: { chatId: 7, threadId: 42 }, slot: "B", threadName: "Beryl" };
    expect(yes({ chatId: 7, threadId: 42, slot: "B", threadName: "Beryl" })).toEqual(accepted(thread));
    expect(yes({ target: { chatId: 7, threadId: 42 }, chatId: 1, slot: "B", threadName: "Beryl" })).toEqual(
      accepted(thread),
    );
  });

  it.each([
    ["absent, as from a leader without a chat (§3.2)", undefined],
    ["null", null],
    ["no object", "yes"],
    ["a chat alone", { chatId: 7 }],
    ["no target", { threadId: 42, slot: "B" }],
    ["of wrong types", { chatId: "7", threadId: 42 }],
  ])("5 a yes whose result is %s registers without a thread", (_, result) => {
    expect(yes(result)).toEqual(accepted(null));
  });
});

describe("protocol/§4.6 the roster of a heartbeat's answer", () => {
  it("is filtered, sorted by length and letter, and has no slot twice", () => {
    const eligibleElectionSlots = ["C", "AA", "a", 1, "A", "C", ""];
    expect(readRoster({ eligibleElectionSlots })).toEqual(["A", "C", "AA"]);
  });

  it.each([[undefined], [null], [{}], [{ eligibleElectionSlots: "A" }]])(
    "is empty when it is missing: %j",
    (result) => {
      expect(readRoster(result)).toEqual([]);
    },
  );
});
