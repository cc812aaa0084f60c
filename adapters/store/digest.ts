/**
 * The digest by which the journal recognises an update it has seen.
 *
 * Owns: how content becomes a key. Does not own: where the key is looked up.
 * `update_id` restarts at random after a quiet week, so the id alone identifies nothing; id and content together do.
 */
import { createHash } from "node:crypto";

/** 128 bits of the SHA-256 of the body's UTF-8 bytes, base64url. */
export function digestOf(body: string): string {
  return createHash("sha256").update(body, "utf8").digest().subarray(0, 16).toString("base64url");
}
