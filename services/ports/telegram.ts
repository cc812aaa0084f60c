/**
 * Port of the Bot API: one call, with or without a file, and its outcome as data.
 *
 * Owns: the contract. Does not own: who may call what (`machines/calls.rules.ts`), whether the lease still allows it.
 */

/** Telegram's own error object. */
export interface TelegramError {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
}

export type CallOutcome =
  | { readonly kind: "ok"; readonly result: unknown }
  /** Telegram answered and did nothing. */
  | { readonly kind: "rejected"; readonly error: TelegramError }
  | { readonly kind: "throttled"; readonly retryAfterMs: number; readonly error: TelegramError }
  /** No byte reached Telegram. */
  | { readonly kind: "notSent"; readonly reason: string }
  /** May have been committed. Never repeated for a call that is not idempotent. */
  | { readonly kind: "ambiguous"; readonly reason: string };

/** How long a call may take, and what cuts it. */
export interface CallLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A file of this host that goes along with a call. */
export interface UploadFile {
  /** Every JSON value `attach://<field>` of the payload stands for it; where there is none, it is this field. */
  readonly field: string;
  readonly path: string;
  /** What Telegram is told that it is called. */
  readonly name: string;
}

/** Never rejects. The token appears in no outcome. Everything ends within `timeoutMs`, or at once when `signal` aborts. */
export interface TelegramApi {
  call(method: string, payload: Readonly<Record<string, unknown>>, limits: CallLimits): Promise<CallOutcome>;
  /**
   * Reads the token again where it comes from a file. `changed`: calls from here on are made with another one. Never rejects;
   * what is wrong with the file is logged, and then it is the `same`.
   */
  renewToken(): Promise<"changed" | "same">;
  /** A call with a file; `notSent` when it cannot be read. */
  upload(
    method: string,
    payload: Readonly<Record<string, unknown>>,
    file: UploadFile,
    limits: CallLimits,
  ): Promise<CallOutcome>;
  /**
   * Fetches a file of Telegram's; the result is its path on this host, in a folder that only this user can enter. Nothing is
   * changed at Telegram, so it is never `ambiguous`. The file is kept for at least a day.
   */
  download(fileId: string, suggestedName: string, limits: CallLimits): Promise<CallOutcome>;
}
