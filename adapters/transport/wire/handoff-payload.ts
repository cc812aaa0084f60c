/**
 * The rule that a handoff payload must pass to be relayed or staged (protocol §3.12).
 *
 * Owns: that check. Does not own: what a payload means; it is kept as it was sent, key order included (W-22).
 * Invariants: no payload longer than `handoffPayloadBytesMax` passes; the check never throws.
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { handoffPayloadBytesMax } from "../../../machines/wire/constants.ts";
import { naturalSafeInt, nonBlank, safeInt, target } from "./fields.ts";

const receipt = z.object({
  queueKind: z.enum(["prompt", "control"]),
  receiptId: z.string().min(1),
  sourceUpdateIds: z
    .array(naturalSafeInt)
    .min(1)
    .refine((ids) => ids.every((id, index) => index === 0 || (ids[index - 1] ?? id) < id)),
  journalBindingKey: nonBlank.optional(),
});

const common = {
  chatId: safeInt,
  replyToMessageId: safeInt,
  queueOrder: safeInt,
  laneOrder: safeInt,
  statusSummary: z.string(),
  target: target.optional(),
  transportStamp: z.object({ profile: z.string(), generation: z.string() }).optional(),
  guestQueryId: z.string().optional(),
  admissionReceipts: z.array(receipt).min(1).max(256),
};

const controlPayload = z.object({
  ...common,
  kind: z.literal("control"),
  queueLane: z.literal("control"),
  controlType: z.enum(["status", "model"]),
});

const promptPayload = z.object({
  ...common,
  kind: z.literal("prompt"),
  queueLane: z.enum(["priority", "default"]),
  sourceMessageIds: z.array(safeInt),
  queuedAttachments: z.array(z.object({ path: z.string(), fileName: z.string() })),
  content: z.array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
    ]),
  ),
  historyText: z.string(),
  priorityEmoji: z.string().optional(),
  reactionSuppressionEmoji: z.string().optional(),
  voiceReplyPreferred: z.boolean().optional(),
  voiceReplyRequired: z.boolean().optional(),
});

const payload = z
  .discriminatedUnion("kind", [controlPayload, promptPayload])
  .refine((value) => value.admissionReceipts.every((each) => each.queueKind === value.kind));

const isHandoffPayload = (value: unknown): boolean =>
  payload.safeParse(value).success && Buffer.byteLength(JSON.stringify(value)) <= handoffPayloadBytesMax;

export const handoffPayload = z.custom<Readonly<Record<string, unknown>>>(isHandoffPayload);
