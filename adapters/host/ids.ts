/**
 * Minted identities, from the system's source of randomness.
 *
 * Owns: uniqueness of what it mints, also among several `systemIds()` of one process.
 * Does not own: what the identities mean (`machines/ids.ts`).
 *
 * Invariants: no two instance ids of one process are equal, even within one millisecond; generations and request ids
 * count up under their instance, acquisitions under their process, and are never given twice.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { acquisitionId, generation, instanceId } from "../../machines/ids.ts";
import type { Ids } from "../../services/ports.ts";

// Per process, not per `systemIds()`: two of them must not mint the same value.
let lastInstanceMs = 0;
let lastNumber = 0;
/** Acquisitions of one process lie side by side in the store's index: wholly random ones dirty a page of it each. */
const processPrefix = randomUUID();

export function systemIds(): Ids {
  return {
    instanceId(pid, nowMs) {
      lastInstanceMs = Math.max(Math.floor(nowMs), lastInstanceMs + 1);
      return instanceId(`${pid}:${lastInstanceMs}`);
    },
    generation: (instance) => generation(`${instance}:${++lastNumber}`),
    acquisition: () => acquisitionId(`${processPrefix}-${(++lastNumber).toString(16).padStart(12, "0")}`),
    secret: () => randomBytes(32).toString("base64url"),
    requestId: (instance) => `${instance}:${++lastNumber}`,
    chance: () => Math.random(),
    sha256Hex: (text) => createHash("sha256").update(text, "utf8").digest("hex"),
  };
}
