/**
 * Comparison of secrets (protocol A-4).
 *
 * Owns: that its duration tells nothing but the length. Does not own: where secrets come from.
 */
import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";

/** Whether the presented secret is the expected one; an absent or empty one never is. */
export function sameSecret(presented: string | undefined, expected: string | undefined): boolean {
  if (presented === undefined || expected === undefined || expected === "") return false;
  const left = Buffer.from(presented, "utf8");
  const right = Buffer.from(expected, "utf8");
  return left.length === right.length && timingSafeEqual(left, right);
}
