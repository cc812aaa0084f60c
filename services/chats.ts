/**
 * Which chat is ours: the configured one, or what became of it.
 *
 * Owns: following the configured chat as the store tells, keeping a move that Telegram told of, making a call that was refused
 * for it once more in the new chat. Does not own: what the words mean (`machines/chats.rules.ts`).
 *
 * A refusal is the only outcome that is tried again elsewhere: nothing was sent.
 */
import { canBecomeAnother, chatAfter, formerChats, inNewChat } from "../machines/chats.rules.ts";
import type { ApiCall } from "../machines/calls.rules.ts";
import { canonicalInteger } from "../machines/calls.rules.ts";
import { inMainChat } from "../machines/capability.rules.ts";
import type { ChatMove } from "../machines/chats.rules.ts";
import { chatId } from "../machines/ids.ts";
import type { ChatId, Epoch } from "../machines/ids.ts";
import type { CallOutcome } from "./ports.ts";
import { chatOf, createSignal } from "./runtime.ts";
import type { ChatSight, Runtime } from "./runtime.ts";
import { senderOf } from "./topics.ts";

export class Chats implements ChatSight {
  readonly moved = createSignal();
  former: readonly ChatId[] = [];
  now: ChatId | null;

  constructor(configured: ChatId | null) {
    this.now = configured;
  }

  isOurs(chat: ChatId): boolean {
    return chat === this.now || this.former.includes(chat);
  }

  learn(moves: readonly ChatMove[]): void {
    const before = this.now;
    if (before === null) return;
    this.now = chatAfter(before, moves);
    this.former = formerChats(this.now, moves);
    if (this.now !== before) this.moved.fire();
  }

  // A private chat never becomes another: whoever is paired is told to the activation chart, nobody moves.
  pair(chat: ChatId | null): void {
    this.now = chat;
  }
}

/** Learns what the store knows of our chat. A look that failed changes nothing: the old chat's next refusal tells it again. */
export async function lookForMoves({ ports, chats }: Runtime): Promise<void> {
  try {
    chats.learn(await ports.store.chats.moves());
  } catch (error) {
    ports.stage.log.event("warn", "chat-moves-not-seen", { reason: String(error) });
  }
}

/** Keeps a move of our chat, and follows it. Anything else that Telegram tells is nobody's business here. */
export async function noteMove(
  runtime: Runtime,
  { from, to }: ChatMove,
  epoch: Epoch,
): Promise<{ readonly kind: "noted" | "notOurs" | "fenced" }> {
  const { store, stage } = runtime.ports;
  if (!canBecomeAnother(from) || !runtime.chats.isOurs(from)) return { kind: "notOurs" };
  const { kind } = await store.chats.move({ epoch, from, to, atMs: stage.clock.nowMs() });
  if (kind === "fenced") return { kind };
  if (kind === "moved") stage.log.event("warn", "chat-moved", { from, to });
  runtime.chats.learn(await store.chats.moves());
  return { kind: "noted" };
}

/** Why a call about something of the old chat is refused. */
export const chatIsAnother = "the chat was upgraded to a supergroup: its former messages and threads are not there";

/** What a call that names a chat of ours by an id of earlier becomes; itself when it does not, null when it means nothing any more. */
export function inChatOfNow({ chats }: Runtime, call: ApiCall): ApiCall | null {
  const named = canonicalInteger(call.body["chat_id"]);
  if (named === null || chats.now === null || !chats.former.includes(chatId(named))) return call;
  return inNewChat(call, chats.now);
}

interface Asked {
  readonly method: string;
  readonly payload: ApiCall["body"];
}

/** What is made in the new chat for a call of the old one. What was meant for a thread stands there under the thread's name. */
async function again(runtime: Runtime, { method, payload }: Asked): Promise<ApiCall | null> {
  const call = { method, body: payload };
  const plain = payload["message_thread_id"] === undefined ? call : inMainChat(call, await senderOf(runtime, payload));
  return plain === null ? null : inNewChat(plain, chatOf(runtime));
}

/** Makes a call; when it is refused because its chat has become another, keeps that and makes it there, once. */
export async function followingChat<Call extends Asked>(
  runtime: Runtime,
  call: Call,
  make: (call: Call) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const outcome = await make(call);
  if (outcome.kind !== "rejected") return outcome;
  const to = outcome.error.parameters?.migrate_to_chat_id;
  const from = canonicalInteger(call.payload["chat_id"]);
  const permit = runtime.gate.permit();
  if (to === undefined || from === null || permit === null) return outcome;
  try {
    const { kind } = await noteMove(runtime, { from: chatId(from), to: chatId(to) }, permit.epoch);
    const next = kind === "noted" ? await again(runtime, call) : null;
    return next === null ? outcome : await make({ ...call, payload: next.body });
  } catch (error) {
    runtime.ports.stage.log.event("warn", "chat-move-not-kept", { from, to, reason: String(error) });
    return outcome;
  }
}
