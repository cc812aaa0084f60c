/**
 * Messages from one agent to another (protocol §4.8): who is meant, and the update that the message becomes.
 *
 * Owns: matching a selector, the label of the source, the synthetic update and its id.
 * Does not own: who lives (the seats), the journal, digests (brought by the caller).
 *
 * Invariants: exactly one live candidate in the line's chat that is not the sender, or nobody. The same request makes the
 * same update under whichever leader: the journal knows a repetition by id and content.
 */
import { chatId, messageId, threadId, updateId } from "./ids.ts";
import type { BoundThread, InstanceId, ThreadTarget, UpdateId } from "./ids.ts";
import { sameTarget } from "./ids.ts";
import type { Audience } from "./updates.rules.ts";
import { agentSourceThreadField } from "./wire/constants.ts";
import type { AgentSelector } from "./wire/envelopes.ts";

const folded = (name: string): string => name.trim().toLocaleLowerCase();

/** The one candidate that a selector means; null when it is none, several, or the sender itself. */
export function agentMeant<Candidate extends { readonly thread: BoundThread }>(
  candidates: readonly Candidate[],
  selector: AgentSelector,
  asked: { readonly by: ThreadTarget; readonly chat: number },
): Candidate | null {
  if ((selector.chatId ?? asked.chat) !== asked.chat) return null;
  const { threadName } = selector;
  const matching = candidates.filter(
    ({ thread }) =>
      thread.target.chatId === asked.chat &&
      (threadName === undefined
        ? thread.target.threadId === selector.threadId
        : folded(thread.threadName) === folded(threadName)),
  );
  const [only] = matching;
  return only === undefined || matching.length > 1 || sameTarget(only.thread.target, asked.by) ? null : only;
}

const labelMax = 64;
const fallbackLabel = "agent";

/** A thread's name as the receiving agent sees it: no line breaks or brackets, at most 64 characters. */
export function sourceLabel(threadName: string): string {
  const plain = threadName
    .replace(/[\r\n[\]]+/g, " ")
    .trim()
    .slice(0, labelMax);
  return plain === "" ? fallbackLabel : plain;
}

/** The text whose digest numbers the update of a route: the same for every repetition, by whichever leader. */
export const agentUpdateText = (sender: InstanceId, requestId: string): string => `${sender}:${requestId}`;

/** Ids from here on are no numbers of Telegram's. */
const firstAgentUpdateId = 2 ** 52;
export const isAgentUpdateId = (id: UpdateId): boolean => id >= firstAgentUpdateId;

/** The lower 51 bits come from the digest. */
export const agentUpdateId = (sha256Hex: string): UpdateId =>
  updateId(Number(BigInt(firstAgentUpdateId) + (BigInt(`0x${sha256Hex.slice(0, 16)}`) >> 13n)));

export interface AgentMessage {
  readonly target: ThreadTarget;
  readonly messageId: number;
  readonly text: string;
  /** As the sender said it, in milliseconds: a repetition says the same. */
  readonly sentAtMs: number;
}

/** The turn of the user that an agent's message is to its receiver, as Telegram would have sent it. */
export function agentUpdate(
  id: UpdateId,
  source: string,
  message: AgentMessage,
  audience: Pick<Audience, "user" | "chat">,
): unknown {
  const label = sourceLabel(source);
  const seconds = Math.floor(message.sentAtMs / 1_000);
  return {
    update_id: id,
    message: {
      message_id: messageId(message.messageId),
      message_thread_id: threadId(message.target.threadId),
      is_topic_message: true,
      from: { id: audience.user, is_bot: false, first_name: label },
      chat: { id: chatId(message.target.chatId), type: audience.user === audience.chat ? "private" : "supergroup" },
      date: Number.isSafeInteger(seconds) ? Math.max(0, seconds) : 0,
      text: message.text,
      [agentSourceThreadField]: label,
    },
  };
}
