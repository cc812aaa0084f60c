/**
 * Threads on or off in the whole chat: which failures raise the question, and what is said in the main chat meanwhile.
 *
 * Owns: reading error texts, turning a thread's message into one of the main chat. Does not own: looking, and the judgement
 * over several looks (`capability.machine.ts`).
 *
 * Never inferred from a failure: one closed or deleted thread answers much like a chat without threads. A failure makes
 * somebody look, and only what Telegram says of the bot or of the chat decides.
 */
import type { ApiCall, Body } from "./calls.rules.ts";
import { provesThreadGone } from "./threads.rules.ts";

/** What Telegram says of threads in the chat. `unknown`: it did not say. */
export type TopicsLook = "on" | "off" | "unknown";

const offTexts = ["not a forum", "topics are disabled", "threaded mode", "method is available only for"];

/** Whether the words of a refusal may mean that the chat has no threads. A closed thread never does (threads OP-27). */
export function mayMeanNoThreads(description: string): boolean {
  const text = description.toLowerCase().replaceAll("_", " ");
  if (text.includes("topic closed") || text.includes("thread closed")) return false;
  return offTexts.some((off) => text.includes(off));
}

/** Whether the refusal of a call into a thread may mean that the chat has none any more. */
export function raisesDoubt(description: string, { body }: ApiCall): boolean {
  if (body["message_thread_id"] === undefined) return false;
  return mayMeanNoThreads(description) || provesThreadGone(description);
}

/** Signs that mean something in the two Markdown dialects. */
const markdownSigns = /[_*[\]()~`>#+\-=|{}.!\\]/g;
const legacyMarkdownSigns = /[_*`[]/g;

function inDialect(name: string, parseMode: unknown): string {
  const mode = typeof parseMode === "string" ? parseMode.toLowerCase() : "";
  if (mode === "markdownv2") return name.replaceAll(markdownSigns, (sign) => `\\${sign}`);
  if (mode === "markdown") return name.replaceAll(legacyMarkdownSigns, (sign) => `\\${sign}`);
  return mode === "html" ? name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;") : name;
}

/** Entities name places in the text: those move with what is put before it. */
function moved(entities: unknown, by: number): unknown {
  if (!Array.isArray(entities)) return entities;
  return entities.map((each: unknown) =>
    // What is no entity stays what it is: Telegram says what is wrong with it.
    typeof each === "object" && each !== null && "offset" in each && typeof each.offset === "number"
      ? { ...each, offset: each.offset + by }
      : each,
  );
}

const textFields = [
  ["text", "entities"],
  ["caption", "caption_entities"],
] as const;

function named(body: Body, name: string): Body {
  const words = textFields.find(([field]) => typeof body[field] === "string");
  if (words === undefined) return body;
  const [text, entities] = words;
  const prefix = `${inDialect(name, body["parse_mode"])}: `;
  const rest = body[entities] === undefined ? {} : { [entities]: moved(body[entities], `${name}: `.length) };
  return { ...body, [text]: `${prefix}${String(body[text])}`, ...rest };
}

/** Calls that put something into a chat, and so can do without a thread. */
const canGoToMainChat = /^(send|copyMessage|forwardMessage)/i;

/**
 * The call as it is made while threads are off: into the main chat, with its sender's name before the words. Null = it is
 * about the thread itself, and makes no sense there.
 */
export function inMainChat({ method, body }: ApiCall, name: string): ApiCall | null {
  const { message_thread_id: thread, ...rest } = body;
  if (thread === undefined) return { method, body };
  return canGoToMainChat.test(method) ? { method, body: named(rest, name) } : null;
}
