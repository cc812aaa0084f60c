/**
 * Pure rules of one instance's queue: what an update is to a host that works in turns, where an item stands, what comes
 * next, what reactions, edits and commands do to what waits.
 *
 * Owns: lanes and their order (updates §4.2), Priority and Skip (§4.5), folding (§4.8), bounds.
 * Does not own: when something is handed out (`queue.machine.ts`), claims and settlement (`services/inbox.ts`), texts.
 *
 * Invariants: queue/oneLaneOnePosition, queue/allowedLanes, queue/oneItemPerEntry, queue/skippedNeverRuns.
 */
import type { JournalSeq, MessageId } from "./ids.ts";

/** Updates in this instance's hands: claimed, and not yet both settled and done with. Beyond it no claim is made. */
export const handMax = 1_024;
/** Kept free for commands, so that `/stop` gets in when all else is full. */
export const urgentReserve = 64;
/** Updates outside turns that handlers work on at once. */
export const asidesMax = 256;
/** Members of one item: an album has at most ten, a split text a few; what exceeds it becomes an item of its own. */
export const itemMembersMax = 256;

export const albumWindowMs = 1_200;
export const textWindowMs = 1_000;
/** A text this long may be the first part of a longer one that the app has split. */
export const splitTextLength = 3_600;
/** Continuations have message ids at most this much higher. */
export const splitIdGap = 12;

export type QueueLane = "control" | "priority" | "default";
export type ItemKind = "prompt" | "control";

const ranks: Readonly<Record<QueueLane, number>> = { control: 0, priority: 1, default: 2 };

/** Kind and lane pairs outside the table are an error, never coerced. A prompt in `control` resumes work (`/continue`). */
export const isAllowedLane = (kind: ItemKind, lane: QueueLane): boolean => kind === "prompt" || lane === "control";

/** A journal entry in an item: a message of it, or what changes one (an edit, a reaction). */
export interface Member {
  readonly seq: JournalSeq;
  readonly role: "message" | "change";
  readonly message: MessageId | null;
}

/**
 * `gathering`: more of it may come. `waiting`: complete. `offered`: another instance may take it; nothing here may touch it.
 * `recalled`: offered, and dropped by a `/stop` since: should it come back, it ends.
 */
export type Standing = "gathering" | "waiting" | "offered" | "recalled";

export const isOffered = ({ standing }: Pick<QueueItem, "standing">): boolean =>
  standing === "offered" || standing === "recalled";

export interface QueueItem {
  /** Its first entry's: the same after a restart. */
  readonly id: JournalSeq;
  readonly kind: ItemKind;
  readonly lane: QueueLane;
  /** Position in its lane; a move takes the next one. */
  readonly laneOrder: number;
  /** Order of admission; never changes. */
  readonly order: number;
  readonly standing: Standing;
  readonly members: readonly Member[];
  /** Items folded into it as history, oldest first, each with all its members. */
  readonly history: readonly (readonly Member[])[];
  readonly priorityEmoji: string | null;
  /** Set = Skip. */
  readonly skipEmoji: string | null;
}

/** What a new item brings; its positions are given on admission. */
export type NewItem = Pick<QueueItem, "id" | "kind" | "lane" | "standing" | "members"> &
  Partial<Pick<QueueItem, "priorityEmoji" | "skipEmoji">>;

export interface QueueItems {
  readonly items: readonly QueueItem[];
  /** The next free position, for lanes and admission alike. */
  readonly nextOrder: number;
}

export const noItems: QueueItems = { items: [], nextOrder: 0 };

export const membersOf = (item: QueueItem): readonly Member[] => [...item.history.flat(), ...item.members];
export const seqsOf = (item: QueueItem): readonly JournalSeq[] => membersOf(item).map((member) => member.seq);

const inOrder = (a: QueueItem, b: QueueItem): number =>
  ranks[a.lane] - ranks[b.lane] || a.laneOrder - b.laneOrder || a.order - b.order;

const arranged = (items: readonly QueueItem[], nextOrder: number): QueueItems => ({
  items: [...items].sort(inOrder),
  nextOrder,
});

/** Adds an item at the tail of its lane. One that is there already changes nothing. */
export function admit(queue: QueueItems, item: NewItem): QueueItems {
  if (!isAllowedLane(item.kind, item.lane)) throw new Error(`a ${item.kind} does not wait in lane ${item.lane}`);
  const present = new Set(queue.items.flatMap(seqsOf));
  const known = item.members.filter((member) => present.has(member.seq)).length;
  if (known === item.members.length) return queue;
  if (known > 0) throw new Error(`entries of item ${String(item.id)} are in the queue under another one`);
  const order = queue.nextOrder;
  const added = { priorityEmoji: null, skipEmoji: null, ...item, laneOrder: order, order, history: [] };
  return arranged([...queue.items, added], order + 1);
}

