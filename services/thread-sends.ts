/**
 * What instances send into their threads, and what happens to it when a thread turns out to be gone, or closed.
 *
 * Owns: noticing that a thread is gone (Telegram's refusal, or a message that came to stand elsewhere), holding everything
 * of that seat until there is a replacement, sending it there in the order in which it was asked for, each once; the same
 * while a closed thread is opened again, where that is the policy. Otherwise the instance keeps its calls (`held-calls.ts`).
 * Does not own: the replacement (`provisioning.machine.ts`, by the seat's chart or the leader's own).
 *
 * Invariants: a call is sent a second time only after Telegram refused it, or after the message it made elsewhere is certainly
 * deleted; never a third time. While a replacement is under way nothing of the seat is sent.
 */
import { asBody, canonicalInteger, isThreadScoped } from "../machines/calls.rules.ts";
import type { ApiCall, Body } from "../machines/calls.rules.ts";
import { sameTarget } from "../machines/ids.ts";
import type { SeatKey, ThreadTarget } from "../machines/ids.ts";
import type { ThreadDoubt } from "../machines/provisioning.contract.ts";
import type { CallOutcome } from "./ports.ts";
import { threadWordIn } from "./thread-word.ts";

/** Who decides about the thread of a seat. */
export interface ThreadKeeper {
  readonly seat: SeatKey;
  /** The thread that the seat has now; null = it has none (any more). */
  current(): ThreadTarget | null;
  /** Whether messages go into threads at all at present; if not, one that stands elsewhere says nothing. */
  hasThreads(): boolean;
  /** Has the thread looked at, and replaced if it is gone; resolves when that is over, whatever came of it. */
  doubt(doubt: ThreadDoubt): Promise<void>;
  /** Opens the thread that the user has closed; false = it stays as it is. */
  reopen(target: ThreadTarget): Promise<boolean>;
  /** Deletes a message that came to stand outside the thread; false = that is not certain. */
  takeBack(messages: readonly Stray[]): Promise<boolean>;
}

export interface Stray {
  readonly chatId: number;
  readonly messageId: number;
}

/** One seat's calls, in the order in which they were asked for. */
interface SeatLane {
  last: number;
  readonly underWay: Set<number>;
  readonly waiting: Map<number, () => void>;
  replacing: Promise<void> | null;
  isResending: boolean;
  /** Calls up to this one were under way, or waited, when the thread was opened again: "closed" is no news of them. */
  openedUpTo: number;
}

type Make = (call: ApiCall) => Promise<CallOutcome>;

/** What speaks against a thread, and the messages that stand elsewhere for it. */
interface Found {
  readonly doubt: ThreadDoubt;
  readonly strays: readonly Stray[];
}

/** A call that met its thread gone. */
export interface Loss {
  readonly target: ThreadTarget;
  readonly reason: string;
  readonly call: ApiCall;
  readonly make: Make;
}

/** Takes care of calls whose thread is gone, where it is not to be replaced. */
export interface LossTeller {
  readonly knows: (target: ThreadTarget) => boolean;
  tell(loss: Loss): Promise<CallOutcome>;
}

export interface ThreadPolicy {
  /** Null = threads that are gone are replaced. */
  readonly teller: LossTeller | null;
  /** A thread that the user has closed is opened again when something is to go there. */
  readonly reopens: boolean;
}

export class ThreadSends {
  private readonly lanes = new Map<SeatKey, SeatLane>();
  private readonly teller: LossTeller | null;
  private readonly reopens: boolean;

  constructor({ teller, reopens }: ThreadPolicy) {
    this.teller = teller;
    this.reopens = reopens;
  }

  /** Makes a call that may name the seat's thread, `own` when it was judged; it goes into the one that the seat has then. */
  async send(
    { keeper, own }: { readonly keeper: ThreadKeeper; readonly own: ThreadTarget },
    call: ApiCall,
    make: Make,
  ): Promise<CallOutcome> {
    if (!isInto(own, call)) return make(call);
    const lane = this.laneOf(keeper.seat);
    const ticket = (lane.last += 1);
    try {
      return await this.inOrder(lane, ticket, { keeper, call, make });
    } finally {
      lane.underWay.delete(ticket);
      this.goOn(lane);
      if (isIdle(lane)) this.lanes.delete(keeper.seat);
    }
  }

