/**
 * Lines to envelopes and back (protocol §2.2, §2.12, W-21, W-22).
 *
 * Owns: the one place where text from a peer becomes a value, and what identifies a request in a ledger.
 * Does not own: cutting a stream into lines (line-splitter.ts), which kind has which fields (schemas.ts).
 * Invariants:
 *  - `parseEnvelope` never throws and never recurses by the depth of its input: deeper nesting than `nestingMax` is
 *    refused before JSON is parsed, so every later `JSON.stringify` of a parsed envelope is safe too;
 *  - a parsed envelope holds only fields of §3, and free-form values exactly as they were sent.
 */
import { createHash } from "node:crypto";
import type { z } from "zod";
import type { Envelope } from "../../../machines/wire/envelopes.ts";
import { envelopeSchemas } from "./schemas.ts";

/** Deepest nesting of arrays and objects in a line. Bot API objects stay far below 64. */
export const nestingMax = 512;

const schemaOf: ReadonlyMap<unknown, z.ZodType> = new Map(Object.entries(envelopeSchemas));

const quote = 0x22;
const backslash = 0x5c;

/** Whether brackets outside strings nest deeper than `nestingMax`. Reads text that may be no JSON at all. */
function isTooDeep(line: string): boolean {
  if (line.length <= nestingMax) return false;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < line.length; index += 1) {
    const code = line.charCodeAt(index);
    if (inString) {
      if (code === backslash) index += 1;
      else if (code === quote) inString = false;
    } else if (code === quote) inString = true;
    // `[` and `{`, `]` and `}`
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > nestingMax) return true;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return false;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The envelope in a line (without its LF), or `null` when the line is malformed (V-1). */
export function parseEnvelope(line: string): Envelope | null {
  if (isTooDeep(line)) return null;
  const value = parseJson(line);
  if (typeof value !== "object" || value === null || !("kind" in value)) return null;
  const parsed = schemaOf.get(value.kind)?.safeParse(value);
  if (parsed?.success !== true) return null;
  // The table in schemas.ts is checked against the envelope types, and its records hold no undefined values.
  return parsed.data as Envelope;
}

/** One line, LF included. Throws for a value that JSON cannot hold (a cycle, a bigint). */
export const encodeEnvelope = (envelope: Envelope): string => `${JSON.stringify(envelope)}\n`;

const digestAbove = 1024;

/** Keeps what is remembered small: equal texts stay equal, different ones different. */
const digested = (text: string): string =>
  text.length <= digestAbove ? text : `sha256:${createHash("sha256").update(text).digest("base64")}`;

/** W-22: what must be equal for two requests under one id to be the same request. */
export const fingerprintOf = (envelope: Envelope): string => digested(JSON.stringify(envelope));

function identityOf(envelope: Envelope): string {
  if (envelope.kind === "follower.register") return envelope.registration.instanceId;
  if ("instanceId" in envelope) return envelope.instanceId;
  if ("recipientInstanceId" in envelope) return envelope.recipientInstanceId;
  return "ack";
}

/** W-21. Holds the presented secret: never to be logged. */
export function ledgerKeyOf(envelope: Envelope): string {
  return digested(`${envelope.auth ?? ""}:${identityOf(envelope)}:${envelope.requestId}`);
}