const changed = (queue: QueueItems, id: JournalSeq, change: (item: QueueItem) => QueueItem): QueueItems =>
  arranged(
    queue.items.map((item) => (item.id === id ? change(item) : item)),
    queue.nextOrder,
  );

/** One more entry for an item; its place stays. */
export const grow = (queue: QueueItems, id: JournalSeq, member: Member): QueueItems =>
  changed(queue, id, (item) => ({ ...item, members: [...item.members, member] }));

export const stand = (queue: QueueItems, id: JournalSeq, standing: Standing): QueueItems =>
  changed(queue, id, (item) => ({ ...item, standing }));

export const without = (queue: QueueItems, ids: readonly JournalSeq[]): QueueItems => ({
  ...queue,
  items: queue.items.filter((item) => !ids.includes(item.id)),
});

export const itemOf = (queue: QueueItems, id: JournalSeq): QueueItem | null =>
  queue.items.find((item) => item.id === id) ?? null;

/** The waiting item that holds this message and may still be changed. */
export const holderOfMessage = (queue: QueueItems, message: MessageId): QueueItem | null =>
  queue.items.find(
    (item) =>
      !isOffered(item) && item.members.some((member) => member.role === "message" && member.message === message),
  ) ?? null;

// ------------------------------------------------------------------------------------------------------ reactions

const positive: readonly string[] = ["👍", "⚡", "❤", "🕊", "🔥"];
const negative: readonly string[] = ["👎", "👻", "💔", "💩", "🗑"];

export interface ReactionChange {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

const plain = (emoji: string): string => emoji.replaceAll("\uFE0F", "");
/** The first listed emoji that is present speaks for its category. */
const representative = (set: readonly string[], of: readonly string[]): string | null =>
  of.find((emoji) => set.some((each) => plain(each) === emoji)) ?? null;

/** Only a category whose representative changed is touched: changing one never affects the other. */
export function react(queue: QueueItems, id: JournalSeq, { before, after }: ReactionChange): QueueItems {
  const priority = representative(after, positive);
  const skip = representative(after, negative);
  const isPriorityTouched = priority !== representative(before, positive);
  const isSkipTouched = skip !== representative(before, negative);
  const marked = changed(queue, id, (item) => ({
    ...item,
    priorityEmoji: isPriorityTouched ? priority : item.priorityEmoji,
    skipEmoji: isSkipTouched ? skip : item.skipEmoji,
  }));
  const item = itemOf(marked, id);
  // What waits in lane `control` is not moved by reactions.
  if (!isPriorityTouched || item === null || item.lane === "control") return marked;
  const lane: QueueLane = priority === null ? "default" : "priority";
  if (lane === item.lane) return marked; // another emoji of the same category
  const moved = changed(marked, id, (each) => ({ ...each, lane, laneOrder: marked.nextOrder }));
  return { ...moved, nextOrder: marked.nextOrder + 1 };
}

// ------------------------------------------------------------------------------------------------- what comes next

export interface Next {
  /** Leading items marked Skip: they leave without a turn. */
  readonly skipped: readonly QueueItem[];
  /** What a turn may begin with; null when the head is not ready, or there is none. */
  readonly head: QueueItem | null;
}

/** A head that is not ready is never overtaken, and never skipped over. */
export function nextOf({ items }: QueueItems): Next {
  const skipped: QueueItem[] = [];
  for (const item of items) {
    if (item.standing !== "waiting") return { skipped, head: null };
    if (item.skipEmoji === null) return { skipped, head: item };
    skipped.push(item);
  }
  return { skipped, head: null };
}

/** The prompts that the next one would absorb. What is offered, or still gathering, stays out of it. */
const foldable = (item: QueueItem): boolean => item.kind === "prompt" && item.standing === "waiting";

/** Puts every waiting prompt into `id` as its history, in order: one turn, all their entries. Controls stay. */
export function fold(queue: QueueItems, id: JournalSeq): QueueItems {
  const absorbed = queue.items.filter((item) => item.id !== id && foldable(item));
  const history = absorbed.flatMap((item) => [...item.history, item.members]);
  return changed(
    without(
      queue,
      absorbed.map((item) => item.id),
    ),
    id,
    (item) => ({ ...item, history: [...history, ...item.history] }),
  );
}

/** Why an item cannot be offered to another instance; null when it can. */
export function refusalOfOffer(queue: QueueItems, id: JournalSeq): string | null {
  const item = itemOf(queue, id);
  if (item === null) return "it is not waiting in this queue (any more)";
  if (item.standing === "gathering") return "parts of it may still come";
  if (isOffered(item)) return "it is offered already";
  if (item.history.length > 0) return "earlier prompts are folded into it";
  if (item.kind === "prompt" && item.lane === "control") return "it continues work of this instance";
  return null;
}