  private async inOrder(
    lane: SeatLane,
    ticket: number,
    { keeper, call, make }: { readonly keeper: ThreadKeeper; readonly call: ApiCall; readonly make: Make },
  ): Promise<CallOutcome> {
    const isFirst = lane.replacing === null && lane.waiting.size === 0 && !lane.isResending;
    let first: CallOutcome | null = null;
    let asked: ThreadTarget | null = null;
    let strays: readonly Stray[] = [];
    if (isFirst) {
      lane.underWay.add(ticket);
      asked = keeper.current();
      if (asked !== null && this.teller?.knows(asked) === true)
        return await this.teller.tell({ target: asked, reason: "", call, make });
      first = await make(asked === null ? call : inThread(call, asked));
      if (asked !== null && this.reopens && threadWordIn(first) === "closed") {
        lane.underWay.delete(ticket);
        const again = inThread(call, asked);
        return await this.onceOpen(lane, ticket, { keeper, asked, closed: first, make: () => make(again) });
      }
      const found = asked === null ? null : speaksAgainst(asked, first);
      if (found === null || !keeper.hasThreads()) return first;
      if (this.teller !== null && asked !== null)
        return found.doubt.kind === "gone"
          ? await this.teller.tell({ target: asked, reason: found.doubt.reason, call, make })
          : first;
      ({ strays } = found);
      lane.underWay.delete(ticket);
      this.replace(lane, keeper, found.doubt);
    }
    return this.inTurn(lane, ticket, async () => {
      const target = keeper.current();
      if (target === null) return first ?? { kind: "notSent", reason: "the instance has no thread (any more)" };
      // Nothing took the thread's place: the first word on it stands.
      if (first !== null && asked !== null && sameTarget(asked, target)) return first;
      if (first !== null && strays.length > 0 && !(await keeper.takeBack(strays))) return first;
      return make(withoutReply(inThread(call, target)));
    });
  }

  /** Has the thread opened, once for all that met it closed, and makes the call in its turn. */
  private async onceOpen(
    lane: SeatLane,
    ticket: number,
    { keeper, asked, closed, make }: Closed,
  ): Promise<CallOutcome> {
    if (lane.replacing === null && lane.openedUpTo < ticket)
      this.holdUntil(
        lane,
        keeper.reopen(asked).then((isOpen) => {
          if (isOpen) lane.openedUpTo = lane.last;
        }),
      );
    return this.inTurn(lane, ticket, () => (lane.openedUpTo < ticket ? Promise.resolve(closed) : make()));
  }

  /** Nothing of the seat is sent until this is over. */
  private holdUntil(lane: SeatLane, over: Promise<void>): void {
    lane.replacing = over.finally(() => {
      lane.replacing = null;
      this.goOn(lane);
    });
  }

  private replace(lane: SeatLane, keeper: ThreadKeeper, doubt: ThreadDoubt): void {
    const current = keeper.current();
    // Somebody else's call has found it out, and it is replaced.
    if (lane.replacing !== null || current === null || !sameTarget(current, doubt.target)) return;
    this.holdUntil(lane, keeper.doubt(doubt));
  }

  /** Sends again, alone, when this call's turn has come. */
  private async inTurn(lane: SeatLane, ticket: number, send: () => Promise<CallOutcome>): Promise<CallOutcome> {
    await this.turn(lane, ticket);
    lane.isResending = true;
    try {
      return await send();
    } finally {
      lane.isResending = false;
    }
  }

  /** Resolves when no replacement is under way and everything that was asked for earlier is done. */
  private turn(lane: SeatLane, ticket: number): Promise<void> {
    return new Promise((resolve) => {
      lane.waiting.set(ticket, resolve);
      this.goOn(lane);
    });
  }

