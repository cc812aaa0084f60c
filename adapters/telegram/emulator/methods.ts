/**
 * The table of Bot API methods the emulator serves.
 *
 * Owns: finding a method by name, in any letter case as Telegram does. Does not own: any method.
 */
import type { Method } from "./method-call.ts";
import { accountMethods } from "./methods-account.ts";
import { mediaMethods } from "./methods-media.ts";
import { messageMethods } from "./methods-messages.ts";
import { topicMethods } from "./methods-topics.ts";

const METHODS: ReadonlyMap<string, Method> = new Map(
  Object.entries({ ...accountMethods, ...topicMethods, ...messageMethods, ...mediaMethods }).map(
    ([name, method]) => [name.toLowerCase(), method] as const,
  ),
);

export function findMethod(name: string): Method | undefined {
  return METHODS.get(name.toLowerCase());
}
