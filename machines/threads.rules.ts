/**
 * Which thread a seat gets: the one it is bound to, or a new one, or none for a stated reason.
 *
 * Does not own: the calls and writes that follow (`provisioning.machine.ts`), clean-up.
 */
import type { BoundThread, ChatId, InstanceId, SeatKey, ThreadTarget } from "./ids.ts";
import { freeSlot, nameFor } from "./names.rules.ts";

export interface Binding {
  readonly seat: SeatKey;
  readonly thread: BoundThread;
  /** When the seat first got this thread. */
  readonly createdAtMs: number;
}

/** A creation that was begun: written before the call, removed with the binding it led to. */
export interface PendingProvision {
  readonly id: string;
  readonly seat: SeatKey;
  readonly chatId: ChatId;
  readonly slot: string;
  readonly threadName: string;
  readonly startedAtMs: number;
  /** `ambiguous`: the call may have been carried out. An `inFlight` one of an earlier leader is just that, too. */
  readonly status: "inFlight" | "ambiguous";
}

/** All bindings and begun creations, as one consistent view. */
export interface ThreadView {
  readonly bindings: readonly Binding[];
  readonly provisions: readonly PendingProvision[];
}

export interface ThreadWish {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly chatId: ChatId;
  /** Name the instance asked for; null = one of the palette. */
  readonly threadName: string | null;
}

export type ThreadDecision =
  | { readonly kind: "reuse"; readonly thread: BoundThread }
  | { readonly kind: "create"; readonly provision: PendingProvision; readonly abandons: string | null }
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
