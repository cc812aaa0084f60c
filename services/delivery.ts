/**
 * Effects of the delivery chart: finding the owner of an update, getting it there, ending it.
 *
 * Owns: the look-ups in their order (message, then thread; the live registry, then the bindings), the forward.
 * Does not own: authorisation, waiting, retry (`machines/delivery.machine.ts`).
 */
import { fromPromise } from "xstate";
import type { SeatKey, ThreadTarget } from "../machines/ids.ts";
import { evidenceOf } from "../machines/evidence.rules.ts";
import { deliveryMachine } from "../machines/delivery.machine.ts";
import type { EndAnswer, ForwardAnswer, Recipient, Route } from "../machines/delivery.machine.ts";
import { faultOfReceipt, forwardEnvelope, forwardKindOf } from "../machines/forward.rules.ts";
import { seatOfThread } from "../machines/threads.rules.ts";
import type { UpdateFacts } from "../machines/updates.rules.ts";
import { deliveryIdPrefix, timeoutMs } from "../machines/wire/constants.ts";
import { deliveryIdText } from "../machines/wire/envelopes.ts";
import type { Ack } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { isTied } from "./follower-links.ts";
import type { FollowerLinks } from "./follower-links.ts";
import type { Inbox } from "./inbox.ts";
import type { JournalEntry } from "./ports.ts";
import { chatOf } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { Seats } from "./seats.ts";

export interface LeaderSide {
  readonly seats: Seats;
  readonly links: FollowerLinks;
  readonly inbox: Inbox;
}

/** Looks up who owns an update; the order is the one of updates §3.4. */
async function findOwner(runtime: Runtime, { seats }: LeaderSide, facts: UpdateFacts): Promise<Route> {
  const { store } = runtime.ports;
  const { place } = runtime.board;
  const recipientOn = (seat: SeatKey): Recipient => {
    if (place?.seat === seat) return { kind: "self" };
    const sitter = seats.sitterOf(seat);
    return sitter === null
      ? { kind: "absent" }
      : { kind: "follower", instanceId: sitter.instanceId, generation: sitter.generation };
  };
  const to = (seat: SeatKey): Route => ({ kind: "seat", seat, recipient: recipientOn(seat) });

  // Classic: there are no threads, everything is ours.
  if (place?.isClassic === true) return to(place.seat);

  if (facts.kind !== "message" && facts.chat !== null && facts.message !== null) {
    const owner = await store.ownership.ownerOf(facts.chat, facts.message);
    if (owner !== null) return to(owner);
  }
  if (facts.chat === null || facts.thread === null) return { kind: "nowhere", reason: "outside-every-thread" };
  const target: ThreadTarget = { chatId: facts.chat, threadId: facts.thread };
  if (place?.thread?.target.threadId === facts.thread) return to(place.seat);
  const live = seats.seatByThread(target);
  if (live !== null) return to(live);
  const bound = seatOfThread((await store.threads.view()).bindings, target);
  return bound === null ? { kind: "nobody", reason: "no instance owns this thread" } : to(bound);
}

async function takeOurselves(runtime: Runtime, { inbox }: LeaderSide, entry: JournalEntry): Promise<ForwardAnswer> {
  const { place } = runtime.board;
  if (place === null) return { kind: "refused", reason: "we have no seat at the moment" };
  const taken = await inbox.take(entry.updateId, place);
  return taken === "stale" || taken === "heldElsewhere" || taken === "outOfOrder"
    ? { kind: "refused", reason: `the claim is ${taken}` }
    : { kind: "accepted" };
}

async function forward(
  runtime: Runtime,
  { links, seats }: LeaderSide,
  { entry, facts, seat, recipient }: Forward,
): Promise<ForwardAnswer> {
  const { ids, stage } = runtime.ports;
  if (facts.routed === null) throw new Error("an update that nobody routes was to be forwarded");
  const digest = ids.sha256Hex(deliveryIdText(forwardKindOf(facts.routed), seat, entry.updateId));
  const deliveryId = deliveryIdPrefix + digest;
  const before = seats.sitterOf(seat);
  if (before !== null && !isTied(before)) await noteOwner(runtime, facts, seat);
  const outcome = await links.request(
    { seat, generation: recipient.generation },
    forwardEnvelope({
      kind: facts.routed,
      update: JSON.parse(entry.body),
      requestId: ids.requestId(runtime.settings.me),
      auth: runtime.settings.secret,
      instanceId: recipient.instanceId,
      generation: recipient.generation,
      seat,
      updateId: entry.updateId,
      deliveryId,
      sentAtMs: stage.clock.nowMs(),
    }),
    timeoutMs.forward,
  );
  if (outcome.kind === "notSent") return { kind: "refused", reason: outcome.reason };
  if (outcome.kind === "lost") return { kind: "unknown", reason: outcome.reason };
  const fault = faultOfReceipt(outcome.ack, { deliveryId, updateId: entry.updateId });
  // Refusals by the wire's own rules are certain; a handler that failed may have failed after its claim.
  if (fault !== null) return { kind: isCertain(outcome.ack) ? "refused" : "unknown", reason: fault };
  // Only a positive answer is a sign of life (protocol O-3), and only of this registration (O-4).
  seats.heard(recipient.instanceId, recipient.generation);
  const sitter = seats.sitterOf(seat);
  // Our own peer has claimed the row itself: that is its receipt. A v1 peer has it in a journal of its own.
  if (sitter !== null && isTied(sitter)) return { kind: "accepted" };
  return (await endForeign(runtime, { entry, seat, recipient }))
    ? { kind: "accepted" }
    : { kind: "unknown", reason: "the receipt came and the entry is not ended yet" };
}

