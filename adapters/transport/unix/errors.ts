/**
 * What a socket error means (protocol §2.5).
 *
 * Owns: the table of codes. Does not own: what anyone does about it.
 */

export interface TransportFailure {
  readonly kind: "timeout" | "connect" | "unknown";
  readonly isRetryable: boolean;
}

/** The `code` of a Node system error, or an empty string. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

export function classify(error: unknown): TransportFailure {
  const code = codeOf(error);
  if (code === "ETIMEDOUT" || (error instanceof Error && /timed out/i.test(error.message))) {
    return { kind: "timeout", isRetryable: true };
  }
  if (code === "ENOENT" || code === "ECONNREFUSED") return { kind: "connect", isRetryable: true };
  return { kind: "unknown", isRetryable: code === "EPIPE" || code === "ECONNRESET" || code === "EBUSY" };
}

export const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });
