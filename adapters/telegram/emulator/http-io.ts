/**
 * Small HTTP helpers of the emulator's server.
 *
 * Owns: reading a capped body, writing JSON. Does not own: routes or meaning.
 * Invariant: a body is never buffered beyond its cap.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/** Larger than Telegram's 50 MB upload limit, so that a test can see an oversized upload refused by its own side. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;

/** Resolves with the whole body, or null when it is larger than `bytesMax` (the rest is discarded). */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    // IncomingMessage without an encoding yields Buffers; the iterator is typed `any`.
    const buffer = chunk as Buffer;
    size += buffer.length;
    if (size <= bytesMax) chunks.push(buffer);
  }
  return size <= bytesMax ? Buffer.concat(chunks) : null;
}

export interface JsonReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export function sendJson(response: ServerResponse, reply: JsonReply): void {
  sendText(response, reply.status, JSON.stringify(reply.body), {
    "Content-Type": "application/json",
    ...reply.headers,
  });
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string | Buffer,
  headers: Readonly<Record<string, string>>,
): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, { "Content-Length": Buffer.byteLength(text), ...headers });
  response.end(text);
}
