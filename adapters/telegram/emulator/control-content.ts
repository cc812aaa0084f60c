/**
 * What users' actions are made of: chats from seeds, entities, recognising an injected message.
 *
 * Owns: pure helpers of control.ts. Does not own: any state.
 */
import type { Chat, Message } from "@grammyjs/types";
import type { ChatSeed } from "./control-types.ts";
import { isRecord } from "./params.ts";

export function isMessage(value: unknown): value is Message {
  if (!isRecord(value) || typeof value["message_id"] !== "number") return false;
  return isRecord(value["chat"]) && typeof value["chat"]["id"] === "number" && typeof value["date"] === "number";
}

/** A leading `/command` gets its entity, as Telegram adds it. */
export function commandEntities(text: string): Partial<Message> {
  const command = /^\/[A-Za-z0-9_]{1,32}(?:@\w+)?/.exec(text)?.[0];
  return command === undefined ? {} : { entities: [{ type: "bot_command", offset: 0, length: command.length }] };
}

export function seededChat(seed: ChatSeed): Chat {
  switch (seed.type) {
    case "private":
      return { id: seed.id, type: "private", first_name: seed.title };
    case "group":
      return { id: seed.id, type: "group", title: seed.title };
    case "supergroup":
      return {
        id: seed.id,
        type: "supergroup",
        title: seed.title,
        ...(seed.isForum === false ? {} : { is_forum: true }),
      };
  }
}
