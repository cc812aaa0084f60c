/**
 * The shape of one Bot API method of the emulator.
 *
 * Owns: the type only. Invariant: a method returns the `result` or throws a TelegramError; nothing else is an answer.
 */
import type { Core } from "./core.ts";
import type { Params } from "./params.ts";

export interface MethodCall {
  readonly core: Core;
  readonly params: Params;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

export type Method = (call: MethodCall) => unknown;
