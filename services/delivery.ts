/**
 * Effects of the delivery chart: finding the owner of an update, getting it there, ending it.
 *
 * Owns: the look-ups in their order (message, then thread; the live registry, then the bindings), the forward.
 * Does not own: authorisation, waiting, retry (`machines/delivery.machine.ts`).
 */
import { fromPromise } from "xstate";
import type { JournalSeq, SeatKey, ThreadTarget } from "../machines/ids.ts";
import { moveToldBy } from "../machines/chats.rules.ts";
import { evidenceOf } from "../machines/evidence.rules.ts";
import { deliveryMachine } from "../machines/delivery.machine.ts";
import type {
  EndAnswer,
  EndInput,
  ForwardAnswer,
  ForwardInput,
  Recipient,
  Route,
} from "../machines/delivery.machine.ts";
import { sameTarget } from "../machines/ids.ts";
import { judgeStrange, outsideReason, pressOf, pressReason, unownedReason } from "../machines/reroute.rules.ts";
import { faultOfReceipt, forwardEnvelope, forwardKindOf } from "../machines/forward.rules.ts";
import { unpairedReason } from "../machines/updates.rules.ts";
import type { UpdateFacts } from "../machines/updates.rules.ts";
import { deliveryIdPrefix, timeoutMs } from "../machines/wire/constants.ts";
import { deliveryIdText } from "../machines/wire/envelopes.ts";
import type { Ack } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { isTied } from "./follower-links.ts";
import type { FollowerLinks } from "./follower-links.ts";
import type { Hand, Work } from "./hand.ts";
import { isTaken, ownersOf } from "./inbox.ts";
import type { Inbox } from "./inbox.ts";
import { noteMove } from "./chats.ts";
import { noteAsker } from "./pairing.ts";
import { chatOf } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { Seats } from "./seats.ts";

export interface LeaderSide {
  readonly seats: Seats;
  readonly links: FollowerLinks;
  readonly inbox: Inbox;
}

/** Supergroups have General, which every member reads; a private chat has only its threads, as long as there are any. */
const isForAll = (runtime: Runtime): boolean => chatOf(runtime) < 0 || runtime.board.topics?.areOff === true;

interface Sought {
  readonly facts: UpdateFacts;
  readonly assignedTo: SeatKey | null;
  /** It looks like a press of a question's button; one of an instance's own button that looks like it is that instance's. */
  readonly isPress: boolean;
  readonly isBehind: boolean;
}

/** What becomes of an update whose thread no seat has or had. */
async function judgeUnowned(runtime: Runtime, target: ThreadTarget, { facts, isBehind }: Sought): Promise<Route> {
  if (target.chatId !== runtime.chats.now) return { kind: "nobody", reason: unownedReason };
  const { provisions, observations } = await runtime.ports.store.cleanups.view();
  const verdict = judgeStrange({
    facts,
    isBehind,
    isBeingBound: provisions.some(({ threadId }) => threadId === target.threadId),
    isDeleted: observations.some((each) => each.status === "deleted" && sameTarget(each.target, target)),
  });
  if (verdict.kind === "setAside") return { kind: "nobody", reason: verdict.reason };
  return { kind: "unowned", isAsked: verdict.kind === "ask", reason: unownedReason };
}

/** Looks up who owns an update; the order is the one of updates §3.4. */
async function findOwner(runtime: Runtime, { seats }: LeaderSide, sought: Sought): Promise<Route> {
  const { facts, assignedTo, isPress } = sought;
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

  // Moved away from its thread's owner by a handoff.
  if (assignedTo !== null) return to(assignedTo);
  // Classic: there are no threads, everything is ours.
  if (place?.isClassic === true && !isPress) return to(place.seat);

  if (facts.kind !== "message" && facts.chat !== null && facts.message !== null) {
    const owner = await store.ownership.ownerOf(facts.chat, facts.message);
    if (owner !== null) return to(owner);
  }
  if (isPress) return { kind: "nowhere", reason: pressReason };
  // What is written to all of us is ours: in General, and everywhere while threads are off.
  if (facts.thread === null && facts.chat !== null && place !== null && isForAll(runtime)) return to(place.seat);
  if (facts.chat === null || facts.thread === null) return { kind: "nowhere", reason: outsideReason };
  const target: ThreadTarget = { chatId: facts.chat, threadId: facts.thread };
  if (place?.thread?.target.threadId === facts.thread) return to(place.seat);
  const live = seats.seatByThread(target);
  if (live !== null) return to(live);
  const bound = await store.threads.seatOf(target);
  return bound === null ? judgeUnowned(runtime, target, sought) : to(bound);
}

