/** An offer of queued work between two v1 followers, through a leader of ours (protocol §3.10, §3.11, §4.11). */
import { expect, test } from "vitest";
import { generation, instanceId } from "../../../machines/ids.ts";
import { capability, timeoutMs } from "../../../machines/wire/constants.ts";
import type { Ack, FollowerOfferRequest } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { seated, secret, startLeader, v1Protocol } from "../../support/wire/leader.ts";
import type { LeaderWorld, V1Peer } from "../../support/wire/leader.ts";
import { offerOf } from "../../support/wire/offers.ts";

const staged = (receiptId = "receipt-1") => ({
  status: "staged",
  receiptId,
  sourceUpdateIds: [5001],
  queueOwner: { instanceId: "2002:1", processId: 2002 },
});

/** Two v1 followers at one leader, and how the second answers an offer. */
async function fleet(
  answer: (world: LeaderWorld) => Promise<Partial<Ack>> | Partial<Ack> = () => ({ result: staged() }),
) {
  const world = await startLeader();
  const donor = await seated(world, { pid: 2001 });
  const recipient = await seated(world, { pid: 2002, answer: () => answer(world) });
  return { world, donor, recipient };
}

const offersAt = (peer: V1Peer): number =>
  peer.received.filter(({ kind }) => kind === "leader.offerQueueHandoff").length;

const refusal = (request: { readonly requestId: string }, message: string): Ack => ({
  kind: "bus.ack",
  requestId: request.requestId,
  ok: false,
  message,
});

test("protocol §3.10: what an offer carries reaches the recipient under the same id and secret, named by its registration", async () => {
  const { donor, recipient } = await fleet();
  const offer = offerOf(donor, recipient);
  expect(await donor.send(offer)).toEqual({
    kind: "bus.ack",
    requestId: offer.requestId,
    ok: true,
    result: staged(),
  });
  const { instanceId: _donor, registrationGeneration: _fence, kind: _kind, ...carried } = offer;
  expect(recipient.received.at(-1)).toEqual({
    ...carried,
    kind: "leader.offerQueueHandoff",
    donorInstanceId: donor.id,
    auth: secret,
  });
});

test("protocol/S-90 and P-45, updates/T-86, T-87, T-100: a stale donor or recipient, an unknown one, and the donor itself get their refusal, and nothing is relayed", async () => {
  const { donor, recipient } = await fleet();
  const stale = generation("an earlier one");
  const cases: readonly (readonly [FollowerOfferRequest, string])[] = [
    [offerOf(donor, recipient, { instanceId: instanceId("9:1") }), wireText.unknownFollower],
    [offerOf(donor, recipient, { registrationGeneration: stale }), wireText.staleGeneration],
    // Both are wrong: the donor's own comes first.
    [
      offerOf(donor, recipient, { registrationGeneration: stale, recipientRegistrationGeneration: stale }),
      wireText.staleGeneration,
    ],
    [offerOf(donor, recipient, { recipientInstanceId: instanceId("9:1") }), wireText.handoffNotNegotiated],
    [offerOf(donor, recipient, { recipientRegistrationGeneration: stale }), wireText.handoffRecipientStale],
    // To itself under a stale generation: the generation comes first.
    [
      offerOf(donor, recipient, { recipientInstanceId: donor.id, recipientRegistrationGeneration: stale }),
      wireText.handoffRecipientStale,
    ],
    [
      offerOf(donor, recipient, {
        recipientInstanceId: donor.id,
        recipientRegistrationGeneration: donor.generation,
      }),
      wireText.handoffToItself,
    ],
  ];
  for (const [offer, text] of cases) expect(await donor.send(offer)).toEqual(refusal(offer, text));
  expect([offersAt(donor), offersAt(recipient)]).toEqual([0, 0]);
});

test.each([
  ["the donor", [capability.durableAdmission], v1Protocol.capabilities],
  ["the recipient", v1Protocol.capabilities, [capability.durableAdmission]],
])("protocol/P-45, updates/T-92: without the capability of %s nothing is relayed", async (_, ofDonor, ofRecipient) => {
  const world = await startLeader();
  const donor = await seated(world, { pid: 2001, capabilities: ofDonor });
  const recipient = await seated(world, { pid: 2002, capabilities: ofRecipient });
  // The capability comes before the recipient's generation.
  for (const offer of [
    offerOf(donor, recipient),
    offerOf(donor, recipient, { recipientRegistrationGeneration: generation("stale") }),
  ])
    expect(await donor.send(offer)).toEqual(refusal(offer, wireText.handoffNotNegotiated));
  expect(offersAt(recipient)).toBe(0);
});

