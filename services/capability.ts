/**
 * Effects of the capability chart, and the look at the bot that leading begins with.
 *
 * Owns: what Telegram's answers say of threads: private chats have them when the bot does, a supergroup by itself.
 * Does not own: what follows from it.
 */
import { fromCallback, fromPromise } from "xstate";
import type { IdentifyAnswer } from "../machines/activation.machine.ts";
import { asBody } from "../machines/calls.rules.ts";
import { capabilityMachine } from "../machines/capability.machine.ts";
import type { TopicsLook } from "../machines/capability.rules.ts";
import { lookForMoves } from "./chats.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";
import type { Topics } from "./topics.ts";

const topicsIf = (has: unknown): IdentifyAnswer => ({ kind: has === true ? "topics" : "noTopics" });

function unanswered(outcome: Exclude<CallOutcome, { kind: "ok" }>): IdentifyAnswer {
  const afterMs = outcome.kind === "throttled" ? outcome.retryAfterMs : 0;
  return { kind: "unavailable", reason: reasonOf(outcome), afterMs };
}

/** Asks Telegram for the bot, and for the chat where that has threads of its own. */
export async function identify(runtime: Runtime): Promise<IdentifyAnswer> {
  await lookForMoves(runtime);
  // Whoever will be paired is spoken to in private.
  const chatId = runtime.chats.now;
  const bot = await callAsLeader(runtime, { method: "getMe", payload: {}, epoch: null });
  if (bot.kind === "rejected" && (bot.error.error_code === 401 || bot.error.error_code === 404))
    return { kind: "unauthorized", reason: reasonOf(bot) };
  if (bot.kind !== "ok") return unanswered(bot);
  if (chatId === null || chatId > 0) return topicsIf(asBody(bot.result)?.["has_topics_enabled"]);
  const chat = await callAsLeader(runtime, { method: "getChat", payload: { chat_id: chatId }, epoch: null });
  return chat.kind === "ok" ? topicsIf(asBody(chat.result)?.["is_forum"]) : unanswered(chat);
}

const looks: Readonly<Record<IdentifyAnswer["kind"], TopicsLook>> = {
  topics: "on",
  noTopics: "off",
  unauthorized: "unknown",
  unavailable: "unknown",
};

export function provideCapability(runtime: Runtime, topics: Topics) {
  return capabilityMachine.provide({
    actors: {
      watchDoubts: fromCallback(({ sendBack }) =>
        topics.doubts.listen(() => {
          sendBack({ type: "capability.doubted" });
        }),
      ),
      lookAtTopics: fromPromise<TopicsLook>(async () => looks[(await identify(runtime)).kind]),
    },
  });
}
