/** The answer of every write under an epoch that is over. */
import type { Epoch } from "../../machines/ids.ts";

/** A write under an old epoch: nothing happened. */
export interface Fenced {
  readonly kind: "fenced";
  readonly current: Epoch;
}
