/**
 * Turns what came back from a call, or did not, into a `CallOutcome`.
 *
 * Owns: the line between "did nothing", "never left" and "may have been committed".
 * Does not own: HTTP, retries (nobody here retries), what callers do about an outcome.
 *
 * | What happened | Outcome |
 * |---|---|
 * | `ok: true`, with or without `result` | ok; a missing result is `undefined` |
 * | `ok: false`, error code below 500 | rejected; 429: throttled |
 * | `ok: false`, error code 500 or above | ambiguous: Telegram does not say how far it got |
 * | no JSON, HTTP 4xx (a proxy's page, a body too large) | rejected; 429: throttled |
 * | no JSON, or JSON of another shape, any other status (an HTML 502, a truncated 200, a redirect) | ambiguous |
 * | no answer, and no byte of the request can have left (DNS, refused, TLS, aborted or timed out before) | notSent |
 * | no answer otherwise (reset, aborted, timed out) | ambiguous |
 *
 * Invariant: reasons are made of error codes and own words, never of a message that may hold the URL and so the token.
 */
import type { CallOutcome, TelegramError } from "../../../services/ports.ts";
import type { RequestFacts } from "./watch.ts";

/** What Telegram asks to wait when it does not say how long. */
const retryAfterDefaultMs = 1000;

/** An answer that was JSON. */
export function outcomeOfAnswer(answer: unknown, facts: RequestFacts): CallOutcome {
  if (!isObject(answer)) return malformed(facts);
  if (answer["ok"] === true) return { kind: "ok", result: answer["result"] };
  const error = answer["ok"] === false ? telegramErrorOf(answer) : null;
  if (error === null) return malformed(facts);
  return outcomeOfError(error, facts);
}

/** A call that failed without JSON. */
export function outcomeOfFailure(failure: unknown, facts: RequestFacts): CallOutcome {
  if (facts.status === null) return unanswered(reasonOf(failure), facts);
  if (facts.status >= 400 && facts.status < 500) {
    return outcomeOfError(
      { error_code: facts.status, description: `HTTP ${facts.status} without a JSON answer` },
      facts,
    );
  }
  return malformed(facts);
}

/** A call that ended before its answer was whole, for a reason of our own. */
export function unanswered(reason: string, facts: RequestFacts): CallOutcome {
  return { kind: facts.mayBeSent ? "ambiguous" : "notSent", reason };
}

function outcomeOfError(error: TelegramError, facts: RequestFacts): CallOutcome {
  if (error.error_code >= 500) return { kind: "ambiguous", reason: `${error.error_code}: ${error.description}` };
  if (error.error_code !== 429) return { kind: "rejected", error };
  const seconds = error.parameters?.retry_after ?? facts.retryAfterS;
  return { kind: "throttled", retryAfterMs: seconds === null ? retryAfterDefaultMs : seconds * 1000, error };
}

const malformed = (facts: RequestFacts): CallOutcome => ({
  kind: "ambiguous",
  reason: `the answer (HTTP ${facts.status ?? "unknown"}) is not what the Bot API answers`,
});

function telegramErrorOf(answer: Record<string, unknown>): TelegramError | null {
  const { error_code: code, description, parameters } = answer;
  if (typeof code !== "number") return null;
  const { retry_after: retryAfter, migrate_to_chat_id: migrateTo } = isObject(parameters) ? parameters : {};
  const known = {
    ...(typeof retryAfter === "number" && retryAfter >= 0 ? { retry_after: retryAfter } : {}),
    ...(typeof migrateTo === "number" ? { migrate_to_chat_id: migrateTo } : {}),
  };
  return {
    error_code: code,
    description: typeof description === "string" ? description : "",
    ...(Object.keys(known).length > 0 ? { parameters: known } : {}),
  };
}

/** The system's error code, wherever in the chain of causes; else the kind of error. */
function reasonOf(failure: unknown): string {
  let kind = "the request failed";
  let error = failure;
  for (let depth = 0; depth < 5 && error instanceof Error; depth++) {
    if ("code" in error && typeof error.code === "string" && /^[A-Z][A-Z0-9_]+$/.test(error.code)) return error.code;
    // grammY keeps the cause in `error`.
    kind = `the request failed (${error.name})`;
    error = "error" in error ? error.error : error.cause;
  }
  return kind;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