  private goOn(lane: SeatLane): void {
    if (lane.replacing !== null || lane.isResending || lane.waiting.size === 0) return;
    const next = Math.min(...lane.waiting.keys());
    if ([...lane.underWay].some((each) => each < next)) return;
    const begin = lane.waiting.get(next);
    lane.waiting.delete(next);
    // Until it says so itself, one event later, nobody else begins.
    lane.isResending = true;
    begin?.();
  }

  private laneOf(seat: SeatKey): SeatLane {
    const known = this.lanes.get(seat);
    if (known !== undefined) return known;
    const lane = {
      last: 0,
      underWay: new Set<number>(),
      waiting: new Map(),
      replacing: null,
      isResending: false,
      openedUpTo: 0,
    };
    this.lanes.set(seat, lane);
    return lane;
  }
}

/** A call that met its thread closed. */
interface Closed {
  readonly keeper: ThreadKeeper;
  readonly asked: ThreadTarget;
  readonly closed: CallOutcome;
  readonly make: () => Promise<CallOutcome>;
}

const isIdle = ({ underWay, waiting, replacing, isResending }: SeatLane): boolean =>
  underWay.size === 0 && waiting.size === 0 && replacing === null && !isResending;

/** Puts something into this very thread. A typing action proves nothing and is nothing that could be lost. */
const isInto = ({ chatId, threadId }: ThreadTarget, { method, body }: ApiCall): boolean =>
  isThreadScoped(method) &&
  method.toLowerCase() !== "sendchataction" &&
  canonicalInteger(body["chat_id"]) === chatId &&
  canonicalInteger(body["message_thread_id"]) === threadId;

/** The call as it came where it names this thread already, as a number or as the text of one. */
const inThread = (call: ApiCall, { threadId }: ThreadTarget): ApiCall =>
  canonicalInteger(call.body["message_thread_id"]) === threadId
    ? call
    : { method: call.method, body: { ...call.body, message_thread_id: threadId } };

/** What it answers went with the thread: the answer must not be refused for that. */
function withoutReply({ method, body }: ApiCall): ApiCall {
  const reply = asBody(body["reply_parameters"]);
  const allowed: Body = reply === null ? {} : { reply_parameters: { ...reply, allow_sending_without_reply: true } };
  const old: Body = body["reply_to_message_id"] === undefined ? {} : { allow_sending_without_reply: true };
  return { method, body: { ...body, ...allowed, ...old } };
}

/** Whether what came back says that the thread is gone: by Telegram's word, or by a message that stands elsewhere. */
function speaksAgainst(target: ThreadTarget, outcome: CallOutcome): Found | null {
  if (outcome.kind === "rejected") {
    const reason = outcome.error.description;
    return threadWordIn(outcome) === "gone" ? { doubt: { target, kind: "gone", reason }, strays: [] } : null;
  }
  if (outcome.kind !== "ok") return null;
  const strays = straysIn(target, outcome.result);
  const reason = "a message for the thread came to stand outside it";
  return strays.length === 0 ? null : { doubt: { target, kind: "suspect", reason }, strays };
}

/** Messages of an answer that say of themselves that they are not in the thread. */
function straysIn({ chatId: expected, threadId }: ThreadTarget, result: unknown): readonly Stray[] {
  const items: readonly unknown[] = Array.isArray(result) ? result : [result];
  return items.flatMap((item) => {
    const message = asBody(item);
    const messageId = canonicalInteger(message?.["message_id"]);
    const chatId = canonicalInteger(asBody(message?.["chat"])?.["id"]);
    // Only a whole message tells where it stands: an id alone does not.
    if (messageId === null || chatId === null || message?.["date"] === undefined) return [];
    // In the chat that ours has become, on purpose.
    if (chatId !== expected) return [];
    return canonicalInteger(message["message_thread_id"]) === threadId ? [] : [{ chatId, messageId }];
  });
}
