/**
 * Which thread a seat gets: the one it is bound to, one that its instance brings along, a new one, or none for a stated
 * reason; and whether that has to be proven first.
 *
 * Does not own: the calls and writes that follow (`provisioning.machine.ts`), clean-up.
 */
import { sameTarget } from "./ids.ts";
import type { BoundThread, ChatId, InstanceId, SeatKey, ThreadId, ThreadTarget } from "./ids.ts";
import { freeSlot, isSlot, isThreadName, nameFor } from "./names.rules.ts";

/**
 * What is known of a bound thread at Telegram. `closed` keeps its binding and takes no messages; `suspect` must be proven
 * before it is used again.
 */
export type ThreadStanding = "open" | "closed" | "suspect";

/** A seat has at most one binding in each chat; those of a chat that is not the configured one are set aside. */
export interface Binding {
  readonly seat: SeatKey;
  readonly thread: BoundThread;
  /** When the seat first got this thread. */
  readonly createdAtMs: number;
  readonly standing: ThreadStanding;
  /** The last reason, in words for the operator: how its seat got it, or why it stands so. Empty in old stores only. */
  readonly reason: string;
  /** When Telegram last showed that the thread exists. */
  readonly provenAtMs: number;
}

/** A binding with the instance that last registered with it; null when none has. */
export interface HeldBinding extends Binding {
  readonly holder: InstanceId | null;
}

/** A creation that was begun: written before the call, removed with the binding it led to. */
export interface BegunProvision {
  readonly id: string;
  readonly seat: SeatKey;
  readonly chatId: ChatId;
  readonly slot: string;
  readonly threadName: string;
  readonly startedAtMs: number;
  /**
   * `ambiguous`: the call may have been carried out, as an `inFlight` one that nobody carries any more may have been.
   * `unwanted`: its instance has left for good; the thread, if it comes to light, is deleted.
   */
  readonly status: "inFlight" | "ambiguous" | "unwanted";
  /** Creations with an unknown outcome right before this one, for this seat: each doubles the wait for evidence. */
  readonly doubts: number;
}

/** A begun creation with its evidence: the thread that it made, once anybody has learned it. */
export interface PendingProvision extends BegunProvision {
  readonly threadId: ThreadId | null;
}

/** A thread that a seat had and Telegram has proven gone. Says what the seat's next one is called, and why there is one. */
export interface LostThread {
  readonly seat: SeatKey;
  readonly thread: BoundThread;
  readonly reason: string;
  readonly atMs: number;
}

/** A thread that exists, belongs to nobody, and is the operator's to delete. */
export interface LeftoverThread {
  readonly target: ThreadTarget;
  readonly threadName: string;
  /** Whose it was; null when nobody knows. */
  readonly seat: SeatKey | null;
  readonly reason: string;
  readonly atMs: number;
}

/** Everything that is known of threads, as one consistent view. */
export interface ThreadView {
  readonly bindings: readonly HeldBinding[];
  readonly provisions: readonly PendingProvision[];
  /** Newest last, at most `lostThreadsMax` of them. */
  readonly lost: readonly LostThread[];
  readonly leftovers: readonly LeftoverThread[];
}

/** Said of a thread whose seat another instance has than before, in the transaction that seats it. */
export const keptReason = "kept: an instance came back to its seat";

/** Lost threads that are remembered; the oldest are forgotten first. */
export const lostThreadsMax = 1_000;

export interface ThreadWish {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly chatId: ChatId;
  /** Name the instance asked for; null = one of the palette. */
  readonly threadName: string | null;
  /**
   * A follower's thread is proven before another instance has it again. The leader's own is not asked for unless it is in
   * doubt: starting to lead is invisible, and a thread that is gone is found by the next message (threads OB-6).
   */
  readonly role: "leader" | "follower";
  /** The thread that the instance says it has; null = none. */
  readonly carried: BoundThread | null;
  /** The instance that it goes on for, in the same process; null = none. */
  readonly previous: InstanceId | null;
}

export type ThreadDecision =
  | { readonly kind: "reuse"; readonly thread: BoundThread }
  /** This binding may be written once its thread is proven to exist. */
  | { readonly kind: "probe"; readonly candidate: Candidate }
  /** This binding may be written as it is: whoever asks had the thread a moment ago. */
  | { readonly kind: "take"; readonly candidate: Candidate }
  /** A creation that was begun has made this thread. */
  | { readonly kind: "adopt"; readonly provision: BegunProvision; readonly threadId: ThreadId }
  | {
      readonly kind: "create";
      readonly provision: BegunProvision;
      readonly abandons: string | null;
      /** Why there is a new one, in words for the operator. */
      readonly reason: string;
    }
  | { readonly kind: "reject"; readonly reason: string };

