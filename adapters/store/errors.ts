/**
 * What a store says when it could not do its work.
 *
 * Owns: the error a store's promise rejects with, and its words. Does not own: expected outcomes, which are data.
 * Invariant: the text holds no value of any row, so no secret can be in it. A rejection means that nothing was
 * acknowledged; only for `io` at the very commit can the change have reached the disk nonetheless.
 */

export type StoreErrorCode = "busy" | "full" | "io" | "damaged" | "unwritable" | "closed" | "failed";

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string) {
    super(message);
    this.name = "StoreError";
    this.code = code;
  }
}

/** Why a store was not opened: one sentence that says what to do. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: string;
  /** Its content is damaged; otherwise something else is in the way. */
  readonly isDamage: boolean;
}

export const refused = (reason: string, isDamage = false): Refused => ({ kind: "refused", reason, isDamage });

export const closedError = (): StoreError =>
  new StoreError("closed", "The store is closed: this instance has stopped, start a new one.");
