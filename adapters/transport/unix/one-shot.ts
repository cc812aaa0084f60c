/**
 * The v1 client: one connection for each attempt (protocol §2.3, §2.5).
 *
 * Owns: that exchange and its retries. Between own peers a link is used instead; this is what v1 peers do, kept for
 * talking like one (interoperability tests) and as the baseline of the benchmarks.
 * Invariants: every attempt sends the same bytes (C-7); "nothing" is never retried (C-8).
 */
import type net from "node:net";
import { lineBytesMax } from "../../../machines/wire/constants.ts";
import type { Envelope, RequestEnvelope } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import { encodeEnvelope, parseEnvelope } from "../wire/parse.ts";
import { isPipe } from "./address.ts";
import { connect, type Dialing } from "./connect.ts";
import { classify, withCode } from "./errors.ts";
import type { TransportFailure } from "./errors.ts";

export interface OneShotPolicy {
  readonly attemptsMax: number;
  readonly delayMs: number;
  /** Of one attempt: connection and answer together. */
  readonly timeoutMs: number;
}

/** An attempt that brought no answer. */
export interface FailedAttempt {
  readonly requestId: string;
  readonly transport: "socket" | "pipe";
  readonly kind: TransportFailure["kind"];
  /** Whether the same bytes are sent again. */
  readonly isRetried: boolean;
}

export interface OneShotClient extends Dialing {
  /** Told once for each failed attempt. Must not throw. */
  readonly onFailure?: (failure: FailedAttempt) => void;
}

/** §2.5. */
export const oneShotPolicy = {
  registration: { attemptsMax: 10, delayMs: 150, timeoutMs: 30_000 },
  operation: { attemptsMax: 1, delayMs: 0, timeoutMs: 1000 },
  /** A pipe may be busy for a moment. */
  pipeOperation: { attemptsMax: 3, delayMs: 100, timeoutMs: 1000 },
} as const satisfies Record<string, OneShotPolicy>;

/** The policy for an endpoint as it is given, resolved or not. */
export const operationPolicy = (endpoint: string): OneShotPolicy =>
  isPipe(endpoint) ? oneShotPolicy.pipeOperation : oneShotPolicy.operation;

/** The first envelope that comes back, or null for "nothing": FIN before a line, or a line that does not parse. */
function exchange(socket: net.Socket, line: string): Promise<Envelope | null> {
  return new Promise((resolve, reject) => {
    const splitter = new LineSplitter(lineBytesMax);
    socket.on("error", reject);
    socket.on("end", () => resolve(null));
    socket.on("close", () => resolve(null));
    socket.on("data", (chunk) => {
      const lines = splitter.push(chunk);
      const first = lines?.[0];
      if (lines === null) resolve(null);
      else if (first !== undefined) resolve(parseEnvelope(first));
    });
    socket.write(line);
  });
}

async function attempt(address: string, line: string, timeoutMs: number, dialing: Dialing): Promise<Envelope | null> {
  let socket: net.Socket | null = null;
  let timer: unknown;
  const expired = new Promise<never>((_, reject) => {
    timer = dialing.timers.setTimeout(() => reject(withCode(wireText.timedOut, "ETIMEDOUT")), timeoutMs);
  });
  const exchanged = async () => {
    socket = await connect(address, timeoutMs, dialing);
    return exchange(socket, line);
  };
  try {
    return await Promise.race([exchanged(), expired]);
  } finally {
    dialing.timers.clearTimeout(timer);
    // Assigned inside the closure, which narrowing does not see.
    (socket as net.Socket | null)?.destroy();
  }
}

/** Rejects with the last error when every attempt failed, or at once with one that is not worth repeating. */
export async function requestOnce(
  address: string,
  envelope: RequestEnvelope,
  policy: OneShotPolicy,
  client: OneShotClient,
): Promise<Envelope | null> {
  const line = encodeEnvelope(envelope);
  for (let count = 1; ; count += 1) {
    try {
      return await attempt(address, line, policy.timeoutMs, client);
    } catch (error) {
      const { kind, isRetryable } = classify(error);
      const isRetried = isRetryable && count < policy.attemptsMax;
      client.onFailure?.({
        requestId: envelope.requestId,
        transport: isPipe(address) ? "pipe" : "socket",
        kind,
        isRetried,
      });
      if (!isRetried) throw error;
      await new Promise<void>((resolve) => void client.timers.setTimeout(resolve, policy.delayMs));
    }
  }
}