/** A thread that a seat may get without creating one. */
export interface Candidate {
  readonly binding: Binding;
  /**
   * `own`: the seat is bound to it. `anothers`: another seat is, and hands it over. `unknown`: nobody is, and the seat has
   * no other; `rival`: nobody is, and the seat has another, which stays until this one is proven (threads FP-14f).
   */
  readonly from: "own" | "anothers" | "unknown" | "rival";
  /** An exact session handoff: the user is told nothing. */
  readonly isQuiet: boolean;
}

/** How long a creation with an unknown outcome holds its seat back, at first. */
export const ambiguousProvisionMs = 15 * 60_000;
/** Doublings of that wait, at most. */
const doubtsMax = 4;

/** How long a creation with an unknown outcome holds its seat back: twice as long after each that came before it. */
export const doubtMs = ({ doubts }: Pick<BegunProvision, "doubts">): number =>
  ambiguousProvisionMs * 2 ** Math.min(doubtsMax, doubts);

/** Never creates while an earlier creation of the seat is unresolved: that would be a second thread. */
export function decideThread(view: ThreadView, wish: ThreadWish, nowMs: number): ThreadDecision {
  const own =
    view.bindings.find((each) => each.seat === wish.seat && each.thread.target.chatId === wish.chatId) ?? null;
  const carried = decideCarried(view, wish, own, nowMs);
  if (carried !== null) return carried;
  if (own !== null) return decideOwn(own, wish);
  const elsewhere = decideElsewhere(view, wish);
  if (elsewhere !== null) return elsewhere;

  const begun = view.provisions.find(
    (each) => each.seat === wish.seat && each.chatId === wish.chatId && each.status !== "unwanted",
  );
  if (begun === undefined) return decideNew(view, wish, nowMs, null);
  if (begun.threadId !== null) return { kind: "adopt", provision: begun, threadId: begun.threadId };
  const leftMs = begun.startedAtMs + doubtMs(begun) - nowMs;
  if (leftMs <= 0) return decideNew(view, wish, nowMs, begun);
  return {
    kind: "reject",
    reason:
      `an earlier attempt to create the thread "${begun.threadName}" had an unknown outcome; ` +
      `no second one is created for ${String(Math.ceil(leftMs / 60_000))} more minutes, unless the thread shows up`,
  };
}

/** The seat's own thread (threads FP-9 to FP-12). */
function decideOwn(own: HeldBinding, { role, instanceId, carried, previous }: ThreadWish): ThreadDecision {
  const isCross = role === "follower" && own.holder !== instanceId;
  if (!isCross && own.standing !== "suspect") return { kind: "reuse", thread: own.thread };
  const isExact =
    previous !== null && own.holder === previous && carried !== null && sameTarget(carried.target, own.thread.target);
  const binding = because(bindingOf(own), whyKept(own));
  return { kind: "probe", candidate: { binding, from: "own", isQuiet: isExact } };
}

/** The thread that this very instance has under another key: it goes along to the seat (threads FP-5a, FP-10, TP-5). */
function decideElsewhere({ bindings }: ThreadView, { seat, instanceId, chatId, carried }: ThreadWish) {
  const bound = bindings.find(({ holder, thread: { target } }) => holder === instanceId && target.chatId === chatId);
  if (bound === undefined || (carried !== null && !sameTarget(carried.target, bound.thread.target))) return null;
  const candidate = { binding: passedOn(bound, seat), from: "anothers", isQuiet: true } as const;
  return { kind: bound.standing === "suspect" ? "probe" : "take", candidate } as const;
}

