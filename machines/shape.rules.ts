/**
 * Pure rules of what an update is to a host that works in turns: a prompt, a part of a larger one, a command, a change of
 * something that waits, or none of these.
 *
 * Owns: reading an update's shape; which parts belong together (albums, split texts, a comment with its forward).
 * Does not own: authorisation and owners (`updates.rules.ts`), what the queue does with a shape (`queue.machine.ts`).
 * Updates come from outside: everything is looked at before it is believed.
 */
import { fieldsOf, textOf } from "./fields.rules.ts";
import type { Fields } from "./fields.rules.ts";
import { messageId } from "./ids.ts";
import type { MessageId } from "./ids.ts";
import { itemMembersMax, splitIdGap, splitTextLength } from "./queue.rules.ts";
import type { ReactionChange } from "./queue.rules.ts";

/** Commands with an effect on the queue. */
export const queueCommands = ["stop", "abort", "next", "continue"] as const;
export type QueueCommand = (typeof queueCommands)[number];
/** Those that go ahead of what they are about. */
const urgentCommands: readonly string[] = ["stop", "abort", "next"];

/** Commands that a host answers at once, beside any turn (updates §3.10). */
export const immediateCommands: readonly string[] = [
  "status",
  "queue",
  "model",
  "thinking",
  "settings",
  "help",
  "start",
];
/** Commands that change the host itself: carried out between turns, never beside one. */
export const exclusiveCommands: readonly string[] = ["compact"];

export interface PromptShape {
  readonly kind: "prompt";
  readonly message: MessageId;
  readonly album: string | null;
  /** Length of its text, in UTF-16 units; null when it has none. */
  readonly textLength: number | null;
  readonly isForwarded: boolean;
  readonly sender: number | null;
}

export type Shape =
  | PromptShape
  | { readonly kind: "queueCommand"; readonly command: QueueCommand; readonly message: MessageId }
  | { readonly kind: "exclusiveCommand"; readonly message: MessageId }
  | { readonly kind: "edit"; readonly message: MessageId }
  | { readonly kind: "reaction"; readonly message: MessageId; readonly change: ReactionChange }
  /** A button, a command that is answered at once, or anything else: no turn of its own. */
  | { readonly kind: "aside" };

const idOf = (carrier: Fields | null): MessageId | null => {
  const id = carrier?.["message_id"];
  return Number.isSafeInteger(id) ? messageId(Number(id)) : null;
};

/** The name of a command: `/stop@bot now` is `stop`; null when the text is none. */
export function commandIn(text: string | null): string | null {
  const name = text
    ?.trim()
    .split(/\s/, 1)[0]
    ?.match(/^\/([a-z0-9_]+)(?:@\w+)?$/i)?.[1];
  return name?.toLowerCase() ?? null;
}

/** Whether a message is `/stop`, `/abort` or `/next`: it must not wait behind the work that it is about. */
export const isUrgentMessage = (message: unknown): boolean =>
  urgentCommands.includes(commandIn(textOf(fieldsOf(message)?.["text"])) ?? "");

export const isUrgentUpdate = (update: unknown): boolean => isUrgentMessage(fieldsOf(update)?.["message"]);

const emojis = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.flatMap((each) => textOf(fieldsOf(each)?.["emoji"]) ?? []) : [];

function shapeOfMessage(message: Fields): Shape {
  const id = idOf(message);
  if (id === null) return { kind: "aside" };
  const text = textOf(message["text"]);
  const command = commandIn(text);
  const queueCommand = queueCommands.find((each) => each === command);
  if (queueCommand !== undefined) return { kind: "queueCommand", command: queueCommand, message: id };
  if (command !== null && exclusiveCommands.includes(command)) return { kind: "exclusiveCommand", message: id };
  if (command !== null && immediateCommands.includes(command)) return { kind: "aside" };
  const sender = fieldsOf(message["from"])?.["id"];
  return {
    kind: "prompt",
    message: id,
    album: textOf(message["media_group_id"]),
    // A command's own text is never a part of another one.
    textLength: text === null || command !== null ? null : text.length,
    isForwarded: message["forward_origin"] !== undefined,
    sender: typeof sender === "number" ? sender : null,
  };
}

/** What an update is to a host that works in turns. */
export function shapeOf(update: unknown): Shape {
  const fields = fieldsOf(update);
  const message = fieldsOf(fields?.["message"]);
  if (message !== null) return shapeOfMessage(message);
  const edited = idOf(fieldsOf(fields?.["edited_message"]));
  if (edited !== null) return { kind: "edit", message: edited };
  const reaction = fieldsOf(fields?.["message_reaction"]);
  const reactedTo = idOf(reaction);
  if (reaction === null || reactedTo === null) return { kind: "aside" };
  const change = { before: emojis(reaction["old_reaction"]), after: emojis(reaction["new_reaction"]) };
  return { kind: "reaction", message: reactedTo, change };
}

// -------------------------------------------------------------------------------------------------------- grouping

/** How a prompt may be part of a larger one; null when it stands alone. Only prompts of one key are put together. */
export type GroupKind = "album" | "text";

export interface GroupPart {
  readonly key: string;
  readonly group: GroupKind;
  readonly message: MessageId;
  readonly textLength: number;
  readonly isForwarded: boolean;
}

/** Thread (or chat) of the prompt, so that threads never mix. */
export function partOf(shape: PromptShape, target: string): GroupPart | null {
  const { message, album, textLength, isForwarded, sender } = shape;
  if (album !== null)
    return { key: `${target}/album/${album}`, group: "album", message, textLength: textLength ?? 0, isForwarded };
  if (textLength === null) return null;
  return { key: `${target}/text/${String(sender)}`, group: "text", message, textLength, isForwarded };
}

/** `joins`: it belongs to the open group. `completes`: it does, and nothing more can. `follows`: the group is over. */
export type JoinVerdict = "joins" | "completes" | "follows";

/** What the next part of the same key means to an open group, judged by the last part that joined. */
export function judgePart(open: { readonly parts: number; readonly last: GroupPart }, next: GroupPart): JoinVerdict {
  if (open.parts >= itemMembersMax) return "follows";
  if (next.group === "album") return "joins";
  const isLater = next.message > open.last.message && next.message - open.last.message <= splitIdGap;
  if (!isLater) return "follows";
  // A comment and what it comments on, in either order.
  if (next.isForwarded !== open.last.isForwarded) return "completes";
  return !next.isForwarded && open.last.textLength >= splitTextLength ? "joins" : "follows";
}
