/**
 * Pure rules of inbound updates: what an update is about, who may cause effects, in which order updates run, and what a
 * batch of ids means to the cursor.
 *
 * Does not own: routing to a live process (`delivery.machine.ts`), the journal.
 * Updates come from outside: everything is looked at before it is believed.
 */
import { fieldsOf } from "./fields.rules.ts";
import type { Fields } from "./fields.rules.ts";
import { chatId, lane, messageId, threadId, updateId } from "./ids.ts";
import type { ChatId, Lane, MessageId, SeatKey, ThreadId, ThreadTarget, UpdateId } from "./ids.ts";

/** Kinds that reach a handler; every other one is a counted drop. */
export type RoutedKind = "message" | "edited_message" | "callback_query" | "message_reaction";

/** Everything that deciding needs to know of an update. */
export interface UpdateFacts {
  readonly updateId: UpdateId;
  /** The update's own field name: `message`, `callback_query`, `my_chat_member`, … */
  readonly kind: string;
  readonly routed: RoutedKind | null;
  readonly chat: ChatId | null;
  readonly thread: ThreadId | null;
  /** The message it is, or is about: what ownership by message looks up. */
  readonly message: MessageId | null;
  /** The person who caused it; null for anonymous admins, channels and bots. */
  readonly user: number | null;
  /** A topic was created, edited, closed or reopened. */
  readonly isTopicService: boolean;
  /** Its chat became another, or was another before. */
  readonly isChatMove: boolean;
}

const integer = (value: unknown): number | null => (Number.isSafeInteger(value) ? Number(value) : null);

const routedKinds: readonly string[] = ["message", "edited_message", "callback_query", "message_reaction"];
const isRouted = (kind: string): kind is RoutedKind => routedKinds.includes(kind);

const topicServiceFields = [
  "forum_topic_created",
  "forum_topic_edited",
  "forum_topic_closed",
  "forum_topic_reopened",
  "general_forum_topic_hidden",
  "general_forum_topic_unhidden",
];

const chatMoveFields = ["migrate_to_chat_id", "migrate_from_chat_id"];

/** A person: an id and not a bot, and not speaking as a chat (anonymous admins and channels do). */
function personOf(carrier: Fields, message: Fields | null): number | null {
  if (carrier["sender_chat"] !== undefined || carrier["actor_chat"] !== undefined) return null;
  const from = fieldsOf(carrier["from"]) ?? fieldsOf(carrier["user"]) ?? fieldsOf(message?.["from"]);
  return from === null || from["is_bot"] !== false ? null : integer(from["id"]);
}

/** Reads an update; null when it has no usable `update_id`. One without a carrier belongs to nobody. */
export function readUpdate(update: unknown): UpdateFacts | null {
  const fields = fieldsOf(update);
  const id = integer(fields?.["update_id"]);
  if (fields === null || id === null || id < 0) return null;
  const kind = Object.keys(fields).find((key) => key !== "update_id") ?? "nothing";
  const carrier = fieldsOf(fields[kind]) ?? {};

  const message = kind === "callback_query" ? fieldsOf(carrier["message"]) : carrier;
  const chat = integer(fieldsOf(message?.["chat"])?.["id"]);
  // In groups a reply chain has a thread id too; only topic messages have a topic.
  const thread = message?.["is_topic_message"] === true ? integer(message["message_thread_id"]) : null;
  const about = integer(message?.["message_id"]);
  return {
    updateId: updateId(id),
    kind,
    routed: isRouted(kind) ? kind : null,
    chat: chat === null ? null : chatId(chat),
    thread: thread === null ? null : threadId(thread),
    message: about === null ? null : messageId(about),
    user: personOf(carrier, kind === "callback_query" ? null : message),
    isTopicService: kind === "message" && topicServiceFields.some((field) => carrier[field] !== undefined),
    isChatMove: kind === "message" && chatMoveFields.some((field) => carrier[field] !== undefined),
  };
}

/** Facts of a journal entry that says nothing about itself: it belongs to nobody, and is dropped like that. */
export const unreadable = (id: UpdateId): UpdateFacts => ({
  updateId: id,
  kind: "nothing",
  routed: null,
  chat: null,
  thread: null,
  message: null,
  user: null,
  isTopicService: false,
  isChatMove: false,
});

/** Updates of one lane run in order: a thread, or what a chat has outside its threads. */
export const laneOf = ({ chat, thread }: UpdateFacts): Lane => {
  if (chat === null) return lane("none");
  return thread === null ? lane(`${String(chat)}:main`) : laneOfThread({ chatId: chat, threadId: thread });
};
export const laneOfThread = ({ chatId: chat, threadId: thread }: ThreadTarget): Lane =>
  lane(`${String(chat)}:${String(thread)}`);

/**
 * Commands that must not wait behind the work they are about have a lane of their own beside their thread's: neither an
 * update that is tried again nor a full queue holds them up.
 */
