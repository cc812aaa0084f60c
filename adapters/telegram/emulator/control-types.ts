/**
 * Inputs and answers of the control operations.
 *
 * Owns: types only; the same names travel over HTTP as JSON.
 * Invariants: `chatId` defaults to the owner's private chat, `from` to the owner; an `updateId` of null means that the bot
 * does not take this type of update, so none was queued.
 */
import type { User, UserFromGetMe } from "@grammyjs/types";
import type { FaultQueue } from "./faults.ts";
import type { JsonRecord } from "./params.ts";
import type { PollStats } from "./polls.ts";
import type { ChatView, ThreadView } from "./views.ts";

export interface Sender {
  readonly id: number;
  readonly first_name: string;
}

export interface ThreadRef {
  readonly chatId?: number;
  readonly threadId: number;
}

export interface MessageRef {
  readonly chatId?: number;
  readonly messageId: number;
}

export interface UserText {
  readonly chatId?: number;
  readonly threadId?: number;
  readonly text: string;
  readonly from?: Sender;
  readonly replyToMessageId?: number;
}

export interface UserEdits extends MessageRef {
  readonly text: string;
}

export interface CreatesThread {
  readonly chatId?: number;
  readonly name: string;
  readonly from?: Sender;
  /** A free message id to use as the thread's id; default: the next one. */
  readonly threadId?: number;
}

export interface RenamesThread extends ThreadRef {
  readonly name: string;
}

export interface PressesButton extends MessageRef {
  readonly data: string;
  readonly from?: Sender;
}

export interface Reacts extends MessageRef {
  readonly emoji: string | null;
  readonly from?: Sender;
}

export interface RawUpdate {
  readonly update: JsonRecord;
}

export interface ChatSeed {
  readonly id: number;
  readonly type: "private" | "group" | "supergroup";
  /** The title, or the first name in a private chat. */
  readonly title: string;
  /** Supergroups only; default true. */
  readonly isForum?: boolean;
}

export interface UpgradesGroup {
  readonly chatId: number;
  /** The supergroup's id; no chat has it yet. */
  readonly to: number;
  /** Whether it has topics; default true. */
  readonly isForum?: boolean;
}

export interface DeliveredUpdate {
  readonly updateId: number | null;
}

export interface DeliveredMessage extends DeliveredUpdate {
  readonly messageId: number;
}

export interface EmulatorState {
  readonly bot: UserFromGetMe;
  readonly owner: User;
  readonly chats: readonly ChatView[];
  readonly threads: readonly ThreadView[];
  readonly queue: {
    readonly length: number;
    readonly firstId: number | null;
    readonly nextId: number;
    readonly allowedUpdates: readonly string[] | null;
    /** Updates never queued because their type was not allowed. */
    readonly filtered: number;
    readonly overflowed: number;
    /** Updates dropped by `drop_pending_updates`. */
    readonly droppedByRequest: number;
  };
  readonly polls: Readonly<PollStats>;
  readonly webhookUrl: string;
  readonly topicsEnabled: boolean;
  readonly topicCacheMs: number;
  readonly faults: { readonly pending: FaultQueue["pending"]; readonly applied: number };
  readonly lastSeq: number;
}
