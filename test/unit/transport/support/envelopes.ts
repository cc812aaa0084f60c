/** Envelopes for tests, valid unless a test changes them. */
import { chatId, generation, instanceId, seatKey, threadId, updateId } from "../../../../machines/ids.ts";
import type { Ack, Envelope } from "../../../../machines/wire/envelopes.ts";

type OfKind<Kind extends Envelope["kind"]> = Extract<Envelope, { kind: Kind }>;

export const auth = "s".repeat(43);
export const alice = instanceId("4711:1750000000000");
export const bob = instanceId("4712:1750000000001");
export const aliceGeneration = generation("4711:1750000000000:1");
export const aliceSeat = seatKey("manual:4700:start:88123");

const ofAlice = { auth, instanceId: alice, registrationGeneration: aliceGeneration };

export const heartbeat = (requestId: string, sentAtMs = 1_750_000_000_200): OfKind<"follower.heartbeat"> => ({
  kind: "follower.heartbeat",
  requestId,
  ...ofAlice,
  sentAtMs,
});

export const callApi = (requestId: string, args: readonly unknown[]): OfKind<"follower.callApi"> => ({
  kind: "follower.callApi",
  requestId,
  ...ofAlice,
  method: "call",
  args,
  sentAtMs: 1_750_000_000_300,
});

export const register = (requestId: string): OfKind<"follower.register"> => ({
  kind: "follower.register",
  requestId,
  auth,
  registration: {
    instanceId: alice,
    connectedAtMs: 1_750_000_000_100,
    registrationGeneration: aliceGeneration,
    protocol: {
      protocolVersion: 1,
      runtimeBuild: "2.0.0",
      capabilities: ["durable-follower-admission-v1", "queue-handoff-v1"],
    },
    profileKey: aliceSeat,
    threadName: "repo",
    slot: "B",
    cwd: "/repo",
    pid: 4711,
    processBirthId: "4711:start:90210",
    sessionGeneration: 1,
    target: { chatId: chatId(7), threadId: threadId(42) },
    busSocketPath: "/run/followers/4711_1750000000000.sock",
  },
});

export const forwardMessage = (requestId: string): OfKind<"leader.forwardMessage"> => ({
  kind: "leader.forwardMessage",
  requestId,
  auth,
  recipientInstanceId: alice,
  recipientRegistrationGeneration: aliceGeneration,
  delivery: {
    deliveryId: `telegram-follower-v1-${"0a".repeat(32)}`,
    sourceUpdateId: updateId(44),
    recipientBindingKey: aliceSeat,
  },
  sentAtMs: 1_750_000_000_400,
  message: { message_id: 5, text: "hi", pi_telegram_source_update_id: 44 },
});

export const controlPayload = {
  kind: "control",
  controlType: "status",
  chatId: 7,
  target: { chatId: 7, threadId: 44 },
  replyToMessageId: 900,
  queueOrder: 1,
  queueLane: "control",
  laneOrder: 1,
  statusSummary: "status",
  admissionReceipts: [{ queueKind: "control", receiptId: "receipt-1", sourceUpdateIds: [5001, 5002] }],
};

export const promptPayload = {
  ...controlPayload,
  kind: "prompt",
  controlType: undefined,
  queueLane: "default",
  admissionReceipts: [{ queueKind: "prompt", receiptId: "receipt-1", sourceUpdateIds: [0] }],
  sourceMessageIds: [900],
  queuedAttachments: [{ path: "/tmp/a", fileName: "a" }],
  content: [
    { type: "text", text: "hello" },
    { type: "image", data: "AAAA", mimeType: "image/png" },
  ],
  historyText: "",
  voiceReplyPreferred: true,
};

export const offer = (requestId: string): OfKind<"follower.offerQueueHandoff"> => ({
  kind: "follower.offerQueueHandoff",
  requestId,
  auth,
  instanceId: alice,
  registrationGeneration: aliceGeneration,
  recipientInstanceId: bob,
  recipientRegistrationGeneration: generation("4712:1750000000001:1"),
  donorProcessId: 4711,
  donorProcessBirthId: "4711:start:90210",
  donorSessionGeneration: 1,
  donorAcquisitionId: "acquisition-1",
  donorAcquiredAtMs: 0,
  handoffToken: "T".repeat(32),
  payload: controlPayload,
  sentAtMs: 1,
});

export const okAck = (request: Envelope, result?: unknown): Ack => ({
  kind: "bus.ack",
  requestId: request.requestId,
  ok: true,
  ...(result === undefined ? {} : { result }),
});
