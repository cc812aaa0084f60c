/** Threads and chats: what is bound to which seat, what a creation has made, what a chat has become. */
import type { KeptMove } from "../../machines/chats.rules.ts";
import type { ChatId, Epoch, SeatKey, ThreadId, ThreadTarget } from "../../machines/ids.ts";
import type {
  BegunProvision,
  Binding,
  HeldBinding,
  LeftoverThread,
  ThreadStanding,
  ThreadView,
} from "../../machines/threads.rules.ts";
import type { Fenced } from "./fence.ts";

/** Chats that have become others: a group that was upgraded to a supergroup. */
export interface ChatStore {
  /** In the order in which they were told. */
  moves(): Promise<readonly KeptMove[]>;
  /** Resolves after the move is on disk. `known`: something was kept of `from` before, which stands, or the move leads back to it. */
  move(request: KeptMove & { readonly epoch: Epoch }): Promise<{ readonly kind: "moved" | "known" } | Fenced>;
}

export interface ThreadStore {
  /** Everything that is known of threads, as one consistent view. */
  view(): Promise<ThreadView>;
  /** The seat's binding in this chat; null when it has none. Cheap at any number of seats. */
  bindingOf(request: { readonly seat: SeatKey; readonly chatId: ChatId }): Promise<HeldBinding | null>;
  /** Which seat the thread belongs to: by its binding, else by the newest loss of it. Null when nobody ever had it. */
  seatOf(target: ThreadTarget): Promise<SeatKey | null>;
  /**
   * Writes the intent to create, removing the expired one it replaces (`abandons`). `conflict` when the seat has another
   * begun creation that is wanted, or a binding in that chat, or the slot is taken: look again.
   */
  intend(request: {
    readonly epoch: Epoch;
    readonly provision: BegunProvision;
    readonly abandons: string | null;
  }): Promise<{ readonly kind: "intended" | "conflict" } | Fenced>;
  /**
   * Writes down which thread a creation made: evidence, not authority, so anybody may, under no epoch. The first word
   * stands. What comes after the creation was given up becomes a leftover, unless the thread is bound.
   */
  noteCreated(request: {
    readonly provisionId: string;
    readonly target: ThreadTarget;
    readonly threadName: string;
    readonly atMs: number;
  }): Promise<void>;
  /**
   * Binds the created thread and removes its intent, or rebinds a known one (`provisionId` null). In the same transaction:
   * another seat that had the thread loses it, what this seat had before in that chat becomes a leftover. `unwanted` when
   * the instance has left for good meanwhile: then nothing is bound and the thread's deletion is instructed instead.
   */
  bind(request: {
    readonly epoch: Epoch;
    readonly provisionId: string | null;
    readonly binding: Binding;
  }): Promise<{ readonly kind: "bound" | "unwanted" } | Fenced>;
  /**
   * Ends a begun creation without a thread: `abandoned` removes it, `ambiguous` keeps it for evidence and the operator.
   * `threadId` = the thread it made after all, known by now: then it stays whatever was asked.
   */
  giveUp(request: {
    readonly epoch: Epoch;
    readonly provisionId: string;
    readonly as: "abandoned" | "ambiguous";
  }): Promise<{ readonly kind: "noted"; readonly threadId: ThreadId | null } | Fenced>;
  /** Writes down how a bound thread stands; `open` is proof of it at `atMs`. `missing` when it is not bound. */
  mark(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly standing: ThreadStanding;
    readonly reason: string;
    readonly atMs: number;
  }): Promise<{ readonly kind: "marked" | "missing" } | Fenced>;
  /** The thread is proven gone: its binding ends and is remembered as lost. `missing` when it is not bound. */
  lose(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly reason: string;
    readonly atMs: number;
  }): Promise<{ readonly kind: "lost" | "missing" } | Fenced>;
  /** Adds to the threads that are the operator's to delete, unless it is bound; replaces what was said of it. */
  addLeftover(request: {
    readonly epoch: Epoch;
    readonly leftover: LeftoverThread;
  }): Promise<{ readonly kind: "added" | "bound" } | Fenced>;
}
