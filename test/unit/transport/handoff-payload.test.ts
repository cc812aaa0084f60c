import { describe, expect, test } from "vitest";
import { parseEnvelope } from "../../../adapters/transport/wire/parse.ts";
import { controlPayload, offer, promptPayload } from "./support/envelopes.ts";

describe("protocol/S-24: handoff payload (§3.12)", () => {
  const withPayload = (payload: unknown) => parseEnvelope(JSON.stringify({ ...offer("a"), payload }));
  const receipts = (fields: unknown) => ({
    admissionReceipts: [{ ...controlPayload.admissionReceipts[0], ...(fields as object) }],
  });

  test("both kinds", () => {
    expect(withPayload(controlPayload)).not.toBeNull();
    expect(withPayload(promptPayload)).not.toBeNull();
  });
  test.each([
    { admissionReceipts: [] },
    { admissionReceipts: Array(257).fill(controlPayload.admissionReceipts[0]) },
    { queueLane: "default" },
    { controlType: "x" },
    { target: { chatId: "7" } },
    { transportStamp: { profile: "p" } },
    { guestQueryId: 1 },
    { queueOrder: 1.5 },
    { statusSummary: null },
    receipts({ queueKind: "prompt" }),
    receipts({ receiptId: "" }),
    receipts({ sourceUpdateIds: [] }),
    receipts({ sourceUpdateIds: [2, 2] }),
    receipts({ sourceUpdateIds: [-1] }),
    receipts({ journalBindingKey: " " }),
  ])("control with %j", (fields) => expect(withPayload({ ...controlPayload, ...fields })).toBeNull());
  test.each([
    { queueLane: "control" },
    { priorityEmoji: 1 },
    { reactionSuppressionEmoji: null },
    { voiceReplyRequired: "yes" },
    { content: [{ type: "audio" }] },
    { content: [{ type: "text" }] },
    { sourceMessageIds: ["1"] },
    { queuedAttachments: [{ path: "/a" }] },
    { historyText: undefined },
  ])("prompt with %j", (fields) => expect(withPayload({ ...promptPayload, ...fields })).toBeNull());
  test("8 MiB of compact JSON is the most", () => {
    const bytesMax = 8_388_608;
    const fill = bytesMax - Buffer.byteLength(JSON.stringify({ ...controlPayload, statusSummary: "" }));
    expect(withPayload({ ...controlPayload, statusSummary: "x".repeat(fill) })).not.toBeNull();
    expect(withPayload({ ...controlPayload, statusSummary: "x".repeat(fill + 1) })).toBeNull();
  });
});