test.each([
  ["an own donor to a v1 recipient", true],
  ["a v1 donor to an own recipient", false],
])("mixed fleet: an offer of %s is refused, for their journals are two", async (_, isDonorOwn) => {
  const world = await startLeader();
  const donor = await seated(world, { pid: 2001, isOwn: isDonorOwn });
  const recipient = await seated(world, { pid: 2002, isOwn: !isDonorOwn });
  const offer = offerOf(donor, recipient);
  expect(await donor.send(offer)).toEqual(refusal(offer, wireText.handoffNotNegotiated));
  expect(offersAt(recipient)).toBe(0);
});

test("protocol §3.10 row 8: a refusal passes with its text and nothing else of it, and without one without", async () => {
  const answers: Partial<Ack>[] = [
    { ok: false, message: "another offer is staged", result: { of: "no concern" }, error: { code: "commit-unknown" } },
    { ok: false },
  ];
  const { donor, recipient } = await fleet(() => answers.shift() ?? {});
  const first = offerOf(donor, recipient);
  expect(await donor.send(first)).toEqual(refusal(first, "another offer is staged"));
  const second = offerOf(donor, recipient);
  expect(await donor.send(second)).toEqual({ kind: "bus.ack", requestId: second.requestId, ok: false });
});

test("protocol/S-91: whether the receipt is the one that was offered is the donor's to judge: the leader passes on what came", async () => {
  const { donor, recipient } = await fleet(() => ({ result: staged("another receipt") }));
  expect(await donor.send(offerOf(donor, recipient))).toMatchObject({ ok: true, result: staged("another receipt") });
});

test("protocol §3.10 row 8: a recipient that ends the connection without an answer did not acknowledge staging", async () => {
  const { donor, recipient } = await fleet((world) => {
    world.network.kill("v1-2002");
    return {};
  });
  const offer = offerOf(donor, recipient);
  expect(await donor.send(offer)).toEqual(refusal(offer, wireText.handoffNotAcknowledged));
});

test("protocol/O-2 and O-9, updates/OP-5: a recipient that does not answer within the hop's budget is a failed transport, told in the log and counted", async () => {
  const { world, donor, recipient } = await fleet(() => new Promise<never>(() => undefined));
  const offer = offerOf(donor, recipient);
  const answer = donor.begin(offer);
  let isAnswered = false;
  void answer.then(() => (isAnswered = true));
  await world.clock.advance(timeoutMs.handoffHop - 1);
  expect(isAnswered).toBe(false);
  await world.clock.advance(1);
  expect(await answer).toEqual(refusal(offer, wireText.handlerFailed));
  expect(world.counted).toContain("handoff-not-relayed");
  expect(world.log).toContainEqual({
    level: "warn",
    phase: "handoff-not-relayed",
    fields: { to: recipient.id, reason: wireText.timedOut },
  });
});

test("updates/T-88: the same offer once more has the first answer, and is staged once", async () => {
  const { donor, recipient } = await fleet();
  const offer = offerOf(donor, recipient);
  const first = await donor.send(offer);
  expect(first).toMatchObject({ ok: true, result: staged() });
  expect(await donor.send(offer)).toEqual(first);
  expect(offersAt(recipient)).toBe(1);
});

test("updates/T-89: another payload under an offer's id is a collision, and reaches nobody", async () => {
  const { donor, recipient } = await fleet();
  const offer = offerOf(donor, recipient);
  await donor.send(offer);
  const altered = { ...offer, handoffToken: "U".repeat(43) };
  expect(await donor.send(altered)).toMatchObject({ ok: false, error: { code: "request-id-collision" } });
  expect(offersAt(recipient)).toBe(1);
});

test("protocol/O-4: what a former registration staged is no sign of life of the one that replaced it", async () => {
  const world = await startLeader();
  const donor = await seated(world, { pid: 2001 });
  const answers: ((ack: Partial<Ack>) => void)[] = [];
  const recipient = await seated(world, { pid: 2002, answer: () => new Promise((resolve) => answers.push(resolve)) });
  const relayed = donor.begin(offerOf(donor, recipient));
  await world.clock.advance(1);
  expect(await recipient.register()).toMatchObject({ ok: true });
  await world.clock.advance(4_000);
  answers[0]?.({ result: staged() });
  expect(await relayed).toMatchObject({ ok: true });
  await world.clock.advance(1_500);
  expect(await donor.heartbeat()).toMatchObject({ ok: true });
  expect(await recipient.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
});

test("protocol/O-3: a staged offer is a sign of life of both ends, a refused one of neither", async () => {
  for (const isStaged of [true, false]) {
    const { world, donor, recipient } = await fleet(() => (isStaged ? { result: staged() } : { ok: false }));
    await world.clock.advance(4_000);
    await donor.send(offerOf(donor, recipient));
    await world.clock.advance(3_000);
    const later = await donor.send(offerOf(donor, recipient));
    expect(later.message).toBe(isStaged ? undefined : wireText.unknownFollower);
  }
});
