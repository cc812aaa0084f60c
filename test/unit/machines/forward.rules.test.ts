/** The envelope of an update, its receipt, and what a receiver refuses. */
import { describe, expect, it } from "vitest";
import {
  faultOfReceipt,
  forwardEnvelope,
  forwardKindOf,
  refusalOfForward,
  updateOfForward,
} from "../../../machines/forward.rules.ts";
import type { ForwardParts } from "../../../machines/forward.rules.ts";
import { generation, instanceId, journalSeq, seatKey, updateId } from "../../../machines/ids.ts";
import { sourceUpdateIdField } from "../../../machines/wire/constants.ts";
import type { Ack, AnyForwardRequest } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { mySeat, rival } from "../../support/charts/samples.ts";

const carrierFields = {
  message: "message",
  edited_message: "message",
  callback_query: "query",
  message_reaction: "reactionUpdate",
} as const;
const kinds = ["message", "edited_message", "callback_query", "message_reaction"] as const;

const parts = (differs: Partial<ForwardParts> = {}): ForwardParts => ({
  kind: "message",
  update: { update_id: 11, message: { text: "hi" } },
  requestId: "r1",
  auth: "secret",
  instanceId: rival,
  generation: generation("g1"),
  seat: mySeat,
  updateId: updateId(11),
  deliveryId: "d1",
  journal: null,
  sentAtMs: 5,
  ...differs,
});

describe("the envelope of an update", () => {
  it.each(kinds)("%s: carries what Telegram sent, stamped with the id it came from", (kind) => {
    const envelope = forwardEnvelope(parts({ kind, update: { update_id: 11, [kind]: { text: "hi" } } }));
    expect(envelope).toEqual({
      kind: forwardKindOf(kind),
      requestId: "r1",
      auth: "secret",
      recipientInstanceId: rival,
      recipientRegistrationGeneration: "g1",
      delivery: { deliveryId: "d1", sourceUpdateId: 11, recipientBindingKey: mySeat },
      sentAtMs: 5,
      [carrierFields[kind]]: { text: "hi", [sourceUpdateIdField]: 11 },
    });
  });

  it("says to an own peer, and to it alone, which entry of the shared journal is meant", () => {
    const journal = { seq: journalSeq(4), redelivered: true };
    expect(forwardEnvelope(parts({ journal })).journal).toEqual(journal);
    expect("journal" in forwardEnvelope(parts())).toBe(false);
  });

  it.each(kinds)("%s: is read back as Telegram sent it", (kind) => {
    const update = { update_id: 11, [kind]: { text: "hi" } };
    expect(updateOfForward(forwardEnvelope(parts({ kind, update })))).toEqual(update);
  });

  it("updates/OP-37: is read as the same update by whoever gets it twice, with its place in a batch and without", () => {
    const once = forwardEnvelope(parts());
    const placed = { ...once, forwardCommentBatchPosition: "comment" } as AnyForwardRequest; // as a v1 leader adds it
    expect(updateOfForward(placed)).toEqual(updateOfForward(once));
  });

  it("has a kind of its own for each", () => {
    expect(kinds.map(forwardKindOf)).toEqual([
      "leader.forwardMessage",
      "leader.forwardEditedMessage",
      "leader.forwardCallback",
      "leader.forwardReaction",
    ]);
  });

  it("is stamped by the leader: a stamp from outside does not count, and the update stays as it was", () => {
    const update = { message: { [sourceUpdateIdField]: 99 } };
    expect(forwardEnvelope(parts({ update }))).toMatchObject({ message: { [sourceUpdateIdField]: 11 } });
    expect(update.message[sourceUpdateIdField]).toBe(99);
  });
});

describe("a receipt", () => {
  const sent = { deliveryId: "d1", updateId: updateId(11) };
  const ack = (differs: Partial<Ack>): Ack => ({ kind: "bus.ack", requestId: "r1", ok: true, ...differs });
  const omitted = "Follower acknowledgement omitted the durable receipt.";
  const mismatched = "Follower acknowledgement returned a mismatched durable receipt.";

  it("is accepted when it is the exact one", () => {
    expect(faultOfReceipt(ack({ result: { deliveryId: "d1", sourceUpdateId: 11 } }), sent)).toBeNull();
  });

  it.each([
    ["a refusal with its message", { ok: false, message: "no" }, "no"],
    ["a refusal without one", { ok: false }, "Follower rejected forwarded Telegram update."],
    [
      "a refusal that holds a receipt",
      { ok: false, message: "no", result: { deliveryId: "d1", sourceUpdateId: 11 } },
      "no",
    ],
    ["nothing", {}, omitted],
    ["something else", { result: "ok" }, omitted],
    ["no delivery id", { result: { sourceUpdateId: 11 } }, omitted],
    ["an id as text", { result: { deliveryId: "d1", sourceUpdateId: "11" } }, omitted],
    ["another delivery", { result: { deliveryId: "d2", sourceUpdateId: 11 } }, mismatched],
    ["another update", { result: { deliveryId: "d1", sourceUpdateId: 12 } }, mismatched],
  ])("updates/T-40 is refused when it is %s", (_, differs, fault) => {
    expect(faultOfReceipt(ack(differs), sent)).toBe(fault);
  });
});

describe("what a receiver refuses, in the wire's order", () => {
  const receiver = { instanceId: rival, seat: mySeat, generation: generation("g1") };
  const refusal = (differs: Partial<ForwardParts>, who: Partial<typeof receiver> | { generation: null } = {}) =>
    refusalOfForward(forwardEnvelope(parts(differs)), { ...receiver, ...who }, "d1");

  it.each(kinds)("nothing about a %s that is meant for it", (kind) => {
    expect(refusal({ kind, update: { [kind]: {} } })).toBeNull();
  });

  it("one for another instance, before anything else", () => {
    expect(refusal({ instanceId: instanceId("9:9"), generation: generation("g0"), deliveryId: "d2" })).toBe(
      wireText.receiverCannotHandle,
    );
  });

  it("updates/T-36 one for another generation, or while it has none", () => {
    expect(refusal({ generation: generation("g0"), seat: seatKey("other") })).toBe(wireText.staleGeneration);
    expect(refusal({}, { generation: null })).toBe(wireText.staleGeneration);
  });

  it("updates/T-43 one for another seat", () => {
    expect(refusal({ seat: seatKey("other"), deliveryId: "d2" })).toBe(wireText.deliveryIdentityMismatch);
  });

  it("one whose delivery id is not what it must be", () => {
    expect(refusal({ deliveryId: "d2" })).toBe(wireText.invalidDeliveryId);
  });

  it.each([
    ["another id", { [sourceUpdateIdField]: 12 }],
    ["the id as text", { [sourceUpdateIdField]: "11" }],
    ["no id", {}],
    ["no carrier", undefined],
  ])("one whose carrier has %s", (_, message) => {
    // What comes over the wire may lack what the type of an honest sender has.
    const envelope = { ...forwardEnvelope(parts()), message } as AnyForwardRequest;
    expect(refusalOfForward(envelope, receiver, "d1")).toBe(wireText.sourceUpdateIdMismatch);
  });
});
