/**
 * What the emulator refuses, in Telegram's own words.
 *
 * Owns: the error texts of the Bot API methods served here and the shape of an error body. Does not own: when a text
 * applies (methods-*.ts decide), nor the control API's errors (control-input.ts).
 * Source: the descriptions answered by api.telegram.org and by the open-source Bot API server.
 */
export interface ErrorParameters {
  readonly retry_after?: number;
  readonly migrate_to_chat_id?: number;
}

export interface ErrorBody {
  readonly ok: false;
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: ErrorParameters;
}

/** A refusal that Telegram would answer; the HTTP status is the error code. */
export class TelegramError extends Error {
  readonly code: number;
  readonly parameters: ErrorParameters | undefined;

  constructor(code: number, description: string, parameters?: ErrorParameters) {
    super(description);
    this.name = "TelegramError";
    this.code = code;
    this.parameters = parameters;
  }

  body(): ErrorBody {
    const base = { ok: false as const, error_code: this.code, description: this.message };
    return this.parameters === undefined ? base : { ...base, parameters: this.parameters };
  }
}

export function badRequest(what: string): TelegramError {
  return new TelegramError(400, `Bad Request: ${what}`);
}

/** The group is a supergroup by now, under another id. */
export function upgraded(to: number): TelegramError {
  return new TelegramError(400, "Bad Request: group chat was upgraded to a supergroup chat", {
    migrate_to_chat_id: to,
  });
}

export function tooManyRequests(seconds: number): TelegramError {
  return new TelegramError(429, `Too Many Requests: retry after ${String(seconds)}`, { retry_after: seconds });
}

export const UNAUTHORIZED = "Unauthorized";
export const NOT_FOUND = "Not Found";
export const CONFLICT_OTHER_POLL =
  "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
export const CONFLICT_SET_WEBHOOK = "Conflict: terminated by setWebhook request";
export const CONFLICT_WEBHOOK =
  "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
export const QUERY_TOO_OLD = "query is too old and response timeout expired or query ID is invalid";
export const NOT_MODIFIED =
  "message is not modified: specified new message content and reply markup are exactly the same as a current content " +
  "and reply markup of the message";