/** A thread that the instance brings along and that is not its seat's by the store (threads FP-5b, FP-6). */
function decideCarried(
  view: ThreadView,
  { seat, chatId, role, carried, previous }: ThreadWish,
  own: HeldBinding | null,
  nowMs: number,
): ThreadDecision | null {
  // Telegram numbers threads from 1: anything else is none.
  if (carried?.target.chatId !== chatId || carried.target.threadId <= 0) return null;
  const isIt = (target: ThreadTarget): boolean => sameTarget(target, carried.target);
  const bound = view.bindings.find(({ thread }) => isIt(thread.target));
  if (bound !== undefined) {
    if (bound.seat === seat || previous === null || bound.holder !== previous) return null;
    return { kind: "probe", candidate: { binding: passedOn(bound, seat), from: "anothers", isQuiet: true } };
  }
  const isKnown =
    view.lost.some(({ thread }) => isIt(thread.target)) ||
    view.leftovers.some(({ target }) => isIt(target)) ||
    view.provisions.some((each) => each.chatId === chatId && each.threadId === carried.target.threadId);
  if (isKnown) return null;
  const taken = [...view.bindings.map(({ thread }) => thread), ...view.provisions];
  const isSlotFree = isSlot(carried.slot) && taken.every(({ slot }) => slot !== carried.slot);
  const binding: Binding = {
    seat,
    thread: {
      target: carried.target,
      slot: isSlotFree ? carried.slot : "",
      threadName: isThreadName(carried.threadName) ? carried.threadName : "",
    },
    createdAtMs: nowMs,
    standing: "open",
    reason: "its instance brought it along",
    provenAtMs: nowMs,
  };
  if (role === "leader")
    return own === null ? { kind: "take", candidate: { binding, from: "unknown", isQuiet: true } } : null;
  return { kind: "probe", candidate: { binding, from: own === null ? "unknown" : "rival", isQuiet: false } };
}

const bindingOf = ({ holder: _holder, ...binding }: HeldBinding): Binding => binding;

/** A closed thread keeps the reason why it is closed. */
const because = (binding: Binding, reason: string): Binding =>
  binding.standing === "closed" ? binding : { ...binding, reason };

const whyKept = ({ standing, reason }: Binding): string =>
  standing === "suspect"
    ? `proven to exist after a doubt${reason === "" ? "" : `: ${reason}`}`
    : "kept, and proven to exist";

const passedOn = (bound: HeldBinding, seat: SeatKey): Binding => ({
  ...because(bindingOf(bound), `passed on by ${bound.seat}, along with its instance`),
  seat,
});

/** `lost`: the seat's last loss, in whichever chat. */
function whyNew(lost: LostThread | null, chatId: ChatId, abandoned: PendingProvision | null): string {
  if (abandoned !== null) return "made after an earlier creation had come to nothing known";
  if (lost?.thread.target.chatId !== chatId) return "made: its seat had none";
  const { thread, reason } = lost;
  return `made: its seat had lost thread ${String(thread.target.threadId)}${reason === "" ? "" : ` (${reason})`}`;
}

/** A new thread, with the letter and the name of the one that the seat lost last, if they are free. */
function decideNew(
  view: ThreadView,
  wish: ThreadWish,
  nowMs: number,
  abandoned: PendingProvision | null,
): ThreadDecision {
  const taken = [...view.bindings.map((each) => each.thread), ...view.provisions.filter((each) => each !== abandoned)];
  const slots = taken.map((each) => each.slot);
  const loss = view.lost.findLast((each) => each.seat === wish.seat) ?? null;
  const lost = loss?.thread ?? null;
  const isLostFree = lost !== null && isSlot(lost.slot) && !slots.includes(lost.slot);
  const slot = isLostFree ? lost.slot : (freeSlot(slots) ?? "");
  const threadName = nameFor({
    slot,
    wish: lost !== null && isThreadName(lost.threadName) ? lost.threadName : wish.threadName,
    taken: taken.map((each) => each.threadName),
    turn: nowMs,
  });
  return {
    kind: "create",
    abandons: abandoned?.id ?? null,
    reason: whyNew(loss, wish.chatId, abandoned),
    provision: {
      id: `provision:${wish.instanceId}:${slot}:${String(nowMs)}`,
      seat: wish.seat,
      chatId: wish.chatId,
      slot,
      threadName,
      startedAtMs: nowMs,
      status: "inFlight",
      doubts: abandoned === null ? 0 : abandoned.doubts + 1,
    },
  };
}

/** What an error of a call on a thread says of that thread. */
export type ThreadWord = "gone" | "closed" | "unchanged" | "nothing";

/** By which words (threads §7.5; `_` reads as a space, case does not matter). The first that fits counts. */
const words: readonly (readonly [ThreadWord, readonly string[]])[] = [
  ["gone", ["topic id invalid", "thread not found", "topic not found", "topic deleted"]],
  ["closed", ["topic closed", "thread closed"]],
  ["unchanged", ["topic not modified"]],
];

export function wordOnThread(description: string): ThreadWord {
  const text = description.toLowerCase().replaceAll("_", " ");
  return words.find(([, texts]) => texts.some((each) => text.includes(each)))?.[0] ?? "nothing";
}

/** Whether an error proves that the thread no longer exists. Anything else proves nothing. */
export const provesThreadGone = (description: string): boolean => wordOnThread(description) === "gone";
