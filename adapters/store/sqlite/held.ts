/**
 * Whether an entry is held under an acquisition.
 *
 * Owns: that question. Does not own: taking, settling (`work.ts`, `queue.ts`), offers (`offers.ts`), which all ask it.
 */
import type { AcquisitionId } from "../../../machines/ids.ts";
import type { HeldEntry } from "../../../services/ports.ts";
import type { Connection } from "./connection.ts";

export const heldSql = {
  wasSettledBy:
    "SELECT 1 FROM tombstones INDEXED BY tombstones_by_acquisition WHERE acquisition IS NOT NULL AND acquisition = ?",
  isHeld: "SELECT 1 FROM updates WHERE seq = ? AND claim_acquisition = ? AND offer IS NULL",
} as const;

/** Under this acquisition, and not on offer to another instance. */
export const isHeld = (connection: Connection, { seq, acquisition }: HeldEntry): boolean =>
  connection.sql(heldSql.isHeld).get(seq, acquisition) !== undefined;

export const wasSettledBy = (connection: Connection, acquisition: AcquisitionId): boolean =>
  connection.sql(heldSql.wasSettledBy).get(acquisition) !== undefined;
