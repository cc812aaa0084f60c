/**
 * The errors that people meet: a Bot API call that did not succeed, an instance that cannot start.
 *
 * Owns: its words. Does not own: the outcome (`ports.ts`).
 */
import type { CallOutcome, TelegramError } from "./ports.ts";

/** Telegram refused a call, or it is not known whether it was carried out. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly method: string;
  readonly outcome: Exclude<CallOutcome, { kind: "ok" }>;

  constructor(method: string, outcome: Exclude<CallOutcome, { kind: "ok" }>) {
    super(
      outcome.kind === "rejected" || outcome.kind === "throttled"
        ? `${method}: ${outcome.error.description}`
        : outcome.kind === "ambiguous"
          ? `${method} may or may not have been carried out (${outcome.reason}); it was not repeated`
          : `${method} was not sent: ${outcome.reason}`,
    );
    this.method = method;
    this.outcome = outcome;
  }

  /** Telegram's own error; null when Telegram did not answer. */
  get error(): TelegramError | null {
    return "error" in this.outcome ? this.outcome.error : null;
  }
  /** True when the call may have been carried out. */
  get isAmbiguous(): boolean {
    return this.outcome.kind === "ambiguous";
  }
}

/** The instance cannot start with these options, or was refused its seat. The message says what to do. */
export class StartError extends Error {
  override readonly name = "StartError";
}
