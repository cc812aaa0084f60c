/**
 * What the line itself says to the user in a thread.
 *
 * Owns: the words and the sending, in the background. Does not own: when something is to be said (the charts).
 * A notice that fails is logged and nothing else: no registration and no start depends on it (threads T-55).
 */
import type { BoundThread, Epoch } from "../machines/ids.ts";
import { callInBackground } from "./leader-calls.ts";
import type { Runtime } from "./runtime.ts";

const escaped: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
export const htmlOf = (text: string): string => text.trim().replaceAll(/[&<>]/g, (sign) => escaped[sign] ?? sign);

/** The connected notice (threads §2.5). */
export const connectedText = ({ threadName, slot }: Pick<BoundThread, "threadName" | "slot">): string =>
  `📡 Instance <b>${htmlOf(threadName) || slot || "?"}</b> connected.`;

/** Tells that somebody is connected to this thread; returns at once. */
export function announceThread(runtime: Runtime, thread: BoundThread, epoch: Epoch): void {
  const { chatId, threadId } = thread.target;
  const payload = { chat_id: chatId, message_thread_id: threadId, text: connectedText(thread), parse_mode: "HTML" };
  callInBackground(
    runtime,
    { method: "sendMessage", payload, epoch },
    { phase: "thread-not-announced", thread: threadId },
  );
}
