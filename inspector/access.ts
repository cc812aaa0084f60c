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
import type { Wish } from "./client.ts";
import type { SendRequest } from "./frames.ts";

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

/** A `hello`, read as far as it can be; the token is whatever stood there. */
export interface Presented {
  readonly token: unknown;
  readonly batch: boolean;
  readonly wish: Wish;
}

/** Null when the text is no `hello`. */
export function readHello(text: string): Presented | null {
  const message = parsed(text);
  if (message?.["type"] !== "hello") return null;
  const { token, batch, kinds, actors } = message;
  return {
    token,
    batch: batch === true,
    wish: {
      kinds: Array.isArray(kinds) ? new Set(kinds.filter((kind) => typeof kind === "string")) : null,
      actors: typeof actors === "string" ? actors : "",
    },
  };
}

/** Null when the text is no `send` with an actor and an event that has a type. */
export function readSend(text: string): SendRequest | null {
  const message = parsed(text);
  if (message?.["type"] !== "send") return null;
  const { session, event, from } = message;
  if (typeof session !== "string" || typeof event !== "object" || event === null) return null;
  if (!("type" in event) || typeof event.type !== "string" || event.type === "") return null;
  // What an event must have has just been checked; the rest of it is the actor's to judge.
  const sent = event as SendRequest["event"];
  return { type: "send", session, event: sent, ...(typeof from === "string" ? { from } : {}) };
}

/** Undefined when the text is no JSON object. */
export function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const message: unknown = JSON.parse(text);
    if (typeof message !== "object" || message === null || Array.isArray(message)) return undefined;
    return message as Readonly<Record<string, unknown>>;
  } catch {
    // Not JSON.
    return undefined;
  }
}
