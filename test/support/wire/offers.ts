/** An offer of queued work as a v1 follower makes it. */
import type { FollowerOfferRequest } from "../../../machines/wire/envelopes.ts";
import type { V1Peer } from "./leader.ts";

const payload = {
  kind: "control",
  controlType: "status",
  chatId: 7,
  replyToMessageId: 900,
  queueOrder: 1,
  queueLane: "control",
  laneOrder: 1,
  statusSummary: "status",
  admissionReceipts: [{ queueKind: "control", receiptId: "receipt-1", sourceUpdateIds: [5001] }],
};

export function offerOf(
  donor: V1Peer,
  recipient: V1Peer,
  differs: Partial<FollowerOfferRequest> = {},
): FollowerOfferRequest {
  return {
    kind: "follower.offerQueueHandoff",
    ...donor.base(),
    recipientInstanceId: recipient.id,
    recipientRegistrationGeneration: recipient.generation,
    donorProcessId: donor.pid,
    donorProcessBirthId: `${donor.pid}:start:1`,
    donorSessionGeneration: 1,
    donorAcquisitionId: "acquisition-donor",
    donorAcquiredAtMs: 1_700_000_000_000,
    handoffToken: "T".repeat(43),
    payload,
    ...differs,
  };
}
