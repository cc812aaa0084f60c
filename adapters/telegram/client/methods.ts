/**
 * The Bot API methods as types, for calls that are confined to one thread.
 *
 * Owns: what a call takes (its chat may be left out) and gives. Does not own: making it.
 */
import type { ApiMethods } from "@grammyjs/types";

export type Methods = ApiMethods<never>;
export type PayloadOf<Method extends keyof Methods> = Methods[Method] extends (args: infer Args) => unknown
  ? Args extends { chat_id: unknown }
    ? Omit<Args, "chat_id"> & Partial<Pick<Args, "chat_id">>
    : Args
  : Record<string, never>;
export type ResultOf<Method extends keyof Methods> = Methods[Method] extends (...args: never[]) => infer Result
  ? Result
  : never;
