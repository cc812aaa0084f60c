/**
 * What the chart of a question whose a thread shall be is told, asks for and tells.
 */
import type { Epoch, JournalSeq, MessageId, SeatKey, ThreadTarget } from "./ids.ts";
import type { Asked, ChooserList, ChooserPress, PressWord } from "./reroute.rules.ts";

export interface RerouteInput {
  readonly epoch: Epoch;
  /** Names the question in its buttons. */
  readonly id: string;
  /** The thread that nobody has. */
  readonly source: ThreadTarget;
  /** What was written there first. */
  readonly asked: Asked;
  readonly isAlbum: boolean;
}

export type ShowAnswer =
  /** The question stands in the thread; `message` null = perhaps: the answer was lost, and it is not asked twice. */
  | { readonly kind: "shown"; readonly message: MessageId | null }
  /** Nobody can be chosen: the user was told so, if that was still to be said. */
  | { readonly kind: "guided" }
  /** Some seat has the thread by now: there is nothing to choose. */
  | { readonly kind: "owned" }
  /** Certainly not shown. */
  | { readonly kind: "failed" };

export type OfferAnswer =
  /** The agent of this seat takes the thread. */
  | { readonly kind: "accepted"; readonly seat: SeatKey }
  /** It did not say that it does: it keeps the thread that it has. */
  | { readonly kind: "refused" }
  /** Nobody who is live has the thread that was chosen. */
  | { readonly kind: "absent" }
  /** Some seat has the thread by now. */
  | { readonly kind: "owned" };

export type GiveAnswer =
  | { readonly kind: "given" }
  /** The seat has no thread any more that this one could replace. */
  | { readonly kind: "absent" }
  /** Another seat has the thread by now. */
  | { readonly kind: "owned" }
  /** The thread was deleted, or a call may be deleting it: it is nobody's to have. */
  | { readonly kind: "gone" }
  | { readonly kind: "fenced" };

export type MoveAnswer =
  | { readonly kind: "moved"; readonly seqs: readonly JournalSeq[]; readonly mayDelete: boolean }
  /** Nobody who is live has that thread: nothing was moved. */
  | { readonly kind: "absent" }
  /** Nothing waits there (any more), or some seat has the thread by now. */
  | { readonly kind: "nothing" }
  | { readonly kind: "fenced" };

export interface ShowOrder {
  readonly epoch: Epoch;
  readonly id: string;
  readonly source: ThreadTarget;
  readonly asked: Asked;
  /** The question as it stands there already; null = it is sent. */
  readonly message: MessageId | null;
  readonly list: ChooserList;
}
export interface MoveOrder {
  readonly epoch: Epoch;
  readonly source: ThreadTarget;
  readonly to: ThreadTarget;
}
export interface GiveOrder {
  readonly epoch: Epoch;
  readonly source: ThreadTarget;
  readonly seat: SeatKey;
}
export interface DismissOrder {
  readonly epoch: Epoch;
  readonly source: ThreadTarget;
  readonly message: MessageId;
}

/** A press of the user's, who is allowed to. */
export interface Pressed {
  readonly type: "chooser.pressed";
  readonly press: ChooserPress["kind"];
  /** The chosen agent's thread; that of the question when the press chooses nobody. */
  readonly to: ThreadTarget;
  /** What Telegram calls the press: it is answered once. */
  readonly query: string;
  /** The question's own message. */
  readonly message: MessageId | null;
}

export type RerouteEvent =
  | Pressed
  /** Something more was written in the thread, and waits. */
  | { readonly type: "content.arrived"; readonly isAlbum: boolean }
  /** An entry was taken by its recipient. */
  | { readonly type: "content.accepted"; readonly seq: JournalSeq }
  /** An entry ended and nobody has it. */
  | { readonly type: "content.ended"; readonly seq: JournalSeq }
  /** Somebody can be chosen who could not, or the other way round. */
  | { readonly type: "seats.changed" };

export type RerouteFact =
  | { readonly type: "reroute.answered"; readonly query: string; readonly word: PressWord }
  /** These entries are in the lane of this thread by now. */
  | { readonly type: "reroute.moved"; readonly to: ThreadTarget; readonly seqs: readonly JournalSeq[] }
  /** The thread is this seat's by now. */
  | { readonly type: "reroute.restored"; readonly seat: SeatKey }
  /** Written after the question was decided: it needs one of its own. */
  | { readonly type: "reroute.left" }
  | { readonly type: "reroute.fenced" };