const urgentMark = "!";
export const urgentLaneOf = (ordinary: Lane): Lane => lane(`${ordinary}${urgentMark}`);
export const isUrgentLane = (of: Lane): boolean => of.endsWith(urgentMark);
/** The lane that an urgent one stands beside; an ordinary one itself. */
export const ordinaryLaneOf = (of: Lane): Lane => lane(isUrgentLane(of) ? of.slice(0, -urgentMark.length) : of);

/** The lane in another thread of what comes from `from`: what is urgent stays urgent. */
export const laneInThread = (from: Lane, thread: ThreadTarget): Lane =>
  isUrgentLane(from) ? urgentLaneOf(laneOfThread(thread)) : laneOfThread(thread);

/** Presses of the line's own buttons in a thread have a lane beside it: what they decide about waits in the thread's. */
export const pressLaneOf = (ordinary: Lane): Lane => lane(`${ordinary}?`);

/** What was moved to another seat waits in a lane of that seat: it holds up neither its old thread nor is it held up there. */
export const movedLaneOf = (seat: SeatKey): Lane => lane(`moved:${seat}`);

export interface Audience {
  /** The only person whose updates have effects. */
  readonly user: number;
  /** The only chat whose updates have effects. */
  readonly chat: ChatId;
  /** Ids that it had before: what was written there is ours. */
  readonly former: readonly ChatId[];
}

/** Nobody is paired, and none is configured. */
export const unpairedReason = "unpaired";

/**
 * Why an update has no effect, for the counter; null when it may have one. Decided before anything else happens. `audience`
 * null = nobody may cause effects.
 */
export function dropReason(facts: UpdateFacts, audience: Audience | null): string | null {
  if (audience === null) return unpairedReason;
  const isOurs = facts.chat === audience.chat || audience.former.some((former) => former === facts.chat);
  if (facts.isChatMove && isOurs) return "chat-moved";
  // Telegram's own notices about topics have no author to check; they cause no effect either.
  if (facts.isTopicService && facts.chat === audience.chat) return "topic-service-message";
  if (facts.user !== audience.user) return "unauthorized";
  if (facts.routed === null) return `not-handled:${facts.kind}`;
  if (!isOurs) return "foreign-chat";
  return null;
}

/** Ids further below the cursor than this are a restart of Telegram's numbering, not a repetition. */
const idRestartGap = 1_000;
/** A batch that is no good is refused so often in a row; then what is good in it is taken, or polling would stand for ever. */
export const refusalsMax = 2;

export type BatchVerdict =
  | { readonly kind: "empty" }
  /** Admit what has an id, then ask from `cursor`. `irregular`: why it was refused before; null for a batch in order. */
  | {
      readonly kind: "admit";
      readonly cursor: UpdateId;
      readonly restarted: boolean;
      readonly irregular: string | null;
    }
  | { readonly kind: "refuse"; readonly reason: string };

export interface BatchCircumstances {
  readonly cursor: UpdateId | null;
  /** Refused batches in a row. */
  readonly refusals: number;
}

/** What a batch of ids means to the cursor. A refused batch changes nothing. */
export function judgeBatch({ cursor, refusals }: BatchCircumstances, ids: readonly (UpdateId | null)[]): BatchVerdict {
  if (ids.length === 0) return { kind: "empty" };
  const usable = ids.filter((id) => id !== null);
  const [first] = usable;
  const last = usable.at(-1);
  if (first === undefined || last === undefined) return { kind: "refuse", reason: noUsableId };
  const isAscending = usable.every((id, at) => at === 0 || id > (usable[at - 1] ?? id));
  const below = cursor === null ? 0 : cursor - Math.min(...usable);
  const fault = faultOfBatch({ hasAllIds: usable.length === ids.length, isAscending, below });
  if (fault !== null && refusals < refusalsMax) return { kind: "refuse", reason: fault };
  // Out of order, others may lie between those that came: nothing above the lowest is confirmed by the next poll.
  const confirmed = isAscending ? last : Math.min(...usable);
  return { kind: "admit", cursor: updateId(confirmed + 1), restarted: below > 0, irregular: fault };
}

const noUsableId = "an update without a usable update_id";

function faultOfBatch(batch: {
  readonly hasAllIds: boolean;
  readonly isAscending: boolean;
  readonly below: number;
}): string | null {
  if (!batch.hasAllIds) return noUsableId;
  if (!batch.isAscending) return "update ids that do not ascend";
  return batch.below > 0 && batch.below <= idRestartGap ? "update ids that were confirmed before" : null;
}

/** Every update type that a poll names, each time: Telegram remembers the list of the last poll that gave one. */
export const allowedUpdates = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "business_connection",
  "business_message",
  "edited_business_message",
  "deleted_business_messages",
  "guest_message",
  "stopped_message_generation",
  "message_reaction",
  "message_reaction_count",
  "inline_query",
  "chosen_inline_result",
  "callback_query",
  "shipping_query",
  "pre_checkout_query",
  "purchased_paid_media",
  "poll",
  "poll_answer",
  "my_chat_member",
  "chat_member",
  "chat_join_request",
  "chat_boost",
  "removed_chat_boost",
  "managed_bot",
  "subscription",
] as const;