async function takeOurselves(runtime: Runtime, { inbox }: LeaderSide, { entry, update }: Work): Promise<ForwardAnswer> {
  const { place } = runtime.board;
  if (place === null) return { kind: "refused", reason: "we have no seat at the moment" };
  const { updateId, seq, redelivered } = entry;
  const taken = await inbox.take({ updateId, seq, update, redelivered }, place);
  if (taken === "outOfOrder") return { kind: "early" };
  return isTaken(taken) ? { kind: "accepted" } : { kind: "refused", reason: `the claim is ${taken}` };
}

async function forward(runtime: Runtime, { links, seats }: LeaderSide, parcel: Parcel): Promise<ForwardAnswer> {
  const { ids, stage } = runtime.ports;
  const { seat, recipient, isOwnPeer } = parcel;
  const { entry, facts, update } = parcel.work;
  if (facts.routed === null) throw new Error("an update that nobody routes was to be forwarded");
  const digest = ids.sha256Hex(deliveryIdText(forwardKindOf(facts.routed), seat, entry.updateId));
  const deliveryId = deliveryIdPrefix + digest;
  const before = seats.sitterOf(seat);
  if (before !== null && !isTied(before)) await noteOwner(runtime, facts, seat);
  const outcome = await links.request(
    { seat, generation: recipient.generation },
    forwardEnvelope({
      kind: facts.routed,
      update,
      requestId: ids.requestId(runtime.settings.me),
      auth: runtime.settings.secret,
      instanceId: recipient.instanceId,
      generation: recipient.generation,
      seat,
      updateId: entry.updateId,
      deliveryId,
      journal: isOwnPeer ? { seq: entry.seq, redelivered: entry.redelivered } : null,
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
  return isOwnPeer ? { kind: "accepted" } : endForeign(runtime, parcel);
}

/**
 * Writes down whose a message of the user is before a v1 peer gets it: reactions that follow name no thread (protocol
 * MO-6). Our own peers do it with their claim.
 */
async function noteOwner(runtime: Runtime, facts: UpdateFacts, seat: SeatKey): Promise<void> {
  const owners = ownersOf(facts, seat);
  if (owners.length > 0) await runtime.ports.store.ownership.record(owners);
}

/**
 * Ends an entry that a v1 peer has durably (protocol P-42): our own peer has claimed the row itself, a v1 peer has it in a
 * journal of its own. Taken for that peer's registration, so that an entry which changed hands meanwhile stays. Repeating
 * it, and the forward before it, changes nothing: the peer knows the id.
 */
async function endForeign(runtime: Runtime, { work, seat, recipient }: Parcel): Promise<ForwardAnswer> {
  const { store, ids, stage } = runtime.ports;
  const { updateId, seq } = work.entry;
  const { instanceId, generation } = recipient;
  const outcome = await store.work.claim({
    updateId,
    seq,
    claimant: { seat, instanceId, generation, acquisition: ids.acquisition() },
    owners: ownersOf(work.facts, seat),
    settleAtMs: stage.clock.nowMs(),
  });
  return outcome.kind === "claimed" || outcome.kind === "repeated" || outcome.kind === "settled"
    ? { kind: "accepted" }
    : { kind: "unknown", reason: `the receipt came and the entry is not ended yet: ${outcome.kind}` };
}

const isCertain = (ack: Ack): boolean => !ack.ok && ack.message !== wireText.handlerFailed;

interface Parcel {
  readonly work: Work;
  readonly seat: SeatKey;
  readonly recipient: Extract<Recipient, { kind: "follower" }>;
  /** It shares our store: its claim is the receipt. A v1 peer has a journal of its own. */
  readonly isOwnPeer: boolean;
}

export interface InHand {
  readonly hand: Hand;
  /** A button of the line's own was pressed; returns at once. */
  readonly onPress: (update: unknown) => void;
  /** Somebody wrote where nobody hears; returns at once. */
  readonly onOutside: (facts: UpdateFacts) => void;
}

/** The chart of every delivery of one leadership, with its slots filled; what it is about is in `hand`. */
export function provideDelivery(runtime: Runtime, side: LeaderSide, { hand, onPress, onOutside }: InHand) {
  const { store, stage } = runtime.ports;

  const send = async ({ seq, seat, recipient }: ForwardInput): Promise<ForwardAnswer> => {
    if (recipient.kind === "absent") return { kind: "refused", reason: "nobody sits there" };
    const work = hand.work(seq);
    const isOwnPeer = recipient.kind === "self" || isTied(side.seats.sitterOf(seat) ?? unknownPeer);
    // A v1 peer takes each request on a connection of its own, in whatever order they arrive.
    if ((await hand.turnOf(seq, isOwnPeer)) === "early") return { kind: "early" };
    return recipient.kind === "self"
      ? takeOurselves(runtime, side, work)
      : forward(runtime, side, { work, seat, recipient, isOwnPeer });
  };

  return deliveryMachine.provide({
    actors: {
      findOwner: fromPromise<Route, { readonly seq: JournalSeq; readonly facts: UpdateFacts }>(({ input }) => {
        const { entry, update } = hand.work(input.seq);
        return findOwner(runtime, side, {
          facts: input.facts,
          assignedTo: entry.assignedTo,
          isPress: pressOf(update) !== null,
          isBehind: hand.isBehind(input.seq),
        });
      }),
      forwardUpdate: fromPromise<ForwardAnswer, ForwardInput>(async ({ input }) => {
        let answer: ForwardAnswer | null = null;
        try {
          answer = await send(input);
        } finally {
          if (answer?.kind !== "accepted") hand.notTaken(input.seq);
        }
        if (answer.kind === "refused" || answer.kind === "unknown")
          stage.log.event("info", "forward-not-taken", { seq: input.seq, seat: input.seat, reason: answer.reason });
        return answer;
      }),
      dropUpdate: fromPromise<EndAnswer, EndInput>(async ({ input }) => {
        const { facts, update } = hand.work(input.seq);
        // Whoever asks to be paired is on disk before the message is gone from the journal.
        if (input.reason === unpairedReason && (await noteAsker(runtime, input.epoch, { facts, update })) === "fenced")
          return { kind: "fenced" };
        if (input.reason === pressReason) onPress(update);
        if (input.reason === outsideReason) onOutside(facts);
        // What it tells of a thread, or of our chat, is on disk before it is gone from the journal.
        const move = facts.isChatMove ? moveToldBy(update) : null;
        if (move !== null && (await noteMove(runtime, move, input.epoch)).kind === "fenced") return { kind: "fenced" };
        if (facts.isTopicService && facts.chat === runtime.chats.now) {
          // What is told later comes later.
          while ((await hand.turnOf(input.seq, false)) === "early");
          const evidence = evidenceOf(update, stage.clock.nowMs());
          const noted = evidence === null ? null : await store.cleanups.observe({ epoch: input.epoch, evidence });
          if (noted?.kind === "fenced") return ending(noted);
        }
        return ending(await store.journal.drop({ ...input, nowMs: stage.clock.nowMs() }));
      }),
      deadLetterUpdate: fromPromise<EndAnswer, EndInput>(async ({ input }) =>
        ending(await store.journal.deadLetter({ ...input, nowMs: stage.clock.nowMs() })),
      ),
    },
  });
}

const unknownPeer = { capabilities: [] };

function ending({ kind }: { readonly kind: "dropped" | "deadLettered" | "missing" | "fenced" }): EndAnswer {
  if (kind === "fenced") return { kind };
  return { kind: kind === "missing" ? "gone" : "ended" };
}
