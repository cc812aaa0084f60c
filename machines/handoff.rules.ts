/**
 * Pure rules of moving waiting work from one live instance to another: what may be offered, where it stands in the queue it
 * comes to, what waits here although its thread is another's.
 *
 * Owns: bounds of an offer, the placement that travels with it. Does not own: authority over the entries (the store's
 * offers), when to offer and to accept (`handoffDonor.machine.ts`, `handoffRecipient.machine.ts`).
 *
 * The entries never leave the journal that donor and recipient share: what travels is the offer's id, and where the item
 * stood. A placement comes from another process, perhaps of another version: it is looked at before it is believed.
 */
import { fieldsOf, textOf } from "./fields.rules.ts";
import { chatId, journalSeq, messageId, sameTarget, threadId } from "./ids.ts";
import type { JournalSeq, Lane, OfferId, ThreadTarget } from "./ids.ts";
import { isAllowedLane, itemMembersMax, membersOf } from "./queue.rules.ts";
import type { ItemKind, Member, NewItem, QueueItem, QueueLane } from "./queue.rules.ts";
import { ordinaryLaneOf } from "./updates.rules.ts";
import { handoffPayloadBytesMax } from "./wire/constants.ts";

/** Which offer. */
export interface OfferRef {
  readonly id: OfferId;
}

/** How long an offer stands before its donor takes it back, in milliseconds: more than any recipient needs to accept. */
export const offerBudgetMs = 30_000;
/** Tries to put accepted work into the recipient's queue before it is given back. */
export const publishTriesMax = 5;

/** What travels: lengths in bytes of the updates' JSON. Null when the offer may be made. */
export function faultOfOffer(item: QueueItem, bodyBytes: number): string | null {
  if (membersOf(item).length > itemMembersMax)
    return `it has more than ${String(itemMembersMax)} updates, the most that one offer carries`;
  if (bodyBytes > handoffPayloadBytesMax)
    return `its updates are longer than ${String(handoffPayloadBytesMax)} bytes, the most that one offer carries`;
  return null;
}

/** Where an item stands, as its donor writes it for the recipient. */
export const placementOf = ({ kind, lane, members, priorityEmoji, skipEmoji }: QueueItem): string =>
  JSON.stringify({ version: 1, kind, lane, members, priorityEmoji, skipEmoji });

const kinds: readonly unknown[] = ["prompt", "control"] satisfies ItemKind[];
const lanes: readonly unknown[] = ["control", "priority", "default"] satisfies QueueLane[];

function memberIn(value: unknown): Member | null {
  const fields = fieldsOf(value);
  const seq = fields?.["seq"];
  const role = fields?.["role"];
  const message = fields?.["message"];
  if (!Number.isSafeInteger(seq) || (role !== "message" && role !== "change")) return null;
  if (message !== null && !Number.isSafeInteger(message)) return null;
  return { seq: journalSeq(Number(seq)), role, message: message === null ? null : messageId(Number(message)) };
}

/** Exactly these entries, each once. */
function coversExactly(members: readonly Member[], entries: readonly JournalSeq[]): boolean {
  const named = new Set(members.map((member) => member.seq));
  return named.size === members.length && named.size === entries.length && entries.every((seq) => named.has(seq));
}

/** The item that an offer of these entries becomes here; null when its placement cannot be read: then it is left alone. */
export function readPlacement(text: string, entries: readonly JournalSeq[]): NewItem | null {
  const fields = fieldsOf(parsed(text));
  const given: unknown = fields?.["members"];
  if (fields?.["version"] !== 1 || !Array.isArray(given)) return null;
  const members = given.map(memberIn).filter((member) => member !== null);
  const [first] = members;
  if (first === undefined || members.length !== given.length || !coversExactly(members, entries)) return null;
  if (!kinds.includes(fields["kind"]) || !lanes.includes(fields["lane"])) return null;
  // Looked up in the lists of them just now.
  const [kind, lane] = [fields["kind"] as ItemKind, fields["lane"] as QueueLane];
  if (!isAllowedLane(kind, lane)) return null;
  return {
    id: first.seq,
    kind,
    lane,
    standing: "waiting",
    members,
    priorityEmoji: textOf(fields["priorityEmoji"]),
    skipEmoji: textOf(fields["skipEmoji"]),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: nothing that a version of ours has written, and treated as such.
    return null;
  }
}

/** The thread whose lane this is; null for any other lane, such as that of what was moved to a seat. */
export function threadOfLane(lane: Lane): ThreadTarget | null {
  const [, chat, thread] = /^(-?\d+):(\d+)$/.exec(ordinaryLaneOf(lane)) ?? [];
  return chat === undefined || thread === undefined
    ? null
    : { chatId: chatId(Number(chat)), threadId: threadId(Number(thread)) };
}

/** The thread of a waiting item that is not our own: its work may belong to another instance by now. */
export function strangeThreadOf(lane: Lane, own: ThreadTarget | null): ThreadTarget | null {
  const target = threadOfLane(lane);
  return target === null || own === null || sameTarget(target, own) ? null : target;
}

const firstPauseMs = 5_000;
const pauseMaxMs = 5 * 60_000;

/** Until work that came back is offered to the owner of its thread again: doubled each time (updates OP-12). */
export const offerPauseMs = (tries: number): number =>
  Math.min(pauseMaxMs, firstPauseMs * 2 ** Math.min(20, Math.max(0, tries - 1)));
