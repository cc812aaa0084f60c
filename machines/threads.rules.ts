/**
 * Which thread a seat gets: the one it is bound to, or a new one, or none for a stated reason.
 *
 * Does not own: the calls and writes that follow (`provisioning.machine.ts`), clean-up.
 */
import type { BoundThread, ChatId, InstanceId, SeatKey, ThreadId, ThreadTarget } from "./ids.ts";
import { freeSlot, nameFor } from "./names.rules.ts";

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
  /** Why it stands so, in words for the operator; empty when there is nothing to say. */
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

/** Lost threads that are remembered; the oldest are forgotten first. */
export const lostThreadsMax = 1_000;

export interface ThreadWish {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly chatId: ChatId;
  /** Name the instance asked for; null = one of the palette. */
  readonly threadName: string | null;
}

export type ThreadDecision =
  | { readonly kind: "reuse"; readonly thread: BoundThread }
  | { readonly kind: "create"; readonly provision: BegunProvision; readonly abandons: string | null }
  | { readonly kind: "reject"; readonly reason: string };

/** How long a creation with an unknown outcome holds its seat back. */
export const ambiguousProvisionMs = 15 * 60_000;

/** Never creates while an earlier creation of the seat is unresolved: that would be a second thread. */
export function decideThread(view: ThreadView, wish: ThreadWish, nowMs: number): ThreadDecision {
  const bound = view.bindings.find((each) => each.seat === wish.seat && each.thread.target.chatId === wish.chatId);
  if (bound !== undefined) return { kind: "reuse", thread: bound.thread };

  const begun = view.provisions.find((each) => each.seat === wish.seat && each.chatId === wish.chatId);
  if (begun !== undefined && nowMs - begun.startedAtMs < ambiguousProvisionMs) {
    const leftMinutes = Math.ceil((ambiguousProvisionMs - (nowMs - begun.startedAtMs)) / 60_000);
    return {
      kind: "reject",
      reason:
        `an earlier attempt to create the thread "${begun.threadName}" had an unknown outcome; ` +
        `no second one is created for ${String(leftMinutes)} more minutes`,
    };
  }

  const taken = [...view.bindings.map((each) => each.thread), ...view.provisions.filter((each) => each !== begun)];
  const slot = freeSlot(taken.map((each) => each.slot)) ?? "";
  const threadName = nameFor({
    slot,
    wish: wish.threadName,
    taken: taken.map((each) => each.threadName),
    turn: nowMs,
  });
  return {
    kind: "create",
    abandons: begun?.id ?? null,
    provision: {
      id: `provision:${wish.instanceId}:${slot}:${String(nowMs)}`,
      seat: wish.seat,
      chatId: wish.chatId,
      slot,
      threadName,
      startedAtMs: nowMs,
      status: "inFlight",
      doubts: 0,
    },
  };
}

/** Texts by which Telegram says that a thread is gone (`_` reads as a space, case does not matter). */
const goneTexts = ["message thread not found", "topic deleted", "topic id invalid", "thread not found"];

/** Whether an error proves that the thread no longer exists. Anything else proves nothing. */
export function provesThreadGone(description: string): boolean {
  const text = description.toLowerCase().replaceAll("_", " ");
  return goneTexts.some((gone) => text.includes(gone));
}

/** Which seat a thread belongs to; null when no seat is bound to it. */
export const seatOfThread = (bindings: readonly Binding[], target: ThreadTarget): SeatKey | null =>
  bindings.find(({ thread }) => thread.target.chatId === target.chatId && thread.target.threadId === target.threadId)
    ?.seat ?? null;