/**
 * Writes down whose a message of the user is before a v1 peer gets it: reactions that follow name no thread (protocol
 * MO-6). Our own peers do it with their claim.
 */
async function noteOwner(runtime: Runtime, { chat, message, thread }: UpdateFacts, seat: SeatKey): Promise<void> {
  if (chat === null || message === null || thread === null) return;
  await runtime.ports.store.ownership.record([{ chatId: chat, messageId: message, seat }]);
}

/**
 * Ends an entry that a v1 peer has durably (protocol P-42). Taken for that peer's registration first, so that an entry
 * which changed hands meanwhile stays. Repeating it, and the forward before it, changes nothing: the peer knows the id.
 */
async function endForeign(
  runtime: Runtime,
  { entry, seat, recipient }: Pick<Forward, "entry" | "seat" | "recipient">,
): Promise<boolean> {
  const { store, ids, stage } = runtime.ports;
  const { instanceId, generation } = recipient;
  const claimant = { seat, instanceId, generation, acquisition: ids.acquisition() };
  const claim = await store.work.claim({ updateId: entry.updateId, claimant });
  if (claim.kind === "settled") return true;
  if (claim.kind !== "claimed" && claim.kind !== "repeated") return false;
  const acquisition = claim.kind === "repeated" ? claim.acquisition : claimant.acquisition;
  await store.work.settle({ seq: claim.entry.seq, acquisition, nowMs: stage.clock.nowMs() });
  return true;
}

const isCertain = (ack: Ack): boolean => !ack.ok && ack.message !== wireText.handlerFailed;

interface Forward {
  readonly entry: JournalEntry;
  readonly facts: UpdateFacts;
  readonly seat: SeatKey;
  readonly recipient: Extract<Recipient, { kind: "follower" }>;
}

/** The chart of one delivery with its slots filled. */
export function provideDelivery(runtime: Runtime, side: LeaderSide, entry: JournalEntry, facts: UpdateFacts) {
  const { store, stage } = runtime.ports;
  const end = ({ kind }: { readonly kind: string }): EndAnswer => ({ kind: kind === "fenced" ? "fenced" : "ended" });
  return deliveryMachine.provide({
    actors: {
      findOwner: fromPromise<Route, { readonly facts: UpdateFacts }>(({ input }) =>
        findOwner(runtime, side, input.facts),
      ),
      forwardUpdate: fromPromise<ForwardAnswer, { readonly seat: SeatKey; readonly recipient: Recipient }>(
        async ({ input: { seat, recipient } }) => {
          if (recipient.kind === "absent") return { kind: "refused", reason: "nobody sits there" };
          const answer =
            recipient.kind === "self"
              ? await takeOurselves(runtime, side, entry)
              : await forward(runtime, side, { entry, facts, seat, recipient });
          if (answer.kind !== "accepted")
            stage.log.event("info", "forward-not-taken", { seq: entry.seq, seat, reason: answer.reason });
          return answer;
        },
      ),
      dropUpdate: fromPromise(async ({ input }) => {
        // What it tells of a thread is on disk before it is gone from the journal.
        if (facts.isTopicService && facts.chat === chatOf(runtime.settings)) {
          const evidence = evidenceOf(JSON.parse(entry.body), stage.clock.nowMs());
          const noted = evidence === null ? null : await store.cleanups.observe({ epoch: input.epoch, evidence });
          if (noted?.kind === "fenced") return end(noted);
        }
        return end(await store.journal.drop({ ...input, seq: entry.seq, nowMs: stage.clock.nowMs() }));
      }),
      deadLetterUpdate: fromPromise(async ({ input }) =>
        end(await store.journal.deadLetter({ ...input, seq: entry.seq, nowMs: stage.clock.nowMs() })),
      ),
    },
  });
}
