/**
 * Who may talk to the inspector.
 *
 * Owns: the checks of Host, Origin and token. Does not own: what a refused caller hears (`server.ts`).
 *
 * Host keeps out a foreign name that was rebound to loopback; Origin keeps out other web pages; the token keeps out other
 * users of this host. Not kept out: whoever can read this process's memory.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Whether the request is addressed to us, and comes from our own page or from no page at all. */
export function isAdmitted(request: IncomingMessage, port: number): boolean {
  const own = [`127.0.0.1:${port}`, `localhost:${port}`];
  const { host, origin } = request.headers;
  if (host === undefined || !own.includes(host.toLowerCase())) return false;
  return origin === undefined || own.some((name) => origin === `http://${name}`);
}

/** Its duration tells nothing about the expected token. */
export function isToken(presented: unknown, expected: string): boolean {
  if (typeof presented !== "string") return false;
  return timingSafeEqual(digest(presented), digest(expected));
}

const digest = (text: string): Uint8Array => createHash("sha256").update(text, "utf8").digest();

/** The token of a `hello`; undefined when the message is none. */
export function tokenOfHello(text: string): unknown {
  try {
    const message: unknown = JSON.parse(text);
    if (typeof message !== "object" || message === null) return undefined;
    return "type" in message && message.type === "hello" && "token" in message ? message.token : undefined;
  } catch {
    // Not JSON, so not a hello.
    return undefined;
  }
}
